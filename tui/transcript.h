#pragma once
/* Opening a file that somebody named on the command line as a transcript. A look at its first bytes comes first, so
 * that a gigabyte of something else is refused at once instead of being indexed. */

#include "journal/journal.h"
#include "turn/replay.h"

struct journal_reader *transcript_open(const char *path, struct err *err) CHECKED;
struct recording *transcript_record(const char *path, struct err *err) CHECKED;
