#include "placed.h"
#include "engine_inside.h"
#include "tools/place.h"
#include <stdio.h>

static void report(struct engine *engine, struct event event)
{
    emit(&engine->emitter, &event);
}

static void on_op(void *user, const struct workspace_op *op)
{
    report(user,
           (struct event){
               .type = EVENT_WORKSPACE_OP,
               .workspace_op = {.op = op->op, .elapsed_ms = op->elapsed_ms, .error = op->error, .attrs = op->attrs}});
}

static void on_state(void *user, const struct place_state *state)
{
    report(user, (struct event){
                     .type = EVENT_WORKSPACE_STATE,
                     .workspace_state = {.exec_id = state->exec_id,
                                         .path = state->path,
                                         .used = state->used,
                                         .limit = state->limit > 0 ? state->limit : EVENT_NULL_INT,
                                         .entries = state->entries,
                                         .more = state->more,
                                         .inputs = state->inputs,
                                         .outputs = state->outputs,
                                         .skills = state->skills,
                                         .count = state->count,
                                         .count_limit = state->count_limit > 0 ? state->count_limit : EVENT_NULL_INT,
                                         .kept = state->kept}});
}

static void on_started(void *user, const char *program, const char *call, const char *cmd, const char *cwd, bool tty)
{
    report(user,
           (struct event){.type = EVENT_PROGRAM_STARTED,
                          .program_started = {.program = program, .call = call, .cmd = cmd, .cwd = cwd, .tty = tty}});
}

static void on_printed(void *user, const char *program, const char *text)
{
    report(user, (struct event){.type = EVENT_PROGRAM_OUTPUT, .program_output = {.program = program, .text = text}});
}

static void on_typed(void *user, const char *program, const char *text)
{
    report(user, (struct event){.type = EVENT_PROGRAM_INPUT,
                                .program_input = {.program = program, .text = text, .by = "call"}});
}

static void on_ended(void *user, const char *program, const int *exit_code, const char *why)
{
    report(user,
           (struct event){.type = EVENT_PROGRAM_ENDED,
                          .program_ended = {
                              .program = program, .exit_code = exit_code ? *exit_code : EVENT_NULL_INT, .why = why}});
}

static void on_connected(void *user, const char *call, const char *host, unsigned port, int64_t bytes)
{
    report(user, (struct event){.type = EVENT_NETWORK_CONNECTED,
                                .network_connected = {.call = call, .host = host, .port = port, .bytes = bytes}});
}

void placed_resume(struct engine *engine)
{
    const struct session *session = &engine->session;
    unsigned most = 0, number;

    for (uint32_t row = 0; row < session->program_count; row++)
        if (sscanf(session_name(session, session->programs[row].id), "p%u", &number) == 1 && number > most)
            most = number;
    place_number_from(engine->harness->place, most);
}

void placed_listen(struct engine *engine)
{
    place_listen(engine->harness->place, &(struct place_listener){.op = on_op,
                                                                  .state = on_state,
                                                                  .started = on_started,
                                                                  .printed = on_printed,
                                                                  .typed = on_typed,
                                                                  .ended = on_ended,
                                                                  .connected = on_connected,
                                                                  .user = engine});
}

void placed_deaf(struct engine *engine)
{
    place_listen(engine->harness->place, NULL);
}
