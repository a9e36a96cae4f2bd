/* Keeps what a turn has done so far: successful calls, ids, citations, counts. */

#include "tally.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <stdio.h>
#include <string.h>

/* ---- dedupe ---- */

/* Only the newest real execution of a call counts. A denial is none: if it counted, denying the second call as a
 * duplicate would let the third one run. */

void dedupe_key_text(struct strbuf *out, const char *tool, const struct json *arguments)
{
    strbuf_addstr(out, tool);
    strbuf_addch(out, ':');
    if (arguments)
        json_write(out, arguments, JSON_CANONICAL);
    else
        strbuf_addstr(out, "{}");
}

void dedupe_key(char out[HASH_MD5_HEX], const char *tool, const struct json *arguments)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    dedupe_key_text(&text, tool, arguments);
    hash_md5(text.buf, text.len, out);
}

void dedupe_init(struct dedupe *dedupe)
{
    *dedupe = (struct dedupe){0};
}

void dedupe_release(struct dedupe *dedupe)
{
    hash_map_release(&dedupe->done);
}

bool dedupe_should_skip(const struct dedupe *dedupe, const char *key, bool idempotent)
{
    return idempotent && hash_map_get(&dedupe->done, key, 0) == 1;
}

void dedupe_record(struct dedupe *dedupe, const char *key, enum outcome_type outcome)
{
    switch (outcome) {
    case OUTCOME_RESULT:
    case OUTCOME_ARTIFACT:
        hash_map_put(&dedupe->done, key, 1);
        break;
    case OUTCOME_FAILURE:
    case OUTCOME_TIMEOUT:
        hash_map_put(&dedupe->done, key, 0);
        break;
    case OUTCOME_DENIED:
        break;
    }
}

void tally_init(struct tally *state)
{
    memset(state, 0, sizeof(*state));
    call_states_init(&state->trace);
    dedupe_init(&state->reads);
    dedupe_init(&state->others);
    strbuf_init(&state->failures);
}

void tally_release(struct tally *state)
{
    call_states_release(&state->trace);
    dedupe_release(&state->reads);
    dedupe_release(&state->others);
    hash_map_release(&state->blocked);
    hash_map_release(&state->call_ids);
    hash_map_release(&state->cited);
    for (size_t i = 0; i < state->citation_count; i++)
        free(state->citations[i].ref);
    free(state->citations);
    strbuf_release(&state->failures);
    free(state->final_text);
}

void tally_forget_calls(struct tally *state)
{
    dedupe_release(&state->reads);
    dedupe_release(&state->others);
    dedupe_init(&state->reads);
    dedupe_init(&state->others);
}

char *tally_call_id(struct tally *state, const char *id)
{
    const char *base = id && *id ? id : "call";
    char *unique = xstrdup(base);
    int64_t next = hash_map_get(&state->call_ids, base, 2);
    /* Each number is tried once per base, so a thousand calls with one name cost no more than a thousand names. */
    while (hash_map_has(&state->call_ids, unique)) {
        free(unique);
        unique = xasprintf("%s#%lld", base, (long long)next++);
    }
    hash_map_put(&state->call_ids, unique, 2);
    if (next > 2)
        hash_map_put(&state->call_ids, base, next);
    return unique;
}

void tally_cite(struct tally *state, const struct citation *citation)
{
    if (hash_map_has(&state->cited, citation->ref))
        return;
    hash_map_put(&state->cited, citation->ref, 1);
    GROW(state->citations, state->citation_count, state->citation_room);
    state->citations[state->citation_count++] = (struct citation){xstrdup(citation->ref), citation->web};
}
