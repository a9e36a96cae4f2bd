#include "describe.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "event/session.h"
#include "script.h"
#include "text.h"
#include "tools/tool.h"
#include <stdio.h>
#include <string.h>

#define SHORT_TEXT    60 /* bytes of a text that is shown and not counted */
#define SUBJECT_MAX   200
#define SCRIPT_CHARS  100
#define ARGUMENTS_MAX 400 /* no row is longer */

static bool is_path_key(const char *key)
{
    return strcmp(key, "path") == 0 || strcmp(key, "from") == 0 || strcmp(key, "file") == 0 ||
           strcmp(key, "file_path") == 0 || strcmp(key, "query") == 0 || strcmp(key, "pattern") == 0;
}

static bool is_subject(const struct json *value)
{
    return value->type == JSON_STRING && value->len < SUBJECT_MAX && is_path_key(value->key);
}

/* A text of several lines must not look like one line with blanks. */
static void add_text(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            strbuf_addstr(out, text_newline());
        else
            strbuf_addch(out, *text);
    }
}

static void add_value(struct strbuf *out, const struct json *value)
{
    if (value->type == JSON_STRING && value->len <= SHORT_TEXT) {
        strbuf_addf(out, "%s=", value->key);
        add_text(out, value->text);
    } else if (value->type == JSON_STRING) {
        strbuf_addf(out, "%s=(", value->key);
        text_plural(out, (int64_t)utf8_count(value->text, value->len), "character", "characters");
        strbuf_addch(out, ')');
    } else if (value->type == JSON_ARRAY || value->type == JSON_OBJECT) {
        strbuf_addf(out, "%s=(%u)", value->key, value->count);
    } else {
        strbuf_addf(out, "%s=%.*s", value->key, (int)(value->src_len < 40 ? value->src_len : 40), value->src);
    }
}

/* What a call runs: its script, or its command. */
static const struct json *code_of(const struct json *arguments)
{
    const struct json *script = script_of(arguments), *command = json_get(arguments, "command");
    return script ? script : command && command->type == JSON_STRING ? command : NULL;
}

/* Of long code the line that says what it is about: the first with something in it, without the sign of a comment. */
static void add_code(struct strbuf *out, const struct json *code)
{
    const char *line = code->text + strspn(code->text, "# \t\r\n");
    size_t len = strcspn(line, "\r\n");
    if (code->len <= SHORT_TEXT)
        add_text(out, code->text);
    else
        strbuf_add(out, line, utf8_prefix(line, len, SCRIPT_CHARS));
}

void describe_arguments(struct strbuf *out, const struct json *arguments)
{
    size_t from = out->len;
    if (!arguments || arguments->type != JSON_OBJECT)
        return;
    const struct json *code = code_of(arguments);
    if (code)
        add_code(out, code);
    json_each (value, arguments)
        if (is_subject(value)) {
            strbuf_addstr(out, out->len > from ? " " : "");
            add_text(out, value->text);
        }
    json_each (value, arguments) {
        if (out->len - from > ARGUMENTS_MAX)
            break;
        if (is_subject(value) || value == code)
            continue;
        if (out->len > from)
            strbuf_addch(out, ' ');
        add_value(out, value);
    }
}

void describe_output(struct strbuf *out, const struct json *output)
{
    const struct json *entries = json_get(output, "entries");
    const struct json *list = entries ? entries : output;
    if (list && list->type == JSON_ARRAY) {
        bool lines = list->child && list->child->type == JSON_STRING;
        text_plural(out, list->count, lines ? "line" : "entry", lines ? "lines" : "entries");
    } else if (output && output->type == JSON_STRING) {
        strbuf_addstr(out, output->text);
    } else if (json_bool(json_get(output, "unchanged"), false)) {
        strbuf_addstr(out, "nothing to change");
    }
}

void describe_denial(struct strbuf *out, const struct event_denied_info *denied)
{
    const char *reason = denied && denied->reason ? denied->reason : "refused";
    const char *details = denied ? denied->details : NULL;
    size_t from = out->len;
    strbuf_addf(out, "%s%s%s", reason, details ? ": " : "", details ? details : "");
    for (size_t i = 0; i < strlen(reason); i++)
        if (out->buf[from + i] == '_')
            out->buf[from + i] = ' ';
}

void describe_timeout(struct strbuf *out, const struct event_timeout_info *timeout)
{
    strbuf_addf(out, "gave up after %.3g s; %s", timeout ? timeout->deadline_s : 0,
                !timeout || timeout->retryable ? "it may be tried again" : "the tool is blocked for this turn");
}

const char *describe_program_end(int16_t end, char out[DESCRIBE_STATE_MAX])
{
    if (!end)
        return NULL;
    if (end == CALL_END_TIMED_OUT || end == CALL_END_STOPPED)
        return end == CALL_END_STOPPED ? "stopped" : "timed out";
    snprintf(out, DESCRIBE_STATE_MAX, end > 0 ? "exit %d" : "signal %d", end > 0 ? end : -end);
    return out;
}

void describe_program_error(struct strbuf *out, const struct json *output)
{
    const char *error = json_str(json_get(output, "error"), json_str(json_get(output, "error_text"), NULL));
    json_each (block, json_get(output, "blocks"))
        error = error ? error : json_str(json_get(block, "error"), NULL);
    strbuf_addstr(out, error ? error : "a signal ended its program");
}

const char *describe_call_state(const struct session_call *call, char out[DESCRIBE_STATE_MAX])
{
    const char *end = describe_program_end(call->program_end, out);
    return end ? end : call_state_name((enum call_state)call->state);
}

const char *describe_effect(const char *effect)
{
    static const char *const words[][2] = {
        {"READ_ONLY", "read"},      {"LOCAL_WRITE", "write"}, {"NETWORK", "net"},
        {"DESTRUCTIVE", "destroy"}, {"UNKNOWN", "?"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(effect, words[i][0]) == 0)
            return words[i][1];
    return effect;
}

const char *describe_call_effect(const char *effect, const char *tool)
{
    bool within = strcmp(effect, "READ_ONLY") == 0 || strcmp(effect, "LOCAL_WRITE") == 0 || !*effect;
    return within && strcmp(tool, tool_run_script.spec.name) == 0 ? "script" : describe_effect(effect);
}
