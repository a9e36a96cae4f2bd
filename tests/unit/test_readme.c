/* README's key table and its picture of the demo are the program's own (UPDATE_GOLDEN=1 writes them anew). */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "keymap.h"
#include "support/page_block.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define README SOURCE_DIR "/README.md"
#define SCREEN SOURCE_DIR "/tests/screens/cases/write-waits/120x40.screen"

static void test_key_table(void **state)
{
    (void)state;
    CLEANUP(strbuf) struct strbuf table = STRBUF_INIT;
    struct keymap *keymap = keymap_new();
    keymap_table(keymap, &table, true);
    keymap_free(keymap);
    page_block_check(README, "keys", &table);
}

/* The screens ring holds the golden to the program; here README is held to the golden. */
static void test_picture(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf golden = STRBUF_INIT, picture = STRBUF_INIT;
    if (file_read(SCREEN, &golden, 0, &err))
        fail_msg("%s", err.text);
    char *roles = strstr(golden.buf, "\n--\n"); /* the text, then what role each cell has */
    assert_non_null(roles);
    strbuf_addstr(&picture, "```\n");
    strbuf_add(&picture, golden.buf, (size_t)(roles + 1 - golden.buf));
    strbuf_addstr(&picture, "```\n");
    page_block_check(README, "screen", &picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_key_table), cmocka_unit_test(test_picture)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
