/* Passes the user's keys to programs, and ends programs that a recording left.
 *
 * Implements program_control.h for the engine. The fold is checked before the runtime, because a resumed session
 * lists programs that no process runs any more. */

#include "turn.h"
#include "workspace/program_control.h"
#include <string.h>

static int find_running(const struct engine *engine, const struct engine_config *config, const char *program,
                        struct err *err)
{
    const struct session *session = engine_session(engine);
    uint32_t row = session_find_program(session, program);
    if (row == SESSION_NONE)
        return err_set(err, "unknown program %.40s", program && *program ? program : "without a name");
    if (!session_program_running(session, row))
        return err_set(err, "program %.40s has ended", program);
    if (!config->programs)
        return err_set(err, "this session runs no programs");
    return 0;
}

static bool goes_on_by_itself(const struct engine *engine)
{
    struct held_view held;
    return engine_turn_running(engine) && !engine_question(engine) && !engine_held(engine, &held);
}

/* The text for the journal. A line that the terminal does not echo (a password) is hidden. A single key
 * (Ctrl-C) is recorded verbatim. */
static const char *recorded(struct program_control *control, const char *program, const char *text)
{
    bool key = (unsigned char)text[0] < ' ' && !text[1];
    return !key && control->hides(control, program) ? PROGRAM_INPUT_HIDDEN : text;
}

int process_input_write(struct engine *engine, const struct engine_config *config, const struct intent *intent,
                        struct err *err)
{
    const char *program = intent->program_input.program, *text = intent->program_input.text;
    struct program_control *control = config->programs;
    if (find_running(engine, config, program, err) < 0)
        return -1;
    if (!text || !*text)
        return err_set(err, "nothing was typed");
    if (goes_on_by_itself(engine))
        return err_set(err, "the agent is running; pause the turn, then type");
    if (control->ready(control, program, err) < 0)
        return -1;
    if (emit(engine_emitter(engine),
             &(struct event){
                 .type = EVENT_PROGRAM_INPUT,
                 .program_input = {.program = program, .text = recorded(control, program, text), .by = "key"}}) < 0)
        return err_set(err, "%s", engine_failed(engine));
    control->write(control, program, text, strlen(text));
    return 0;
}

int process_input_kill(struct engine *engine, const struct engine_config *config, const struct intent *intent,
                       struct err *err)
{
    const char *program = intent->program_kill.program;
    if (find_running(engine, config, program, err) < 0)
        return -1;
    return config->programs->kill(config->programs, program, err);
}

void process_input_end_left(struct engine *engine, uint32_t count)
{
    const struct session *session = engine_session(engine);
    for (uint32_t row = 0; row < count && row < session->program_count; row++) {
        const char *program = session_name(session, session->programs[row].id);
        struct event event = {
            .type = EVENT_PROGRAM_ENDED,
            .program_ended = {.program = program, .exit_code = EVENT_NULL_INT, .why = "ended with its session"}};
        if (session_program_running(session, row) && session_find_program(session, program) == row &&
            emit(engine_emitter(engine), &event) < 0)
            return;
    }
}
