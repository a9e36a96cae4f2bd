/* Who answers a proposal, and what the answer lets through. */

#include "base/arena.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "tools/approval.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
    struct scratch scratch;
    struct beneath *root;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct err err = ERR_INIT;
    scratch_init(&f->scratch);
    f->root = beneath_open(f->scratch.path, &err);
    assert_non_null(f->root);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    beneath_close(f->root);
    scratch_release(&f->scratch);
    free(f);
    return 0;
}

static void add(struct fixture *f, struct change_set *set, const char *path, const char *text)
{
    struct err err = ERR_INIT;
    struct change *change = change_set_add(set, f->root, path, &err);
    assert_string_equal(err.text, "");
    if (text)
        change_side_set(&change->new, text, strlen(text), 0644);
    else
        change_side_absent(&change->new);
}

/* Twenty lines a1…a20, of which the second and the nineteenth become B: two hunks. */
static struct change_set *two_hunks(struct fixture *f)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    for (int i = 1; i <= 20; i++) {
        strbuf_addf(&old, "a%d\n", i);
        strbuf_addf(&new, i == 2 || i == 19 ? "B%d\n" : "a%d\n", i);
    }
    scratch_write(&f->scratch, "two.txt", old.buf);
    struct change_set *set = change_set_new();
    add(f, set, "two.txt", new.buf);
    return set;
}

static enum decision judge(struct approval *approval, const char *call, const char *tool, const struct change_set *set)
{
    bool nobody;
    struct verdict verdict = approval_judge(approval, 1, call, tool, set, NULL, &nobody);
    enum decision decision = verdict.decision;
    assert_false(nobody);
    verdict_release(&verdict);
    return decision;
}

static void test_modes(void **state)
{
    struct fixture *f = *state;
    bool nobody;
    struct change_set *set = two_hunks(f);
    struct approval *approval = approval_new(APPROVE_ASK, true);
    assert_int_equal(judge(approval, "c", "t", set), DECISION_NONE);
    approval_free(approval);
    approval = approval_new(APPROVE_ALLOW, false);
    assert_int_equal(judge(approval, "c", "t", set), DECISION_APPROVED);
    approval_free(approval);
    approval = approval_new(APPROVE_DENY, true);
    struct verdict verdict = approval_judge(approval, 1, "c", "t", set, NULL, &nobody);
    assert_int_equal(verdict.decision, DECISION_DENIED);
    assert_int_equal(verdict.by, BY_POLICY);
    assert_non_null(strstr(verdict.reason, "every write"));
    assert_false(nobody);
    verdict_release(&verdict);
    approval_free(approval);
    change_set_free(set);
}

static void test_nobody_there_means_no_and_is_told(void **state)
{
    struct fixture *f = *state;
    struct change_set *set = two_hunks(f);
    struct approval *approval = approval_new(APPROVE_ASK, false);
    bool nobody = false;
    struct verdict verdict = approval_judge(approval, 1, "c", "t", set, NULL, &nobody);
    assert_int_equal(verdict.decision, DECISION_DENIED);
    assert_int_equal(verdict.by, BY_POLICY);
    assert_string_equal(verdict.reason, "nobody is there to be asked");
    assert_true(nobody);
    verdict_release(&verdict);
    approval_free(approval);
    change_set_free(set);
}

static void test_rules_cover_this_tool_on_this_path(void **state)
{
    struct fixture *f = *state;
    struct change_set *set = two_hunks(f);
    struct approval *approval = approval_new(APPROVE_ASK, true);
    approval_allow(approval, "write_file", "two.txt");
    approval_allow(approval, "write_file", "two.txt");
    assert_int_equal(judge(approval, "c", "write_file", set), DECISION_APPROVED);
    assert_int_equal(judge(approval, "c", "edit_file", set), DECISION_NONE);
    add(f, set, "other.txt", "x");
    assert_int_equal(judge(approval, "c", "write_file", set), DECISION_NONE);
    approval_allow(approval, "write_file", "other.txt");
    assert_int_equal(judge(approval, "c", "write_file", set), DECISION_APPROVED);
    assert_true(approval_revoke(approval, "write_file", "two.txt"));
    assert_false(approval_revoke(approval, "write_file", "two.txt"));
    assert_int_equal(judge(approval, "c", "write_file", set), DECISION_NONE);
    approval_free(approval);
    change_set_free(set);
}

static void test_no_rule_covers_a_foreign_tools_unknown_write(void **state)
{
    (void)state;
    struct change_set *set = change_set_new();
    struct approval *approval = approval_new(APPROVE_ASK, true);
    approval_allow(approval, "foreign", "");
    assert_int_equal(judge(approval, "c", "foreign", set), DECISION_NONE);
    assert_int_equal(judge(approval, "c", "foreign", NULL), DECISION_NONE);
    approval_free(approval);
    change_set_free(set);
}

static void test_a_rule_without_a_path_covers_calls_that_show_no_file(void **state)
{
    struct fixture *f = *state;
    struct change_set *nothing = change_set_new(), *set = two_hunks(f);
    struct approval *approval = approval_new(APPROVE_ASK, true);
    approval_allow(approval, "foreign", NULL);
    approval_allow(approval, "foreign", NULL);
    assert_int_equal(judge(approval, "c", "foreign", nothing), DECISION_APPROVED);
    assert_int_equal(judge(approval, "c", "other", nothing), DECISION_NONE);
    assert_int_equal(judge(approval, "c", "foreign", set), DECISION_NONE); /* a diff is looked at */
    assert_false(approval_revoke(approval, "foreign", "two.txt"));
    assert_true(approval_revoke(approval, "foreign", NULL));
    assert_false(approval_revoke(approval, "foreign", NULL));
    approval_allow(approval, "foreign", NULL);
    approval_allow(approval, "foreign", "two.txt");
    approval_allow(approval, "other", NULL);
    approval_forget(approval, "foreign"); /* all of it, and nobody else's */
    assert_int_equal(judge(approval, "c", "foreign", set), DECISION_NONE);
    assert_int_equal(judge(approval, "c", "other", nothing), DECISION_APPROVED);
    assert_int_equal(judge(approval, "c", "foreign", nothing), DECISION_NONE);
    approval_free(approval);
    change_set_free(nothing);
    change_set_free(set);
}

static void test_recorded_answers_come_first_and_in_order(void **state)
{
    struct fixture *f = *state;
    struct change_set *set = two_hunks(f);
    struct approval *approval = approval_new(APPROVE_DENY, false);
    approval_record(approval, 1, "c1", &(struct verdict){.decision = DECISION_APPROVED});
    approval_record(approval, 1, "c1", &(struct verdict){.decision = DECISION_DENIED, .reason = (char[]){"no"}});
    approval_record(approval, 2, "c1", &(struct verdict){.decision = DECISION_EXPIRED});
    approval_record(approval, 1, "c2", &(struct verdict){.decision = DECISION_EDITED, .edited = set});
    static const enum decision expected[] = {DECISION_APPROVED, DECISION_DENIED, DECISION_DENIED};
    static const enum decider by[] = {BY_RECORDING, BY_RECORDING, BY_POLICY};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        struct verdict verdict = approval_judge(approval, 1, "c1", "t", set, NULL, NULL);
        assert_int_equal(verdict.decision, expected[i]);
        assert_int_equal(verdict.by, by[i]);
        if (i == 1)
            assert_string_equal(verdict.reason, "no");
        verdict_release(&verdict);
    }
    struct verdict verdict = approval_judge(approval, 1, "c2", "t", set, NULL, NULL);
    assert_int_equal(verdict.decision, DECISION_EDITED);
    assert_int_equal(verdict.edited->count, 1);
    assert_ptr_not_equal(verdict.edited, set);
    verdict_release(&verdict);
    approval_free(approval);
    change_set_free(set);
}

static char *text_of(const struct change_set *set, size_t index)
{
    return xmemdup0(set->items[index].new.bytes, set->items[index].new.len);
}

static struct change_set *keep(const struct change_set *set, const char *hunks, struct err *err)
{
    CLEANUP(free) char *text = xstrdup(hunks);
    return verdict_changes(&(struct verdict){.decision = DECISION_PARTIAL, .hunks = text}, set, err);
}

static void test_approved_is_a_plain_copy(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks(f);
    struct change_set *written = verdict_changes(&(struct verdict){.decision = DECISION_APPROVED}, set, &err);
    char a[HASH_SHA256_HEX], b[HASH_SHA256_HEX];
    change_set_digest(set, a);
    change_set_digest(written, b);
    assert_string_equal(a, b);
    assert_ptr_not_equal(set, written);
    change_set_free(written);
    assert_null(verdict_changes(&(struct verdict){.decision = DECISION_DENIED}, set, &err));
    change_set_free(set);
}

static void test_partial_keeps_the_chosen_hunks(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks(f);
    struct change_set *written = keep(set, "[{\"path\":\"two.txt\",\"keep\":[2],\"of\":2}]", &err);
    assert_non_null(written);
    CLEANUP(free) char *text = text_of(written, 0);
    assert_non_null(strstr(text, "a1\na2\na3\n"));
    assert_non_null(strstr(text, "a18\nB19\na20\n"));
    assert_string_equal(written->items[0].old.digest, set->items[0].old.digest);
    change_set_free(written);
    written = keep(set, "[{\"path\":\"two.txt\",\"keep\":[2,1,2],\"of\":2}]", &err);
    assert_string_equal(written->items[0].new.digest, set->items[0].new.digest);
    change_set_free(written);
    change_set_free(set);
}

static void test_partial_leaves_out_files_of_which_nothing_is_kept(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks(f);
    add(f, set, "new.txt", "hello\n");
    add(f, set, "named-by-nobody.txt", "x\n");
    struct change_set *written =
        keep(set, "[{\"path\":\"two.txt\",\"keep\":[],\"of\":2},{\"path\":\"new.txt\",\"keep\":[1],\"of\":1}]", &err);
    assert_non_null(written);
    assert_int_equal(written->count, 1);
    assert_string_equal(written->items[0].path, "new.txt");
    change_set_free(written);
    written = keep(set, "[]", &err);
    assert_non_null(written);
    assert_int_equal(written->count, 0);
    change_set_free(written);
    change_set_free(set);
}

static void test_partial_counts_a_binary_file_as_one(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    scratch_write_bytes(&f->scratch, "bin", "a\0b", 3);
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, f->root, "bin", &err);
    change_side_set(&change->new, "c\0d", 3, 0644);
    struct change_set *written = keep(set, "[{\"path\":\"bin\",\"keep\":[1],\"of\":1}]", &err);
    assert_non_null(written);
    assert_memory_equal(written->items[0].new.bytes, "c\0d", 3);
    change_set_free(written);
    written = keep(set, "[{\"path\":\"bin\",\"keep\":[],\"of\":1}]", &err);
    assert_int_equal(written->count, 0);
    change_set_free(written);
    change_set_free(set);
}

static void test_answers_that_do_not_fit_are_refused(void **state)
{
    struct fixture *f = *state;
    struct change_set *set = two_hunks(f);
    static const char *const cases[][2] = {
        {"[{\"path\":\"two.txt\",\"keep\":[1],\"of\":3}]", "two.txt has 2 hunks, the answer is about 3"},
        {"[{\"path\":\"two.txt\",\"keep\":[1]}]", "two.txt has 2 hunks"},
        {"[{\"path\":\"two.txt\",\"keep\":[3],\"of\":2}]", "there is no hunk 3"},
        {"[{\"path\":\"two.txt\",\"keep\":[0],\"of\":2}]", "there is no hunk 0"},
        {"[{\"path\":\"two.txt\",\"keep\":true,\"of\":2}]", "keep must be a list"},
        {"[{\"path\":\"else\",\"keep\":[1],\"of\":1}]", "\"else\" is not among the files"},
        {"{}", "must be a list"},
        {"[", "byte"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = ERR_INIT;
        assert_null(keep(set, cases[i][0], &err));
        assert_non_null(strstr(err.text, cases[i][1]));
    }
    struct err err = ERR_INIT;
    assert_null(verdict_changes(&(struct verdict){.decision = DECISION_PARTIAL}, set, &err));
    assert_null(verdict_changes(&(struct verdict){.decision = DECISION_EDITED}, set, &err));
    change_set_free(set);
}

static void test_edited_takes_the_new_sides_and_keeps_the_old(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks(f);
    add(f, set, "new.txt", "proposed\n");
    add(f, set, "third.txt", "dropped\n");
    struct change_set *edited = change_set_new();
    scratch_write(&f->scratch, "new.txt", "somebody was here\n");
    add(f, edited, "new.txt", "by hand\n");
    add(f, edited, "two.txt", "all new\n");
    struct verdict verdict = {.decision = DECISION_EDITED, .edited = edited};
    struct change_set *written = verdict_changes(&verdict, set, &err);
    assert_non_null(written);
    assert_int_equal(written->count, 2);
    CLEANUP(free) char *two = text_of(written, 0);
    CLEANUP(free) char *new = text_of(written, 1);
    assert_string_equal(two, "all new\n");
    assert_string_equal(new, "by hand\n");
    assert_false(written->items[1].old.exists); /* as proposed, not as the editor found it */
    change_set_free(written);
    add(f, edited, "fourth.txt", "smuggled\n");
    assert_null(verdict_changes(&verdict, set, &err));
    assert_non_null(strstr(err.text, "fourth.txt"));
    change_set_free(edited);
    change_set_free(set);
}

static const struct json *note(struct arena *arena, const struct verdict *verdict, const struct change_set *set)
{
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct change_set *written = verdict_changes(verdict, set, &err);
    assert_non_null(written);
    verdict_note(&out, verdict, set, written);
    change_set_free(written);
    char *text = arena_strdup(arena, out.buf);
    const struct json *json = json_parse(arena, text, out.len, &err);
    assert_non_null(json);
    return json;
}

static void test_the_model_is_told_what_was_refused(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct change_set *set = two_hunks(f);
    struct verdict verdict = {.decision = DECISION_PARTIAL,
                              .hunks = (char[]){"[{\"path\":\"two.txt\",\"keep\":[1],\"of\":2}]"},
                              .reason = (char[]){"the second one is wrong"}};
    const struct json *json = note(&arena, &verdict, set);
    assert_string_equal(json_str(json_get(json, "decision"), ""), "partial");
    assert_string_equal(json_str(json_get(json, "applied"), ""), "hunks 1 of 2");
    const struct json *refused = json_at(json_get(json, "refused"), 0);
    assert_string_equal(json_str(json_get(refused, "path"), ""), "two.txt");
    assert_int_equal(json_int(json_get(refused, "hunk"), 0), 2);
    assert_string_equal(json_str(json_get(refused, "lines"), ""), "-a19\n+B19\n");
    assert_string_equal(json_str(json_get(json, "reason"), ""), "the second one is wrong");

    add(f, set, "new.txt", "hello\n");
    json = note(&arena, &verdict, set);
    assert_string_equal(json_str(json_get(json, "applied"), ""), "two.txt: hunks 1 of 2; new.txt: none of 1");
    assert_int_equal(json_get(json, "refused")->count, 2);
    change_set_free(set);
}

static void test_the_model_is_told_what_was_edited(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct change_set *set = two_hunks(f), *edited = change_set_copy(set);
    CLEANUP(free) char *text = text_of(edited, 0);
    memcpy(strstr(text, "B19"), "C19", 3);
    change_side_set(&edited->items[0].new, text, strlen(text), 0644);
    const struct json *json = note(&arena, &(struct verdict){.decision = DECISION_EDITED, .edited = edited}, set);
    assert_string_equal(json_str(json_get(json, "decision"), ""), "edited");
    const struct json *edit = json_at(json_get(json, "edits"), 0);
    assert_string_equal(json_str(json_get(edit, "path"), ""), "two.txt");
    assert_non_null(strstr(json_str(json_get(edit, "change"), ""), "-B19\n+C19"));
    change_set_free(edited);
    change_set_free(set);
}

static void test_a_note_stays_short(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf hunks = STRBUF_INIT;
    for (int i = 0; i < 1000; i++) {
        strbuf_addf(&old, "%d\n", i);
        strbuf_addf(&new, i % 20 == 10 ? "%d %01000d\n" : "%d\n", i, 0);
    }
    scratch_write(&f->scratch, "many.txt", old.buf);
    struct change_set *set = change_set_new();
    add(f, set, "many.txt", new.buf);
    strbuf_addstr(&hunks, "[{\"path\":\"many.txt\",\"keep\":[1],\"of\":50}]");
    struct verdict verdict = {.decision = DECISION_PARTIAL, .hunks = hunks.buf};
    const struct json *json = note(&arena, &verdict, set);
    assert_int_equal(json_get(json, "refused")->count, 8);
    assert_int_equal(json_int(json_get(json, "refused_not_shown"), 0), 41);
    assert_true(json->src_len < 5000);
    change_set_free(set);
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(approve_mode_from_name("ask"), APPROVE_ASK);
    assert_int_equal(approve_mode_from_name("deny"), APPROVE_DENY);
    assert_int_equal(approve_mode_from_name("allow"), APPROVE_ALLOW);
    assert_int_equal(approve_mode_from_name("yes"), -1);
    for (int i = DECISION_APPROVED; i <= DECISION_EXPIRED; i++)
        assert_int_equal(decision_from_name(decision_name((enum decision)i)), i);
    assert_int_equal(decision_from_name("maybe"), DECISION_NONE);
    assert_int_equal(decision_from_name(NULL), DECISION_NONE);
    assert_string_equal(decider_name(BY_KEY), "key");
    assert_string_equal(decider_name(BY_POLICY), "policy");
    assert_string_equal(decider_name(BY_RECORDING), "recording");
    assert_string_equal(decider_name(BY_TIMEOUT), "timeout");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_modes),
        TEST(test_nobody_there_means_no_and_is_told),
        TEST(test_rules_cover_this_tool_on_this_path),
        TEST(test_no_rule_covers_a_foreign_tools_unknown_write),
        TEST(test_a_rule_without_a_path_covers_calls_that_show_no_file),
        TEST(test_recorded_answers_come_first_and_in_order),
        TEST(test_approved_is_a_plain_copy),
        TEST(test_partial_keeps_the_chosen_hunks),
        TEST(test_partial_leaves_out_files_of_which_nothing_is_kept),
        TEST(test_partial_counts_a_binary_file_as_one),
        TEST(test_answers_that_do_not_fit_are_refused),
        TEST(test_edited_takes_the_new_sides_and_keeps_the_old),
        TEST(test_the_model_is_told_what_was_refused),
        TEST(test_the_model_is_told_what_was_edited),
        TEST(test_a_note_stays_short),
        TEST(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
