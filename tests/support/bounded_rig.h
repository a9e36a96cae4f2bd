#pragma once
/* The executor alone, with everything a turn would provide: a workspace, a store, clocks and a loop in virtual time,
 * and a tool that reads. The rig denies every write (write_rig.h can decide about them) and logs what happens
 * (call_log.h).
 *
 *     TEST_WITH(name, set_up_read, tear_down) { struct bounded_rig *f = *state; … run(f) … }
 *
 * bounded_rig_release frees the loop, which aborts if a timer, a task or a job is left. */

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "call_log.h"
#include "fake_tools.h"
#include "scratch.h"
#include "tools/bounded.h"

#define SECONDS(s) ((int64_t)((s)*1000000))

struct bounded_rig {
    struct bounded_host host;
    struct emitter emitter; /* logs what the executor emits */
    struct scratch scratch; /* "ws" is the workspace, "artifacts" the artifacts */
    struct fake_clock fake; /* begins at 100 s */
    struct hold_clock hold;
    struct loop *loop;
    struct call_states trace;
    struct tool_env env;
    struct arena arena;
    struct fake_tool tool;

    /* What the rig does. */
    void (*on_propose)(struct bounded_rig *rig, struct bounded_call *call); /* decides; NULL: deny */
    void (*on_done)(struct bounded_rig *rig, struct bounded_call *call);
    void *data;

    /* What happened. */
    struct call_log heard;
    int proposals;
    struct strbuf cited; /* "a.txt, https://… (web)" */
};

void bounded_rig_init(struct bounded_rig *rig);
void bounded_rig_release(struct bounded_rig *rig);

/* Starts a call with {"path": "x"} in a turn with `turn_s` left. */
struct bounded_call *bounded_rig_start(struct bounded_rig *rig, const struct tool *tool, const char *call,
                                       double turn_s, double cap_s);
/* Runs until no event is left. */
void bounded_rig_run(struct bounded_rig *rig);
/* Runs for this long on the loop's clock. */
void bounded_rig_run_for(struct bounded_rig *rig, int64_t ms);

static inline int set_up_read(void **state)
{
    struct bounded_rig *f = *state = xcalloc(1, sizeof(*f));
    bounded_rig_init(f);
    return 0;
}

static inline int tear_down(void **state)
{
    struct bounded_rig *f = *state;
    bounded_rig_release(f);
    free(f);
    return 0;
}

static inline struct bounded_call *start(struct bounded_rig *f)
{
    return bounded_rig_start(f, &f->tool.tool, "c1", 60, 5);
}

/* Runs a call from its start until no event is left. */
static inline const struct outcome *run(struct bounded_rig *f)
{
    size_t before = f->heard.outcome_count;
    start(f);
    assert_int_equal(f->heard.outcome_count, before); /* never called before bounded_rig_start returns */
    assert_int_equal(f->host.pending, 1);
    bounded_rig_run(f);
    assert_int_equal(f->heard.outcome_count, before + 1);
    return &f->heard.outcomes[before];
}

static inline void assert_log(const struct bounded_rig *f, const char *expected)
{
    assert_string_equal(f->heard.words.buf, expected);
}
