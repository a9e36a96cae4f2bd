#pragma once
/* One call, one outcome: a test_host and a tool that is called there, one that reads. */

#include "base/mem.h"
#include "support/test_host.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct bounded_rig {
    struct test_host test;
    struct fake_tool tool;
};

static inline int set_up_read(void **state)
{
    struct bounded_rig *f = *state = xcalloc(1, sizeof(*f));
    test_host_init(&f->test);
    fake_tool_init(&f->tool, "tool", EFFECT_READ_ONLY);
    return 0;
}

static inline int tear_down(void **state)
{
    struct bounded_rig *f = *state;
    test_host_release(&f->test);
    fake_tool_release(&f->tool);
    free(f);
    return 0;
}

static inline struct bounded_call *start(struct bounded_rig *f)
{
    return test_host_start(&f->test, &f->tool.tool, "c1", 60, 5);
}

/* A call from its start to the end of everything. */
static inline const struct outcome *run(struct bounded_rig *f)
{
    size_t before = f->test.outcome_count;
    start(f);
    assert_int_equal(f->test.outcome_count, before); /* never from within */
    assert_int_equal(f->test.host.pending, 1);
    test_host_run(&f->test);
    assert_int_equal(f->test.outcome_count, before + 1);
    return &f->test.outcomes[before];
}

static inline void assert_log(const struct bounded_rig *f, const char *expected)
{
    assert_string_equal(f->test.log.buf, expected);
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
