#include "exec_account.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "pretty.h"
#include "sandbox/orchestrator.h"
#include "text.h"
#include <limits.h>
#include <string.h>

#define LINES_AROUND 2

static void style(const struct exec_account *account, struct strbuf *out, const char *sgr)
{
    if (account->colour)
        strbuf_addf(out, "\033[%sm", sgr);
}

static void heading(struct exec_account *account, struct strbuf *out, const char *text, const char *sgr)
{
    style(account, out, sgr);
    text_show_cut(out, text, strlen(text), 120);
    style(account, out, "0");
}

static void add_pretty(struct strbuf *out, const struct pretty *pretty)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    pretty_write(pretty, &text);
    text_show(out, text.buf, text.len, UTF8_KEEP_NEWLINE | UTF8_KEEP_TAB);
}

static void add_value(struct strbuf *out, const struct json *value)
{
    CLEANUP(pretty) struct pretty pretty;
    pretty_init(&pretty, 0);
    pretty_json(&pretty, value, 2);
    add_pretty(out, &pretty);
}

static bool is_container(const struct json *value)
{
    return value && (value->type == JSON_ARRAY || value->type == JSON_OBJECT) && value->count;
}

/* "name: value", a container below it. */
static void named_value(struct exec_account *account, struct strbuf *out, const char *name, const char *sgr,
                        const struct json *value)
{
    heading(account, out, name, sgr);
    if (is_container(value)) {
        strbuf_addstr(out, ":\n");
        add_value(out, value);
        return;
    }
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addstr(out, ": ");
    if (value)
        json_write(&text, value, JSON_SPACED);
    text_show(out, value ? text.buf : "null", value ? text.len : 4, 0);
    strbuf_addch(out, '\n');
}

/* A line of what it wrote to stdout or stderr. */
static void printed(struct exec_account *account, struct strbuf *out, const struct json *event, bool to_stderr)
{
    const char *text = json_str(json_get(event, "message"), "");
    if (to_stderr)
        style(account, out, "33");
    text_show(out, text, strlen(text), UTF8_KEEP_NEWLINE | UTF8_KEEP_TAB);
    if (to_stderr)
        style(account, out, "0");
    strbuf_addch(out, '\n');
}

static void logged(struct exec_account *account, struct strbuf *out, const struct json *event)
{
    const char *level = json_str(json_get(event, "level"), "info");
    if (strcmp(level, "stdout") == 0 || strcmp(level, "stderr") == 0) {
        printed(account, out, event, level[3] == 'e');
        return;
    }
    CLEANUP(free) char *name = xasprintf("[%s]", level);
    heading(account, out, name, "2");
    strbuf_addch(out, ' ');
    const char *text = json_str(json_get(event, "message"), "");
    text_wrap(out, text, strlen(text), 2, text_terminal_width(1, 120));
}

/* The line of the script that a traceback names last; 0: none. */
static long failing_line(const char *traceback)
{
    static const char mark[] = "File \"<script>\", line ";
    long line = 0;
    for (const char *at = traceback; (at = strstr(at, mark)); at += sizeof(mark) - 1)
        line = strtol(at + sizeof(mark) - 1, NULL, 10);
    return line;
}

/* The lines from `first` to `last`, numbered; the failing one marked. 0: none failed. */
static void show_lines(struct exec_account *account, struct strbuf *out, long first, long last, long failing)
{
    long number = 1;
    for (const char *at = account->script; *at && number <= last; number++) {
        size_t len = strcspn(at, "\n");
        if (number >= first) {
            if (number == failing)
                style(account, out, "1;31");
            strbuf_addf(out, "%s %4ld  ", number == failing ? ">" : " ", number);
            text_show(out, at, len, UTF8_KEEP_TAB);
            if (number == failing)
                style(account, out, "0");
            strbuf_addch(out, '\n');
        }
        at += len + (at[len] == '\n');
    }
}

void exec_account_asked(struct exec_account *account, struct strbuf *out, const char *model)
{
    CLEANUP(free) char *line = xasprintf("asking %s %s", model, text_ellipsis());
    heading(account, out, line, "2");
    strbuf_addch(out, '\n');
}

void exec_account_attempt(struct exec_account *account, struct strbuf *out, const char *name, size_t number,
                          const struct authoring *authoring)
{
    CLEANUP(free) char *title = xasprintf("%s %zu", name, number);
    heading(account, out, title, "1");
    style(account, out, "2");
    if (authoring->latency_ms >= 0) {
        strbuf_addf(out, " %s written in ", text_dot());
        text_ms(out, authoring->latency_ms);
    }
    if (authoring->tokens_in >= 0 && authoring->tokens_out >= 0) {
        strbuf_addf(out, " %s ", text_dot());
        text_count(out, authoring->tokens_in);
        strbuf_addstr(out, " tokens read, ");
        text_count(out, authoring->tokens_out);
        strbuf_addstr(out, " written");
    }
    strbuf_addch(out, '\n');
    show_lines(account, out, 1, LONG_MAX, 0);
    style(account, out, "0");
}

void exec_account_word(struct exec_account *account, struct strbuf *out, const char *text)
{
    heading(account, out, "model", "36");
    strbuf_addstr(out, ": ");
    text_wrap(out, text, strlen(text), 2, text_terminal_width(1, 120));
}

static void failed(struct exec_account *account, struct strbuf *out, const struct json *event)
{
    const char *message = json_str(json_get(event, "message"), "");
    const char *traceback = json_str(json_get(event, "traceback"), "");
    heading(account, out, "error", "1;31");
    strbuf_addstr(out, ": ");
    text_wrap(out, message, strlen(message), 2, text_terminal_width(1, 120));
    long line = failing_line(traceback);
    if (line)
        show_lines(account, out, line - LINES_AROUND, line + LINES_AROUND, line);
    if (*traceback) {
        CLEANUP(pretty) struct pretty pretty;
        pretty_init(&pretty, 0);
        pretty_text(&pretty, LOOK_TEXT, traceback, strlen(traceback), 2, false);
        style(account, out, "2");
        add_pretty(out, &pretty);
        style(account, out, "0");
    }
}

void exec_account_event(struct exec_account *account, struct strbuf *out, const char *line, size_t len)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *event = json_parse(&arena, line, len, NULL);
    const char *type = json_str(json_get(event, "type"), "");
    if (strcmp(type, "log") == 0)
        logged(account, out, event);
    else if (strcmp(type, "intermediate") == 0)
        named_value(account, out, json_str(json_get(event, "label"), ""), "36", json_get(event, "data"));
    else if (strcmp(type, "final_result") == 0)
        named_value(account, out, "result", "1;32", json_get(event, "data"));
    else if (strcmp(type, "error") == 0)
        failed(account, out, event);
}

void exec_account_end(struct exec_account *account, struct strbuf *out, bool success, const char *error,
                      int64_t duration_ms, const char *engine)
{
    if (error) {
        heading(account, out, "error", "1;31");
        strbuf_addstr(out, ": ");
        text_wrap(out, error, strlen(error), 2, text_terminal_width(1, 120));
    }
    style(account, out, "2");
    strbuf_addf(out, "%s in ", success ? "done" : "failed");
    text_ms(out, duration_ms);
    strbuf_addf(out, " %s sandbox %s", text_dot(), engine);
    style(account, out, "0");
    strbuf_addch(out, '\n');
}
