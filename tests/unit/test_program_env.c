/* Tests of the layers of a program's environment, and of the folders where a command may start. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/engines.h"
#include "sandbox/environment.h"
#include "sandbox/process_output.h"
#include "support/test.h"
#include "workspace/exec.h"

#define VARS(...)                                             \
    ((struct env_vars){(const struct env_var[]){__VA_ARGS__}, \
                       sizeof((struct env_var[]){__VA_ARGS__}) / sizeof(struct env_var)})

static char **merged;

static const char *value(const char *name)
{
    const char *found = env_value((const char *const *)merged, name);
    return found ? found : "(none)";
}

static void merge(struct env_layers layers)
{
    struct err err = ERR_INIT;
    argv_free(merged);
    merged = env_merge(&layers, &err);
    assert_non_null(merged);
}

static const char *const host[] = {"PATH=/host",     "X=host",   "Y=host", "Z=host",
                                   "WORK_DIR=/host", "SECRET=s", "junk",   NULL};

TEST(later_layers_of_variables_win)
{
    merge((struct env_layers){.below = host,
                              .root = "/w",
                              .run = "runs/run_1",
                              .provider =
                                  VARS({"Y", "prov"}, {"Z", "prov"}, {"OUTPUT_DIR", "/prov"}, {"A=B", "x"}, {"", "x"}),
                              .call = VARS({"Z", ""}, {"SKILLS_DIR", "/call"})});
    assert_string_equal(value("PATH"), "/host");
    assert_string_equal(value("X"), "host");
    assert_string_equal(value("Y"), "prov");
    assert_string_equal(value("Z"), "");
    assert_string_equal(value("WORKSPACE_DIR"), "/w");
    assert_string_equal(value("WORK_DIR"), "/w/work");
    assert_string_equal(value("OUTPUT_DIR"), "/prov");
    assert_string_equal(value("SKILLS_DIR"), "/call");
    assert_string_equal(value("RUN_DIR"), "/w/runs/run_1");
    assert_string_equal(value("A"), "(none)");
    size_t count = 0;
    for (char **at = merged; *at; at++)
        count++;
    assert_int_equal(count, 10); /* each name once */
}

TEST(unsafe_variables_are_dropped)
{
    struct env_layers layers = {.below = host,
                                .clean = true,
                                .provider = VARS({"PATH", "/evil"}, {"LD_PRELOAD", "x"}, {"BASH_FUNC_ls%%", "x"},
                                                 {"TOKEN", "t"}, {"a-b", "x"}, {"DYLD_X", "x"}),
                                .call = VARS({"LD_PRELOAD", "mine"})};
    merge(layers);
    assert_string_equal(value("PATH"), ENV_PATH);
    assert_string_equal(value("TOKEN"), "t");
    assert_string_equal(value("SECRET"), "(none)");
    assert_string_equal(value("LD_PRELOAD"), "mine"); /* a caller may set it on purpose */
    assert_string_equal(value("a-b"), "(none)");
    assert_string_equal(value("WORKSPACE_DIR"), "(none)");
    layers.clean = false;
    merge(layers);
    assert_string_equal(value("PATH"), "/evil");
    assert_string_equal(value("SECRET"), "s");
}

TEST(a_bad_name_of_the_call)
{
    struct err err = ERR_INIT;
    struct env_layers layers = {.call = VARS({"A=B", "x"})};
    assert_null(env_merge(&layers, &err));
    assert_string_equal(err.text, "invalid variable name \"A=B\"");
}

static void cwd(const char *raw, const char *want)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *got = cwd_normalize(raw, &err);
    if (!got && !want)
        return;
    if (!got || !want)
        fail_msg("%s: %s, not %s", raw, got ? got : err.text, want ? want : "an error");
    assert_string_equal(got, want);
}

TEST(working_folders_are_resolved)
{
    cwd("", ".");
    cwd(" work/./a//b/ ", "work/a/b");
    cwd("work/../out", "out");
    cwd("$OUTPUT_DIR", "out");
    cwd("${SKILLS_DIR}/x", "skills/x");
    cwd("$WORKSPACE_DIR", ".");
    cwd("$WORKSPACE_DIR/runs/r", "runs/r");
    cwd("\\work\\a", "work/a");
    cwd("/work/../..", ".");
    cwd("$WORK_DIRX/a", NULL);
    cwd("$RUN_DIR", NULL);
    cwd("a/$WORK_DIR", NULL);
    cwd("workshop", NULL);
    cwd("..", NULL);
    cwd("work/../../etc", NULL);
    cwd("work/*", NULL);
    cwd("/etc/passwd", NULL);
}

static void hint(const char *output, enum prompt_kind kind, const char *want)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    assert_int_equal(prompt_find(output, &got), kind);
    assert_string_equal(got.buf, want);
}

TEST(prompts_are_recognized)
{
    hint("", PROMPT_NONE, "");
    hint("\n \n", PROMPT_NONE, "");
    hint("Name: ", PROMPT_TEXT, "Name:");
    hint("Sure?\n\n", PROMPT_TEXT, "Sure?");
    hint("Press ENTER to go on", PROMPT_TEXT, "Press ENTER to go on");
    hint("1) a\n 2) b\nwhich:", PROMPT_SELECTION, "which:");
    hint("1. a\nx", PROMPT_NONE, "");
    hint("Choose the number", PROMPT_SELECTION, "Choose the number");
    hint("Name:\nthanks", PROMPT_NONE, "");
}

static void window(const char *text, size_t max, const char *want, bool cut)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    assert_int_equal(window_text(&got, text, strlen(text), max), cut);
    assert_string_equal(got.buf, want);
    assert_true(!max || got.len <= max);
}

TEST(long_output_is_cut_between_characters)
{
    window("abc", 0, "abc", false);
    window("abc", 3, "abc", false);
    window("abcd", 3, "abc", true);
    window("\xc3\xa9\xc3\xa9", 3, "\xc3\xa9", true);
    window("a\xff"
           "b",
           0,
           "a\xff"
           "b",
           false);
    window("a\xff"
           "b",
           9, "ab", true);
    window("\xef\xbf\xbd"
           "b",
           9,
           "\xef\xbf\xbd"
           "b",
           false);
    window("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 29, "aa" WINDOW_MARK "b", true);
}

static int done(void **state)
{
    (void)state;
    argv_free(merged);
    return 0;
}

TEST_GROUP(NULL, done)
