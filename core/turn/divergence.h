#pragma once
/* Finds where a run diverges from its recording.
 *
 * Times, session ids and the like never count, nor does the order among the calls of one wave. Events are matched by
 * turn, type, call and step, then compared field by field. The guaranteed order is compared too: that of a call's
 * events, and that of the turn's own events.
 *
 * A recording by Keyturn (numbered, or with a turn.prepared) is complete, so whatever it lacks counts. In a
 * handwritten one only the types it contains are compared. A recording that ends in the middle of a turn is compared
 * up to its end. A write whose bytes the recording lacks (a binary file, by a tool that is not run again) is skipped,
 * with a notice. */

#include "event/journal.h"
#include "event/session.h"

struct divergences;
struct recording;

struct divergence {
    int64_t seq; /* in the recording; for an unrecorded event: the seq it came after */
    bool unrecorded;
    const char *type;
    const char *field;
    const char *recorded, *got; /* cut for display, on one line */
    int64_t got_seq;            /* in the run; 0: it never happened */
    int64_t got_turn;
    const char *call; /* the call of the run; NULL: none */
    size_t number;    /* in the order of detection */
};

/* `recording` is the one the run repeats; proposals that it cannot repeat are skipped. */
struct divergences *divergences_new(const struct recording *recording);
void divergences_free(struct divergences *divergences);
/* Ignores everything recorded after this seq. Call it before the run. */
void divergences_until(struct divergences *divergences, int64_t seq);
/* True if everything up to that seq has happened, so the run may stop. */
bool divergences_reached(const struct divergences *divergences);
/* Call it with each event of the run. */
void divergences_see(struct divergences *divergences, const struct event *event);
/* Call it after the run: recorded events that never happened count too. Then the list is sorted,
 * the first divergence first; divergences_at returns NULL after the last. */
void divergences_end(struct divergences *divergences);
size_t divergences_count(const struct divergences *divergences);
const struct divergence *divergences_at(const struct divergences *divergences, size_t index);
/* The next divergence of one event of the run, or of one of its calls, from *index on; *index moves behind it. NULL:
 * no more. */
const struct divergence *divergences_of_event(const struct divergences *divergences, int64_t seq, size_t *index);
const struct divergence *divergences_of_call(const struct divergences *divergences, int64_t turn, const char *call,
                                             size_t *index);
/* The number of recorded events that the run had too. */
size_t divergences_compared(const struct divergences *divergences);
/* Why something was skipped, by number; NULL after the last. */
const char *divergences_notice(const struct divergences *divergences, size_t index);
/* True if the recording ends in the middle of a turn. */
bool divergences_cut_short(const struct divergences *divergences);
/* "diverged at seq 12: tool.finished.result.output: recorded X, got Y" */
void divergence_write(struct strbuf *out, const struct divergence *divergence);
