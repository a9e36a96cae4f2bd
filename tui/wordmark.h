#pragma once
/* Which words differ between a removed line and the added one that takes its place. Cost is bounded: lines that are too
 * long or too unlike get no marks, or only their ends compared. */

#include "tools/diff.h"

#define WORDMARK_SPANS 24
#define WORDMARK_RUN   256 /* removed or added lines in a row that are paired; longer runs get no marks */

struct wordmark_span {
    size_t from, to; /* bytes */
};

struct wordmark {
    size_t count; /* 0: nothing to mark */
    struct wordmark_span spans[WORDMARK_SPANS];
};

/* What is only in `old` and what is only in `new`. False when they have so little in common that marks would say
 * nothing; both are empty then. */
bool wordmark_lines(const char *old, size_t old_len, const char *new, size_t new_len, struct wordmark *removed,
                    struct wordmark *added);
/* Pairs removed lines with added ones, in order: partner[i] of removed line i is an index of an added one, or -1. */
void wordmark_pair(const struct diff_line *removed, size_t removed_count, const struct diff_line *added,
                   size_t added_count, int partner[WORDMARK_RUN]);
