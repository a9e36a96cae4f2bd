/* Tests of servers that behave and servers that do not: a real process with every fault. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/mcp_rig.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

#define LONG_S  60    /* for what comes in any case */
#define SOON_US 20000 /* for what never comes */

/* A rig with one fake server of these faults, opened. */
#define OPEN(rig, ...)                    \
    struct mcp_rig rig;                   \
    (void)state;                          \
    mcp_rig_init(&rig);                   \
    mcp_rig_fake(&rig, "f", __VA_ARGS__); \
    mcp_rig_open(&rig, LONG_S)

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" has no \"%s\"", text, part);
}

TEST(handshake_and_call)
{
    OPEN(rig, NULL);
    struct mcp_status status = mcp_status(rig.mcp, 0);
    assert_true(rig.all_ready);
    assert_int_equal(status.state, MCP_READY);
    assert_string_equal(status.protocol, "2025-11-25");
    assert_string_equal(status.title, "fake\x1b[2J"); /* unchanged: the code that shows it makes it harmless */
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"hi\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: hi\"}");
    check_has(mcp_status(rig.mcp, 0).said, "ready");
    mcp_rig_release(&rig);
}

TEST(other_ways_to_begin)
{
    static const struct {
        const char *fault, *protocol;
    } cases[] = {{"old", "2024-11-05"},      {"modern", "2026-07-28"}, {"dies-of-probe", "2025-11-25"},
                 {"no-probe", "2025-11-25"}, {"noisy", "2025-11-25"},  {"pages", "2025-11-25"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_rig rig;
        mcp_rig_init(&rig);
        if (strcmp(cases[i].fault, "no-probe") == 0)
            rig.pace.probe_us = SOON_US;
        mcp_rig_fake(&rig, "f", cases[i].fault, NULL);
        mcp_rig_open(&rig, LONG_S);
        assert_int_equal(mcp_status(rig.mcp, 0).state, MCP_READY);
        assert_string_equal(mcp_status(rig.mcp, 0).protocol, cases[i].protocol);
        assert_int_equal(registry_count(rig.registry), 16);
        mcp_rig_call(&rig, "f__echo", "{\"text\":\"hi\"}");
        assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: hi\"}");
        mcp_rig_release(&rig);
    }
}

TEST(failed_start_has_a_reason)
{
    static const struct {
        const char *fault, *why;
    } cases[] = {{"dies", "it exited with status 7, last output: cannot find my hat"},
                 {"unknown-version", "it uses protocol version \"1999-01-01\", which Keyturn does not support"},
                 {"future", "it uses no protocol version that Keyturn supports"},
                 {"list-error", "tools/list: cannot list"},
                 {"flood", "it keeps printing text that is not JSON-RPC"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        OPEN(rig, cases[i].fault, NULL);
        assert_int_equal(mcp_status(rig.mcp, 0).state, MCP_FAILED);
        check_has(mcp_status(rig.mcp, 0).why, cases[i].why);
        assert_int_equal(registry_count(rig.registry), 0);
        mcp_rig_release(&rig);
    }
}

TEST(a_missing_program_is_reported)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    mcp_rig_server(&rig, "f", "no-such-program-anywhere", NULL);
    mcp_rig_server(&rig, "g", "/bin/cat", NULL)->cwd = "/no/such/folder";
    mcp_rig_server(&rig, "h", "true", NULL)->disabled = true;
    mcp_rig_server(&rig, "i", "true", NULL)->refused = "because";
    mcp_rig_open(&rig, LONG_S);
    check_has(mcp_status(rig.mcp, 0).why, "it is not in PATH");
    check_has(mcp_status(rig.mcp, 1).why, "/no/such/folder");
    assert_int_equal(mcp_status(rig.mcp, 2).state, MCP_OFF);
    assert_string_equal(mcp_status(rig.mcp, 3).why, "because");
    mcp_rig_release(&rig);
}

TEST(the_wait_at_session_start_is_bounded)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    mcp_rig_fake(&rig, "slow", "silent", NULL);
    mcp_rig_fake(&rig, "silent", "list-silence", NULL);
    mcp_rig_open(&rig, 0.2);
    assert_false(rig.all_ready);
    assert_int_equal(mcp_status(rig.mcp, 0).state, MCP_STARTING);
    mcp_rig_release(&rig);
}

TEST(an_echo_of_our_own_words_is_no_server)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    mcp_rig_server(&rig, "cat", "cat", NULL); /* our requests come back: as requests */
    mcp_rig_open(&rig, 0.2);
    assert_int_equal(registry_count(rig.registry), 0);
    mcp_rig_release(&rig);
}

TEST(lists_without_an_end_have_one)
{
    OPEN(endless, "endless", NULL);
    assert_int_equal(mcp_status(endless.mcp, 0).state, MCP_READY);
    assert_int_equal(registry_count(endless.registry), 0);
    mcp_rig_release(&endless);
    OPEN(circle, "circle", NULL);
    assert_int_equal(registry_count(circle.registry), 16);
    mcp_rig_release(&circle);
    OPEN(many, "many", NULL);
    assert_true(registry_count(many.registry) <= 256);
    mcp_rig_release(&many);
}

TEST(hostile_tools_are_cleaned_or_left_out)
{
    OPEN(rig, "escapes", "twice", "bad-schema", NULL);
    assert_non_null(registry_find(rig.registry, "f__31mred_"));
    assert_non_null(registry_find(rig.registry, "f__a_b"));
    size_t left_out = 0;
    for (size_t i = 0; i < registry_count(rig.registry); i++)
        assert_int_equal(strcspn(registry_at(rig.registry, i)->spec.name, "\x1b\x07. "),
                         strlen(registry_at(rig.registry, i)->spec.name));
    assert_int_equal(registry_find(rig.registry, "f__echo")->spec.effect, EFFECT_READ_ONLY); /* the first counts */
    for (size_t i = 0; i < mcp_status(rig.mcp, 0).offer_count; i++)
        left_out += mcp_offer(rig.mcp, 0, i).left_out != NULL;
    assert_int_equal(left_out, 5); /* task, no_schema, bad, list, heavy */
    mcp_rig_release(&rig);
}

TEST(a_server_without_tools)
{
    OPEN(rig, "no-tools", NULL);
    assert_int_equal(mcp_status(rig.mcp, 0).state, MCP_READY);
    assert_int_equal(registry_count(rig.registry), 0);
    mcp_rig_release(&rig);
}

TEST(results_and_errors)
{
    OPEN(rig, NULL);
    mcp_rig_call(&rig, "f__fail", "{}");
    assert_string_equal(mcp_rig_error(&rig), "it \x1b[31mfailed");
    mcp_rig_call(&rig, "f__refuse", "{}");
    assert_string_equal(mcp_rig_error(&rig), "no such thing");
    mcp_rig_call(&rig, "f__image", "{}");
    assert_string_equal(mcp_rig_output(&rig),
                        "{\"text\":\"\",\"attached\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"bytes\":300}]}");
    mcp_rig_call(&rig, "f__ask", "{}"); /* no text of a server counts as a question of the executor */
    assert_string_equal(mcp_rig_output(&rig), "{\"structured\":{\"needs_confirmation\":true}}");
    assert_int_equal(rig.test.questions, 0);
    mcp_rig_call(&rig, "f__long", "{}");
    assert_int_equal(rig.test.heard.outcomes[rig.test.heard.outcome_count - 1].type, OUTCOME_ARTIFACT);
    mcp_rig_call(&rig, "f__huge", "{}");
    check_has(mcp_rig_error(&rig), "the server sent a line of more than 8 MB");
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"still here\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: still here\"}");
    assert_string_equal(rig.changes.buf, ""); /* it was not started again for that */
    mcp_rig_release(&rig);
}

TEST(progress_is_shown)
{
    OPEN(rig, NULL);
    mcp_rig_call(&rig, "f__progress", "{}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"done\"}");
    assert_string_equal(rig.test.heard.output.buf, "1 of 4: \x1b[31mhalf\n");
    mcp_rig_release(&rig);
}

TEST(roots_are_the_workspace_and_the_environment_is_small)
{
    struct mcp_rig rig;
    static const char *const env[] = {"FAKE_SECRET=very-secret-value", NULL};
    setenv("FAKE_LEAK", "1", 1);
    mcp_rig_init(&rig);
    mcp_rig_fake(&rig, "f", NULL)->env = env;
    mcp_rig_open(&rig, LONG_S);
    mcp_rig_call(&rig, "f__roots", "{}");
    check_has(mcp_rig_output(&rig), "file:///");
    check_has(mcp_rig_output(&rig), "/work\\\"");
    mcp_rig_call(&rig, "f__environment", "{}");
    check_has(mcp_rig_output(&rig), "FAKE_SECRET");
    assert_null(strstr(mcp_rig_output(&rig), "FAKE_LEAK"));
    mcp_rig_release(&rig);
}

TEST(a_secret_that_it_prints_is_not_shown)
{
    struct mcp_rig rig;
    static const char *const env[] = {"FAKE_SECRET=very-secret-value", NULL};
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    mcp_rig_init(&rig);
    mcp_rig_fake(&rig, "f", "leaks", NULL)->env = env;
    mcp_rig_open(&rig, LONG_S);
    struct mcp_status status = mcp_status(rig.mcp, 0);
    mcp_status_write(&line, &status);
    check_has(line.buf, "last output: my key is [secret FAKE_SECRET]");
    mcp_rig_release(&rig);
}

TEST(a_canceled_call_ends_at_once)
{
    OPEN(rig, NULL);
    struct bounded_call *call = mcp_rig_begin(&rig, "f__sleep", "{}");
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"meanwhile\"}"); /* so it is under way */
    bounded_cancel(call);
    mcp_rig_wait(&rig);
    check_has(mcp_rig_error(&rig), "canceled by the user");
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"after\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: after\"}");
    mcp_rig_release(&rig);
}

TEST(a_call_that_takes_too_long_is_canceled)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    mcp_rig_fake(&rig, "f", "tells-cancels", NULL)->timeout_s = 0.5;
    mcp_rig_open(&rig, LONG_S);
    mcp_rig_call(&rig, "f__sleep", "{}");
    check_has(mcp_rig_error(&rig), "no answer within 0.5 s");
    const char *said = "";
    while (!strstr(said, "timeout")) { /* it is in a hurry with its answers too */
        mcp_rig_call(&rig, "f__echo", "{\"text\":\"so\"}");
        const struct outcome *outcome = &rig.test.heard.outcomes[rig.test.heard.outcome_count - 1];
        said = outcome->type == OUTCOME_RESULT ? outcome->result.output : "";
    }
    mcp_rig_release(&rig);
}

TEST(questions_of_a_server_are_declined)
{
    OPEN(rig, "modern", NULL);
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"?\"}"); /* this one works without it */
    check_has(mcp_rig_output(&rig), "[{\\\"who\\\": {\\\"action\\\": \\\"decline\\\"}}, \\\"s1\\\"]");
    check_has(rig.test.heard.output.buf, "Who \\u001b[31mare you?"); /* people can read it */
    mcp_rig_release(&rig);
    OPEN(insists, "modern", "insists", NULL);
    mcp_rig_call(&insists, "f__echo", "{\"text\":\"?\"}");
    check_has(mcp_rig_error(&insists), "MCP server f requested input, which Keyturn does not support: "
                                       "who (elicitation/create): {\"message\":\"Who \\u001b[31mare you?\"}");
    mcp_rig_release(&insists);
}
