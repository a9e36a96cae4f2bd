#pragma once
/* What journal.c needs to know of a reader to go on behind it; nobody else includes it. */

#include "journal.h"

/* Whether the index ends at a line that is no event, with who knows what behind it. */
bool journal_stopped(const struct journal_reader *reader);
/* Bytes up to the end of the last whole line; what follows was cut short. `newline` tells whether that line is ended.
 */
size_t journal_good_length(const struct journal_reader *reader, bool *newline);
