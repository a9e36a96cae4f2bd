/* Tests of the automatic answers to a proposal: the mode, rules of the session, or the recording. */

#include "base/beneath.h"
#include "base/mem.h"
#include "support/scratch.h"
#include "support/test.h"
#include "turn/rules.h"
#include <string.h>

static struct scratch scratch;
static struct beneath *root;
static struct change_set *set; /* one file: two.txt */

static int setup(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    scratch_init(&scratch);
    root = beneath_open(scratch.path, &err);
    assert_non_null(root);
    set = change_set_new();
    assert_non_null(change_set_add(set, root, "two.txt", &err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    change_set_free(set);
    beneath_close(root);
    scratch_release(&scratch);
    return 0;
}

#define RULES_TEST(name) TEST_WITH(name, setup, teardown)

static struct decision decide(struct rules *rules, const char *call, const char *tool, const struct change_set *changes,
                              bool *nobody)
{
    struct rule_subject subject = {.turn = 1, .call = call, .tool = tool, .changes = changes};
    return rules_decide(rules, &subject, nobody);
}

static enum decision_kind judge(struct rules *rules, const char *call, const char *tool,
                                const struct change_set *changes)
{
    bool nobody;
    CLEANUP(decision) struct decision decision = decide(rules, call, tool, changes, &nobody);
    assert_false(nobody);
    return decision.kind;
}

RULES_TEST(modes_decide_without_a_question)
{
    bool nobody;
    struct rules *rules = rules_new(RULES_ASK, true);
    assert_int_equal(judge(rules, "c", "t", set), DECISION_NONE);
    rules_free(rules);
    rules = rules_new(RULES_ALLOW, false);
    assert_int_equal(judge(rules, "c", "t", set), DECISION_APPROVED);
    rules_free(rules);
    rules = rules_new(RULES_DENY, true);
    CLEANUP(decision) struct decision decision = decide(rules, "c", "t", set, &nobody);
    assert_int_equal(decision.kind, DECISION_DENIED);
    assert_int_equal(decision.by, BY_POLICY);
    assert_non_null(strstr(decision.reason, "every write"));
    assert_false(nobody);
    rules_free(rules);
}

RULES_TEST(no_user_means_denied_with_a_reason)
{
    struct rules *rules = rules_new(RULES_ASK, false);
    bool nobody = false;
    CLEANUP(decision) struct decision decision = decide(rules, "c", "t", set, &nobody);
    assert_int_equal(decision.kind, DECISION_DENIED);
    assert_int_equal(decision.by, BY_POLICY);
    assert_string_equal(decision.reason, "no user is present to approve it");
    assert_true(nobody);
    rules_free(rules);
}

RULES_TEST(rules_cover_this_tool_on_this_path)
{
    struct err err = ERR_INIT;
    struct rules *rules = rules_new(RULES_ASK, true);
    rules_allow(rules, "write_file", "two.txt");
    rules_allow(rules, "write_file", "two.txt");
    assert_int_equal(judge(rules, "c", "write_file", set), DECISION_APPROVED);
    assert_int_equal(judge(rules, "c", "edit_file", set), DECISION_NONE);
    assert_non_null(change_set_add(set, root, "other.txt", &err));
    assert_int_equal(judge(rules, "c", "write_file", set), DECISION_NONE);
    rules_allow(rules, "write_file", "other.txt");
    assert_int_equal(judge(rules, "c", "write_file", set), DECISION_APPROVED);
    assert_true(rules_revoke(rules, "write_file", "two.txt"));
    assert_false(rules_revoke(rules, "write_file", "two.txt"));
    assert_int_equal(judge(rules, "c", "write_file", set), DECISION_NONE);
    rules_free(rules);
}

RULES_TEST(no_rule_covers_a_foreign_tools_unknown_write)
{
    struct change_set *nothing = change_set_new();
    struct rules *rules = rules_new(RULES_ASK, true);
    rules_allow(rules, "foreign", "");
    assert_int_equal(judge(rules, "c", "foreign", nothing), DECISION_NONE);
    assert_int_equal(judge(rules, "c", "foreign", NULL), DECISION_NONE);
    rules_free(rules);
    change_set_free(nothing);
}

RULES_TEST(a_rule_without_a_path_covers_calls_that_show_no_file)
{
    struct change_set *nothing = change_set_new();
    struct rules *rules = rules_new(RULES_ASK, true);
    rules_allow(rules, "foreign", NULL);
    rules_allow(rules, "foreign", NULL);
    assert_int_equal(judge(rules, "c", "foreign", nothing), DECISION_APPROVED);
    assert_int_equal(judge(rules, "c", "other", nothing), DECISION_NONE);
    assert_int_equal(judge(rules, "c", "foreign", set), DECISION_NONE); /* the diff is checked */
    assert_false(rules_revoke(rules, "foreign", "two.txt"));
    assert_true(rules_revoke(rules, "foreign", NULL));
    assert_false(rules_revoke(rules, "foreign", NULL));
    rules_allow(rules, "foreign", NULL);
    rules_allow(rules, "foreign", "two.txt");
    rules_allow(rules, "other", NULL);
    rules_forget(rules, "foreign"); /* all of its rules, and no other tool's */
    assert_int_equal(judge(rules, "c", "foreign", set), DECISION_NONE);
    assert_int_equal(judge(rules, "c", "other", nothing), DECISION_APPROVED);
    assert_int_equal(judge(rules, "c", "foreign", nothing), DECISION_NONE);
    rules_free(rules);
    change_set_free(nothing);
}

/* "tool path, tool" */
static void check_listed(const struct rules *rules, const char *expected)
{
    char text[200] = "";
    for (size_t i = 0; i < rules_count(rules); i++) {
        const struct rule *rule = rules_at(rules, i);
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s%s%s%s", len ? ", " : "", rule->tool, rule->path ? " " : "",
                 rule->path ? rule->path : "");
    }
    assert_string_equal(text, expected);
}

RULES_TEST(permissions_are_listed_in_order_and_shrink)
{
    struct rules *rules = rules_new(RULES_ASK, true);
    check_listed(rules, "");
    rules_allow(rules, "write_file", "a.txt");
    rules_allow(rules, "foreign", NULL);
    rules_allow(rules, "edit_file", "a.txt");
    rules_allow(rules, "foreign", "b.txt");
    rules_allow(rules, "write_file", "a.txt"); /* exists already */
    check_listed(rules, "write_file a.txt, foreign, edit_file a.txt, foreign b.txt");
    assert_false(rules_revoke(rules, "write_file", "b.txt"));
    assert_false(rules_revoke(rules, "write_file", NULL));
    check_listed(rules, "write_file a.txt, foreign, edit_file a.txt, foreign b.txt");
    assert_true(rules_revoke(rules, "edit_file", "a.txt"));
    check_listed(rules, "write_file a.txt, foreign, foreign b.txt");
    rules_forget(rules, "foreign");
    check_listed(rules, "write_file a.txt");
    rules_forget(rules, "unknown");
    check_listed(rules, "write_file a.txt");
    rules_allow(rules, "foreign", NULL);
    check_listed(rules, "write_file a.txt, foreign");
    assert_true(rules_revoke(rules, "write_file", "a.txt"));
    assert_true(rules_revoke(rules, "foreign", NULL));
    check_listed(rules, "");
    rules_free(rules);
}

RULES_TEST(recorded_answers_come_first_and_in_order)
{
    struct rules *rules = rules_new(RULES_DENY, false);
    bool nobody;
    rules_record(rules, 1, "c1", &(struct decision){.kind = DECISION_APPROVED});
    rules_record(rules, 1, "c1", &(struct decision){.kind = DECISION_DENIED, .reason = "no"});
    rules_record(rules, 2, "c1", &(struct decision){.kind = DECISION_EXPIRED});
    rules_record(rules, 1, "c2", &(struct decision){.kind = DECISION_EDITED, .edited = set});
    static const enum decision_kind expected[] = {DECISION_APPROVED, DECISION_DENIED, DECISION_DENIED};
    static const enum decider by[] = {BY_RECORDING, BY_RECORDING, BY_POLICY};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        CLEANUP(decision) struct decision decision = decide(rules, "c1", "t", set, &nobody);
        assert_int_equal(decision.kind, expected[i]);
        assert_int_equal(decision.by, by[i]);
        if (i == 1)
            assert_string_equal(decision.reason, "no");
    }
    CLEANUP(decision) struct decision edited = decide(rules, "c2", "t", set, &nobody);
    assert_int_equal(edited.kind, DECISION_EDITED);
    assert_int_equal(edited.edited->count, 1);
    assert_ptr_not_equal(edited.edited, set);
    rules_free(rules);
}

TEST(modes_have_names)
{
    assert_int_equal(rule_mode_from_name("ask"), RULES_ASK);
    assert_int_equal(rule_mode_from_name("deny"), RULES_DENY);
    assert_int_equal(rule_mode_from_name("allow"), RULES_ALLOW);
    assert_int_equal(rule_mode_from_name("yes"), -1);
    assert_int_equal(rule_mode_from_name(NULL), -1);
}
