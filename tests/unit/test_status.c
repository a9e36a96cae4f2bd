/* Tests of the status line while a retry waits: it counts down, and shows when the next attempt begins. */

#include "app/status.h"
#include "base/mem.h"
#include "event/event.h"
#include "support/canvas_dump.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

static void apply(struct session *session, const char *line)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    assert_int_equal(event_decode(&event, &arena, line, strlen(line), NULL), 0);
    session_apply(session, &event);
}

static void shows(const struct session *session, int64_t now_t, const char *words)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct view view = {.mode = VIEW_LIVE, .session = session, .title = "ws", .now_t = now_t};
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 1, 100);
    statusline_top(&canvas, rect_make(0, 0, 1, 100), &view, false);
    canvas_dump(&out, &canvas, false);
    canvas_release(&canvas);
    if (!strstr(out.buf, words))
        fail_msg("%s is not in %s", words, out.buf);
}

TEST(wait_for_a_model_that_failed_is_counted_down)
{
    CLEANUP(session) struct session session;
    session_init(&session);
    apply(&session, "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1}");
    apply(&session, "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"x\"}");
    apply(&session, "{\"seq\":3,\"t\":1000,\"turn\":1,\"type\":\"model.requested\",\"step\":1}");
    shows(&session, 2000, "waiting for the model");
    apply(&session,
          "{\"seq\":4,\"t\":1000000,\"turn\":1,\"type\":\"model.failed\",\"step\":1,\"error\":\"529\",\"attempt\":1,"
          "\"retry_in_ms\":2500}");
    shows(&session, 1000000, "model failed, retry in 3 s");
    shows(&session, 2000000, "retry in 2 s");
    shows(&session, 3400000, "retry in 1 s");
    shows(&session, 3500000, "model failed, retrying");
    apply(&session, "{\"seq\":5,\"t\":3500000,\"turn\":1,\"type\":\"model.requested\",\"step\":1}");
    shows(&session, 3500000, "model failed, retrying");
    apply(&session, "{\"seq\":6,\"t\":4000000,\"turn\":1,\"type\":\"model.responded\",\"step\":1,\"text\":\"hello\"}");
    shows(&session, 4000000, "working");
}

TEST(invalid_delays_show_no_countdown)
{
    static const char *const waits[] = {"null", "-5", "9223372036854775807", "9223372036854775"};
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        CLEANUP(session) struct session session;
        CLEANUP(free)
        char *line = xasprintf("{\"seq\":3,\"t\":1000000,\"turn\":1,\"type\":\"model.failed\",\"step\":1,"
                               "\"error\":\"x\",\"attempt\":1,\"retry_in_ms\":%s}",
                               waits[i]);
        session_init(&session);
        apply(&session, "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1}");
        apply(&session, "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"x\"}");
        apply(&session, line);
        assert_int_equal(session.model_retry_t, 0);
        shows(&session, 1000000, "model failed, retrying");
    }
}

static void shows_engines(const struct session *session, int cols, const char *programs, bool unsafe, const char *words)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct view view = {
        .mode = VIEW_LIVE, .session = session, .title = "ws", .program_engine = programs, .program_unsafe = unsafe};
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 1, cols);
    statusline_top(&canvas, rect_make(0, 0, 1, cols), &view, false);
    canvas_dump(&out, &canvas, false);
    canvas_release(&canvas);
    if (!strstr(out.buf, words))
        fail_msg("%s is not in %s", words, out.buf);
    if (!programs && strstr(out.buf, "programs"))
        fail_msg("programs are in %s", out.buf);
}

TEST(engines_of_scripts_and_programs)
{
    CLEANUP(session) struct session session;
    session_init(&session);
    apply(&session, "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"engine\":\"bwrap\"}");
    apply(&session, "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"x\"}");
    shows_engines(&session, 100, NULL, false, " bwrap   0.0 s");
    shows_engines(&session, 100, "podman", false, " scripts bwrap · programs podman   0.0 s");
    shows_engines(&session, 100, "none", true, " scripts bwrap · programs none UNSAFE   0.0 s");
    shows_engines(&session, 80, "none", true, " programs none UNSAFE   0.0 s");
    shows_engines(&session, 80, "podman", false, "   0.0 s");
}
