/* Tests of the tool servers in the config file, and in files of other programs with the same format. */

#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "support/scratch.h"
#include "support/test.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void refuses(const char *text, long line, const char *part)
{
    struct err err = ERR_INIT;
    assert_null(config_parse(text, strlen(text), &err));
    if (err.line != line || !strstr(err.text, part))
        fail_msg("%s: line %ld: %s", text, err.line, err.text);
}

static struct config *takes(const char *text)
{
    struct err err = ERR_INIT;
    struct config *config = config_parse(text, strlen(text), &err);
    if (!config)
        fail_msg("%s: line %ld: %s", text, err.line, err.text);
    assert_int_equal(err.line, 0);
    return config;
}

TEST(entries_are_read)
{
    setenv("TEST_MCP_KEY", "k-e-y", 1);
    unsetenv("TEST_MCP_NONE");
    CLEANUP(config)
    struct config *config =
        takes("{\"mcpServers\": {\n"
              " \"fs\": {\"command\": \"node\", \"args\": [\"a.js\", \"${TEST_MCP_KEY}\"], \"env\": {\"KEY\": "
              "\"<${TEST_MCP_KEY}>\"},\n"
              "          \"cwd\": \"/tmp\", \"trust\": true, \"effects\": {\"*\": \"local_write\", \"look\": "
              "\"READ_ONLY\"}, \"timeout_s\": 5},\n"
              " \"off\": {\"command\": \"x\", \"disabled\": true, \"type\": \"stdio\", \"alwaysAllow\": [\"a\"]},\n"
              " \"web\": {\"type\": \"http\", \"url\": \"http://127.0.0.1/\", \"headers\": {}},\n"
              " \"none\": {\"command\": \"x\", \"env\": {\"K\": \"${TEST_MCP_NONE}\"}}},\n"
              " \"mcp_wait_s\": 2.5}");
    assert_int_equal(config->mcp.count, 4);
    const struct mcp_spec *fs = &config->mcp.items[0];
    assert_string_equal(fs->name, "fs");
    assert_string_equal(fs->argv[0], "node");
    assert_string_equal(fs->argv[2], "k-e-y");
    assert_null(fs->argv[3]);
    assert_string_equal(fs->env[0], "KEY=<k-e-y>");
    assert_null(fs->env[1]);
    assert_string_equal(fs->cwd, "/tmp");
    assert_true(fs->trust);
    assert_int_equal(fs->rule_count, 2);
    assert_int_equal(fs->rules[0].effect, EFFECT_LOCAL_WRITE);
    assert_true(fs->timeout_s > 4.9 && fs->timeout_s < 5.1);
    assert_int_equal(fs->line, 2);
    assert_true(config->mcp.items[1].disabled);
    assert_non_null(strstr(config->mcp.items[1].note, "alwaysAllow"));
    assert_non_null(strstr(config->mcp.items[2].refused, "stdio"));
    assert_non_null(strstr(config->mcp.items[3].refused, "TEST_MCP_NONE"));
    assert_true(config->mcp_wait_s > 2.4 && config->mcp_wait_s < 2.6);
}

TEST(variables_may_have_a_default)
{
    setenv("TEST_MCP_KEY", "k-e-y", 1);
    setenv("TEST_MCP_EMPTY", "", 1);
    unsetenv("TEST_MCP_NONE");
    CLEANUP(config)
    struct config *config = takes(
        "{\"mcpServers\": {\"a\": {\"command\": \"${TEST_MCP_NONE:-node}\", \"cwd\": \"/${TEST_MCP_EMPTY:-srv}\",\n"
        " \"args\": [\"${TEST_MCP_KEY:-no}\", \"<${TEST_MCP_NONE:-}>\", \"${TEST_MCP_NONE:-a:-b}${TEST_MCP_EMPTY}\", "
        "\"${open\"]},\n"
        " \"b\": {\"command\": \"x\", \"args\": [\"${TEST_MCP_NONE}\"]}}}");
    const struct mcp_spec *a = &config->mcp.items[0];
    assert_null(a->refused);
    assert_string_equal(a->argv[0], "node");
    assert_string_equal(a->argv[1], "k-e-y");
    assert_string_equal(a->argv[2], "<>");
    assert_string_equal(a->argv[3], "a:-b");
    assert_string_equal(a->argv[4], "${open");
    assert_string_equal(a->cwd, "/srv");
    assert_string_equal(config->mcp.items[1].refused, "$TEST_MCP_NONE is not set; its entry uses it");
}

static void shows(const char *text, const char *expected)
{
    CLEANUP(free) char *shown = redact_copy(text);
    assert_string_equal(shown, expected);
}

/* Every value from the environment is a secret, wherever it is used; text written in the file is not. */
TEST(values_of_variables_are_not_shown)
{
    setenv("TEST_MCP_ARG", "arg-0123456789", 1);
    setenv("TEST_MCP_RUN", "run-0123456789", 1);
    setenv("TEST_MCP_PART", "part-0123456789", 1);
    setenv("TEST_MCP_HOME", "/home/user", 1);
    unsetenv("TEST_MCP_TOKEN");
    CLEANUP(config)
    struct config *config =
        takes("{\"mcpServers\": {\"a\": {\"command\": \"${TEST_MCP_RUN}\", \"cwd\": \"${TEST_MCP_HOME}\",\n"
              " \"args\": [\"--key=${TEST_MCP_ARG}\", \"literally\", \"${TEST_MCP_TOKEN:-tok-in-the-file}\"],\n"
              " \"env\": {\"NODE_ENV\": \"production\", \"WHO\": \"<${TEST_MCP_PART}>\"}}}}");
    assert_int_equal(config->mcp.count, 1);
    shows("arg-0123456789 run-0123456789 part-0123456789",
          "[secret TEST_MCP_ARG] [secret TEST_MCP_RUN] [secret TEST_MCP_PART]");
    shows("tok-in-the-file", "[secret TEST_MCP_TOKEN]");
    shows("production literally /home/user", "production literally /home/user");
    redact_forget();
}

TEST(an_entry_without_a_command_leaves_the_others)
{
    CLEANUP(config)
    struct config *config = takes("{\"mcpServers\": {\"a\":\n {\"args\": []}, \"b\": {\"command\": \"x\"}}}");
    assert_int_equal(config->mcp.count, 2);
    assert_string_equal(config->mcp.items[0].refused, "its entry (line 2) has no \"command\"");
    assert_null(config->mcp.items[1].refused);
}

TEST(errors_name_key_and_line)
{
    refuses("{\n\"mcpServers\": []}", 2, "mcpServers");
    refuses("{\"mcpServers\":\n{\"a\": 7}}", 2, "\"mcpServers.a\" must be an object");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"arg\": []}}}", 2, "did you mean \"args\"?");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"args\": \"y\"}}}", 2, "a list of strings");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [\n7]}}}", 2, "a list of strings");
    refuses("{\"mcpServers\": {\"a\": {\"command\": [\"x\"]}}}", 1, "the program to start");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"A\": 1}}}}", 1, "an object of strings");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"A=\": \"1\"}}}}", 1, "an object of strings");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"effects\": {\"t\": \"harmless\"}}}}", 1,
            "READ_ONLY, LOCAL_WRITE");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"trust\": \"yes\"}}}", 1, "true or false");
    refuses("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"timeout_s\": 0}}}", 1, "1 to 3600");
    refuses("{\"mcpServers\": {},\n\"mcp_wait_s\": -1}", 2, "mcp_wait_s");
}

TEST(files_of_other_programs)
{
    struct scratch scratch;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    scratch_write(&scratch, "theirs.json",
                  "{\"theme\": 1, \"mcpServers\": {\"m\": {\"command\": \"x\", \"cwd\": \"sub\", \"shiny\": true}}}");
    scratch_write(&scratch, "other.json", "{\"servers\": {}}");
    scratch_write(&scratch, "bad.json", "{\"mcpServers\": {\"n\":\n{\"args\": 7}}}");
    CLEANUP(free) char *theirs = scratch_path(&scratch, "theirs.json");
    CLEANUP(free) char *other = scratch_path(&scratch, "other.json");
    CLEANUP(free) char *bad = scratch_path(&scratch, "bad.json");
    CLEANUP(free) char *sub = scratch_path(&scratch, "sub");
    CLEANUP(config) struct config *config = takes("{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
    assert_int_equal(config_add_mcp(config, theirs, &err), 0);
    assert_int_equal(config->mcp.count, 2);
    assert_string_equal(config->mcp.items[1].note, "\"shiny\" has no effect");
    assert_string_equal(config->mcp.items[1].cwd, sub); /* relative to the folder of the file */
    assert_int_equal(config_add_mcp(config, theirs, &err), -1);
    assert_non_null(strstr(err.text, "duplicate MCP server \"m\"; rename or remove one"));
    assert_int_equal(config_add_mcp(config, other, &err), -1);
    assert_int_equal(config_add_mcp(config, bad, &err), -1);
    assert_int_equal(err.line, 2);
    assert_int_equal(config_add_mcp(config, "/no/such/file", &err), -1);
    scratch_release(&scratch);
}
