/* Tests of config.json: values, defaults and errors. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "support/scratch.h"
#include "support/test.h"
#include "turn/prepare.h"
#include "turn/rules.h"
#include <math.h>
#include <stdlib.h>
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
    struct config *config = config_parse(text, strlen(text), &err);
    assert_null(config);
    assert_int_equal(err.line, line);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

TEST(empty_config_sets_nothing)
{
    static const char *const texts[] = {"", " \n\t\r\n", "{}", "// only a comment\n{ // and another\n}\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        CLEANUP(config) struct config *config = parse(texts[i]);
        assert_null(config->model);
        assert_null(config->path);
        assert_int_equal(config->model_count, 0);
        assert_int_equal(config->approve, -1);
        assert_int_equal(config->memory, -1);
        assert_int_equal(config->web, -1);
        assert_int_equal(config->thinking, -1);
        assert_int_equal(config->parallel, -1);
        assert_int_equal(config->citations, -1);
        assert_int_equal(config->select_tools, -1);
        assert_int_equal(config->reflect_on_tool_error, -1);
        assert_int_equal(config->reflect_every, -1);
        assert_int_equal(config->question_grace_ms, -1);
        assert_int_equal(config->limits.steps, budget_defaults().steps);
    }
}

TEST(every_entry_is_read)
{
    CLEANUP(config)
    struct config *config = parse(
        "{ // mine\n"
        "  \"model\": \"fast\",\n"
        "  \"models\": {\n"
        "    \"fast\": {\"provider\": \"scripted\", \"file\": \"a.jsonl\"},\n"
        "    \"far\": {\"provider\": \"anthropic\", \"base_url\": \"https://x\", \"model\": \"m\", \"key_env\": "
        "\"KEY\",\n"
        "      \"options\": {\"top_p\": 0.5}, \"prices\": {\"input\": 3, \"output\": 15.5}, \"idle_s\": 7,\n"
        "      \"keep_reasoning\": true, \"allow_http\": true}\n"
        "  },\n"
        "  \"budget\": {\"wall_s\": 2.5, \"steps\": 9, \"tool_calls\": 3, \"reflections\": 1, \"input_tokens\": 10,\n"
        "             \"output_tokens\": 20, \"cost_usd\": 0.5},\n"
        "  \"approve\": \"deny\", \"memory\": \"global\",\n"
        "  \"web\": {\"mode\": \"off\", \"endpoint\": \"https://search\"},\n"
        "  \"thinking\": {\"level\": \"Medium\", \"reflect_on_tool_error\": false, \"reflect_every\": 3},\n"
        "  \"parallel\": false, \"select_tools\": true, \"citations\": false,\n"
        "  \"theme\": \"light\", \"system_prompt\": \"Be brief.\",\n"
        "  \"project_instructions\": false, \"compact\": false, \"secrets\": [\"DB_PASSWORD\", \"MY_TOKEN\"],\n"
        "  \"breakpoints\": [\"tool=write_file\", \"budget=80%\"]\n"
        "}\n");
    assert_string_equal(config->model, "fast");
    assert_int_equal(config->model_count, 2);
    assert_string_equal(config_model(config, "fast")->file, "a.jsonl");
    assert_string_equal(config_model(config, "far")->key_env, "KEY");
    assert_int_equal(config_model(config, "far")->line, 5);
    assert_string_equal(config_model(config, "far")->options, "{\"top_p\":0.5}");
    assert_true(config_model(config, "far")->prices.output == 15.5);
    assert_true(isnan(config_model(config, "far")->prices.cache_read));
    assert_true(config_model(config, "far")->idle_s == 7);
    assert_true(config_model(config, "far")->keep_reasoning);
    assert_true(config_model(config, "far")->allow_http);
    assert_false(config_model(config, "fast")->allow_http);
    assert_true(isnan(config_model(config, "fast")->prices.input));
    assert_null(config_model(config, "none"));
    assert_string_equal(config_nearest_model(config, "fats"), "fast");
    assert_true(config->limits.wall_s == 2.5);
    assert_int_equal(config->limits.steps, 9);
    assert_int_equal(config->limits.tool_calls, 3);
    assert_int_equal(config->limits.output_tokens, 20);
    assert_true(config->limits.cost_usd == 0.5);
    assert_int_equal(config->approve, RULES_DENY);
    assert_int_equal(config->memory, MEMORY_GLOBAL);
    assert_int_equal(config->web, WEB_OFF);
    assert_string_equal(config->web_endpoint, "https://search");
    assert_int_equal(config->thinking, THINKING_MEDIUM);
    assert_int_equal(config->reflect_on_tool_error, 0);
    assert_int_equal(config->reflect_every, 3);
    assert_int_equal(config->parallel, 0);
    assert_int_equal(config->select_tools, 1);
    assert_int_equal(config->citations, 0);
    assert_string_equal(config->theme, "light");
    assert_string_equal(config->system_prompt, "Be brief.");
    assert_int_equal(config->project_instructions, 0);
    assert_int_equal(config->compact, 0);
    assert_int_equal(config->secret_count, 2);
    assert_string_equal(config->secrets[1], "MY_TOKEN");
    assert_int_equal(config->breakpoint_count, 2);
    assert_string_equal(config->breakpoints[1], "budget=80%");
}

TEST(an_unknown_key_has_a_line_and_a_neighbor)
{
    refuses("{\n\"modle\": \"x\"}", 2, "did you mean \"model\"");
    refuses("{\"parallel\": true,\n\n \"aprove\": \"ask\"}", 3, "did you mean \"approve\"");
    refuses("{\"budget\": {\n\"step\": 3}}", 2, "\"budget.step\" (did you mean \"steps\"");
    refuses("{\"web\": {\"mod\": \"on\"}}", 1, "did you mean \"mode\"");
    refuses("{\"thinking\": {\"levle\": \"on\"}}", 1, "did you mean \"level\"");
    refuses("{\"models\": {\"a\": {\"provider\": \"scripted\",\n\"flie\": \"x\"}}}", 2,
            "\"models.a.flie\" (did you mean \"file\"");
    refuses("{\"somethingelse\": 1}", 1, "unknown key \"somethingelse\"");
}

TEST(a_wrong_type_names_the_key)
{
    refuses("{\n\n\"model\": 3}", 3, "\"model\" must be a string, is a number");
    refuses("{\"parallel\": \"yes\"}", 1, "\"parallel\" must be true or false, is a string");
    refuses("{\"models\": []}", 1, "\"models\" must be an object, is an array");
    refuses("{\"models\": {\"a\": 1}}", 1, "\"models.a\" must be an object, is a number");
    refuses("{\"budget\": {\"steps\": \"9\"}}", 1, "\"budget.steps\" must be a number, is a string");
    refuses("{\"breakpoints\": {}}", 1, "\"breakpoints\" must be a list, is an object");
    refuses("{\"breakpoints\": [\n1]}", 2, "\"breakpoints\" must be a string");
    refuses("{\"theme\": null}", 1, "\"theme\" must be a string, is null");
    refuses("[1]", 1, "one object");
    refuses("\"x\"", 1, "one object");
}

TEST(a_wrong_word_lists_the_right_ones)
{
    refuses("{\"approve\": \"maybe\"}", 1, "ask, deny or allow");
    refuses("{\"memory\": \"none\"}", 1, "project, global or off");
    refuses("{\"web\": {\"mode\": \"sometimes\"}}", 1, "off, auto or on");
    refuses("{\"thinking\": {\"level\": \"hard\"}}", 1, "off, low, medium or high");
    refuses("{\"question_grace_ms\": -1}", 1, "question_grace_ms");
    refuses("{\"question_grace_ms\": 60001}", 1, "question_grace_ms");
    refuses("{\"thinking\": {\"reflect_every\": -1}}", 1, "reflect_every");
    refuses("{\"thinking\": {\"reflect_every\": 1.5}}", 1, "reflect_every");
    refuses("{\"budget\": {\n\"steps\": -4}}", 2, "budget.steps");
    refuses("{\"breakpoints\": [\"tol=x\"]}", 1, "tool=");
    refuses("{\"models\": {\"a\": {}}}", 1, "has no \"provider\"");
}

TEST(broken_json_has_a_line)
{
    refuses("{\n\"model\": \"x\",\n}", 3, "");
    refuses("{\"model\": \"x\"\n\n", 3, "");
    refuses("\x80\xff\x00", 1, "");
    refuses("{\"model\": \"\\u0000\"}", 1, "");
}

TEST(a_duplicate_name_is_refused)
{
    refuses("{\"approve\": \"ask\",\n\"approve\": \"allow\"}", 2, "duplicate key \"approve\"");
    refuses("{\"budget\": {\"steps\": 1,\n\"wall_s\": 2,\n\"steps\": 1}}", 3, "duplicate key \"steps\"");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\"},\n\"a\": {\"provider\": \"openai\"}}}", 2,
            "duplicate key \"a\"");
    /* The same name elsewhere is another one. */
    CLEANUP(config)
    struct config *config =
        parse("{\"model\": \"a\", \"models\": {\"a\": {\"provider\": \"openai\", \"model\": \"y\"}},\n"
              "\"theme\": \"mono\"}");
    assert_string_equal(config->model, "a");
    assert_int_equal(config->theme_line, 2);
}

TEST(error_in_a_model_has_a_line)
{
    refuses("{\"models\": {\n\"a\": {\n\"provider\": \"open-ai\"}}}", 3,
            "unknown provider \"open-ai\" (did you mean \"openai\"?)");
    refuses("{\"models\": {\"a\": {\"provider\": \"zzzz\"}}}", 1, "known: anthropic, openai, scripted");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\", \"key\": \"sk\"}}}", 1, "unknown key \"models.a.key\"");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\", \"key_env\": \"K\", \"key_command\": \"c\"}}}", 1,
            "remove one");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\",\n\"base_url\": \"ftp://x\"}}}", 2,
            "\"base_url\" of the model \"a\" must begin with https:// or http://");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\",\n\"options\": {\"stream\": false}}}}", 2,
            "\"models.a.options.stream\" is set by Keyturn; remove it");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\", \"options\": {\"a b\": 1}}}}", 1, "options.a b");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\", \"prices\": {\"input\": 1}}}}", 1,
            "need \"input\" and \"output\"");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\", \"prices\": {\"input\": -1, \"output\": 1}}}}", 1,
            "must be 0 or more, is -1");
    refuses("{\"models\": {\"a\": {\"provider\": \"openai\", \"prices\": {\"in\": 1}}}}", 1,
            "unknown key \"models.a.prices.in\"");
}

TEST(possible_passwords_are_refused_and_not_printed)
{
    static const char *const wrong[] = {
        "\"base_url\": \"http://user:hush-hush@host/v1\"",
        "\"base_url\": \"https://hush-hush@host\"",
        "\"base_url\": \"user:hush-hush@host\"",
        "\"key_env\": \"sk-hush-hush\"",
        "\"key_env\": \"sk_hush0123456789abcdefghijkl\"",
        "\"key_env\": \"2hush\"",
        "\"key_env\": \"\"",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CLEANUP(free) char *text = xasprintf("{\"models\": {\"a\": {\"provider\": \"openai\", %s}}}", wrong[i]);
        struct err err = ERR_INIT;
        assert_null(config_parse(text, strlen(text), &err));
        assert_int_equal(err.line, 1);
        assert_null(strstr(err.text, "hush"));
    }
    CLEANUP(config)
    struct config *config =
        parse("{\"models\": {\"a\": {\"provider\": \"openai\", \"key_env\": \"my_OPENROUTER_KEY_2\","
              "\"base_url\": \"https://host/@v1\"}}}");
    assert_string_equal(config_model(config, "a")->key_env, "my_OPENROUTER_KEY_2");
}

TEST(a_key_comes_from_its_variable_or_its_command)
{
    struct err err = ERR_INIT;
    char *key;
    setenv("KEYTURN_TEST_KEY", "sk-variable", 1);
    unsetenv("OPENAI_API_KEY");
    struct config_model model = {.name = "a", .provider = "openai", .key_env = "KEYTURN_TEST_KEY"};
    assert_int_equal(config_model_key(&model, &key, &err), 0);
    assert_string_equal(key, "sk-variable");
    free(key);
    unsetenv("KEYTURN_TEST_KEY");
    assert_int_equal(config_model_key(&model, &key, &err), -1);
    assert_non_null(strstr(err.text, "KEYTURN_TEST_KEY is not set"));
    model = (struct config_model){.name = "a", .provider = "openai", .key_command = "echo sk-command; echo"};
    assert_int_equal(config_model_key(&model, &key, &err), 0);
    assert_string_equal(key, "sk-command");
    free(key);
    static const struct {
        const char *command, *error;
    } wrong[] = {{"exit 7", "failed (status 7)"},
                 {"true", "printed nothing"},
                 {"head -c 5000 /dev/zero | tr '\\0' x", "printed more than a key"}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        model.key_command = wrong[i].command;
        assert_int_equal(config_model_key(&model, &key, &err), -1);
        assert_non_null(strstr(err.text, wrong[i].error));
    }
    model = (struct config_model){.name = "a", .provider = "openai"};
    assert_int_equal(config_model_key(&model, &key, &err), -1);
    assert_non_null(strstr(err.text, "OPENAI_API_KEY"));
    model.base_url = "http://localhost:1/v1"; /* a server of one's own */
    assert_int_equal(config_model_key(&model, &key, &err), 0);
    assert_null(key);
}

TEST(many_models_cost_no_more_than_their_text)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "{\"models\": {");
    for (int i = 0; i < 30000; i++)
        strbuf_addf(&text, "%s\n\"m%d\": {\"provider\": \"openai\"}", i ? "," : "", i);
    strbuf_addstr(&text, "}}");
    CLEANUP(config) struct config *config = parse(text.buf);
    assert_int_equal(config->model_count, 30000);
    assert_int_equal(config_model(config, "m29999")->line, 30001);
}

TEST(the_config_file_is_found_and_loaded)
{
    struct scratch scratch;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    setenv("XDG_CONFIG_HOME", scratch.path, 1);
    struct config *config = config_load(NULL, &err);
    assert_non_null(config);
    assert_null(config->path);
    config_free(config);

    scratch_write(&scratch, "keyturn/config.json", "{\"theme\": \"mono\"}");
    config = config_load(NULL, &err);
    assert_non_null(config);
    assert_string_equal(config->theme, "mono");
    CLEANUP(free) char *usual = config_default_path();
    assert_string_equal(config->path, usual);
    config_free(config);

    CLEANUP(free) char *missing = scratch_path(&scratch, "missing.json");
    assert_null(config_load(missing, &err));
    assert_non_null(strstr(err.text, missing));

    CLEANUP(free) char *huge = scratch_path(&scratch, "huge.json");
    scratch_write(&scratch, "huge.json", "{}");
    assert_int_equal(truncate(huge, (off_t)1 << 30), 0);
    assert_null(config_load(huge, &err));
    assert_non_null(strstr(err.text, "larger"));
    assert_null(config_load(scratch.path, &err));
    scratch_release(&scratch);
}
