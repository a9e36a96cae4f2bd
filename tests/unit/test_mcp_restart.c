/* Tests of servers that exit, hang, do not read or do not end. */

#include "base/arena.h"
#include "base/mem.h"
#include "support/mcp_rig.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

#define LONG_S  60    /* for what comes in any case */
#define SOON_US 20000 /* for what never comes */

#define OPEN(rig, ...)                    \
    struct mcp_rig rig;                   \
    (void)state;                          \
    mcp_rig_init(&rig);                   \
    hurry(&rig);                          \
    mcp_rig_fake(&rig, "f", __VA_ARGS__); \
    mcp_rig_open(&rig, LONG_S)

/* These servers never do this, so the test does not wait for it. */
static void hurry(struct mcp_rig *rig)
{
    rig->pace.ping_us = rig->pace.pause_us = rig->pace.end_us = rig->pace.term_us = SOON_US;
}

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" has no \"%s\"", text, part);
}

TEST(server_that_exits_is_restarted)
{
    OPEN(rig, NULL);
    mcp_rig_call(&rig, "f__die", "{}");
    check_has(mcp_rig_error(&rig), "it was killed by signal 9");
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"again\"}"); /* waits for it */
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: again\"}");
    assert_string_equal(rig.changes.buf, "f PAUSING, f STARTING, f READY");
    mcp_rig_release(&rig);
}

TEST(server_that_keeps_failing_is_given_up)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    hurry(&rig);
    rig.pace.steady_us = 0; /* each start counts when it is ready, which it never is again */
    CLEANUP(free) char *file = scratch_path(&rig.test.rig.scratch, "starts");
    const char *env[] = {arena_printf(&rig.test.rig.arena, "FAKE_MCP_STARTS=%s", file), NULL};
    mcp_rig_fake(&rig, "f", "dies-later", NULL)->env = env;
    mcp_rig_open(&rig, LONG_S);
    mcp_rig_call(&rig, "f__die", "{}");
    mcp_rig_until(&rig, MCP_FAILED);
    CLEANUP(free) char *starts = scratch_read(&rig.test.rig.scratch, "starts", NULL);
    assert_string_equal(starts, "xxxxx"); /* once, and four times more */
    mcp_rig_call(&rig, "f__echo", "{}");
    check_has(mcp_rig_error(&rig), "MCP server f is not running: it exited with status 7");
    assert_true(registry_count(rig.registry) > 0);
    mcp_register(rig.mcp, rig.registry); /* the next turn is not offered tools that no server would answer */
    assert_int_equal(registry_count(rig.registry), 0);
    mcp_rig_release(&rig);
}

TEST(server_with_endless_requests_is_stopped)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    hurry(&rig);
    mcp_rig_fake(&rig, "f", "pinger", NULL);
    mcp_rig_open(&rig, LONG_S);
    assert_int_equal(mcp_status(rig.mcp, 0).state, MCP_FAILED);
    mcp_rig_release(&rig);
}

TEST(server_that_ignores_sigterm_is_killed)
{
    OPEN(rig, "stubborn", NULL);
    mcp_rig_release(&rig); /* loop_free waits for what is left */
}

/* Calls of a server that does not read: the client buffers what it sends, but not without limit. */
TEST(server_that_does_not_read_is_stopped)
{
    CLEANUP(strbuf) struct strbuf arguments = STRBUF_INIT;
    struct bounded_call *calls[8];
    OPEN(rig, "deaf", NULL);
    strbuf_addstr(&arguments, "{\"text\":\"");
    for (int i = 0; i < 1 << 20; i++)
        strbuf_addch(&arguments, 'x');
    strbuf_addstr(&arguments, "\"}");
    mcp_rig_begin(&rig, "f__sleep", "{}");
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        calls[i] = mcp_rig_begin(&rig, "f__echo", arguments.buf);
    mcp_rig_until(&rig, MCP_PAUSING);
    check_has(mcp_status(rig.mcp, 0).why, "it does not read its input");
    while (rig.test.heard.outcome_count <
           COUNT_OF(calls) + 1) /* each has its end, or waits for the server to come back */
        mcp_rig_wait(&rig);
    mcp_rig_release(&rig);
}

TEST(server_that_hangs_is_restarted)
{
    OPEN(rig, "no-pong", NULL);
    struct bounded_call *call = mcp_rig_begin(&rig, "f__sleep", "{}");
    mcp_rig_call(&rig, "f__echo", "{}");
    bounded_cancel(call);
    mcp_rig_wait(&rig);
    mcp_rig_until(&rig, MCP_PAUSING); /* it owed an answer and does not answer a ping */
    check_has(mcp_status(rig.mcp, 0).why, "it no longer responds");
    mcp_rig_release(&rig);
}
