#pragma once
/* Where a run departs from its recording. Times, ids of sessions and the like never count; order among the calls of one
 * wave does not either: events are matched by what they are about (turn, type, call, step), then compared field by
 * field. Only types that the recording holds are compared, so a hand-written one is checked as far as it goes. */

#include "journal/journal.h"
#include "journal/session.h"

struct departures;

struct departure {
    int64_t seq;     /* in the recording; 0: something happened that was not recorded */
    const char *type;
    const char *field;
    const char *recorded, *got; /* cut for reading */
};

struct departures *departures_new(const struct journal_reader *recording);
void departures_free(struct departures *departures);
/* To be told of each event of the run. */
void departures_see(struct departures *departures, const struct event *event);
/* After the run, what was recorded and never happened counts as well. First departure first; NULL when there is none. */
void departures_end(struct departures *departures);
size_t departures_count(const struct departures *departures);
const struct departure *departures_at(const struct departures *departures, size_t index);
