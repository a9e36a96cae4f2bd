/* README's key table is the program's own (UPDATE_GOLDEN=1 writes it anew). */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "keymap.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define README SOURCE_DIR "/README.md"

static void test_key_table(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, table = STRBUF_INIT;
    if (file_read(README, &text, 0, &err))
        fail_msg("%s", err.text);
    struct keymap *keymap = keymap_new();
    keymap_table(keymap, &table, true);
    keymap_free(keymap);
    char *begin = strstr(text.buf, "<!-- keys: ");
    char *end = strstr(text.buf, "<!-- keys end -->");
    assert_non_null(begin);
    assert_non_null(end);
    begin = strchr(begin, '\n') + 1;
    const char *update = getenv("UPDATE_GOLDEN");
    if (update && *update) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        strbuf_add(&out, text.buf, (size_t)(begin - text.buf));
        strbuf_add(&out, table.buf, table.len);
        strbuf_addstr(&out, end);
        assert_int_equal(file_replace(README, out.buf, out.len, 0644, &err), 0);
        return;
    }
    CLEANUP(free) char *found = xmemdup0(begin, (size_t)(end - begin));
    assert_string_equal(found, table.buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_key_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
