/* One call, one outcome: what is written, and told to the model, when the answer is not a plain yes. */

#include "support/answers.h"
#include "support/test.h"
#include "support/writing.h"

WRITE_TEST(partial_writes_and_tells_what_was_kept)
{
    struct writing *f = *state;
    scratch_write(&f->test.rig.scratch, "work/f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    f->tool.text = "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n";
    f->test.decision =
        (struct decision){.kind = DECISION_PARTIAL, .hunks = HUNKS("f.txt", 2, 1), .reason = "leave the end alone"};
    const struct outcome *outcome = run(f);
    assert_file(f, "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    assert_string_equal(outcome->result.output,
                        "{\"ok\":true,\"approval\":{\"decision\":\"partial\",\"applied\":\"hunks 1 of 2\","
                        "\"refused\":[{\"path\":\"f.txt\",\"hunk\":2,\"lines\":\"-12\\n+twelve\\n\"}],"
                        "\"reason\":\"leave the end alone\"}}");
    char digest[HASH_SHA256_HEX];
    CLEANUP(free) char *text = scratch_read(&f->test.rig.scratch, "work/f.txt", NULL);
    hash_sha256(text, strlen(text), digest);
    assert_string_equal(f->test.applied->files.items[0].digest, digest); /* what was written, not what was proposed */
}

WRITE_TEST(partial_of_nothing_is_a_refusal)
{
    struct writing *f = *state;
    f->test.decision = (struct decision){
        .kind = DECISION_PARTIAL, .hunks = CHOICES(1, CHOICE_OF_NONE("f.txt", 1)), .reason = "all wrong"};
    assert_denied(run(f), DENIAL_WRITE_DENIED, "kept no part of what was proposed: all wrong");
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

WRITE_TEST(edited_writes_and_tells_the_users_version)
{
    struct writing *f = *state;
    struct err err = ERR_INIT;
    struct change_set *edited = change_set_new();
    struct change *change = change_set_add(edited, f->test.rig.harness.root, "f.txt", &err);
    change_side_set(&change->new, "better\n", 7, 0644);
    f->tool.output = "[1]";
    f->test.decision = (struct decision){.kind = DECISION_EDITED, .edited = edited};
    const struct outcome *outcome = run(f);
    change_set_free(edited);
    assert_file(f, "better\n");
    assert_non_null(strstr(outcome->result.output, "{\"output\":[1],\"approval\":{\"decision\":\"edited\""));
    assert_non_null(strstr(outcome->result.output, "-new\\n+better\\n"));
}

WRITE_TEST(an_answer_that_does_not_fit_writes_nothing)
{
    struct writing *f = *state;
    f->test.decision = (struct decision){.kind = DECISION_PARTIAL, .hunks = HUNKS("f.txt", 9, 1)};
    start(f);
    write_rig_run(&f->test);
    assert_false(f->test.answered);
    assert_string_equal(f->test.refusal.text, "f.txt has 1 hunks, the answer is about 9");
    assert_log(f, "ask c1"); /* the question stays open */
    assert_string_equal(write_rig_say(&f->test, &(struct decision){.kind = DECISION_DENIED}), "");
    write_rig_run(&f->test);
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

/* One of a recording is not asked about. */
WRITE_TEST(a_recorded_answer_that_does_not_fit_writes_nothing)
{
    struct writing *f = *state;
    rules_record(f->test.rig.harness.rules, 1, "c1",
                 &(struct decision){.kind = DECISION_PARTIAL, .hunks = HUNKS("f.txt", 9, 1)});
    assert_denied(run(f), DENIAL_WRITE_DENIED, "does not fit: f.txt has 1 hunks");
    assert_log(f, "denied c1");
    assert_file(f, "old\n");
}

WRITE_TEST(a_set_is_written_as_a_whole)
{
    struct writing *f = *state;
    f->tool.path2 = "g.txt";
    f->tool.text2 = "second\n";
    run(f);
    CLEANUP(free) char *second = scratch_read(&f->test.rig.scratch, "work/g.txt", NULL);
    assert_string_equal(second, "second\n");
    assert_int_equal(f->test.applied->files.count, 2);
    assert_file(f, "new\n");
}
