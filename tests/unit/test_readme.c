/* README shows real keys and a real config file. UPDATE_GOLDEN=1 writes its key table. */

#include "app/keymap.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "support/page_block.h"
#include "support/test.h"
#include <string.h>
#include <unistd.h>

#define README SOURCE_DIR "/README.md"

TEST(ten_keys_are_bound_as_they_say)
{
    static const enum action ten[] = {
        ACTION_APPROVE, ACTION_DENY,     ACTION_DENY_REASON, ACTION_HUNK_TOGGLE, ACTION_EDIT_WRITE,
        ACTION_STEP,    ACTION_CONTINUE, ACTION_BREAK_HERE,  ACTION_UNDO,        ACTION_INSPECT,
    };
    CLEANUP(strbuf) struct strbuf table = STRBUF_INIT;
    struct keymap *keymap = keymap_new();
    strbuf_addstr(&table, "| key | |\n|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(ten); i++)
        strbuf_addf(&table, "| `%s` | %s |\n", keymap_key(keymap, ten[i]), action_help(ten[i]));
    keymap_free(keymap);
    assert_int_equal(COUNT_OF(ten), 10);
    page_block_check(README, "keys", &table);
}

/* screens/test_picture renders both files. */
TEST(picture_is_dark_and_light)
{
    CLEANUP(strbuf) struct strbuf readme = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (file_read(README, &readme, 0, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(readme.buf, "media=\"(prefers-color-scheme: light)\" srcset=\"docs/screen-light.svg\""));
    assert_non_null(strstr(readme.buf, "src=\"docs/screen-dark.svg\""));
    assert_int_equal(access(SOURCE_DIR "/docs/screen-light.svg", R_OK), 0);
    assert_int_equal(access(SOURCE_DIR "/docs/screen-dark.svg", R_OK), 0);
}

TEST(model_block_is_a_config_file)
{
    CLEANUP(strbuf) struct strbuf readme = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (file_read(README, &readme, 0, &err))
        fail_msg("%s", err.text);
    const char *block = strstr(readme.buf, "```json\n");
    assert_non_null(block);
    block += strlen("```json\n");
    CLEANUP(config) struct config *config = config_parse(block, (size_t)(strstr(block, "```") - block), &err);
    if (!config)
        fail_msg("line %ld of the block: %s", err.line, err.text);
    assert_non_null(config->model);
    assert_non_null(config_model(config, config->model));
}
