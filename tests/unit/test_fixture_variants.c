/* A variant of a recorded answer waits for a text in a result. That text must still be one that the product or the
 * fixture's own script can write, or the demo tells the user something wrong. */

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <ctype.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

static struct strbuf sources = STRBUF_INIT; /* of core/, comments included */

static int add_source(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    size_t len = strlen(path);
    (void)st, (void)where;
    if (kind == FTW_F && len > 2 && strcmp(path + len - 2, ".c") == 0)
        assert_int_equal(file_read(path, &sources, 0, NULL), 0);
    return 0;
}

static bool written(const char *own, const char *text, size_t len, bool quoted)
{
    CLEANUP(free) char *part = xasprintf(quoted ? "\"%.*s\"" : "%.*s", (int)len, text);
    return strstr(sources.buf, part) || strstr(own, part);
}

/* NULL: every part of the text is in the sources, or in `own`, the fixture. The parts are the names and values of JSON,
 * and other text up to a number, which printf writes. */
static const char *lost_part(const char *own, const char *text)
{
    bool json = text[0] == '"';
    while (*text) {
        size_t len = json ? strcspn(text, "\":[],{}0123456789") : strcspn(text, "0123456789");
        if (len && !written(own, text, len, json))
            return text;
        text += len ? len : 1;
    }
    return NULL;
}

TEST(lost_texts_are_found)
{
    static const char own[] = "{\"failed\": []}";
    strbuf_addstr(&sources, "\"hunks %zu of %zu\" \"status\" \"denied\" fail(\"no sandbox; run keyturn engines\")");
    assert_null(lost_part(own, "hunks 2 of 2"));
    assert_null(lost_part(own, "\"status\":\"denied\""));
    assert_null(lost_part(own, "\"failed\":[]"));
    assert_null(lost_part(own, "no sandbox; run"));
    assert_non_null(lost_part(own, "there is no sandbox"));
    assert_non_null(lost_part(own, "\"status\":\"refused\""));
    strbuf_release(&sources);
}

TEST(variants_wait_for_texts_that_exist)
{
    size_t conditions = 0;
    glob_t found;
    assert_int_equal(nftw(SOURCE_DIR "/core", add_source, 16, FTW_PHYS), 0);
    assert_int_equal(glob(SOURCE_DIR "/fixtures/*.jsonl", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        assert_int_equal(file_read(found.gl_pathv[i], &text, 0, NULL), 0);
        CLEANUP(strbuf) struct strbuf scripts = STRBUF_INIT; /* what the calls of the fixture run */
        for (char *line = text.buf, *end; (end = strchr(line, '\n')); line = end + 1) {
            const struct json *event = json_parse(&arena, line, (size_t)(end - line), NULL);
            json_each (call, json_get(event, "tool_calls"))
                strbuf_addstr(&scripts, json_str(json_get(json_get(call, "arguments"), "script"), ""));
        }
        for (char *line = text.buf, *end; (end = strchr(line, '\n')); line = end + 1) {
            const struct json *event = json_parse(&arena, line, (size_t)(end - line), NULL);
            json_each (variant, json_get(event, "variants"))
                json_each (condition, json_get(variant, "when")) {
                    const char *lost = lost_part(scripts.buf, json_str(condition, ""));
                    conditions++;
                    if (lost)
                        fail_msg("%s: a variant waits for \"%s\": nothing writes \"%s\"", found.gl_pathv[i],
                                 json_str(condition, ""), lost);
                }
        }
    }
    assert_true(conditions > 20);
    globfree(&found);
    strbuf_release(&sources);
}
