#pragma once
/* What somebody wants to see of a long list, and the rows that fit, found a piece at a time.
 *
 * A filter is terms with blanks between: `kind:write` (also `write.*`, or just `tool`), `call:c4` (or just c4),
 * anything else is a text; "in quotes" with blanks. `!` before a term turns it round. A row fits when one of the kinds
 * fits, one of the calls, every text, and nothing that is turned round. */

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
    char *printable; /* the same as journals hold it; NULL when they hold it as it is */
};

struct filter {
    struct filter_term *terms;
    size_t count, room;
};

void filter_init(struct filter *filter);
void filter_release(struct filter *filter);
/* `view` tells which words are calls; may be NULL. */
void filter_parse(struct filter *filter, const struct view *view, const char *text);
/* The same where there are no kinds and no calls: every term is a text. */
void filter_parse_texts(struct filter *filter, const char *text);
/* One text as it is, blanks and all: what a search looks for. */
void filter_set_text(struct filter *filter, const char *text);
/* Asks `fits` about every term and puts the answers together. */
bool filter_fits(const struct filter *filter, bool (*fits)(const struct filter_term *term, void *data), void *data);
/* Whether a dotted name is of a kind: "write" and "write.*" are both for "write.proposed", "*.failed" for some. */
bool filter_kind_fits(const char *kind, const char *name, size_t len);
/* Whether a text fits, of which nothing is known but what it says. */
bool filter_text_fits(const struct filter *filter, const char *text, size_t len);
/* Whether a line of the journal fits. Nothing is decoded: members are walked over. */
bool filter_line_fits(const struct filter *filter, const struct view *view, const char *line, size_t len);

/* " · write.*" for the frame of a pane of this width and title; what does not fit there is not cut but called by its
 * name, or left out where not even that fits. */
void filter_note(struct strbuf *out, const char *text, const char *title, int width);

/* The rows that fit, ascending, and how far was looked. */
struct matches {
    uint32_t *rows;
    size_t count, room;
    size_t scanned;
};
void matches_release(struct matches *matches);
void matches_reset(struct matches *matches);
/* Forgets what was found from this row on: it is looked at again. */
void matches_cut(struct matches *matches, size_t row);
/* Looks at up to `budget` more of `total` rows; what lies beyond `total` (a replay that went back) is forgotten. True
 * while there are more to look at. */
bool matches_work(struct matches *matches, size_t total, size_t budget, bool (*fits)(size_t row, void *data),
                  void *data);
/* Index of the first match that is not below `row`. */
size_t matches_find(const struct matches *matches, size_t row);
