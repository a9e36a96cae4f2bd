#pragma once
/* The diff of two texts, in hunks that can be kept or dropped one by one. Only diff.c uses libgit2. */

#include "base/err.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf;

struct diff_line {
    char origin;        /* ' ', '+', '-' */
    int old_no, new_no; /* from 1; 0 on the side where the line is not */
    const char *text;   /* without its newline; points into the texts that were compared */
    size_t len;
    bool no_newline; /* the last line of its side, without a newline */
};

struct diff_hunk {
    int old_start, old_count, new_start, new_count;
    char *heading; /* what git shows after the @@: the enclosing function, may be "" */
    size_t first_line, line_count;
    size_t added, removed;
};

/* Limits of a stored diff, so that a huge one costs seconds and megabytes, not minutes and gigabytes. */
#define DIFF_LINES_MAX 200000u    /* changed lines */
#define DIFF_TEXT_MAX  (4u << 20) /* bytes of lines */

struct diff {
    bool binary;   /* then there are no hunks: all or nothing */
    bool cut;      /* too large to store: the counts are complete, hunks and lines are only the beginning */
    bool estimate; /* too large to compare: the counts are upper bounds, and there are no hunks */
    size_t added, removed;
    struct diff_hunk *hunks;
    size_t hunk_count;
    struct diff_line *lines;
    size_t line_count;
    atomic_uint holders; /* besides the first one */
};

/* `path` is used only for the attributes of headings. The texts must outlive the diff. NULL is an absent file. */
struct diff *diff_new(const char *path, const char *old, size_t old_len, const char *new, size_t new_len,
                      struct err *err) CHECKED;
void diff_free(struct diff *diff);
/* The same diff for one more holder, who must free it too. The texts must outlive this one as well. */
struct diff *diff_share(struct diff *diff);
/* Keeps the lines before the first one that does not fit into `bytes`; the rest counts as cut. */
void diff_cut(struct diff *diff, size_t bytes);
/* Writes it like `git diff`, with ---/+++ lines ("/dev/null" for an absent side). A cut diff ends with a line that
 * says so; it begins with a backslash, which programs that read diffs ignore. */
void diff_write(struct strbuf *out, const struct diff *diff, const char *path, bool old_exists, bool new_exists);
/* The old text with the hunks for which keep[i] is true. All true gives the new text, all false the old one. Not for
 * a cut diff. */
void diff_apply(struct strbuf *out, const struct diff *diff, const char *old, size_t old_len, const bool *keep);
