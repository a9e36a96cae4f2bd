/* A call that ran a script, as somebody reads it who wants to know what it did: the source with its numbers and, where
 * it failed, the line; then everything it told, in the order in which it came. */

#include "base/json.h"
#include "base/mem.h"
#include "event/words.h"
#include "inspect.h"
#include "script.h"
#include "told.h"
#include <string.h>

struct telling {
    struct pretty *out;
    enum told_kind kind; /* of what was told last */
    bool any;
    char *error, *traceback;
};

/* ---- the source ---- */

static int digits(size_t number)
{
    int count = 1;
    for (; number >= 10; number /= 10)
        count++;
    return count;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t lines = len > 0;
    for (size_t i = 0; i + 1 < len; i++)
        lines += text[i] == '\n';
    return lines;
}

static void put_source(struct pretty *out, const struct json *source, size_t failed, const char *error)
{
    size_t at = 0, lines = count_lines(source->text, source->len);
    int width = digits(lines);
    for (size_t number = 1; number <= lines; number++) {
        const char *text = source->text + at, *newline = memchr(text, '\n', source->len - at);
        size_t len = newline ? (size_t)(newline - text) : source->len - at;
        bool here = number == failed;
        pretty_begin(out, 0);
        pretty_putf(out, here ? LOOK_SCRIPT_ERROR : LOOK_SCRIPT_GUTTER, "%s%*zu  ", here ? "> " : "  ", width, number);
        pretty_put(out, here ? LOOK_SCRIPT_ERROR : LOOK_SCRIPT, text, len);
        at += len + 1;
        if (here && *error) {
            pretty_begin(out, width + 4);
            pretty_putf(out, LOOK_SCRIPT_ERROR, "^ %.*s", (int)strcspn(error, "\n"), error);
        }
    }
}

/* ---- what it told ---- */

static void put_printed(struct pretty *out, const struct told *told)
{
    bool plain = strcmp(told->label, "stdout") == 0;
    for (struct told_lines lines = told_lines(told); told_lines_next(&lines);) {
        pretty_begin(out, 0);
        if (!plain)
            pretty_putf(out, LOOK_DIM, "%s: ", told->label);
        pretty_put(out, strcmp(told->label, "error") == 0 ? LOOK_ERROR : LOOK_TEXT, lines.line, lines.len);
    }
}

static void put_value(struct pretty *out, const struct told *told)
{
    if (told->data && (told->data->type == JSON_OBJECT || told->data->type == JSON_ARRAY))
        pretty_json(out, told->data, 0);
    else if (told->data)
        pretty_plain(out, told->data, 0);
}

static void put_told(const struct told *told, int64_t seq, void *data)
{
    struct telling *telling = data;
    (void)seq;
    if (told->kind == TOLD_PRINTED) {
        if (!telling->any || telling->kind != TOLD_PRINTED)
            pretty_head(telling->out, "printed");
        put_printed(telling->out, told);
    } else if (told->kind == TOLD_INTERMEDIATE) {
        CLEANUP(free) char *head = xasprintf("intermediate: %.200s", told->label);
        pretty_head(telling->out, head);
        put_value(telling->out, told);
    } else if (told->kind == TOLD_RESULT) {
        pretty_head(telling->out, "result");
        put_value(telling->out, told);
    } else {
        pretty_head(telling->out, "error");
        pretty_text(telling->out, LOOK_SCRIPT_ERROR, told->text, told->len, 0, true);
        if (*told->traceback) {
            pretty_head(telling->out, "traceback");
            pretty_text(telling->out, LOOK_TEXT, told->traceback, strlen(told->traceback), 0, false);
        }
    }
    telling->kind = told->kind;
    telling->any = true;
}

static void keep_error(const struct told *told, int64_t seq, void *data)
{
    struct telling *telling = data;
    (void)seq;
    if (told->kind != TOLD_ERROR)
        return;
    free(telling->error);
    free(telling->traceback);
    telling->error = xmemdup0(told->text, told->len);
    telling->traceback = xstrdup(told->traceback);
}

/* ---- the document ---- */

bool inspect_has_script(const struct view *view, struct selection what)
{
    return what.kind == SELECT_CALL && script_of(inspect_arguments(view, what));
}

void inspect_script(struct pretty *out, const struct view *view, struct selection what)
{
    const struct json *arguments = inspect_arguments(view, what), *source = script_of(arguments);
    struct telling telling = {.out = out};
    if (!source)
        return;
    inspect_call_head(out, view, what);
    told_each(view, what.call, keep_error, &telling);
    const char *error = telling.error ? telling.error : "";
    size_t failed = words_script_line(telling.traceback ? telling.traceback : "");
    if (!failed)
        failed = words_script_line(error);
    json_each (field, arguments)
        if (field != source) {
            pretty_begin(out, 0);
            pretty_putf(out, LOOK_JSON_KEY, "%s: ", field->key);
            pretty_put(out, LOOK_JSON_NUMBER, field->src, field->src_len);
        }
    pretty_head(out, failed ? "script (> is where it failed)" : "script");
    put_source(out, source, failed, error);
    if (told_each(view, what.call, put_told, &telling)) {
        pretty_head(out, "there was more before that: filter the events by this call");
    }
    if (!telling.any)
        inspect_call_outcome(out, view, what);
    free(telling.error);
    free(telling.traceback);
}
