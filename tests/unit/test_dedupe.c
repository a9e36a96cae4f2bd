/* Tests of how a turn recognizes a call it has already made. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/test.h"
#include "turn/tally.h"

static void assert_key(const char *tool, const char *arguments, const char *text, const char *md5)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    char key[HASH_MD5_HEX];
    const struct json *json = arguments ? json_parse(&arena, arguments, strlen(arguments), NULL) : NULL;
    dedupe_key_text(&out, tool, json);
    assert_string_equal(out.buf, text);
    dedupe_key(key, tool, json);
    if (md5)
        assert_string_equal(key, md5);
}

TEST(keys_are_those_of_python)
{
    assert_key("list_dir", "{}", "list_dir:{}", "7dcb5c102f311b7f572806c82059a72e");
    assert_key("list_dir", NULL, "list_dir:{}", "7dcb5c102f311b7f572806c82059a72e");
    assert_key("local_search", "{\"q\":\"\xc3\xa9\"}", "local_search:{\"q\": \"\\u00e9\"}",
               "bc9b8715ad7100919f04490f14da62a3");
    assert_key("t", "{\"t\":true,\"f\":1.5}", "t:{\"f\": 1.5, \"t\": true}", "cf1db26b61942e7fdec0b321bf207375");
    assert_key("s", "{\"x\":1,\"y\":2}", "s:{\"x\": 1, \"y\": 2}", "2d52dc3067a4a5bd3b2d70d282183ea9");
    assert_key("s", "{ \"y\" : 2,\n\"x\" : 1 }", "s:{\"x\": 1, \"y\": 2}", "2d52dc3067a4a5bd3b2d70d282183ea9");
    assert_key("n", "{\"n\":9007199254740993}", "n:{\"n\": 9007199254740993}", NULL);
}

TEST(only_a_success_makes_a_duplicate)
{
    static const struct {
        enum outcome_type before;
        bool duplicate;
    } cases[] = {{OUTCOME_RESULT, true},
                 {OUTCOME_ARTIFACT, true},
                 {OUTCOME_FAILURE, false},
                 {OUTCOME_TIMEOUT, false},
                 {OUTCOME_DENIED, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dedupe dedupe;
        dedupe_init(&dedupe);
        assert_false(dedupe_should_skip(&dedupe, "k", true));
        dedupe_record(&dedupe, "k", cases[i].before);
        assert_int_equal(dedupe_should_skip(&dedupe, "k", true), cases[i].duplicate);
        assert_false(dedupe_should_skip(&dedupe, "other", true));
        assert_false(dedupe_should_skip(&dedupe, "k", false)); /* it may mean to do it twice */
        dedupe_release(&dedupe);
    }
}

TEST(a_retry_that_succeeds_counts)
{
    struct dedupe dedupe;
    dedupe_init(&dedupe);
    dedupe_record(&dedupe, "k", OUTCOME_TIMEOUT);
    dedupe_record(&dedupe, "k", OUTCOME_FAILURE);
    assert_false(dedupe_should_skip(&dedupe, "k", true));
    dedupe_record(&dedupe, "k", OUTCOME_RESULT);
    assert_true(dedupe_should_skip(&dedupe, "k", true));
    dedupe_release(&dedupe);
}

TEST(a_refusal_never_replaces_a_success)
{
    struct dedupe dedupe;
    dedupe_init(&dedupe);
    dedupe_record(&dedupe, "k", OUTCOME_RESULT);
    for (int i = 0; i < 3; i++) {
        assert_true(dedupe_should_skip(&dedupe, "k", true));
        dedupe_record(&dedupe, "k", OUTCOME_DENIED);
    }
    assert_true(dedupe_should_skip(&dedupe, "k", true));
    dedupe_release(&dedupe);
}

TEST(the_newest_real_run_decides)
{
    struct dedupe dedupe;
    dedupe_init(&dedupe);
    dedupe_record(&dedupe, "k", OUTCOME_RESULT);
    dedupe_record(&dedupe, "k", OUTCOME_FAILURE);
    assert_false(dedupe_should_skip(&dedupe, "k", true));
    dedupe_release(&dedupe);
}

TEST(a_new_turn_has_no_history)
{
    struct dedupe dedupe;
    dedupe_init(&dedupe);
    dedupe_record(&dedupe, "k", OUTCOME_RESULT);
    dedupe_release(&dedupe);
    dedupe_init(&dedupe);
    assert_false(dedupe_should_skip(&dedupe, "k", true));
    dedupe_release(&dedupe);
}
