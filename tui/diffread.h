#pragma once
/* Reads the text of a unified diff of one file, as a recording has it, back into hunks and lines. */

#include "tools/diff.h"

/* Never fails: what is no part of a hunk is left out, numbers that make no sense are held within an int. The lines
 * point into `text`, which must outlive the diff. */
struct diff *diff_read(const char *text, size_t len);
