/* Where a write goes: links are resolved before anybody decides, a folder that is swapped meanwhile is noticed, and
 * protected places are asked about whatever was allowed. */

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
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void wants_to_write(struct turn_rig *rig, const char *call, const char *path)
{
    CLEANUP(free) char *arguments = xasprintf("{\"path\":\"%s\",\"content\":\"new\\n\"}", path);
    fake_answer_call(fake_provider_answer(rig->model), call, "write_file", arguments);
}

static char *in_work(const struct turn_rig *rig, const char *path)
{
    CLEANUP(free) char *below = xasprintf("work/%s", path);
    return scratch_path(&rig->scratch, below);
}

static void link_to(const struct turn_rig *rig, const char *target, const char *path)
{
    CLEANUP(free) char *at = in_work(rig, path);
    assert_int_equal(symlink(target, at), 0);
}

static void check_file(const struct turn_rig *rig, const char *path, const char *expected)
{
    CLEANUP(free) char *content = turn_rig_read(rig, path);

    if (!expected)
        assert_null(content);
    else
        assert_string_equal(content ? content : "(none)", expected);
}

static const char *proposed(struct turn_rig *rig, size_t n, const char *what)
{
    const struct event *event = turn_rig_event(rig, EVENT_WRITE_PROPOSED, n);
    assert_non_null(event);
    return turn_check_json(rig, event_json(event, "files"), what);
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

static void say(struct turn_rig *rig, enum decision_kind kind)
{
    struct intent intent = answer_with(open_question(rig), (struct decision){.kind = kind});
    turn_rig_submit(rig, &intent);
    turn_rig_run(rig);
}

/* A project with git's hooks and a folder src. */
static void init(struct turn_rig *rig)
{
    turn_rig_init(rig);
    turn_rig_file(rig, ".git/hooks/sample", "");
    turn_rig_file(rig, "src/a.txt", "old\n");
}

static void init_mode(struct turn_rig *rig, enum rule_mode mode, bool somebody)
{
    init(rig);
    rules_free(rig->harness.rules);
    rig->harness.rules = rules_new(mode, somebody);
    turn_rig_open(rig);
}

static void swap_src(const struct turn_rig *rig)
{
    CLEANUP(free) char *src = in_work(rig, "src"), *aside = in_work(rig, "src.old");
    assert_int_equal(rename(src, aside), 0);
    link_to(rig, ".git/hooks", "src");
}

static void test_the_question_is_about_the_resolved_path(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    turn_rig_open(&rig);
    link_to(&rig, ".git/hooks", "docs");
    wants_to_write(&rig, "w", "docs/pre-commit");
    turn_rig_turn(&rig, "write");
    assert_string_equal(open_question(&rig)->changes->items[0].path, ".git/hooks/pre-commit");
    assert_string_equal(proposed(&rig, 0, "[0].path"), ".git/hooks/pre-commit");
    assert_string_equal(proposed(&rig, 0, "[0].through"), "docs/pre-commit");
    assert_string_equal(proposed(&rig, 0, "[0].protected"), "git runs the files in it");
    assert_non_null(strstr(proposed(&rig, 0, "[0].diff"), "+++ b/.git/hooks/pre-commit"));
    say(&rig, DECISION_APPROVED);
    check_file(&rig, ".git/hooks/pre-commit", "new\n");
    const struct event *applied = turn_rig_event(&rig, EVENT_WRITE_APPLIED, 0);
    assert_string_equal(turn_check_json(&rig, event_json(applied, "files"), "[0].path"), ".git/hooks/pre-commit");
    turn_check_end(&rig);
}

static void test_a_folder_swapped_while_the_question_is_open(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    turn_rig_open(&rig);
    wants_to_write(&rig, "w", "src/new.txt");
    turn_rig_turn(&rig, "write");
    assert_string_equal(open_question(&rig)->changes->items[0].path, "src/new.txt");
    swap_src(&rig);
    say(&rig, DECISION_APPROVED);
    /* Nothing was written: another question stands there, about where it would go now. */
    check_file(&rig, ".git/hooks/new.txt", NULL);
    check_file(&rig, "src.old/new.txt", NULL);
    assert_true(open_question(&rig)->again);
    assert_true(open_question(&rig)->moved);
    assert_string_equal(open_question(&rig)->changes->items[0].path, ".git/hooks/new.txt");
    assert_string_equal(proposed(&rig, 1, "[0].protected"), "git runs the files in it");
    say(&rig, DECISION_DENIED);
    check_file(&rig, ".git/hooks/new.txt", NULL);
    turn_check_end(&rig);
}

/* No link is in the way, it is just another folder: only its identity tells. */
static void test_a_folder_swapped_for_a_real_one(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    turn_rig_open(&rig);
    wants_to_write(&rig, "w", "src/new.txt");
    turn_rig_turn(&rig, "write");
    CLEANUP(free)
    char *src = in_work(&rig, "src"), *aside = in_work(&rig, "src.old"), *hooks = in_work(&rig, ".git/hooks");
    assert_int_equal(rename(src, aside), 0);
    assert_int_equal(rename(hooks, src), 0);
    say(&rig, DECISION_APPROVED);
    check_file(&rig, "src/new.txt", NULL);
    assert_true(open_question(&rig)->again);
    assert_true(open_question(&rig)->moved);
    say(&rig, DECISION_DENIED);
    check_file(&rig, "src/new.txt", NULL);
    turn_check_end(&rig);
}

/* An ordinary place when it was asked about, git's hooks when it is answered. */
static void test_a_place_that_becomes_protected(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    turn_rig_file(&rig, "store/hooks/sample", "");
    turn_rig_open(&rig);
    wants_to_write(&rig, "w", "store/hooks/x");
    turn_rig_turn(&rig, "write");
    CLEANUP(free) char *git = in_work(&rig, ".git"), *aside = in_work(&rig, "aside");
    assert_int_equal(rename(git, aside), 0);
    link_to(&rig, "store", ".git");
    say(&rig, DECISION_APPROVED);
    check_file(&rig, "store/hooks/x", NULL);
    assert_true(open_question(&rig)->again);
    assert_string_equal(proposed(&rig, 1, "[0].protected"), "git runs the files in it");
    say(&rig, DECISION_DENIED);
    check_file(&rig, "store/hooks/x", NULL);
    turn_check_end(&rig);
}

static void test_allow_does_not_follow_a_swap(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    turn_rig_open(&rig);
    wants_to_write(&rig, "w", "src/x");
    turn_rig_turn(&rig, "write");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_ALLOW, .allow = {.tool = "write_file", .path = "src/x"}});
    say(&rig, DECISION_APPROVED);
    check_file(&rig, "src/x", "new\n");
    swap_src(&rig);
    wants_to_write(&rig, "w2", "src/x");
    turn_rig_turn(&rig, "write again");
    assert_string_equal(open_question(&rig)->changes->items[0].path, ".git/hooks/x");
    say(&rig, DECISION_DENIED);
    check_file(&rig, ".git/hooks/x", NULL);
    assert_string_equal(decided(&rig, 1)->by, "key");
    turn_check_end(&rig);
}

static void test_a_protected_place_cannot_be_allowed(void **state)
{
    struct turn_rig rig;
    struct intent allow = {.type = INTENT_ALLOW, .allow = {.tool = "write_file", .path = "sub/.GIT/config"}};

    (void)state;
    init_mode(&rig, RULES_ALLOW, true);
    assert_string_equal(
        turn_check_submit(&rig, &allow),
        "sub/.GIT/config is protected (git runs the programs that it names): Keyturn asks about every write to it");
    wants_to_write(&rig, "w", "src/free");
    wants_to_write(&rig, "w2", ".git/hooks/x");
    turn_rig_turn(&rig, "write"); /* the mode allows the first one; the second is asked about all the same */
    check_file(&rig, "src/free", "new\n");
    assert_string_equal(open_question(&rig)->changes->items[0].path, ".git/hooks/x");
    say(&rig, DECISION_APPROVED);
    check_file(&rig, ".git/hooks/x", "new\n");
    turn_check_end(&rig);
}

static void test_without_a_person_it_is_denied(void **state)
{
    static const enum rule_mode modes[] = {RULES_ASK, RULES_DENY, RULES_ALLOW};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct turn_rig rig;

        init_mode(&rig, modes[i], false);
        link_to(&rig, ".git", "g");
        wants_to_write(&rig, "w", "g/hooks/x");
        turn_rig_turn(&rig, "write");
        assert_null(engine_question(rig.engine));
        assert_true(engine_nobody_asked(rig.engine));
        assert_non_null(strstr(engine_protected(rig.engine), ".git/hooks/x is protected (git runs the files in it)"));
        assert_string_equal(decided(&rig, 0)->decision, "denied");
        assert_string_equal(decided(&rig, 0)->by, "policy");
        assert_string_equal(decided(&rig, 0)->reason, engine_protected(rig.engine));
        assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
        check_file(&rig, ".git/hooks/x", NULL);
        turn_check_end(&rig);
    }
}

/* The project's own .git or .keyturn is a link, or a file that names the folder: both names of the place count. */
static void test_a_place_that_is_elsewhere(void **state)
{
    static const struct {
        const char *link, *to; /* NULL: the file below instead */
        const char *file, *text;
        const char *path, *real;
        bool denied;
    } cases[] = {
        {".git", "store", NULL, NULL, ".git/hooks/x", "store/hooks/x", true},
        {".git", "store", NULL, NULL, "store/hooks/x", "store/hooks/x", true},
        {".git", "store", NULL, NULL, "STORE/hooks/x", "STORE/hooks/x", true},
        {".git", "store", NULL, NULL, "storex/hooks/x", "storex/hooks/x", false},
        {".keyturn", "src", NULL, NULL, "src/rules", "src/rules", true},
        {".keyturn", "src", NULL, NULL, ".keyturn/rules", "src/rules", true},
        {"sub.git", "src", NULL, NULL, "src/rules", "src/rules", false},
        {NULL, NULL, ".git", "gitdir: store\n", "store/hooks/x", "store/hooks/x", true},
        {NULL, NULL, ".git", "gitdir: ./store/../store\n", "store/config", "store/config", true},
        {NULL, NULL, ".git", "gitdir: store\n", "src/x", "src/x", false},
        {NULL, NULL, ".git", "gitdir: /elsewhere/store\n", "store/x", "store/x", false},
        {NULL, NULL, ".git", "gitdir: store/worktrees/w\n", "store/hooks/x", "store/hooks/x", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;

        turn_rig_init(&rig);
        turn_rig_file(&rig, "store/hooks/sample", "");
        turn_rig_file(&rig, "store/worktrees/w/commondir", "../..\n");
        turn_rig_file(&rig, "src/a.txt", "old\n");
        rules_free(rig.harness.rules);
        rig.harness.rules = rules_new(RULES_ALLOW, false);
        turn_rig_open(&rig);
        if (cases[i].link)
            link_to(&rig, cases[i].to, cases[i].link);
        else
            turn_rig_file(&rig, cases[i].file, cases[i].text);
        wants_to_write(&rig, "w", cases[i].path);
        turn_rig_turn(&rig, "write");
        if (strcmp(decided(&rig, 0)->decision, cases[i].denied ? "denied" : "approved") != 0)
            fail_msg("case %zu, %s: %s", i, cases[i].path, decided(&rig, 0)->decision);
        assert_string_equal(proposed(&rig, 0, "[0].path"), cases[i].real);
        if (cases[i].denied)
            assert_non_null(strstr(engine_protected(rig.engine), "is protected ("));
        check_file(&rig, cases[i].real, cases[i].denied ? NULL : "new\n");
        turn_check_end(&rig);
    }
}

/* The question that is open knows what the path alone does not tell. */
static void test_a_place_that_is_elsewhere_cannot_be_allowed(void **state)
{
    struct turn_rig rig;
    struct intent allow = {.type = INTENT_ALLOW, .allow = {.tool = "write_file", .path = "src/x"}};

    (void)state;
    turn_rig_init(&rig);
    turn_rig_file(&rig, "src/a.txt", "old\n");
    turn_rig_open(&rig);
    link_to(&rig, "src", ".keyturn");
    wants_to_write(&rig, "w", "src/x");
    turn_rig_turn(&rig, "write");
    assert_non_null(strstr(turn_check_submit(&rig, &allow), "src/x is protected ("));
    say(&rig, DECISION_DENIED);
    turn_check_end(&rig);
}

/* What was allowed to calls that show no files does not hold for one that names a protected place. */
static void test_a_call_without_files(void **state)
{
    static const struct {
        const char *arguments;
        bool denied;
    } cases[] = {
        {"{\"what\":\"src/a.txt\"}", false},
        {"{\"what\":[{\"to\":\"/elsewhere/.git/config\"}]}", true},
        {"{\"what\":\"g/config\"}", true},
        {"{\"what\":\"g/config\\n\"}", true},
        {"{\"what\":{\"g/config\":1}}", true},
        {"{\"what\":[[[[[[\"g/config\"]]]]]]}", true},
        {"{\"what\":\"file:///elsewhere/%2egit/config\"}", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;
        struct fake_tool foreign;

        fake_tool_init(&foreign, "foreign", EFFECT_LOCAL_WRITE);
        foreign.asks = FAKE_ASKS_FIELD;
        init(&rig);
        turn_rig_add_tool(&rig, &foreign.tool);
        rules_free(rig.harness.rules);
        rig.harness.rules = rules_new(RULES_ALLOW, false);
        turn_rig_open(&rig);
        link_to(&rig, ".git", "g");
        fake_answer_call(fake_provider_answer(rig.model), "c", "foreign", cases[i].arguments);
        turn_rig_turn(&rig, "call");
        assert_string_equal(decided(&rig, 0)->decision, cases[i].denied ? "denied" : "approved");
        assert_int_equal(engine_nobody_asked(rig.engine), cases[i].denied);
        assert_int_equal(foreign.confirmed, !cases[i].denied);
        turn_check_end(&rig);
        fake_tool_release(&foreign);
    }
}

static void test_neither_spelling_evades_a_breakpoint(void **state)
{
    static const struct {
        const char *spec, *path;
        const char *tool; /* the call that is held */
    } cases[] = {
        {"path=.git/**", "docs/x", "write_file"},
        {"path=docs/*", "docs/x", "write_file"},
        {"path=.git/**", "src/../docs/x", "write_file"},
        {"path=.git/**", "docs/sample", "read_file"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;
        struct held_view held;
        CLEANUP(free)
        char *arguments = xasprintf("{\"path\":\"%s\"%s}", cases[i].path,
                                    strcmp(cases[i].tool, "write_file") == 0 ? ",\"content\":\"new\"" : "");

        init(&rig);
        rig.harness.interactive = true;
        turn_rig_open(&rig);
        link_to(&rig, ".git/hooks", "docs");
        turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = cases[i].spec}});
        fake_answer_call(fake_provider_answer(rig.model), "c", cases[i].tool, arguments);
        turn_rig_turn(&rig, "go");
        assert_true(engine_held(rig.engine, &held));
        assert_int_equal(held.gate, GATE_TOOL);
        assert_string_equal(held.why, cases[i].spec);
        turn_check_do(&rig, INTENT_CONTINUE);
        if (strcmp(cases[i].tool, "write_file") == 0) {
            assert_true(engine_held(rig.engine, &held));
            assert_int_equal(held.gate, GATE_WRITE);
            assert_string_equal(held.why, cases[i].spec);
            turn_check_do(&rig, INTENT_CONTINUE);
            say(&rig, DECISION_DENIED);
        }
        turn_check_end(&rig);
    }
}

static void test_what_is_lost_is_proposed(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    turn_rig_open(&rig);
    CLEANUP(free) char *path = in_work(&rig, "src/a.txt"), *other = in_work(&rig, "src/b.txt");
    assert_int_equal(link(path, other), 0);
    assert_int_equal(chmod(path, 04755), 0);
    wants_to_write(&rig, "w", "src/a.txt");
    turn_rig_turn(&rig, "write");
    assert_string_equal(proposed(&rig, 0, "[0].loses[0]"), "setuid");
    assert_string_equal(proposed(&rig, 0, "[0].loses[1]"), "hard links (1 other name keeps the old content)");
    say(&rig, DECISION_APPROVED);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    check_file(&rig, "src/b.txt", "old\n");
    turn_check_end(&rig);
}

/* An approved write to a protected place can be undone: the person who undoes it is the one who decides. */
static void test_undo_in_a_protected_place(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    turn_rig_open(&rig);
    wants_to_write(&rig, "w", ".git/hooks/sample");
    turn_rig_turn(&rig, "write");
    say(&rig, DECISION_APPROVED);
    check_file(&rig, ".git/hooks/sample", "new\n");
    const char *checkpoint = turn_rig_event(&rig, EVENT_CHECKPOINT_SAVED, 0)->checkpoint_saved.checkpoint;
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_UNDO, .undo = {.checkpoint = checkpoint}});
    turn_rig_run(&rig);
    check_file(&rig, ".git/hooks/sample", "");
    turn_check_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_question_is_about_the_resolved_path),
        cmocka_unit_test(test_a_folder_swapped_while_the_question_is_open),
        cmocka_unit_test(test_a_folder_swapped_for_a_real_one),
        cmocka_unit_test(test_a_place_that_becomes_protected),
        cmocka_unit_test(test_allow_does_not_follow_a_swap),
        cmocka_unit_test(test_a_protected_place_cannot_be_allowed),
        cmocka_unit_test(test_without_a_person_it_is_denied),
        cmocka_unit_test(test_a_place_that_is_elsewhere),
        cmocka_unit_test(test_a_place_that_is_elsewhere_cannot_be_allowed),
        cmocka_unit_test(test_a_call_without_files),
        cmocka_unit_test(test_neither_spelling_evades_a_breakpoint),
        cmocka_unit_test(test_what_is_lost_is_proposed),
        cmocka_unit_test(test_undo_in_a_protected_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
