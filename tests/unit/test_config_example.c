/* The documented example of a config file is a valid config file. */

#include "app/setup.h"
#include "base/mem.h"
#include "config/config.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

static struct config *parse(const struct strbuf *text)
{
    struct err err = ERR_INIT;
    struct config *config = config_parse(text->buf, text->len, &err);
    if (!config)
        fail_msg("line %ld: %s\n%s", err.line, err.text, text->buf);
    return config;
}

static void check_models(const struct config *config)
{
    assert_string_equal(config->model, "claude");
    assert_int_equal(config->model_count, 4);
    assert_string_equal(config_model(config, "claude")->provider, "anthropic");
    assert_string_equal(config_model(config, "router")->key_env, "OPENROUTER_API_KEY");
    assert_string_equal(config_model(config, "local")->base_url, "http://localhost:11434/v1");
}

TEST(lines_are_a_config_file_and_fit)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; config_model_lines[i]; i++) {
        assert_true(strlen(config_model_lines[i]) <= CONFIG_EXAMPLE_COLUMNS);
        strbuf_addf(&text, "%s\n", config_model_lines[i]);
    }
    CLEANUP(config) struct config *config = parse(&text);
    check_models(config);
}

TEST(file_that_is_made_sets_nothing_until_its_comments_go)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, without = STRBUF_INIT;
    config_example_write(&text);
    CLEANUP(config) struct config *nothing = parse(&text);
    assert_null(nothing->model);
    assert_int_equal(nothing->model_count, 0);
    for (const char *line = text.buf; *line; line += strcspn(line, "\n") + 1)
        strbuf_addf(&without, "%.*s\n", (int)strcspn(line, "\n") - (strncmp(line, "  //", 4) == 0 ? 4 : 0),
                    line + (strncmp(line, "  //", 4) == 0 ? 4 : 0));
    CLEANUP(config) struct config *config = parse(&without);
    check_models(config);
}

TEST(page_names_the_file_and_every_way)
{
    CLEANUP(strbuf) struct strbuf page = STRBUF_INIT;
    config_page_write(&page, "/home/you/config.json", false);
    assert_non_null(strstr(page.buf, "which does not exist yet"));
    assert_non_null(strstr(page.buf, "\n/home/you/config.json\n"));
    assert_non_null(strstr(page.buf, config_model_lines[3]));
    assert_non_null(strstr(page.buf, "keyturn demo"));
}
