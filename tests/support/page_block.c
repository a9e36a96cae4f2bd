/* Compares or updates blocks of the documents (see page_block.h). */

#include "page_block.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void page_block_check(const char *page, const char *name, const struct strbuf *text)
{
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    bool markdown = strcmp(strrchr(page, '.'), ".md") == 0;
    CLEANUP(free) char *first = xasprintf(markdown ? "<!-- %s: " : ".\\\" %s: ", name);
    CLEANUP(free) char *last = xasprintf(markdown ? "<!-- %s end -->" : ".\\\" %s end\n", name);
    if (file_read(page, &whole, 0, &err))
        fail_msg("%s", err.text);
    char *begin = strstr(whole.buf, first);
    char *end = strstr(whole.buf, last);
    assert_non_null(begin);
    assert_non_null(end);
    begin = strchr(begin, '\n') + 1;
    const char *update = getenv("UPDATE_GOLDEN");
    if (update && *update) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        strbuf_add(&out, whole.buf, (size_t)(begin - whole.buf));
        strbuf_add(&out, text->buf, text->len);
        strbuf_addstr(&out, end);
        assert_int_equal(file_replace(page, out.buf, out.len, 0644, &err), 0);
        return;
    }
    CLEANUP(free) char *found = xmemdup0(begin, (size_t)(end - begin));
    assert_string_equal(found, text->buf);
}
