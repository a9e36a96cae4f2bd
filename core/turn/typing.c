/* The engine's side of program_control.h. What the fold says of a program comes before what its owner says: a session
 * that was resumed remembers programs that nobody owns any more. */

#include "typing.h"
#include "base/mem.h"
#include "turn.h"
#include "workspace/program_control.h"
#include <string.h>

static int find_running(const struct engine *engine, const struct harness *harness, const char *program,
                        struct err *err)
{
    const struct session *session = engine_session(engine);
    uint32_t row = session_find_program(session, program);

    if (row == SESSION_NONE)
        return err_set(err, "there is no program %.40s", program && *program ? program : "without a name");
    if (!session_program_running(session, row))
        return err_set(err, "program %.40s has ended", program);
    if (!harness->programs)
        return err_set(err, "this session runs no programs");
    return 0;
}

static bool goes_on_by_itself(const struct engine *engine)
{
    struct held_view held;

    return engine_turn_running(engine) && !engine_question(engine) && !engine_held(engine, &held);
}

/* What the journal has of it. A line that a terminal does not say back is nobody's to read later; a lone key is no
 * text. */
static const char *recorded(struct program_control *control, const char *program, const char *text)
{
    bool key = (unsigned char)text[0] < ' ' && !text[1];

    return !key && control->hides(control, program) ? PROGRAM_INPUT_HIDDEN : text;
}

int typing_input(struct engine *engine, const struct harness *harness, const struct intent *intent, struct err *err)
{
    const char *program = intent->program_input.program, *text = intent->program_input.text;
    struct program_control *control = harness->programs;

    if (find_running(engine, harness, program, err) < 0)
        return -1;
    if (!text || !*text)
        return err_set(err, "nothing was typed");
    if (goes_on_by_itself(engine))
        return err_set(err, "the agent is at work: pause the turn, and type while it is held");
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

int typing_kill(struct engine *engine, const struct harness *harness, const struct intent *intent, struct err *err)
{
    const char *program = intent->program_kill.program;

    if (find_running(engine, harness, program, err) < 0)
        return -1;
    return harness->programs->kill(harness->programs, program, err);
}

void typing_end_left(struct engine *engine, uint32_t count)
{
    const struct session *session = engine_session(engine);

    for (uint32_t row = 0; row < count && row < session->program_count; row++) {
        const char *program = session_name(session, session->programs[row].id);
        struct event event = {.type = EVENT_PROGRAM_ENDED,
                              .program_ended = {.program = program,
                                                .exit_code = EVENT_NULL_INT,
                                                .why = "gone with the session that ran it"}};

        if (session_program_running(session, row) && session_find_program(session, program) == row &&
            emit(engine_emitter(engine), &event) < 0)
            return;
    }
}
