#pragma once
/* Where a run departs from its recording. Times, ids of sessions and the like never count; order among the calls of one
 * wave does not either: events are matched by what they are about (turn, type, call, step), then compared field by
 * field, and the order that is promised (of what happens to a call, and of the turn's own events) with them.
 *
 * A recording of the program itself (numbered, or with a turn.prepared) holds everything, so whatever it lacks counts.
 * Of one that a person wrote only the types that it holds are compared: it is checked as far as it goes, and so is one
 * that ends in the middle of a turn. A write whose bytes the recording does not hold (of a binary file, made by a tool
 * that is not run again) is passed over, with a notice. */

#include "event/journal.h"
#include "event/session.h"

struct departures;
struct recording;

struct departure {
    int64_t seq; /* in the recording; of something that was not recorded, that of what it came after */
    bool unrecorded;
    const char *type;
    const char *field;
    const char *recorded, *got; /* cut for reading, on one line */
    int64_t got_seq;            /* in the run; 0: it never happened */
    int64_t got_turn;
    const char *call; /* of the run, that it is about; NULL: none */
    size_t number;    /* in the order in which they were noticed */
};

/* The recording is that of the run: what it could not propose again is passed over. */
struct departures *departures_new(const struct recording *recording);
void departures_free(struct departures *departures);
/* Nothing that was recorded after this seq counts. Before the run. */
void departures_until(struct departures *departures, int64_t seq);
/* Everything up to that seq has happened: the run may stop. */
bool departures_reached(const struct departures *departures);
/* To be told of each event of the run. */
void departures_see(struct departures *departures, const struct event *event);
/* After the run, what was recorded and never happened counts as well. First departure first; NULL when there is none.
 */
void departures_end(struct departures *departures);
size_t departures_count(const struct departures *departures);
const struct departure *departures_at(const struct departures *departures, size_t index);
/* Those beside one event of the run, or beside one of its calls: the next one from *index on, which moves behind it;
 * NULL when there is no other. */
const struct departure *departures_of_event(const struct departures *departures, int64_t seq, size_t *index);
const struct departure *departures_of_call(const struct departures *departures, int64_t turn, const char *call,
                                           size_t *index);
/* How many recorded events the run had as well. */
size_t departures_compared(const struct departures *departures);
/* Why something was passed over, each by its number; NULL behind the last. */
const char *departures_notice(const struct departures *departures, size_t index);
/* The recording ends in the middle of a turn. */
bool departures_cut_short(const struct departures *departures);
/* "departed at seq 12: tool.finished.result.output: recorded X, got Y" */
void departure_write(struct strbuf *out, const struct departure *departure);
