#pragma once
/* Internals of a journal reader that journal.c needs to resume a file. No other file includes this. */

#include "journal.h"

/* True if the index ends at a line that is not an event; the content after it is unknown. */
bool journal_stopped(const struct journal_reader *reader);
/* Bytes up to the end of the last whole line; the rest was cut short. `newline`: that line has its newline. */
size_t journal_good_length(const struct journal_reader *reader, bool *newline);
