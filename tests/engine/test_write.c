/* Questions about writes and every kind of answer to them: what is written is what was allowed, the model is told which
 * of it that was, and an answer to anything but the open question changes nothing. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SECONDS(s) ((int64_t)((s)*1e6))

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

static void wants_to_write(struct turn_rig *rig, const char *call, const char *path, const char *content)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);

    json_open(&w, NULL, '{');
    json_add_str(&w, "path", path);
    json_add_str(&w, "content", content);
    json_close(&w, '}');
    fake_answer_call(answer(rig), call, "write_file", text.buf);
}

static void check_file(const struct turn_rig *rig, const char *path, const char *expected)
{
    CLEANUP(free) char *content = turn_rig_read(rig, path);

    if (!expected)
        assert_null(content);
    else
        assert_string_equal(content ? content : "(none)", expected);
}

static const struct event_write_decided *decided(const struct turn_rig *rig, size_t n)
{
    const struct event *event = turn_rig_event(rig, EVENT_WRITE_DECIDED, n);

    assert_non_null(event);
    return &event->write_decided;
}

static const struct question *open_question(const struct turn_rig *rig)
{
    const struct question *question = engine_question(rig->engine);

    assert_non_null(question);
    return question;
}

/* A turn that stands at a question about a.txt: "old\n" is to become "new\n". */
static void init_asking(struct turn_rig *rig)
{
    turn_rig_init(rig);
    turn_rig_open(rig);
    turn_rig_file(rig, "a.txt", "old\n");
    wants_to_write(rig, "w", "a.txt", "new\n");
    turn_rig_turn(rig, "write");
}

/* ---- yes and no ---- */

static void test_question_shows_what_would_be_written(void **state)
{
    struct turn_rig rig;
    const struct question *question;
    const char *files;
    struct intent yes;

    (void)state;
    init_asking(&rig);
    question = open_question(&rig);
    assert_string_equal(question->call_id, "w");
    assert_string_equal(question->tool, "write_file");
    assert_string_equal(question->changes->items[0].new.bytes, "new\n");
    assert_false(question->again);
    files = event_json(turn_rig_event(&rig, EVENT_WRITE_PROPOSED, 0), "files");
    assert_string_equal(turn_check_json(&rig, files, "[0].path"), "a.txt");
    assert_string_equal(turn_check_json(&rig, files, "[0].added"), "1");
    assert_string_equal(turn_check_json(&rig, files, "[0].removed"), "1");
    assert_non_null(strstr(turn_check_json(&rig, files, "[0].diff"), "-old\n+new\n"));
    check_file(&rig, "a.txt", "old\n");
    yes = answer_yes(question);
    turn_rig_submit(&rig, &yes);
    turn_rig_run(&rig);
    check_file(&rig, "a.txt", "new\n");
    assert_string_equal(decided(&rig, 0)->decision, "approved");
    assert_string_equal(decided(&rig, 0)->by, "key");
    assert_string_equal(turn_check_json(&rig, turn_check_message(&rig, "w"), "applied"), "true");
    turn_check_end(&rig);
}

static void test_reason_of_a_denial_reaches_the_model(void **state)
{
    static const char *const reasons[] = {"use tabs, not spaces", NULL, ""};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        struct turn_rig rig;
        struct intent no;

        init_asking(&rig);
        no = answer_no(open_question(&rig), reasons[i]);
        turn_rig_submit(&rig, &no);
        turn_rig_run(&rig);
        check_file(&rig, "a.txt", "old\n");
        assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
        assert_string_equal(decided(&rig, 0)->decision, "denied");
        assert_string_equal(turn_check_json(&rig, turn_check_message(&rig, "w"), "details"),
                            i == 0 ? "the user refused the write: use tabs, not spaces"
                                   : "the user refused the write and gave no reason");
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        turn_check_end(&rig);
    }
}

static void test_only_the_open_question_can_be_answered_and_only_as_it_was_shown(void **state)
{
    struct turn_rig rig;
    struct intent yes, wrong, no;
    CLEANUP(free) char *ask = NULL;

    (void)state;
    init_asking(&rig);
    ask = xstrdup(open_question(&rig)->id);
    wrong = answer_yes(open_question(&rig));
    wrong.answer.digest = "0000";
    assert_string_equal(turn_check_submit(&rig, &wrong), "the question has changed: read it again");
    wrong.answer.digest = NULL;
    assert_string_equal(turn_check_submit(&rig, &wrong), "the question has changed: read it again");
    wrong = answer_yes(open_question(&rig));
    wrong.answer.question = "a99";
    assert_string_equal(turn_check_submit(&rig, &wrong), "this question is no longer open");
    wrong.answer.question = NULL;
    assert_string_equal(turn_check_submit(&rig, &wrong), "this question is no longer open");
    no = answer_no(open_question(&rig), NULL);
    no.answer.question = "a99";
    assert_string_equal(turn_check_submit(&rig, &no), "this question is no longer open");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_DECIDED), 0);

    yes = answer_yes(open_question(&rig));
    assert_string_equal(turn_check_submit(&rig, &yes), "");
    yes.answer.question = ask;
    assert_string_equal(turn_check_submit(&rig, &yes), "this question is no longer open");
    no.answer.question = ask;
    assert_string_equal(turn_check_submit(&rig, &no), "this question is no longer open");
    turn_rig_run(&rig);
    assert_string_equal(turn_check_submit(&rig, &yes), "this question is no longer open");
    check_file(&rig, "a.txt", "new\n");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_DECIDED), 1);
    turn_check_end(&rig);
}

static void test_answer_to_the_last_turns_question_is_no_answer_to_this_ones(void **state)
{
    struct turn_rig rig;
    struct intent no, old;
    CLEANUP(free) char *ask = NULL;
    CLEANUP(free) char *digest = NULL;

    (void)state;
    init_asking(&rig);
    ask = xstrdup(open_question(&rig)->id);
    digest = xstrdup(open_question(&rig)->digest);
    no = answer_no(open_question(&rig), NULL);
    turn_rig_submit(&rig, &no);
    turn_rig_run(&rig);
    wants_to_write(&rig, "w", "a.txt", "new\n"); /* the very same proposal */
    turn_rig_turn(&rig, "again");
    assert_string_equal(open_question(&rig)->digest, digest);
    old = (struct intent){
        .type = INTENT_ANSWER,
        .answer = {.question = ask, .digest = digest, .decision = {.kind = DECISION_APPROVED}},
    };
    assert_string_equal(turn_check_submit(&rig, &old), "this question is no longer open");
    no = answer_no(open_question(&rig), NULL);
    turn_rig_submit(&rig, &no);
    turn_rig_run(&rig);
    check_file(&rig, "a.txt", "old\n");
    turn_check_end(&rig);
}

static void test_going_on_is_refused_while_a_question_is_open(void **state)
{
    static const enum intent_type ways[] = {INTENT_STEP, INTENT_STEP_WAVE, INTENT_CONTINUE};
    struct turn_rig rig;
    struct intent no;

    (void)state;
    init_asking(&rig);
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = ways[i]}),
                            "a write waits: approve or deny it");
    assert_int_equal(engine_gates(rig.engine)->stepping, STEP_RUN);
    turn_rig_run(&rig);
    no = answer_no(open_question(&rig), NULL);
    turn_rig_submit(&rig, &no);
    turn_rig_run(&rig);
    turn_check_end(&rig);
}

static void test_question_that_nobody_answers_expires(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.ask_timeout_ms = 30000;
    rig.harness.limits.wall_s = 10;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    wants_to_write(&rig, "w", "a.txt", "new\n");
    turn_rig_turn(&rig, "write");
    assert_string_equal(decided(&rig, 0)->decision, "expired");
    assert_string_equal(decided(&rig, 0)->by, "timeout");
    assert_int_equal(decided(&rig, 0)->waited_ms, 30000);
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
    assert_non_null(strstr(turn_check_message(&rig, "w"), "nobody answered within 30 s"));
    assert_string_equal(turn_check_finished(&rig)->status, "done"); /* the time was nobody's */
    check_file(&rig, "a.txt", "old\n");
    assert_false(engine_nobody_asked(rig.engine));
    turn_check_end(&rig);
}

/* Somebody who works on the question (an editor is open) is not nobody. */
static void test_countdown_begins_anew_for_somebody_at_work(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.ask_timeout_ms = 30000;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    wants_to_write(&rig, "w", "a.txt", "new\n");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {"write"}});
    turn_rig_run_for(&rig, 29000000);
    assert_non_null(engine_question(rig.engine));
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_ATTEND});
    turn_rig_run_for(&rig, 20000000);
    assert_non_null(engine_question(rig.engine));
    turn_rig_run(&rig);
    assert_string_equal(decided(&rig, 0)->decision, "expired");
    assert_true(decided(&rig, 0)->waited_ms > 58000 && decided(&rig, 0)->waited_ms <= 59000);
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_ATTEND}),
                        "no write waits for an answer");
    turn_check_end(&rig);
}

/* ---- less, and something else ---- */

static const char twenty_lines[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n";
static const char both_changed[] = "ONE\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\nTWENTY\n";
static const char last_changed[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\nTWENTY\n";

static void init_two_hunks(struct turn_rig *rig)
{
    turn_rig_init(rig);
    turn_rig_open(rig);
    turn_rig_file(rig, "n.txt", twenty_lines);
    wants_to_write(rig, "w", "n.txt", both_changed);
    turn_rig_turn(rig, "write");
}

static void test_kept_hunks_are_written_and_the_model_is_told_which(void **state)
{
    struct turn_rig rig;
    struct event_hunk_choice_list second = HUNKS("n.txt", 2, 2);
    struct intent some;
    const char *message;

    (void)state;
    init_two_hunks(&rig);
    some = answer_part(open_question(&rig), second);
    turn_rig_submit(&rig, &some);
    turn_rig_run(&rig);
    check_file(&rig, "n.txt", last_changed);
    assert_string_equal(decided(&rig, 0)->decision, "partial");
    assert_string_equal(event_body_json(EVENT_WRITE_DECIDED, decided(&rig, 0), "hunks"),
                        "[{\"path\":\"n.txt\",\"keep\":[2],\"of\":2}]");
    message = turn_check_message(&rig, "w");
    assert_string_equal(turn_check_json(&rig, message, "approval.applied"), "hunks 2 of 2");
    assert_string_equal(turn_check_json(&rig, message, "approval.refused[0].lines"), "-1\n+ONE\n");
    assert_string_equal(
        turn_check_json(&rig, event_json(turn_rig_event(&rig, EVENT_WRITE_APPLIED, 0), "files"), "[0].added"), "1");
    turn_check_end(&rig);
}

static void test_hunks_that_do_not_fit_are_refused_and_the_question_stays(void **state)
{
    const struct {
        struct event_hunk_choice choice[1];
        const char *refusal;
    } wrong[] = {
        {{CHOICE("n.txt", 3, 1)}, "n.txt has 2 hunks, the answer is about 3"},
        {{CHOICE("n.txt", 2, 3)}, "n.txt: there is no hunk 3"},
        {{CHOICE("n.txt", 2, 0)}, "n.txt: there is no hunk 0"},
        {{CHOICE("n.txt", 0, 1)}, "n.txt has 2 hunks, the answer is about 0"},
        {{CHOICE("o.txt", 2, 1)}, "\"o.txt\" is not among the files that were proposed"},
    };
    struct turn_rig rig;
    struct event_hunk_choice_list nothing = CHOICES(1, CHOICE_OF_NONE("n.txt", 2));
    struct intent some;

    (void)state;
    init_two_hunks(&rig);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        some = answer_part(open_question(&rig), (struct event_hunk_choice_list){wrong[i].choice, 1});
        assert_string_equal(turn_check_submit(&rig, &some), wrong[i].refusal);
    }
    some = answer_part(open_question(&rig), (struct event_hunk_choice_list){0});
    assert_string_equal(turn_check_submit(&rig, &some), "the answer does not say which hunks to keep");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_DECIDED), 0);
    some = answer_part(open_question(&rig), nothing); /* fits, and keeps nothing */
    turn_rig_submit(&rig, &some);
    turn_rig_run(&rig);
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
    check_file(&rig, "n.txt", twenty_lines);
    turn_check_end(&rig);
}

/* One file of an edited version. */
static struct change_set *edit_of(const char *path, const char *text, mode_t mode)
{
    struct change_set *set = change_set_new();

    GROW(set->items, set->count, set->room);
    set->items[0] = (struct change){.path = xstrdup(path)};
    change_side_absent(&set->items[0].old);
    change_side_set(&set->items[0].new, text, strlen(text), mode);
    set->count = 1;
    return set;
}

static void test_edited_version_is_written_and_kept_in_the_journal(void **state)
{
    struct turn_rig rig;
    struct intent edited;
    struct change_set *set = edit_of("a.txt", "mine\n", 0600);
    const struct event *event;

    (void)state;
    init_asking(&rig);
    edited = answer_edited(open_question(&rig), set);
    turn_rig_submit(&rig, &edited);
    change_set_free(set);
    turn_rig_run(&rig);
    check_file(&rig, "a.txt", "mine\n");
    assert_string_equal(decided(&rig, 0)->decision, "edited");
    event = turn_rig_event(&rig, EVENT_EDITED, 0);
    assert_string_equal(event->edited.what, "write");
    assert_string_equal(turn_check_json(&rig, event->edited.after, "[0].text"), "mine\n");
    assert_string_equal(turn_check_json(&rig, event->edited.after, "[0].mode"),
                        "384"); /* 0600: a replay writes the same */
    assert_true(turn_check_place(&rig, EVENT_EDITED, NULL, 0) < turn_check_place(&rig, EVENT_WRITE_DECIDED, NULL, 0));
    assert_string_equal(turn_check_json(&rig, turn_check_message(&rig, "w"), "approval.applied"),
                        "the user's edited version");
    turn_check_end(&rig);
}

static void test_edit_of_one_file_of_two_is_told_with_that_files_digest(void **state)
{
    struct turn_rig rig;
    struct fake_tool two;
    struct intent edited;
    struct change_set *set = edit_of("b.txt", "B, edited\n", 0644);
    const struct event *event;
    const char *files;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&two, "two", EFFECT_LOCAL_WRITE);
    two.asks = FAKE_PROPOSES;
    two.path = "a.txt";
    two.text = "A\n";
    two.path2 = "b.txt";
    two.text2 = "B\n";
    turn_rig_add_tool(&rig, &two.tool);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "t", "two", "{}");
    turn_rig_turn(&rig, "write");
    edited = answer_edited(open_question(&rig), set);
    turn_rig_submit(&rig, &edited);
    change_set_free(set);
    turn_rig_run(&rig);
    check_file(&rig, "a.txt", NULL); /* not named, not written */
    check_file(&rig, "b.txt", "B, edited\n");
    event = turn_rig_event(&rig, EVENT_EDITED, 0);
    files = event_json(turn_rig_event(&rig, EVENT_WRITE_PROPOSED, 0), "files");
    assert_string_equal(turn_check_json(&rig, event->edited.before, "[0].path"), "b.txt");
    assert_string_equal(turn_check_json(&rig, event->edited.before, "[0].digest"),
                        turn_check_json(&rig, files, "[1].new_digest"));
    turn_check_end(&rig);
    fake_tool_release(&two);
}

static void test_edit_of_another_file_is_refused_and_the_question_stays(void **state)
{
    struct turn_rig rig;
    struct intent edited, no;
    struct change_set *set = edit_of("other.txt", "mine\n", 0644);

    (void)state;
    init_asking(&rig);
    edited = answer_edited(open_question(&rig), set);
    assert_string_not_equal(turn_check_submit(&rig, &edited), "");
    change_set_free(set);
    assert_int_equal(turn_rig_count(&rig, EVENT_EDITED), 0);
    no = answer_no(open_question(&rig), NULL);
    turn_rig_submit(&rig, &no);
    turn_rig_run(&rig);
    turn_check_end(&rig);
}

/* ---- rules and modes ---- */

static void test_allowed_tool_on_a_path_is_not_asked_about_until_that_is_revoked(void **state)
{
    struct turn_rig rig;
    struct intent rule = {.type = INTENT_ALLOW, .allow = {.tool = "write_file", .path = "a.txt"}};

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &rule);
    wants_to_write(&rig, "1", "a.txt", "one");
    answer(&rig)->text = "ok";
    turn_rig_turn(&rig, "write");
    check_file(&rig, "a.txt", "one");
    assert_string_equal(decided(&rig, 0)->by, "policy");
    rig.answer = turn_rig_say_no;
    wants_to_write(&rig, "2", "b.txt", "two"); /* another path */
    answer(&rig)->text = "ok";
    turn_rig_turn(&rig, "write");
    assert_string_equal(decided(&rig, 1)->by, "key");
    rule.allow.revoke = true;
    turn_rig_submit(&rig, &rule);
    assert_string_equal(turn_check_submit(&rig, &rule), "there is no such permission");
    wants_to_write(&rig, "3", "a.txt", "three");
    turn_rig_turn(&rig, "write");
    assert_string_equal(decided(&rig, 2)->by, "key");
    check_file(&rig, "a.txt", "one");
    turn_check_end(&rig);
}

static void test_mode_decides_without_asking(void **state)
{
    static const struct {
        enum rule_mode mode;
        bool somebody, written, nobody;
    } cases[] = {
        {RULES_ALLOW, false, true, false},
        {RULES_DENY, true, false, false},
        {RULES_ASK, false, false, true}, /* nobody is there */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;

        turn_rig_init(&rig);
        rules_free(rig.harness.rules);
        rig.harness.rules = rules_new(cases[i].mode, cases[i].somebody);
        turn_rig_open(&rig);
        wants_to_write(&rig, "w", "a.txt", "new\n");
        turn_rig_turn(&rig, "write");
        check_file(&rig, "a.txt", cases[i].written ? "new\n" : NULL);
        assert_string_equal(decided(&rig, 0)->by, "policy");
        assert_string_equal(decided(&rig, 0)->decision, cases[i].written ? "approved" : "denied");
        assert_int_equal(engine_nobody_asked(rig.engine), cases[i].nobody);
        assert_int_equal(turn_rig_count(&rig, EVENT_HELD), 0);
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        turn_check_end(&rig);
    }
}

static void test_recorded_decision_is_taken_while_it_fits_and_is_a_no_when_it_does_not(void **state)
{
    const struct event_hunk_choice second_of_two[] = {CHOICE("n.txt", 2, 2)};
    const struct event_hunk_choice second_of_five[] = {CHOICE("n.txt", 5, 2)};
    const struct {
        struct decision recorded;
        const char *decision, *content;
    } cases[] = {
        {{.kind = DECISION_APPROVED}, "approved", both_changed},
        {{.kind = DECISION_PARTIAL, .hunks = {second_of_two, 1}}, "partial", last_changed},
        {{.kind = DECISION_PARTIAL, .hunks = {second_of_five, 1}}, "denied", twenty_lines},
        {{.kind = DECISION_EDITED}, "denied", twenty_lines}, /* and the edit is lost */
        {{.kind = DECISION_DENIED, .reason = "no"}, "denied", twenty_lines},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;

        turn_rig_init(&rig);
        rules_record(rig.harness.rules, 1, "w", &cases[i].recorded);
        turn_rig_open(&rig);
        turn_rig_file(&rig, "n.txt", twenty_lines);
        wants_to_write(&rig, "w", "n.txt", both_changed);
        turn_rig_turn(&rig, "write");
        assert_string_equal(decided(&rig, 0)->by, "recording");
        assert_string_equal(decided(&rig, 0)->decision, cases[i].decision);
        check_file(&rig, "n.txt", cases[i].content);
        turn_check_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_question_shows_what_would_be_written),
        cmocka_unit_test(test_reason_of_a_denial_reaches_the_model),
        cmocka_unit_test(test_only_the_open_question_can_be_answered_and_only_as_it_was_shown),
        cmocka_unit_test(test_answer_to_the_last_turns_question_is_no_answer_to_this_ones),
        cmocka_unit_test(test_going_on_is_refused_while_a_question_is_open),
        cmocka_unit_test(test_question_that_nobody_answers_expires),
        cmocka_unit_test(test_countdown_begins_anew_for_somebody_at_work),
        cmocka_unit_test(test_kept_hunks_are_written_and_the_model_is_told_which),
        cmocka_unit_test(test_hunks_that_do_not_fit_are_refused_and_the_question_stays),
        cmocka_unit_test(test_edited_version_is_written_and_kept_in_the_journal),
        cmocka_unit_test(test_edit_of_one_file_of_two_is_told_with_that_files_digest),
        cmocka_unit_test(test_edit_of_another_file_is_refused_and_the_question_stays),
        cmocka_unit_test(test_allowed_tool_on_a_path_is_not_asked_about_until_that_is_revoked),
        cmocka_unit_test(test_mode_decides_without_asking),
        cmocka_unit_test(test_recorded_decision_is_taken_while_it_fits_and_is_a_no_when_it_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
