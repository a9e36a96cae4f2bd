#pragma once
/* Finds which words differ between a removed line and the added line that replaces it. The cost is bounded: lines that
 * are too long or too different get no marks, or only their ends are compared. */

#include "tools/diff.h"

#define WORD_DIFF_SPANS 24
#define WORD_DIFF_RUN   256 /* consecutive removed or added lines that are paired; longer runs get no marks */

struct word_diff_span {
    size_t from, to; /* bytes */
};

struct word_diff {
    size_t count; /* 0: no marks */
    struct word_diff_span spans[WORD_DIFF_SPANS];
};

/* Marks what is only in `old` and what is only in `new`. False if the lines have too little in common for useful marks;
 * both are empty then. */
bool word_diff_lines(const char *old, size_t old_len, const char *new, size_t new_len, struct word_diff *removed,
                     struct word_diff *added);
/* Pairs removed lines with added ones, in order: partner[i] is the index of the added line for removed line i, or
 * -1. */
void word_diff_pair(const struct diff_line *removed, size_t removed_count, const struct diff_line *added,
                    size_t added_count, int partner[WORD_DIFF_RUN]);
