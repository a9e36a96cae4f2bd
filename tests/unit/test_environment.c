/* Tests of a model's commands: which ones a policy accepts, and that nothing runs under another name. */

#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/environment.h"
#include "support/test.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *check(const struct command_policy *policy, const char *command)
{
    static struct err err;
    err = (struct err)ERR_INIT;
    return command_policy_check(policy, command, &err) ? err.text : "ok";
}

TEST(without_lists_every_command_is_allowed)
{
    struct command_policy none = {0}, empty = {.allow = (const char *const[]){NULL}};
    assert_false(command_policy_active(&none));
    assert_false(command_policy_active(&empty));
    assert_string_equal(check(&none, "sudo rm -rf / > x &"), "ok");
}

TEST(denied_and_allowed)
{
    struct command_policy deny = {.deny = LIST("curl", "rm")};
    assert_string_equal(check(&deny, "ls -la | grep x && cat 'a b'; wc"), "ok");
    assert_string_equal(check(&deny, "ls; curl x"), "the command \"curl\" is denied here");
    assert_non_null(strstr(check(&deny, "ls | /usr/bin/Curl x"), "denied here"));
    assert_non_null(strstr(check(&deny, "c'ur'l x"), "denied here"));
    assert_non_null(strstr(check(&deny, "c\\url x"), "denied here"));
    struct command_policy allow = {.allow = LIST("git", "./build.sh", "sh")};
    assert_string_equal(check(&allow, "git status && ./build.sh"), "ok");
    assert_non_null(strstr(check(&allow, "./git status"), "is not allowed"));
    assert_non_null(strstr(check(&allow, "GIT status"), "is not allowed"));
    assert_non_null(strstr(check(&allow, "sh -c 'git'"), "always deny it"));
    assert_non_null(strstr(check(&allow, "/bin/SH -c 'git'"), "always deny it"));
    struct command_policy both = {.allow = LIST("git"), .deny = LIST("git")};
    assert_non_null(strstr(check(&both, "git"), "denied here"));
}

TEST(only_plain_commands_are_accepted)
{
    static const struct {
        const char *command, *why;
    } cases[] = {
        {"", "empty"},
        {"  ", "empty"},
        {"echo $HOME", "parameter"},
        {"echo ${X}", "parameter"},
        {"echo $(ls)", "command substitution"},
        {"echo $((1))", "arithmetic"},
        {"echo `ls`", "back-ticks"},
        {"echo \"$X\"", "parameter"},
        {"echo \"`x`\"", "back-ticks"},
        {"cat < x", "input"},
        {"ls > x", "output"},
        {"ls 2>x", "output"},
        {"diff <(a) b", "process"},
        {"(ls)", "subshell"},
        {"f() ls", "subshell"},
        {"ls &", "background"},
        {"ls & ls", "background"},
        {"ls |& x", "both streams"},
        {"ls ;; x", ";;"},
        {"ls *.c", "pattern"},
        {"ls a?", "pattern"},
        {"[ -f x ]", "pattern"},
        {"! ls", "negation"},
        {"ls # x", "comment"},
        {"ls ~", "home"},
        {"A=1 ls", "assignment"},
        {"A+=1 ls", "assignment"},
        {"if x", "statement"},
        {"while x", "statement"},
        {"{ ls", "statement"},
        {"echo {a,b}", "brace"},
        {"echo {1..3}", "brace"},
        {"echo {'a',b}", "brace"},
        {"echo {", "unclosed"},
        {"ls\nrm", "second line"},
        {"ls 'a\nb'", "second line"},
        {"echo \"a\nb\"", "second line"},
        {"echo 'x", "unclosed"},
        {"echo \"x", "unclosed"},
        {"ls \\", "backslash"},
        {"| ls", "before an operator"},
        {"ls |", "at the end"},
        {"ls && ", "at the end"},
        {"ls ; ; ls", "before an operator"},
        {"ls \x01", "control"},
    };
    struct command_policy policy = {.deny = LIST("rm")};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (!strstr(check(&policy, cases[i].command), cases[i].why))
            fail_msg("%s: %s", cases[i].command, check(&policy, cases[i].command));
    CLEANUP(strbuf) struct strbuf many = STRBUF_INIT;
    for (int i = 0; i <= POLICY_COMMANDS_MAX; i++)
        strbuf_addstr(&many, "ls;");
    assert_non_null(strstr(check(&policy, many.buf), "more than 32"));
    while (many.len <= POLICY_COMMAND_MAX)
        strbuf_addstr(&many, "xxxxxxxx");
    assert_non_null(strstr(check(&policy, many.buf), "longer than"));
}

static const char *entry(const char *name, bool allow)
{
    static struct err err;
    err = (struct err)ERR_INIT;
    return command_policy_check_entry(name, allow, &err) ? err.text : "ok";
}

TEST(invalid_entries_are_refused)
{
    assert_string_equal(entry("make", true), "ok");
    assert_string_equal(entry("./build.sh", true), "ok");
    assert_non_null(strstr(entry("bash", true), "\"bash\" can start other commands"));
    assert_non_null(strstr(entry("/bin/bash", true), "can start other commands"));
    assert_string_equal(entry("bash", false), "ok"); /* not needed, and not wrong */
    assert_non_null(strstr(entry("ls -la", true), "spaces and arguments are not allowed"));
    assert_non_null(strstr(entry("rm -rf", false), "spaces and arguments are not allowed"));
    assert_non_null(strstr(entry("git*", false), "patterns are not supported"));
}

TEST(commands_are_split_into_words)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct command_line line;
    struct err err = ERR_INIT;
    assert_int_equal(
        command_line_parse(&arena, " a 'b c' \"d\\\"\\x\" e\\ f {} '' 'if' x{}y '{a,b}' a~ ; 'if'||g;\n", &line, &err),
        0);
    assert_int_equal(line.count, 3);
    static const char *const want[] = {"a", "b c", "d\"\\x", "e f", "{}", "", "if", "x{}y", "{a,b}", "a~"};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_string_equal(line.commands[0][i], want[i]);
    assert_null(line.commands[0][COUNT_OF(want)]);
    assert_string_equal(line.commands[1][0], "if");
    assert_string_equal(line.commands[2][0], "g");
}
