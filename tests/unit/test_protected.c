/* Tests of protected and dangerous places: every spelling of them, and which decisions count for them. */

#include "base/arena.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/scratch.h"
#include "support/test.h"
#include "tools/change.h"
#include "tools/protected.h"
#include "turn/rules.h"
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

TEST(protected_spellings)
{
    static const char *const paths[] = {
        ".git",
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/refs/heads/main",
        "sub/module/.git",
        "sub/module/.git/hooks/x",
        ".GIT/hooks/x",
        ".Git",
        ".git./hooks/x",
        ".git /x",
        ".g\xe2\x80\x8cit/hooks/x", /* a zero-width non-joiner, which folding file systems ignore */
        "GIT~1/config",
        ".keyturn",
        ".keyturn/rules",
        "deep/.KeyTurn/rules",
        (".\xe2\x84\xaa"
         "eyturn/rules"), /* the sign for kelvin folds to a k */
    };
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (!protected_find(paths[i]))
            fail_msg("%s is not protected", paths[i]);
}

TEST(ordinary_paths_are_not_protected)
{
    static const char *const ordinary[] = {".",       "src/a.c", ".gitignore", "git/hooks/x", "a.git/x",
                                           ".gitx/y", "x.git",   "docs/.keys", "Makefile",    "hooks/x",
                                           "...",     "a/b/c",   ".github/x",  "keyturn/x"};
    static const char *const dangerous[] = {".envrc",    "sub/.envrc", ".github/workflows/ci.yml", ".vscode/tasks.json",
                                            "AGENTS.md", "agents.MD",  ".husky/pre-push",          ".mcp.json"};
    for (size_t i = 0; i < COUNT_OF(ordinary); i++)
        if (guarded_find(ordinary[i]))
            fail_msg("%s is guarded", ordinary[i]);
    for (size_t i = 0; i < COUNT_OF(dangerous); i++) {
        const struct guarded *place = guarded_find(dangerous[i]);
        if (!place || place->guard != GUARD_DANGEROUS || protected_find(dangerous[i]))
            fail_msg("%s is not dangerous", dangerous[i]);
        assert_true(strlen(place->why) > 10);
    }
    assert_string_equal(protected_find(".git/hooks/x")->why, "git runs the files in it");
    assert_string_equal(guard_name(GUARD_PROTECTED), "protected");
    assert_string_equal(guard_name(GUARD_DANGEROUS), "dangerous");
}

struct fixture {
    struct scratch scratch;
    struct beneath *root;
    struct change_set *set;
};

/* A set of an ordinary file and this one. */
static void setup_set(struct fixture *f, const char *path)
{
    struct err err = ERR_INIT;
    scratch_init(&f->scratch);
    f->root = beneath_open(f->scratch.path, &err);
    assert_non_null(f->root);
    f->set = change_set_new();
    assert_non_null(change_set_add(f->set, f->root, "a", &err));
    assert_non_null(change_set_add(f->set, f->root, path, &err));
}

static void release(struct fixture *f)
{
    change_set_free(f->set);
    beneath_close(f->root);
    scratch_release(&f->scratch);
}

static struct decision judge(struct rules *rules, const struct change_set *set, const char *named, bool *nobody)
{
    struct rule_subject subject = {.turn = 1, .call = "c", .tool = "t", .changes = set, .named = named};
    return rules_decide(rules, &subject, nobody);
}

/* Recordings, rules and modes that approve: none of them counts. */
TEST(nothing_allows_it)
{
    static const enum rule_mode modes[] = {RULES_ASK, RULES_ALLOW, RULES_DENY};
    struct fixture f;
    setup_set(&f, ".git/hooks/x");
    for (size_t i = 0; i < COUNT_OF(modes) * 4; i++) {
        bool there = i % 2, recorded = i / 2 % 2, nobody;
        enum rule_mode mode = modes[i / 4];
        struct rules *rules = rules_new(mode, there);
        struct decision yes = {.kind = DECISION_APPROVED, .by = BY_KEY};
        rules_allow(rules, "t", "a");
        rules_allow(rules, "t", ".git/hooks/x");
        if (recorded)
            rules_record(rules, 1, "c", &yes);
        struct decision decision = judge(rules, f.set, NULL, &nobody);
        assert_int_equal(decision.kind, there && mode != RULES_DENY ? DECISION_NONE : DECISION_DENIED);
        assert_int_equal(nobody, !there);
        if (!there) {
            assert_int_equal(decision.by, BY_POLICY);
            assert_string_equal(decision.reason, ".git/hooks/x is protected (git runs the files in it): a write there "
                                                 "needs a person's approval, and no terminal is attached");
        }
        decision_release(&decision);
        rules_free(rules);
    }
    release(&f);
}

TEST(a_recorded_no_holds)
{
    struct fixture f;
    bool nobody;
    setup_set(&f, ".keyturn/rules");
    struct rules *rules = rules_new(RULES_ALLOW, true);
    struct decision no = {.kind = DECISION_DENIED, .by = BY_KEY};
    rules_record(rules, 1, "c", &no);
    struct decision decision = judge(rules, f.set, NULL, &nobody);
    assert_int_equal(decision.kind, DECISION_DENIED);
    assert_int_equal(decision.by, BY_RECORDING);
    decision_release(&decision);
    rules_free(rules);
    release(&f);
}

/* A call without files that names one; and a place that is only dangerous. */
TEST(named_and_dangerous)
{
    struct fixture f;
    bool nobody;
    setup_set(&f, ".envrc");
    struct change_set *none = change_set_new();
    struct rules *rules = rules_new(RULES_ALLOW, false);
    rules_allow(rules, "t", NULL);
    struct decision decision = judge(rules, none, "names a protected path: .git/config (why)", &nobody);
    assert_int_equal(decision.kind, DECISION_DENIED);
    assert_string_equal(decision.reason, "this call names a protected path: .git/config (why): it needs a person's "
                                         "approval, and no terminal is attached");
    assert_true(nobody);
    decision_release(&decision);
    decision = judge(rules, none, NULL, &nobody);
    assert_int_equal(decision.kind, DECISION_APPROVED);
    decision_release(&decision);
    decision = judge(rules, f.set, NULL, &nobody);
    assert_int_equal(decision.kind, DECISION_APPROVED);
    decision_release(&decision);
    rules_free(rules);
    change_set_free(none);
    release(&f);
}

/* The root itself lies in such a place: every file of it is protected. */
TEST(a_root_in_a_protected_place)
{
    struct scratch scratch;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    scratch_write(&scratch, "repo/.git/hooks/sample", "");
    CLEANUP(free) char *dir = scratch_path(&scratch, "repo/.git");
    CLEANUP(free) char *link = scratch_path(&scratch, "innocent");
    assert_int_equal(symlink(dir, link), 0);
    struct beneath *root = beneath_open(link, &err);
    assert_non_null(root);
    struct change_set *set = change_set_new();
    assert_non_null(change_set_add(set, root, "hooks/pre-commit", &err));
    assert_non_null(change_set_add(set, root, "x", &err));
    for (size_t i = 0; i < set->count; i++)
        assert_true(change_protected(&set->items[i]));
    assert_string_equal(set->items[0].guard->why, "git runs the files in it");
    assert_ptr_equal(protected_in(set), &set->items[0]);
    change_set_free(set);
    beneath_close(root);
    scratch_release(&scratch);
}

/* before, `count` times the middle, after */
static char *repeated(const char *before, const char *middle, size_t count, const char *after)
{
    struct strbuf out = STRBUF_INIT;
    strbuf_addstr(&out, before);
    for (size_t i = 0; i < count; i++)
        strbuf_addstr(&out, middle);
    strbuf_addstr(&out, after);
    return strbuf_detach(&out, NULL);
}

/* Git's folders under other names: what git itself would take for one. */

static void expect_guard(struct beneath *root, const char *path, const char *why)
{
    struct err err = ERR_INIT;
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, root, path, &err);
    assert_non_null(change);
    if (why ? !change_protected(change) || strcmp(change->guard->why, why) != 0 : change->guard != NULL)
        fail_msg("%s: %s", path, change->guard ? change->guard->why : "ordinary");
    change_set_free(set);
}

static void make_repository(struct scratch *scratch, const char *folder)
{
    CLEANUP(free) char *head = xasprintf("%s/HEAD", folder), *objects = xasprintf("%s/objects", folder);
    CLEANUP(free) char *refs = xasprintf("%s/refs", folder);
    scratch_write(scratch, head, "ref: refs/heads/main\n");
    scratch_mkdir(scratch, objects);
    scratch_mkdir(scratch, refs);
}

TEST(git_folders_are_protected)
{
    struct fixture f;
    setup_set(&f, "x");
    make_repository(&f.scratch, "store"); /* that of sub */
    scratch_write(&f.scratch, "sub/.git", "gitdir: ../store\n");
    make_repository(&f.scratch, "deep/down/project.git");
    scratch_write(&f.scratch, "linked/HEAD", "x");
    scratch_write(&f.scratch, "linked/commondir", "../store\n");
    scratch_write(&f.scratch, "plain/HEAD", "x");
    expect_guard(f.root, "store/hooks/x", "git runs the files in it");
    expect_guard(f.root, "store/config", "git runs the programs that it names");
    expect_guard(f.root, "deep/down/project.git/hooks/x", "git runs the files in it");
    expect_guard(f.root, "deep/down/project.git/new/x", "git keeps its own records there and trusts them");
    expect_guard(f.root, "linked/config.worktree", "git keeps its own records there and trusts them");
    expect_guard(f.root, "plain/config", NULL);
    expect_guard(f.root, "deep/down/x", NULL);
    make_repository(&f.scratch, "."); /* the root is one */
    expect_guard(f.root, "hooks/x", "git runs the files in it");
    release(&f);
}

TEST(hooks_path)
{
    static const char *const configs[] = {"[core]\n\thooksPath = tools/hooks\n", "[core]\nHOOKSPATH=\"tools/hooks\"\n",
                                          "[core] hookspath = ./tools/hooks",
                                          "[a]\nx = y\n[core]\n  hooksPath  =  tools/hooks  \n[b]\n"};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        struct fixture f;
        setup_set(&f, "x");
        scratch_write(&f.scratch, ".git/config", configs[i]);
        expect_guard(f.root, "tools/hooks/pre-commit", "git runs the files in it");
        expect_guard(f.root, "tools/other", NULL);
        release(&f);
    }
}

/* A file that names the folder may have any length. */
TEST(a_long_git_file)
{
    struct fixture f;
    setup_set(&f, "x");
    CLEANUP(free) char *text = repeated("gitdir: ", "./", 10000, "store\n");
    scratch_write(&f.scratch, ".git", text);
    expect_guard(f.root, "store/hooks/x", "git runs the files in it");
    release(&f);
}

/* A path that becomes protected while the question is open: the approval was for another one. */
TEST(a_place_that_becomes_protected)
{
    struct fixture f;
    struct err err = ERR_INIT;
    setup_set(&f, "store/hooks/x");
    scratch_mkdir(&f.scratch, "store/hooks");
    change_set_free(f.set);
    f.set = change_set_new();
    change_side_set(&change_set_add(f.set, f.root, "store/hooks/x", &err)->new, "new", 3, 0644);
    assert_int_equal(change_set_check(f.set, f.root, &err), 0);
    CLEANUP(free) char *git = scratch_path(&f.scratch, ".git");
    assert_int_equal(symlink("store", git), 0);
    assert_int_equal(change_set_commit(f.set, f.root, &err), -1);
    assert_string_equal(err.text, "store/hooks/x is now a protected path");
    assert_int_equal(err.code, ESTALE);
    assert_false(scratch_exists(&f.scratch, "store/hooks/x"));
    release(&f);
}

/* The paths in the arguments of a call without files. */

static char *named_by(const struct beneath *root, const char *arguments)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct named named;
    struct err err = ERR_INIT;
    const struct json *json = json_parse(&arena, arguments, strlen(arguments), &err);
    if (!json)
        fail_msg("%s", err.text);
    named_init(&named);
    named_collect(&named, json);
    char *found = named_find(&named, root);
    named_release(&named);
    return found;
}

/* A root with the links g → .git and h → .git/hooks. */
static void setup_links(struct fixture *f)
{
    setup_set(f, ".envrc");
    scratch_write(&f->scratch, ".git/config", "");
    scratch_write(&f->scratch, ".git/hooks/sample", "");
    CLEANUP(free) char *g = scratch_path(&f->scratch, "g");
    assert_int_equal(symlink(".git", g), 0);
}

TEST(protected_paths_in_arguments_are_found)
{
    static const char *const names[] = {
        "{\"p\":\".git/config\"}",
        "{\"p\":\".git/config\\n\"}",
        "{\"p\":\" \\t.git/config \\r\\n\"}",
        "{\"p\":\"x\\ny/../.git/config\"}",
        "{\"p\":\"g/config\\n\"}",
        "{\"p\":\"./x/../g/config\"}",
        "{\".git/config\":1}",
        "{\"g/config\":\"text\"}",
        "{\"a\":[[[[[[[[[[{\"b\":{\"c\":{\"d\":\"g/config\"}}}]]]]]]]]]]}",
        "{\"p\":\"file:///elsewhere/%2egit/config\"}",
        "{\"p\":\"FILE://localhost/elsewhere/%2Egit%2fconfig\"}",
        "{\"p\":\"file:g/config\"}",
        "{\"p\":\"%2e%67it/config\"}",
        "{\"p\":\"%252egit/config\"}",
        "{\"p\":\".git%2fconfig%00.txt\"}",
        "{\"p\":\".keyturn\"}",
        "{\"p\":\"a,.git/config\"}",
        "{\"p\":\"config:g/config\"}",
        "{\"p\":\"file=.git/config\"}",
        "{\"p\":\"\\\"./.git\\\"\"}",
        "{\"p\":\"'g/config'\"}",
    };
    static const char *const others[] = {
        "{\"p\":\"src/a.c\"}",
        "{\"p\":\"\"}",
        "{\"p\":\"100% of it, 5%zz\"}",
        "{\"p\":\"file:///elsewhere/a\"}",
        "{\"p\":\".gitignore\\n\"}",
        "{\"p\":\"// a comment\\nint main(void) { return 0; }\\n\"}",
        "{\"p\":[1,null,true,\"../../..\"]}",
        "{\"p\":\"path: .git/config\\nother: x\"}", /* content */
        "{\"p\":\"a,b:c=d\"}",
    };
    struct fixture f;
    setup_links(&f);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(free) char *found = named_by(f.root, names[i]);
        if (!found || strncmp(found, "names a protected path: ", 24) != 0)
            fail_msg("%s: %s", names[i], found ? found : "nothing");
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        CLEANUP(free) char *found = named_by(f.root, others[i]);
        if (found)
            fail_msg("%s: %s", others[i], found);
    }
    /* By another way to the root. */
    CLEANUP(free) char *around = xasprintf("{\"p\":\"file://%s/no/%%2e%%2e/g/config\"}", f.scratch.path);
    CLEANUP(free) char *above = xasprintf("{\"p\":\"..%s/g/config\"}", strrchr(beneath_path(f.root), '/'));
    CLEANUP(free) char *one = named_by(f.root, around), *two = named_by(f.root, above);
    assert_string_equal(one, "names a protected path: .git/config (git runs the programs that it names)");
    assert_string_equal(two, one);
    release(&f);
}

/* A path above a limit counts as protected; long texts are no paths, unless normalizing makes them short. */
TEST(bounds)
{
    struct fixture f;
    setup_links(&f);
    const struct {
        char *arguments;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {repeated("{\"p\":[", "\"a\",", 64, "\"g/config\"]}"), "names a protected path: .git/config ("},
        {repeated("{\"p\":[", "\"a\",", 4094, "\"b\"]}"), NULL},
        {repeated("{\"p\":[", "\"a\",", 4096, "\"b\"]}"),
         "may touch a protected path (its arguments have more than 4096 strings)"},
        {repeated("{\"p\":\"", "./", 600, "g/config\"}"), "names a protected path: .git/config ("},
        {repeated("{\"p\":\"", "./", 6000, "g/config\"}"), "names a protected path: .git/config ("},
        {repeated("{\"p\":\"", "./", 40000, "g/config\"}"),
         "may touch a protected path (an argument is longer than 64 KB and may be a path)"},
        {repeated("{\"p\":\"g", "/", 65600, "config\"}"), "names a protected path: .git/config ("},
        {repeated("{\"p\":\"", "abcdefgh/", 600, ".git/config\"}"), NULL},
        {repeated("{\"p\":\"", "a line of text.\\n", 20000, "\"}"), NULL},
        {repeated("{\"p\":\"", "QUJD/+", 20000, "==\"}"), NULL},
        {repeated("{\"p\":[", "\"................................................................\",", 4000, "\"b\"]}"),
         NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(free) char *found = named_by(f.root, cases[i].arguments);
        if (cases[i].says ? !found || strncmp(found, cases[i].says, strlen(cases[i].says)) != 0 : found != NULL)
            fail_msg("case %zu: %s", i, found ? found : "nothing");
        free(cases[i].arguments);
    }
    /* Of a long path, the end is shown. */
    CLEANUP(free) char *arguments = repeated("{\"p\":\"/", "elsewhere/", 100, ".git/config\"}");
    CLEANUP(free) char *found = named_by(f.root, arguments);
    assert_non_null(strstr(found, "/.git/config (git runs the programs that it names)"));
    assert_true(strlen(found) < 450);
    release(&f);
}
