#pragma once
/* Filters for long lists, and the matching rows, found a piece at a time.
 *
 * A filter has terms separated by blanks: `kind:write` (also `write.*`, or just `tool`), `call:c4` (or just c4).
 * Anything else is a text; "in quotes" it may contain blanks. `!` negates a term. A row matches if it matches one of
 * the kinds, one of the calls, every text, and no negated term. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;
struct view;

enum filter_term_kind { FILTER_KIND, FILTER_CALL, FILTER_TEXT };

struct filter_term {
    enum filter_term_kind kind;
    bool not ;
    char *text;
    char *printable; /* the text as journals escape it; NULL if that is the same */
};

struct filter {
    struct filter_term *terms;
    size_t count, room;
};

void filter_init(struct filter *filter);
void filter_release(struct filter *filter);
/* `view` provides the ids of calls; may be NULL. */
void filter_parse(struct filter *filter, const struct view *view, const char *text);
/* The same for lists without kinds and calls: every term is a text. */
void filter_parse_texts(struct filter *filter, const char *text);
/* Sets one literal text, blanks included, for a search. */
void filter_set_text(struct filter *filter, const char *text);
/* Calls `fits` for every term and combines the results. */
bool filter_fits(const struct filter *filter, bool (*fits)(const struct filter_term *term, void *data), void *data);
/* Matches a plain text, without kinds and calls. */
bool filter_text_fits(const struct filter *filter, const char *text, size_t len);
/* Matches a journal line without decoding it. */
bool filter_line_fits(const struct filter *filter, const struct view *view, const char *line, size_t len);

/* Adds " · write.*" for the frame of a pane of this width and title. If the filter does not fit, adds " · filtered", or
 * nothing. */
void filter_note(struct strbuf *out, const char *text, const char *title, int width);

/* The matching rows, ascending, and how many rows were checked. */
struct matches {
    uint32_t *rows;
    size_t count, room;
    size_t scanned;
};
void matches_release(struct matches *matches);
void matches_reset(struct matches *matches);
/* Checks up to `budget` more of `total` rows. Drops matches beyond `total` (a replay that went back). True while there
 * are more. */
bool matches_work(struct matches *matches, size_t total, size_t budget, bool (*fits)(size_t row, void *data),
                  void *data);
/* Index of the first match at or after `row`. */
size_t matches_find(const struct matches *matches, size_t row);

/* A list in its current state. */
struct row_filter_rows {
    size_t total;
    size_t settled; /* number of rows that can no longer change; the others are checked again … */
    uint64_t state; /* … when this number changes */
    const void *of; /* owner of the rows; if it changes, all rows are checked again */
    /* Adds the bytes it read to `bytes`. */
    bool (*fits)(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes);
    void *owner;
    const struct view *view;
};

struct row_filter {
    struct filter filter;
    struct matches matches;
    bool filtered, working; /* a filter is set; some rows are not checked yet */
    const void *of;
    uint64_t state;
    size_t settled;
    struct {
        struct filter wanted; /* empty: no search */
        bool back;
        size_t at, left, all; /* the index checked last, how many are left, and how many there were */
    } search;
};

void row_filter_init(struct row_filter *rows_filter);
void row_filter_release(struct row_filter *rows_filter);

/* Restarts with the current `filter`, into which the caller has parsed. */
void row_filter_begin(struct row_filter *rows_filter);
/* Checks up to `most` more rows; true while there are more. With 0 it only drops outdated matches. */
bool row_filter_look(struct row_filter *rows_filter, const struct row_filter_rows *rows, size_t most);

size_t row_filter_count(const struct row_filter *rows_filter, const struct row_filter_rows *rows);
size_t row_filter_row(const struct row_filter *rows_filter, size_t index);
/* The index of a row, or of the next shown row after it. */
size_t row_filter_index(const struct row_filter *rows_filter, size_t row);

enum row_filter_found { ROW_FILTER_NOT, ROW_FILTER_FOUND, ROW_FILTER_LATER };
/* Starts a search for the next row with this text after (or before) the row with this index. It wraps around and checks
 * that row last. */
void row_filter_search(struct row_filter *rows_filter, const struct row_filter_rows *rows, const char *text, bool back,
                       size_t from);
/* Continues the search: checks up to `most` rows. */
enum row_filter_found row_filter_search_on(struct row_filter *rows_filter, const struct row_filter_rows *rows,
                                           size_t most, size_t *index);
void row_filter_search_stop(struct row_filter *rows_filter);
bool row_filter_searching(const struct row_filter *rows_filter);

/* Adds "3 of 5 calls", "3 in 40 % …" while rows are left, and the progress of a search; nothing if neither applies.
 * `many` may be NULL. */
void row_filter_note(struct strbuf *out, const struct row_filter *rows_filter, const struct row_filter_rows *rows,
                     const char *one, const char *many);
