#pragma once
/* The memory of a running turn: created at its start, freed with it, shared with no other turn. */

#include "base/hash.h"
#include "model/message.h"
#include "tools/bounded.h"
#include "tools/outcome.h"
#include "tools/tool.h"

/* Duplicate control: an idempotent call that succeeded is not run a second time with the same arguments in the same
 * turn. Failures, timeouts and denials may be tried again; a denial never replaces a recorded success.
 *
 * A repeated call has the same result only if nothing changed in between. So a turn keeps two histories, and each
 * success of a call that is not READ_ONLY empties the history of reads. After a write, and only then, the same read
 * may run again. */

struct json;

struct dedupe {
    struct hash_map done; /* digest → 1, of calls that succeeded */
};

/* "<tool>:<arguments as JSON, sorted>"; arguments NULL counts as {}. */
void dedupe_key_text(struct strbuf *out, const char *tool, const struct json *arguments);
void dedupe_key(char out[HASH_MD5_HEX], const char *tool, const struct json *arguments);

void dedupe_init(struct dedupe *dedupe);
void dedupe_release(struct dedupe *dedupe);
/* A tool without a specification counts as idempotent: pass true. */
bool dedupe_should_skip(const struct dedupe *dedupe, const char *key, bool idempotent);
void dedupe_record(struct dedupe *dedupe, const char *key, enum outcome_type outcome);

struct tally {
    struct call_states trace;   /* of the calls, and the write gate */
    struct dedupe reads;        /* calls that succeeded: reads … */
    struct dedupe others;       /* … and all others. A write empties the reads before it */
    struct hash_map blocked;    /* tools that may not run again in this turn */
    struct hash_map call_ids;   /* ids seen, each used once → the number of its next variant */
    struct citation *citations; /* each once, in the order found */
    size_t citation_count, citation_room;
    struct hash_map cited;
    struct strbuf failures; /* since the last reflection, one per line */
    struct usage usage;
    int64_t tool_calls; /* outcomes that were executions */
    char *final_text;
    bool timed_out;
    bool context_was_compacted;
    int64_t context_after; /* tokens after the last compaction; 0: none */
    int64_t context_seen;  /* tokens of the newest request, as the model counted them; 0: not since compaction */
};

void tally_init(struct tally *state);
/* Forgets which calls succeeded, so that each may run again: an undo took the effect of some away. */
void tally_forget_calls(struct tally *state);
void tally_release(struct tally *state);
/* Returns the id itself if it is new and not empty, else a new variant. The caller frees it. */
char *tally_call_id(struct tally *state, const char *id);
void tally_cite(struct tally *state, const struct citation *citation);
