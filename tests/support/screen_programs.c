/* Fake programs of a live screen: a case says what happens to them, and the log keeps what the user types. */

#include "base/mem.h"
#include "screen_stage.h"
#include "turn/turn.h"
#include <string.h>

static struct screen_stage *stage_of(struct program_control *control)
{
    return CONTAINER_OF(control, struct screen_stage, programs);
}

static int ready(struct program_control *control, const char *program, struct err *err)
{
    (void)control, (void)program, (void)err;
    return 0;
}

static void write_text(struct program_control *control, const char *program, const char *text, size_t len)
{
    (void)program, (void)text;
    strbuf_addf(&stage_of(control)->log, " (it gets %zu bytes)", len);
}

/* By its name, because a case has no terminal. */
static bool hides(struct program_control *control, const char *program)
{
    (void)control;
    return strcmp(program, "hidden") == 0;
}

static int kill_it(struct program_control *control, const char *program, struct err *err)
{
    (void)program, (void)err;
    strbuf_addstr(&stage_of(control)->log, " (it is ended)");
    return 0;
}

const struct program_control screen_programs = {.ready = ready, .write = write_text, .hides = hides, .kill = kill_it};

void screen_stage_tell(struct screen_stage *stage, const char *line)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    struct err err = ERR_INIT;
    if (!stage->engine)
        BUG("only a live screen emits events");
    if (event_decode(&event, &arena, line, strlen(line), &err) < 0)
        BUG("%s: %s", line, err.text);
    event.raw = NULL; /* the emitter adds a number and a time */
    if (emit(engine_emitter(stage->engine), &event) < 0)
        BUG("%s", engine_failed(stage->engine));
}
