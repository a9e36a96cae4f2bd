#pragma once
/* What is shown of a list, and the way to the next hit in it. Every pane and dialog that has a list has one of these:
 * it keeps the rows that fit a filter and looks for the next row with a text, both a bounded piece at a time, so that
 * neither is felt at a million rows.
 *
 * Rows are the list's own numbers; an index counts those that are shown. */

#include "filter.h"

/* A list, as it is at this moment. */
struct sift_rows {
    size_t total;
    size_t settled; /* the first so many stay as they are; of the others what fits may change … */
    uint64_t state; /* … when this is another number */
    const void *of; /* whose rows they are: another's are looked at from the beginning */
    /* Adds the bytes it looked at to `bytes`. */
    bool (*fits)(const struct sift_rows *rows, const struct filter *filter, size_t row, size_t *bytes);
    void *owner;
    const struct view *view;
};

struct sift {
    struct filter filter;
    struct matches matches;
    bool filtered, working; /* there is a filter; there are rows it was not asked about */
    const void *of;
    uint64_t state;
    size_t settled;
    struct {
        struct filter wanted; /* empty: nobody searches */
        bool back;
        size_t at, left, all; /* the index looked at last, how many are left to look at, and were at first */
    } search;
};

void sift_init(struct sift *sift);
void sift_release(struct sift *sift);

/* Takes what is now in `filter` (the caller parses into it) from the beginning on. */
void sift_begin(struct sift *sift);
/* Looks at up to `most` more rows; true while there are more. With 0 it only forgets what is no longer so. */
bool sift_look(struct sift *sift, const struct sift_rows *rows, size_t most);

size_t sift_count(const struct sift *sift, const struct sift_rows *rows);
size_t sift_row(const struct sift *sift, size_t index);
/* The index of a row, or of the first one behind it that is shown. */
size_t sift_index(const struct sift *sift, size_t row);

enum sift_found { SIFT_NOT, SIFT_FOUND, SIFT_LATER };
/* Begins to look for the next row with this text behind (or before) the row with this index, round the end, and last of
 * all in it. */
void sift_search(struct sift *sift, const struct sift_rows *rows, const char *text, bool back, size_t from);
/* Goes on with it: looks at up to `most` rows. */
enum sift_found sift_search_on(struct sift *sift, const struct sift_rows *rows, size_t most, size_t *index);
void sift_search_stop(struct sift *sift);
bool sift_searching(const struct sift *sift);

/* "3 of 5 calls", "3 in 40 % …" while it looks, and how far a search is; nothing when there is nothing to say. `many`
 * may be NULL. */
void sift_note(struct strbuf *out, const struct sift *sift, const struct sift_rows *rows, const char *one,
               const char *many);
