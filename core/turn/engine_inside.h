#pragma once
/* The engine, inside. Shared by engine.c, which emits and keeps, and engine_intents.c, which takes wishes; by nobody
 * else. */

#include "event/redact_events.h"
#include "shown.h"
#include "turn.h"
#include "typing.h"

struct engine {
    const struct harness *harness;
    struct journal *journal;
    struct session session;
    struct sink *sinks;
    struct gates gates;
    struct thinking thinking;
    struct tool_env env;
    struct context_source context;
    struct message_list history;
    int64_t turns;
    uint64_t asks;
    struct turn *turn; /* the one that runs */
    struct turn *left; /* the one that the recording left in the middle */
    struct turn *late; /* finished ones whose threads have not come back */
    struct undo *undo;
    uint32_t left_programs; /* of a recording that is gone on with: how many had begun in it */
    struct shown *shown;    /* what stands at a gate, without secrets */
    struct models models;
    struct emitter emitter; /* of the session: programs, workspace, servers, intents */
    struct redact_events redact;
    struct emitter recorder; /* behind redaction: journal, fold, sinks */
    struct loop_task broke;  /* the journal failed: cancel from the loop */
    char *failure;
    bool nobody_asked;
    char *protected; /* why writes to protected places were refused without asking, a line each */
    size_t protected_count;
    bool ended;
    void (*turn_ended)(void *data);
    void *turn_ended_data;
    void (*revised)(void *data);
    void *revised_data;
};
