/* Tests of decisions: what an answer about a write allows, what the model reads about it, and a recorded proposal that
 * is made again. */

#include "base/beneath.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/scratch.h"
#include "support/test.h"
#include "tools/diff.h"
#include "turn/decision.h"
#include <string.h>

static struct scratch scratch;
static struct beneath *root;
static struct arena arena;

static int setup(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    arena = (struct arena)ARENA_INIT;
    scratch_init(&scratch);
    scratch_write(&scratch, "a.txt", "one\ntwo\n");
    root = beneath_open(scratch.path, &err);
    return root ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    beneath_close(root);
    scratch_release(&scratch);
    arena_release(&arena);
    return 0;
}

#define DECISION_TEST(name) TEST_WITH(name, setup, teardown)

static void add(struct change_set *set, const char *path, const char *text)
{
    struct err err = ERR_INIT;
    struct change *change = change_set_add(set, root, path, &err);
    assert_string_equal(err.text, "");
    if (text)
        change_side_set(&change->new, text, strlen(text), 0644);
    else
        change_side_absent(&change->new);
}

/* Twenty lines a1…a20, of which the second and the nineteenth become B: two hunks. */
static struct change_set *two_hunks(void)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    for (int i = 1; i <= 20; i++) {
        strbuf_addf(&old, "a%d\n", i);
        strbuf_addf(&new, i == 2 || i == 19 ? "B%d\n" : "a%d\n", i);
    }
    scratch_write(&scratch, "two.txt", old.buf);
    struct change_set *set = change_set_new();
    add(set, "two.txt", new.buf);
    return set;
}

/* The diffs of a proposal, whose lines are counted. */
static struct diff **make_diffs(struct change_set *set)
{
    struct diff **diffs = xcalloc(set->count + 1, sizeof(struct diff *));
    for (size_t i = 0; i < set->count; i++) {
        struct err err = ERR_INIT;
        diffs[i] = change_diff(&set->items[i], &err);
        assert_non_null(diffs[i]);
        change_count(&set->items[i], diffs[i]);
    }
    return diffs;
}

static void free_diffs(struct diff **diffs, const struct change_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        diff_free(diffs[i]);
    free(diffs);
}

static struct change_set *apply(const struct decision *decision, struct change_set *set, struct err *err)
{
    struct diff **diffs = make_diffs(set);
    struct change_set *written = decision_apply(decision, set, diffs, err);
    free_diffs(diffs, set);
    return written;
}

static struct change_set *keep(struct change_set *set, struct event_hunk_choice_list hunks, struct err *err)
{
    return apply(&(struct decision){.kind = DECISION_PARTIAL, .hunks = hunks}, set, err);
}

static char *text_of(const struct change_set *set, size_t index)
{
    return xmemdup0(set->items[index].new.bytes, set->items[index].new.len);
}

DECISION_TEST(approved_is_a_plain_copy)
{
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks();
    struct change_set *written = apply(&(struct decision){.kind = DECISION_APPROVED}, set, &err);
    char a[HASH_SHA256_HEX], b[HASH_SHA256_HEX];
    change_set_digest(set, a);
    change_set_digest(written, b);
    assert_string_equal(a, b);
    assert_ptr_not_equal(set, written);
    change_set_free(written);
    assert_null(apply(&(struct decision){.kind = DECISION_DENIED}, set, &err));
    change_set_free(set);
}

DECISION_TEST(partial_keeps_the_chosen_hunks)
{
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks();
    struct event_hunk_choice_list second = HUNKS("two.txt", 2, 2), both = HUNKS("two.txt", 2, 2, 1, 2);
    struct change_set *written = keep(set, second, &err);
    assert_non_null(written);
    CLEANUP(free) char *text = text_of(written, 0);
    assert_non_null(strstr(text, "a1\na2\na3\n"));
    assert_non_null(strstr(text, "a18\nB19\na20\n"));
    assert_string_equal(written->items[0].old.digest, set->items[0].old.digest);
    change_set_free(written);
    written = keep(set, both, &err);
    assert_string_equal(written->items[0].new.digest, set->items[0].new.digest);
    change_set_free(written);
    change_set_free(set);
}

DECISION_TEST(partial_leaves_out_files_without_approved_hunks)
{
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks();
    struct event_hunk_choice_list one = CHOICES(2, CHOICE_OF_NONE("two.txt", 2), CHOICE("new.txt", 1, 1));
    add(set, "new.txt", "hello\n");
    add(set, "not-named.txt", "x\n");
    struct change_set *written = keep(set, one, &err);
    assert_non_null(written);
    assert_int_equal(written->count, 1);
    assert_string_equal(written->items[0].path, "new.txt");
    change_set_free(written);
    written = keep(set, (struct event_hunk_choice_list){one.items, 0}, &err);
    assert_non_null(written);
    assert_int_equal(written->count, 0);
    change_set_free(written);
    change_set_free(set);
}

DECISION_TEST(partial_counts_a_binary_file_as_one)
{
    struct err err = ERR_INIT;
    struct event_hunk_choice_list it = HUNKS("bin", 1, 1), nothing = CHOICES(1, CHOICE_OF_NONE("bin", 1));
    scratch_write_bytes(&scratch, "bin", "a\0b", 3);
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, root, "bin", &err);
    change_side_set(&change->new, "c\0d", 3, 0644);
    struct change_set *written = keep(set, it, &err);
    assert_non_null(written);
    assert_memory_equal(written->items[0].new.bytes, "c\0d", 3);
    change_set_free(written);
    written = keep(set, nothing, &err);
    assert_int_equal(written->count, 0);
    change_set_free(written);
    change_set_free(set);
}

DECISION_TEST(answers_that_do_not_fit_are_refused)
{
    struct change_set *set = two_hunks();
    const struct {
        struct event_hunk_choice choice[1];
        const char *says;
    } cases[] = {
        {{CHOICE("two.txt", 3, 1)}, "two.txt has 2 hunks, but the decision is about 3"},
        {{CHOICE("two.txt", 0, 1)}, "two.txt has 2 hunks"},
        {{CHOICE("two.txt", 2, 3)}, "has no hunk 3"},
        {{CHOICE("two.txt", 2, 0)}, "has no hunk 0"},
        {{CHOICE("two.txt", 2, -1)}, "has no hunk -1"},
        {{CHOICE("else", 1, 1)}, "\"else\" was not proposed"},
        {{CHOICE("", 1, 1)}, "\"\" was not proposed"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = ERR_INIT;
        assert_null(keep(set, (struct event_hunk_choice_list){cases[i].choice, 1}, &err));
        assert_non_null(strstr(err.text, cases[i].says));
    }
    struct err err = ERR_INIT;
    assert_null(apply(&(struct decision){.kind = DECISION_PARTIAL}, set, &err));
    assert_string_equal(err.text, "the decision names no hunks");
    assert_null(apply(&(struct decision){.kind = DECISION_EDITED}, set, &err));
    assert_string_equal(err.text, "the edited version is missing");
    change_set_free(set);
}

DECISION_TEST(edited_takes_the_new_sides_and_keeps_the_old)
{
    struct err err = ERR_INIT;
    struct change_set *set = two_hunks();
    add(set, "new.txt", "proposed\n");
    add(set, "third.txt", "dropped\n");
    struct change_set *edited = change_set_new();
    scratch_write(&scratch, "new.txt", "another program\n");
    add(edited, "new.txt", "by hand\n");
    add(edited, "two.txt", "all new\n");
    struct decision decision = {.kind = DECISION_EDITED, .edited = edited};
    struct change_set *written = apply(&decision, set, &err);
    assert_non_null(written);
    assert_int_equal(written->count, 2);
    CLEANUP(free) char *two = text_of(written, 0);
    CLEANUP(free) char *new = text_of(written, 1);
    assert_string_equal(two, "all new\n");
    assert_string_equal(new, "by hand\n");
    assert_false(written->items[1].old.exists); /* as proposed, not as the user edited it */
    change_set_free(written);
    add(edited, "fourth.txt", "smuggled\n");
    assert_null(apply(&decision, set, &err));
    assert_non_null(strstr(err.text, "fourth.txt"));
    change_set_free(edited);
    change_set_free(set);
}

static const struct json *note(const struct decision *decision, struct change_set *set)
{
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct diff **diffs = make_diffs(set);
    struct change_set *written = decision_apply(decision, set, diffs, &err);
    assert_non_null(written);
    decision_note(&out, decision, set, diffs, written);
    free_diffs(diffs, set);
    change_set_free(written);
    char *text = arena_strdup(&arena, out.buf);
    const struct json *json = json_parse(&arena, text, out.len, &err);
    assert_non_null(json);
    return json;
}

DECISION_TEST(model_reads_which_hunks_were_denied)
{
    struct change_set *set = two_hunks();
    struct decision decision = {
        .kind = DECISION_PARTIAL, .hunks = HUNKS("two.txt", 2, 1), .reason = "the second one is wrong"};
    const struct json *json = note(&decision, set);
    assert_string_equal(json_str(json_get(json, "decision"), ""), "partial");
    assert_string_equal(json_str(json_get(json, "applied"), ""), "hunks 1 of 2");
    const struct json *refused = json_at(json_get(json, "refused"), 0);
    assert_string_equal(json_str(json_get(refused, "path"), ""), "two.txt");
    assert_int_equal(json_int(json_get(refused, "hunk"), 0), 2);
    assert_string_equal(json_str(json_get(refused, "lines"), ""), "-a19\n+B19\n");
    assert_string_equal(json_str(json_get(json, "reason"), ""), "the second one is wrong");

    add(set, "new.txt", "hello\n");
    json = note(&decision, set);
    assert_string_equal(json_str(json_get(json, "applied"), ""), "two.txt: hunks 1 of 2; new.txt: none of 1");
    assert_int_equal(json_get(json, "refused")->count, 2);
    change_set_free(set);
}

DECISION_TEST(model_reads_the_edit_of_the_user)
{
    struct change_set *set = two_hunks(), *edited = change_set_copy(set);
    CLEANUP(free) char *text = text_of(edited, 0);
    memcpy(strstr(text, "B19"), "C19", 3);
    change_side_set(&edited->items[0].new, text, strlen(text), 0644);
    const struct json *json = note(&(struct decision){.kind = DECISION_EDITED, .edited = edited}, set);
    assert_string_equal(json_str(json_get(json, "decision"), ""), "edited");
    const struct json *edit = json_at(json_get(json, "edits"), 0);
    assert_string_equal(json_str(json_get(edit, "path"), ""), "two.txt");
    assert_non_null(strstr(json_str(json_get(edit, "change"), ""), "-B19\n+C19"));
    change_set_free(edited);
    change_set_free(set);
}

DECISION_TEST(a_note_stays_short)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    for (int i = 0; i < 1000; i++) {
        strbuf_addf(&old, "%d\n", i);
        strbuf_addf(&new, i % 20 == 10 ? "%d %01000d\n" : "%d\n", i, 0);
    }
    scratch_write(&scratch, "many.txt", old.buf);
    struct change_set *set = change_set_new();
    add(set, "many.txt", new.buf);
    struct decision decision = {.kind = DECISION_PARTIAL, .hunks = HUNKS("many.txt", 50, 1)};
    const struct json *json = note(&decision, set);
    assert_int_equal(json_get(json, "refused")->count, 8);
    assert_int_equal(json_int(json_get(json, "refused_not_shown"), 0), 41);
    assert_true(json->src_len < 5000);
    change_set_free(set);
}

/* A copy needs no memory of its original. */
DECISION_TEST(a_copy_owns_everything)
{
    char path[] = "two.txt", reason[] = "why";
    int64_t kept[] = {2, 1};
    struct event_hunk_choice choice[] = {{.path = path, .keep = {kept, 2}, .of = 3}};
    struct change_set *edited = two_hunks();
    struct decision copy = decision_copy(&(struct decision){.kind = DECISION_PARTIAL,
                                                            .by = BY_POLICY,
                                                            .reason = reason,
                                                            .hunks = {choice, 1},
                                                            .edited = edited,
                                                            .without_undo = true});
    path[0] = reason[0] = '?';
    kept[0] = 9;
    choice[0].of = 9;
    change_set_free(edited);
    assert_int_equal(copy.kind, DECISION_PARTIAL);
    assert_int_equal(copy.by, BY_POLICY);
    assert_string_equal(copy.reason, "why");
    assert_int_equal(copy.hunks.count, 1);
    assert_string_equal(copy.hunks.items[0].path, "two.txt");
    assert_int_equal(copy.hunks.items[0].of, 3);
    assert_int_equal(copy.hunks.items[0].keep.count, 2);
    assert_int_equal(copy.hunks.items[0].keep.items[0], 2);
    assert_string_equal(copy.edited->items[0].path, "two.txt");
    assert_true(copy.without_undo);
    decision_release(&copy);
}

TEST(decisions_have_names)
{
    for (int i = DECISION_APPROVED; i <= DECISION_EXPIRED; i++)
        assert_int_equal(decision_from_name(decision_name((enum decision_kind)i)), i);
    assert_int_equal(decision_from_name("maybe"), DECISION_NONE);
    assert_int_equal(decision_from_name(NULL), DECISION_NONE);
    assert_string_equal(decider_name(BY_KEY), "key");
    assert_string_equal(decider_name(BY_POLICY), "policy");
    assert_string_equal(decider_name(BY_RECORDING), "recording");
    assert_string_equal(decider_name(BY_TIMEOUT), "timeout");
}

/* A recorded proposal is repeated only if no file has changed. */

static bool lost;

/* Contents NULL: there was, or will be, no such file. */
static struct change_set *again(const char *path, const char *before, const char *after, const char *diff,
                                struct err *err)
{
    char old[HASH_SHA256_HEX] = "absent", new[HASH_SHA256_HEX] = "absent";
    if (before)
        hash_sha256(before, strlen(before), old);
    if (after)
        hash_sha256(after, strlen(after), new);
    struct event_proposed_file file = {.path = path, .old_digest = old, .new_digest = new, .diff = diff};
    return decision_recorded_changes(root, &(struct event_proposed_file_list){&file, 1}, &lost, err);
}

DECISION_TEST(a_recorded_decision_is_made_again)
{
    struct err err = ERR_INIT;
    struct change_set *set = again("a.txt", "one\ntwo\n", "one\nTWO\n",
                                   "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n", &err);
    assert_non_null(set);
    assert_string_equal(set->items[0].new.bytes, "one\nTWO\n");
    change_set_free(set);
    set = again("new.txt", NULL, "x\n", "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n", &err);
    assert_non_null(set);
    assert_false(set->items[0].old.exists);
    change_set_free(set);
    set = again("empty", NULL, "", "--- /dev/null\n+++ b/empty\n", &err);
    assert_non_null(set);
    assert_true(set->items[0].new.exists);
    assert_int_equal(set->items[0].new.len, 0);
    change_set_free(set);
    set = again("a.txt", "one\ntwo\n", NULL, "", &err);
    assert_non_null(set);
    assert_false(set->items[0].new.exists);
    change_set_free(set);
}

DECISION_TEST(decisions_about_other_bytes_are_refused)
{
    struct err err = ERR_INIT;
    assert_null(again("a.txt", "other\n", "x\n", "@@ -1 +1 @@\n-other\n+x\n", &err));
    assert_string_equal(err.text, "a.txt changed since the recording");
    assert_false(lost);
    assert_null(again("a.txt", "one\ntwo\n", "x\n", "@@ -1,2 +1 @@\n-one\n-two\n+y\n", &err));
    assert_string_equal(err.text, "the recorded diff of a.txt is incomplete");
    assert_true(lost);
    assert_null(again("a.txt", "one\ntwo\n", "x\n", NULL, &err));
    assert_true(lost);
    assert_null(again("../a.txt", NULL, "x\n", "@@ -0,0 +1 @@\n+x\n", &err));
    struct event_proposed_file nothing = {0};
    assert_null(decision_recorded_changes(root, &(struct event_proposed_file_list){0}, &lost, &err));
    assert_null(decision_recorded_changes(root, &(struct event_proposed_file_list){&nothing, 1}, &lost, &err));
}
