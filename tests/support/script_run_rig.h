#pragma once
/* One run of a script against a scripted harness, in virtual time.
 *
 *     struct script_run_rig *f = *state;              of script_run_rig_set_up
 *     fake_channel_say(&f->harness, 10, RESULT("[1, 2]") DONE);
 *     script_run_rig_run(f);
 *     script_run_rig_expect_success(f, "[1, 2]", 10); */

#include "base/loop.h"
#include "base/strbuf.h"
#include "event/emitter.h"
#include "fake_channel.h"
#include "sandbox/script.h"

#define RESULT(data) "{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":" data "}\n"
#define STEP(data)   "{\"type\":\"intermediate\",\"execution_id\":\"e1\",\"label\":\"step\",\"data\":" data "}\n"
#define LOG(text)    "{\"type\":\"log\",\"execution_id\":\"e1\",\"message\":\"" text "\",\"level\":\"info\"}\n"
#define DONE         "{\"type\":\"script_done\",\"execution_id\":\"e1\"}\n"

struct script_run_rig {
    struct fake_clock clock;
    struct loop *loop;
    struct fake_channel config;
    struct script_request request; /* of "e1", with 10 s; may be changed before the start */
    struct script_run *run;
    struct script_result result;
    int64_t done_us;
    int dones;
    struct emitter emitter;
    struct strbuf events; /* each with its newline */
    int tellings;
    struct strbuf seen;  /* intermediates: data, then a space */
    int64_t callback_us; /* how long a callback takes; 0: no time */
    bool goes_on_within, cancels_within, cancels_at_event, callback_fails;
    struct loop_timer callback;
};

/* cmocka's state is a rig. */
int script_run_rig_set_up(void **state);
int script_run_rig_tear_down(void **state);

void script_run_rig_start(struct script_run_rig *f);
/* Runs from the start until no event is left; checks that it is done exactly once. */
void script_run_rig_run(struct script_run_rig *f);
void script_run_rig_expect_failure(const struct script_run_rig *f, const char *error, int64_t at_ms, bool closed);
void script_run_rig_expect_success(const struct script_run_rig *f, const char *data, int64_t at_ms);
