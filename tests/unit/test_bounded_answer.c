/* One call, one outcome: what is written, and told to the model, when the answer is not a plain yes. */

#include "support/bounded_rig.h"

static void test_partial_writes_and_tells_what_was_kept(void **state)
{
    struct bounded_rig *f = *state;
    scratch_write(&f->test.scratch, "ws/f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    f->tool.text = "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n";
    f->test.verdict = (struct verdict){.decision = DECISION_PARTIAL,
                                       .hunks = (char[]){"[{\"path\":\"f.txt\",\"keep\":[1],\"of\":2}]"},
                                       .reason = (char[]){"leave the end alone"}};
    const struct outcome *outcome = run(f);
    assert_file(f, "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    assert_string_equal(outcome->result.output,
                        "{\"ok\":true,\"approval\":{\"decision\":\"partial\",\"applied\":\"hunks 1 of 2\","
                        "\"refused\":[{\"path\":\"f.txt\",\"hunk\":2,\"lines\":\"-12\\n+twelve\\n\"}],"
                        "\"reason\":\"leave the end alone\"}}");
    char digest[HASH_SHA256_HEX];
    CLEANUP(free) char *text = scratch_read(&f->test.scratch, "ws/f.txt", NULL);
    hash_sha256(text, strlen(text), digest);
    assert_string_equal(f->test.applied->files.items[0].digest, digest); /* what was written, not what was proposed */
}

static void test_partial_of_nothing_is_a_refusal(void **state)
{
    struct bounded_rig *f = *state;
    f->test.verdict = (struct verdict){.decision = DECISION_PARTIAL,
                                       .hunks = (char[]){"[{\"path\":\"f.txt\",\"keep\":[],\"of\":1}]"},
                                       .reason = (char[]){"all wrong"}};
    assert_denied(run(f), DENIAL_WRITE_DENIED, "kept no part of what was proposed: all wrong");
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

static void test_edited_writes_and_tells_the_users_version(void **state)
{
    struct bounded_rig *f = *state;
    struct err err = ERR_INIT;
    struct change_set *edited = change_set_new();
    struct change *change = change_set_add(edited, f->test.env.root, "f.txt", &err);
    change_side_set(&change->new, "better\n", 7, 0644);
    f->tool.output = "[1]";
    f->test.verdict = (struct verdict){.decision = DECISION_EDITED, .edited = edited};
    const struct outcome *outcome = run(f);
    change_set_free(edited);
    assert_file(f, "better\n");
    assert_non_null(strstr(outcome->result.output, "{\"output\":[1],\"approval\":{\"decision\":\"edited\""));
    assert_non_null(strstr(outcome->result.output, "-new\\n+better\\n"));
}

static void test_an_answer_that_does_not_fit_writes_nothing(void **state)
{
    struct bounded_rig *f = *state;
    f->test.verdict = (struct verdict){.decision = DECISION_PARTIAL,
                                       .hunks = (char[]){"[{\"path\":\"f.txt\",\"keep\":[1],\"of\":9}]"}};
    assert_denied(run(f), DENIAL_WRITE_DENIED, "does not fit what was proposed: f.txt has 1 hunks");
    assert_file(f, "old\n");
}

static void test_a_set_is_written_as_a_whole(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.path2 = "g.txt";
    f->tool.text2 = "second\n";
    run(f);
    CLEANUP(free) char *second = scratch_read(&f->test.scratch, "ws/g.txt", NULL);
    assert_string_equal(second, "second\n");
    assert_int_equal(f->test.applied->files.count, 2);
    assert_file(f, "new\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_write, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_partial_writes_and_tells_what_was_kept),
        TEST(test_partial_of_nothing_is_a_refusal),
        TEST(test_edited_writes_and_tells_the_users_version),
        TEST(test_an_answer_that_does_not_fit_writes_nothing),
        TEST(test_a_set_is_written_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
