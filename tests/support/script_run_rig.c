/* Runs a script against a scripted harness in virtual time. */

#include "script_run_rig.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int on_events(struct emitter *emitter, struct event *events, size_t count)
{
    struct script_run_rig *f = CONTAINER_OF(emitter, struct script_run_rig, emitter);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&f->events, "%s\n", events[i].script_event.event);
    f->tellings++;
    if (f->cancels_at_event)
        script_run_cancel(f->run, "enough");
    return 0;
}

static void callback_over(struct loop_timer *timer)
{
    script_run_go_on(CONTAINER_OF(timer, struct script_run_rig, callback)->run);
}

static enum script_ack on_intermediate(void *user, const struct script_item *part, struct err *err)
{
    struct script_run_rig *f = user;
    strbuf_addf(&f->seen, "%s ", part->data);
    if (f->goes_on_within)
        script_run_go_on(f->run);
    if (f->cancels_within)
        script_run_cancel(f->run, "enough");
    if (f->callback_us)
        loop_timer_start(f->loop, &f->callback, loop_now_us(f->loop) + f->callback_us, callback_over);
    if (f->callback_fails) {
        err_set(err, "no room");
        return SCRIPT_HEARD_FAILED;
    }
    return f->callback_us || f->goes_on_within ? SCRIPT_HEARD_LATER : SCRIPT_HEARD;
}

static void on_done(void *user, struct script_result *take_result)
{
    struct script_run_rig *f = user;
    f->dones++;
    f->run = NULL;
    f->done_us = loop_now_us(f->loop);
    f->result = *take_result;
    *take_result = (struct script_result){0};
    loop_timer_stop(f->loop, &f->callback);
}

int script_run_rig_set_up(void **state)
{
    struct script_run_rig *f = xcalloc(1, sizeof(*f));
    fake_clock_init(&f->clock);
    f->loop = loop_new(&f->clock.base);
    fake_channel_init(&f->config, f->loop);
    f->emitter = (struct emitter){.emit = on_events};
    f->request =
        (struct script_request){.execution_id = "e1", .script = "pass", .timeout_s = 10, .emitter = &f->emitter};
    strbuf_init(&f->events);
    strbuf_init(&f->seen);
    *state = f;
    return 0;
}

int script_run_rig_tear_down(void **state)
{
    struct script_run_rig *f = *state;
    script_result_release(&f->result);
    strbuf_release(&f->events);
    strbuf_release(&f->seen);
    fake_channel_release(&f->config);
    loop_free(f->loop);
    free(f);
    return 0;
}

void script_run_rig_start(struct script_run_rig *f)
{
    f->run =
        script_run_start(f->loop, &f->config.base, &f->request, &(struct script_listener){on_intermediate, on_done, f});
    assert_int_equal(f->dones, 0); /* never called before the start returns */
}

void script_run_rig_run(struct script_run_rig *f)
{
    script_run_rig_start(f);
    loop_run(f->loop);
    assert_int_equal(f->dones, 1);
    assert_null(f->config.base.received);
    assert_null(f->config.base.ended);
}

void script_run_rig_expect_failure(const struct script_run_rig *f, const char *error, int64_t at_ms, bool closed)
{
    assert_false(f->result.success);
    assert_false(f->result.reusable);
    assert_string_equal(f->result.error, error);
    assert_null(f->result.final_data);
    assert_int_equal(f->done_us, at_ms * 1000);
    assert_int_equal(f->result.duration_ms, at_ms);
    assert_int_equal(f->config.closed, closed);
}

void script_run_rig_expect_success(const struct script_run_rig *f, const char *data, int64_t at_ms)
{
    assert_true(f->result.success);
    assert_true(f->result.reusable);
    assert_null(f->result.error);
    assert_string_equal(f->result.final_data, data);
    assert_int_equal(f->done_us, at_ms * 1000);
    assert_false(f->config.closed);
}
