/* Tests of the part of the config file about workspaces and skills. */

#include "base/mem.h"
#include "base/redact.h"
#include "config/config.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

static struct config *parse(const char *text)
{
    struct err err = ERR_INIT;
    struct config *config = config_parse(text, strlen(text), &err);
    if (!config)
        fail_msg("%ld: %s", err.line, err.text);
    return config;
}

static void refuses(const char *text, long line, const char *part)
{
    struct err err = ERR_INIT;
    assert_null(config_parse(text, strlen(text), &err));
    assert_int_equal(err.line, line);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

TEST(every_entry_is_read)
{
    CLEANUP(config)
    struct config *config =
        parse("{\"workspace\": {\"engine\": \"podman\", \"network\": true, \"persist\": true, \"max_disk_mb\": 5,\n"
              "\"memory_mb\": 64, \"pids\": 9, \"cpu_percent\": 50, \"timeout_s\": 7, \"programs\": 2,\n"
              "\"inputs\": [\"/a\", \"~/b\"], \"allow\": [\"make\"], \"deny\": []}, \"skills\": [\"s\"]}");
    const struct config_workspace *said = &config->workspace;
    assert_string_equal(said->engine, "podman");
    assert_int_equal(said->engine_line, 1);
    assert_int_equal(said->network.count, 1);
    assert_int_equal(said->network.items[0].kind, NETWORK_ANY);
    assert_true(said->persist);
    assert_int_equal(said->max_disk_mb, 5);
    assert_int_equal(said->memory_mb, 64);
    assert_int_equal(said->pids, 9);
    assert_int_equal(said->cpu_percent, 50);
    assert_int_equal(said->timeout_s, 7);
    assert_int_equal(said->programs, 2);
    assert_string_equal(said->inputs[1], "~/b");
    assert_null(said->inputs[2]);
    assert_string_equal(said->allow[0], "make");
    assert_int_equal(said->allow_lines[0], 3);
    assert_null(said->deny[0]);
    assert_string_equal(config->skills[0], "s");
}

TEST(variables_of_programs)
{
    setenv("CONFIG_TEST_TOKEN", "abcdefgh1", 1);
    unsetenv("CONFIG_TEST_NONE");
    CLEANUP(config)
    struct config *config =
        parse("{\"workspace\": {\"env\": {\"A\": \"plain\", \"B\": \"x-${CONFIG_TEST_TOKEN}-y\"}}}");
    const struct config_workspace *said = &config->workspace;
    assert_string_equal(said->env[0], "A=plain");
    assert_string_equal(said->env[1], "B=x-abcdefgh1-y");
    assert_null(said->env[2]);
    CLEANUP(free) char *shown = redact_copy("it is abcdefgh1"); /* a value of the environment may be a key */
    assert_string_equal(shown, "it is [secret CONFIG_TEST_TOKEN]");
    redact_forget();
    assert_null(said->env_missing);
    assert_int_equal(said->env_lacking_count, 0);
    CLEANUP(config)
    struct config *lacks =
        parse("{\"workspace\": {\"env\": {\n\"A\": \"${CONFIG_TEST_NONE}\", \"B\": \"${CONFIG_TEST_NONE:-b}\",\n"
              "\"C\": \"x ${CONFIG_TEST_NO_OTHER}\"}}}");
    assert_string_equal(lacks->workspace.env[1], "B=b");
    assert_string_equal(lacks->workspace.env_missing, "CONFIG_TEST_NONE");
    assert_int_equal(lacks->workspace.env_lacking_count, 2);
    assert_string_equal(lacks->workspace.env_lacking[0].key, "A");
    assert_int_equal(lacks->workspace.env_lacking[0].line, 2);
    assert_string_equal(lacks->workspace.env_lacking[1].key, "C");
    assert_string_equal(lacks->workspace.env_lacking[1].name, "CONFIG_TEST_NO_OTHER");
    assert_int_equal(lacks->workspace.env_lacking[1].line, 3);
    refuses("{\"workspace\": {\"env\": {\n\"A\": \"x${}\"}}}", 2,
            "\"workspace.env.A\" has a ${} without the name of a variable");
    refuses("{\"workspace\": {\"env\": {\"A\": \"${:-x}\"}}}", 1, "without the name of a variable");
    refuses("{\"workspace\": {\"env\": {\n\"A\": 1}}}", 2, "must be the name of a variable with a string as its value");
    refuses("{\"workspace\": {\"env\": {\"A=B\": \"1\"}}}", 1, "\"workspace.env.A=B\" must be");
    refuses("{\"workspace\": {\"env\": {\"A B\": \"1\"}}}", 1, "must be the name of a variable");
    refuses("{\"workspace\": {\"env\": {\"1A\": \"1\"}}}", 1, "must be the name of a variable");
    refuses("{\"workspace\": {\"env\": {\"\": \"1\"}}}", 1, "must be the name of a variable");
}

TEST(empty_config_sets_nothing)
{
    CLEANUP(config) struct config *config = parse("{\"workspace\": {}}");
    assert_null(config->workspace.engine);
    assert_int_equal(config->workspace.network.count, 0);
    assert_int_equal(config->workspace.max_disk_mb, 0);
    assert_null(config->workspace.allow);
    assert_null(config->skills);
}

TEST(a_list_of_hosts)
{
    CLEANUP(config)
    struct config *config = parse("{\"workspace\": {\"network\": [\"a.org:443\", \"10.0.0.0/8\"]}}");
    assert_int_equal(config->workspace.network.count, 2);
    assert_string_equal(config->workspace.network.items[0].name, "a.org");
    assert_int_equal(config->workspace.network.items[0].port, 443);
    assert_int_equal(config->workspace.network.items[1].kind, NETWORK_ADDRESSES);
    CLEANUP(config) struct config *off = parse("{\"workspace\": {\"network\": false}}");
    assert_int_equal(off->workspace.network.count, 0);
    CLEANUP(config) struct config *nothing = parse("{\"workspace\": {\"network\": []}}");
    assert_int_equal(nothing->workspace.network.count, 0);
}

TEST(errors_name_the_key)
{
    refuses("{\"workspace\": {\n\"max_disk_mb\": 0}}", 2, "\"workspace.max_disk_mb\" must be a whole number, 1 to");
    refuses("{\"workspace\": {\"pids\": 7}}", 1, "\"workspace.pids\" must be a whole number, 8 to");
    refuses("{\"workspace\": {\"programs\": 1.5}}", 1, "workspace.programs");
    refuses("{\"workspace\": {\"network\": \"no\"}}", 1, "\"workspace.network\" must be");
    refuses("{\"workspace\": {\"network\": [\"a.org\",\n\"a.org:0\"]}}", 2,
            "\"workspace.network\": \"a.org:0\" has no port from 1 to 65535 after its colon");
    refuses("{\"workspace\": {\"network\": [\"https://a.org/\"]}}", 1, "is a URL; list its host and port");
    refuses("{\"workspace\": {\"network\": [3]}}", 1, "\"workspace.network\" must be a list of strings");
    refuses("{\"workspace\": {\"netwrk\": true}}", 1, "did you mean \"network\"?");
    refuses("{\"workspace\": {\"inputs\": [\"a\",\n 3]}}", 2, "\"workspace.inputs\" must be a list of strings");
    refuses("{\"skills\": [\"\"]}", 1, "\"skills\" must be a list of strings, one of them is empty");
}
