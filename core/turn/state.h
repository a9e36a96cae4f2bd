#pragma once
/* What a turn knows while it runs, all of it, in one place: made at its start, gone with it. Nothing of a turn is kept
 * anywhere else, so no turn can see another's. */

#include "dedupe.h"
#include "model/message.h"
#include "tools/tool.h"
#include "tools/trace.h"

struct tool_tally {
    char *tool;
    int64_t calls, failures;
};

struct turn_state {
    struct trace trace;         /* of the calls, and the write gate */
    struct dedupe reads;        /* calls that succeeded: what was read … */
    struct dedupe others;       /* … and everything else. A write makes the reads before it old */
    struct hash_map blocked;    /* tools that may not run again in this turn */
    struct hash_map call_ids;   /* ids seen, each used once; the number that its next variant tries */
    struct citation *citations; /* each once, in the order found */
    size_t citation_count, citation_room;
    struct hash_map cited;
    struct tool_tally *tallies; /* for the learner */
    size_t tally_count, tally_room;
    char **decisions; /* about writes, a line each */
    size_t decision_count, decision_room;
    struct strbuf failures; /* since the last reflection, a line each */
    struct usage usage;
    int64_t tool_calls; /* outcomes that were executions */
    char *final_text;
    bool timed_out;
    bool context_was_compacted;
    int64_t context_seen; /* tokens of the newest request, as the model counted them; 0: not since compaction */
};

void turn_state_init(struct turn_state *state);
void turn_state_release(struct turn_state *state);
/* The id itself when it is new and not empty, else a variant that is. The caller frees it. */
char *turn_state_call_id(struct turn_state *state, const char *id);
void turn_state_cite(struct turn_state *state, const struct citation *citation);
void turn_state_tally(struct turn_state *state, const char *tool, bool failed);
void turn_state_decided(struct turn_state *state, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
