/* The turn's memory of itself; see state.h. */

#include "state.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <stdio.h>
#include <string.h>

void turn_state_init(struct turn_state *state)
{
    memset(state, 0, sizeof(*state));
    trace_init(&state->trace);
    dedupe_init(&state->reads);
    dedupe_init(&state->others);
    strbuf_init(&state->failures);
}

void turn_state_release(struct turn_state *state)
{
    trace_release(&state->trace);
    dedupe_release(&state->reads);
    dedupe_release(&state->others);
    hash_map_release(&state->blocked);
    hash_map_release(&state->call_ids);
    hash_map_release(&state->cited);
    for (size_t i = 0; i < state->citation_count; i++)
        free(state->citations[i].ref);
    free(state->citations);
    for (size_t i = 0; i < state->tally_count; i++)
        free(state->tallies[i].tool);
    free(state->tallies);
    for (size_t i = 0; i < state->decision_count; i++)
        free(state->decisions[i]);
    free(state->decisions);
    strbuf_release(&state->failures);
    free(state->final_text);
}

char *turn_state_call_id(struct turn_state *state, const char *id)
{
    const char *base = id && *id ? id : "call";
    char *unique = xstrdup(base);
    int64_t next = hash_map_get(&state->call_ids, base, 2);

    /* Each number is tried once for each base: a thousand calls of one name cost no more than a thousand names. */
    while (hash_map_has(&state->call_ids, unique)) {
        free(unique);
        unique = xasprintf("%s#%lld", base, (long long)next++);
    }
    hash_map_put(&state->call_ids, unique, 2);
    if (next > 2)
        hash_map_put(&state->call_ids, base, next);
    return unique;
}

void turn_state_cite(struct turn_state *state, const struct citation *citation)
{
    if (hash_map_has(&state->cited, citation->ref))
        return;
    hash_map_put(&state->cited, citation->ref, 1);
    GROW(state->citations, state->citation_count, state->citation_room);
    state->citations[state->citation_count++] = (struct citation){xstrdup(citation->ref), citation->web};
}

void turn_state_tally(struct turn_state *state, const char *tool, bool failed)
{
    size_t i = 0;

    while (i < state->tally_count && strcmp(state->tallies[i].tool, tool) != 0)
        i++;
    if (i == state->tally_count) {
        GROW(state->tallies, state->tally_count, state->tally_room);
        state->tallies[state->tally_count++] = (struct tool_tally){.tool = xstrdup(tool)};
    }
    state->tallies[i].calls++;
    if (failed)
        state->tallies[i].failures++;
}

void turn_state_decided(struct turn_state *state, const char *fmt, ...)
{
    struct strbuf line = STRBUF_INIT;
    va_list args;

    va_start(args, fmt);
    strbuf_vaddf(&line, fmt, args);
    va_end(args);
    GROW(state->decisions, state->decision_count, state->decision_room);
    state->decisions[state->decision_count++] = strbuf_detach(&line, NULL);
}
