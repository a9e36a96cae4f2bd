/* Prints the events of keyturn exec. On a terminal: the script's output line by line, its log, its results, and its
 * error with the failing line of the script marked. */

#include "exec_output.h"
#include "app/cli_error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "event/words.h"
#include "panes/call_output.h"
#include "plain.h"
#include "sandbox/orchestrator.h"
#include "screen/document.h"
#include "screen/text.h"
#include <limits.h>
#include <string.h>

#define LINES_AROUND 2
#define WIDTH        120

void exec_output_init(struct exec_output *out)
{
    *out = (struct exec_output){
        .color = plain_style_for(STDOUT_FILENO).color,
        .readable = isatty(STDOUT_FILENO),
        .script = xstrdup(""),
    };
    cli_out_init(&out->output, STDOUT_FILENO);
}

void exec_output_release(struct exec_output *out)
{
    cli_out_release(&out->output);
    free(out->script);
}

void exec_output_script(struct exec_output *out, const char *script)
{
    free(out->script);
    out->script = redact_copy(script);
}

/* ---- pieces ---- */

static void style(struct exec_output *out, const char *sgr)
{
    if (out->color && *sgr)
        strbuf_addf(&out->output.text, "\033[%sm", sgr);
}

static void heading(struct exec_output *out, const char *sgr, const char *text)
{
    style(out, sgr);
    text_show_cut(&out->output.text, text, strlen(text), WIDTH);
    style(out, "0");
}

/* Prints "name: " and a paragraph. */
static void named_text(struct exec_output *out, const char *sgr, const char *name, const char *text, size_t len)
{
    heading(out, sgr, name);
    strbuf_addstr(&out->output.text, *name == '[' ? " " : ": ");
    text_wrap(&out->output.text, text, len, 2, text_terminal_width(STDOUT_FILENO, WIDTH));
}

/* Prints "name: value", a container below the name. */
static void named_value(struct exec_output *out, const char *sgr, const char *name, const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    heading(out, sgr, name);
    if (value && (value->type == JSON_ARRAY || value->type == JSON_OBJECT) && value->count) {
        CLEANUP(document) struct document pretty;
        document_init(&pretty, 0);
        document_json(&pretty, value, 2);
        document_write(&pretty, &text);
        strbuf_addstr(&out->output.text, ":\n");
        text_show(&out->output.text, text.buf, text.len, UTF8_KEEP_NEWLINE | UTF8_KEEP_TAB);
        return;
    }
    if (value)
        json_write(&text, value, JSON_SPACED);
    strbuf_addstr(&out->output.text, ": ");
    text_show(&out->output.text, value ? text.buf : "null", value ? text.len : 4, 0);
    strbuf_addch(&out->output.text, '\n');
}

/* Prints the lines of the script from `first` to `last` with numbers, and marks line `failing`. 0: none failed. */
static void script_lines(struct exec_output *out, long first, long last, long failing)
{
    long number = 1;
    for (const char *at = out->script; *at && number <= last; number++) {
        size_t len = strcspn(at, "\n");
        bool here = number == failing;
        if (number >= first) {
            style(out, here ? "1;31" : "");
            strbuf_addf(&out->output.text, "%s %4ld  ", here ? ">" : " ", number);
            text_show(&out->output.text, at, len, UTF8_KEEP_TAB);
            style(out, here ? "0" : "");
            strbuf_addch(&out->output.text, '\n');
        }
        at += len + (at[len] == '\n');
    }
}

/* ---- events ---- */

static void failed(struct exec_output *out, const struct call_output *told)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(document) struct document pretty;
    long line = (long)words_script_line(told->traceback);
    document_init(&pretty, 0);
    named_text(out, "1;31", "error", told->text, told->len);
    if (line)
        script_lines(out, line - LINES_AROUND, line + LINES_AROUND, line);
    if (!*told->traceback)
        return;
    document_text(&pretty, LOOK_TEXT, told->traceback, strlen(told->traceback), 2, false);
    document_write(&pretty, &text);
    style(out, "2");
    text_show(&out->output.text, text.buf, text.len, UTF8_KEEP_NEWLINE | UTF8_KEEP_TAB);
    style(out, "0");
}

static void readable_event(struct exec_output *out, const char *line)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event = {.type = EVENT_SCRIPT_EVENT, .script_event = {.event = line}};
    struct call_output told;
    if (!call_output_read(&told, &event, &arena))
        return;
    if (told.kind == CALL_OUTPUT_ERROR) {
        failed(out, &told);
    } else if (told.kind != CALL_OUTPUT_PRINTED) {
        named_value(out, told.kind == CALL_OUTPUT_RESULT ? "1;32" : "36", told.label, told.data);
    } else if (call_output_is_stream(told.label)) {
        bool error = strcmp(told.label, "stderr") == 0;
        style(out, error ? "33" : "");
        text_show(&out->output.text, told.text, told.len, UTF8_KEEP_NEWLINE | UTF8_KEEP_TAB);
        style(out, error ? "0" : "");
        strbuf_addch(&out->output.text, '\n');
    } else {
        CLEANUP(free) char *level = xasprintf("[%s]", told.label);
        named_text(out, "2", level, told.text, told.len);
    }
}

void exec_output_event(struct exec_output *out, const char *line, size_t len)
{
    CLEANUP(strbuf) struct strbuf safe = STRBUF_INIT;
    if (!redact_json(&safe, line, len)) {
        strbuf_reset(&safe);
        strbuf_add(&safe, line, len);
    }
    if (out->readable) {
        readable_event(out, safe.buf);
        return;
    }
    json_make_printable(&safe, 0);
    strbuf_addch(&safe, '\n');
    strbuf_add(&out->output.text, safe.buf, safe.len);
}

/* ---- lines that are not events ---- */

void exec_output_asked(struct exec_output *out, const char *model)
{
    CLEANUP(free) char *line = xasprintf("asking %s %s", model, text_ellipsis());
    heading(out, "2", line);
    strbuf_addch(&out->output.text, '\n');
}

void exec_output_attempt(struct exec_output *out, const char *name, size_t number, const struct authoring *authoring)
{
    CLEANUP(free) char *title = xasprintf("%s %zu", name, number);
    struct strbuf *text = &out->output.text;
    heading(out, "1", title);
    style(out, "2");
    if (authoring->latency_ms >= 0) {
        strbuf_addf(text, " %s written in ", text_dot());
        text_ms(text, authoring->latency_ms);
    }
    if (authoring->tokens_in >= 0 && authoring->tokens_out >= 0) {
        strbuf_addf(text, " %s ", text_dot());
        text_count(text, authoring->tokens_in);
        strbuf_addstr(text, " tokens read, ");
        text_count(text, authoring->tokens_out);
        strbuf_addstr(text, " written");
    }
    strbuf_addch(text, '\n');
    script_lines(out, 1, LONG_MAX, 0);
    style(out, "0");
}

void exec_output_word(struct exec_output *out, const char *text)
{
    named_text(out, "36", "model", text, strlen(text));
}

void exec_output_end(struct exec_output *out, bool success, const char *error, int64_t duration_ms, const char *engine)
{
    if (error)
        named_text(out, "1;31", "error", error, strlen(error));
    style(out, "2");
    strbuf_addf(&out->output.text, "%s in ", success ? "done" : "failed");
    text_ms(&out->output.text, duration_ms);
    strbuf_addf(&out->output.text, " %s sandbox %s", text_dot(), engine);
    style(out, "0");
    strbuf_addch(&out->output.text, '\n');
}

int exec_say_error(const char *error)
{
    return cli_error(STATUS_FAILED, "%.*s", (int)strcspn(error, "\n"), error);
}
