/* Compares the encoder's lines, and the words of lists about them, with stored files. */

#include "event_lines.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/words.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void event_lines_add(struct strbuf *out, const struct event *event)
{
    struct event fields = *event;
    fields.raw = NULL;
    fields.raw_len = 0;
    event_encode(out, &fields);
    strbuf_addch(out, '\n');
}

void event_lines_add_words(struct strbuf *out, const struct event *event)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    event_words(&words, WORDS_ROW, NULL, event);
    strbuf_addf(out, "%s:%s", event->type_name, words.len ? " " : "");
    strbuf_add(out, words.buf, words.len);
    strbuf_addch(out, '\n');
}

void event_lines_each(const char *name, const char *text, size_t len,
                      void (*each)(const struct event *event, void *data), void *data)
{
    const char *end = text + len;
    for (int number = 1; text < end; number++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct err err = ERR_INIT;
        struct event event;
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((newline ? newline : end) - text);
        if (event_decode(&event, &arena, text, line, &err) < 0)
            fail_msg("%s:%d: %s", name, number, err.text);
        each(&event, data);
        text += line + 1;
    }
}

struct call_output {
    struct strbuf lines, words;
};

static void tell(const struct event *event, void *data)
{
    struct call_output *told = data;
    event_lines_add(&told->lines, event);
    event_lines_add_words(&told->words, event);
}

void event_lines_check(const char *name, const char *text, size_t len)
{
    struct call_output told = {STRBUF_INIT, STRBUF_INIT};
    CLEANUP(free) char *lines = xasprintf("%s/fold/lines/%s.jsonl", TESTS_DIR, name);
    CLEANUP(free) char *words = xasprintf("%s/fold/words/%s.txt", TESTS_DIR, name);
    event_lines_each(name, text, len, tell, &told);
    event_lines_golden(lines, &told.lines);
    event_lines_golden(words, &told.words);
    strbuf_release(&told.lines);
    strbuf_release(&told.words);
}

/* Fails at the first difference of two texts and shows that line of each. */
static void fail_at_difference(const char *path, const char *want, const char *got)
{
    int number = 1;
    for (;; number++) {
        size_t a = strcspn(want, "\n"), b = strcspn(got, "\n");
        if (a != b || memcmp(want, got, a) != 0 || !want[a] || !got[b])
            fail_msg("%s:%d\n- %.*s\n+ %.*s", path, number, (int)a, want, (int)b, got);
        want += a + 1;
        got += b + 1;
    }
}

void event_lines_golden(const char *path, const struct strbuf *got)
{
    CLEANUP(strbuf) struct strbuf want = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (getenv("UPDATE_GOLDEN")) {
        if (file_replace(path, got->buf, got->len, 0644, &err) < 0)
            fail_msg("%s", err.text);
        return;
    }
    if (file_read(path, &want, 0, &err) < 0)
        fail_msg("%s: %s (UPDATE_GOLDEN=1 writes it)", path, err.text);
    if (want.len != got->len || memcmp(want.buf, got->buf, got->len) != 0)
        fail_at_difference(path, want.buf, got->buf);
}
