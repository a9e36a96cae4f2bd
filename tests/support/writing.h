#pragma once
/* One call, one outcome: a write_rig and a tool that proposes to make f.txt, which holds "old", hold "new". */

#include "base/mem.h"
#include "support/test.h"
#include "support/write_rig.h"
#include <string.h>

struct writing {
    struct write_rig test;
    struct fake_tool tool;
};

static inline int set_up_write(void **state)
{
    struct writing *f = *state = xcalloc(1, sizeof(*f));
    write_rig_init(&f->test);
    fake_tool_init(&f->tool, "write_file", EFFECT_LOCAL_WRITE);
    scratch_write(&f->test.rig.scratch, "work/f.txt", "old\n");
    f->tool.asks = FAKE_PROPOSES;
    f->tool.path = "f.txt";
    f->tool.text = "new\n";
    return 0;
}

static inline int tear_down_write(void **state)
{
    struct writing *f = *state;
    write_rig_release(&f->test);
    fake_tool_release(&f->tool);
    free(f);
    return 0;
}

#define WRITE_TEST(name) TEST_WITH(name, set_up_write, tear_down_write)

static inline struct bounded_call *start(struct writing *f)
{
    return write_rig_start(&f->test, &f->tool.tool, "c1", NULL, 60, 5);
}

/* A call from its start to the end of everything. */
static inline const struct outcome *run(struct writing *f)
{
    size_t before = f->test.outcome_count;
    start(f);
    assert_int_equal(f->test.outcome_count, before); /* never from within */
    assert_int_equal(f->test.turn->host.pending, 1);
    write_rig_run(&f->test);
    assert_int_equal(f->test.outcome_count, before + 1);
    return &f->test.outcomes[before];
}

static inline void assert_log(const struct writing *f, const char *expected)
{
    assert_string_equal(f->test.log.buf, expected);
}

static inline void assert_file(const struct writing *f, const char *expected)
{
    CLEANUP(free) char *text = scratch_read(&f->test.rig.scratch, "work/f.txt", NULL);
    assert_string_equal(text, expected);
}

static inline void assert_denied(const struct outcome *outcome, enum denial reason, const char *details)
{
    assert_int_equal(outcome->type, OUTCOME_DENIED);
    assert_string_equal(denial_name(outcome->denied.reason), denial_name(reason));
    assert_non_null(strstr(outcome->denied.details, details));
}

static inline void assert_failed(const struct outcome *outcome, bool retryable, const char *error)
{
    assert_int_equal(outcome->type, OUTCOME_FAILURE);
    assert_non_null(strstr(outcome->failure.error, error));
    assert_int_equal(outcome->failure.retryable, retryable);
}
