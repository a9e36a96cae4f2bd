#pragma once
/* Replay control: an idempotent call that succeeded is not run a second time with the same arguments in the same turn.
 * Failures, timeouts and denials may be tried again; a refusal never replaces a recorded success (D35).
 *
 * Our reading of D35: "the same call" has the same result only while nothing was changed in between. So a turn keeps
 * two histories, and each success of a call that is not READ_ONLY empties that of the reads: what was read before a
 * write may be read again after it, and only then. */

#include "base/hash.h"
#include "tools/outcome.h"

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
