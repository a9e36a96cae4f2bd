/* Describes calls and their outcomes in a few words (words.h). */

#include "words.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/spell.h"
#include "base/utf8.h"
#include "session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_TEXT    60 /* bytes of a text that is shown instead of counted */
#define SUBJECT_MAX   200
#define SCRIPT_CHARS  100
#define ARGUMENTS_MAX 400 /* bytes; no row is longer */

/* ---- arguments ---- */

static bool is_subject(const struct json *value)
{
    static const char *const keys[] = {"path", "from", "file", "file_path", "query", "pattern"};
    if (value->type != JSON_STRING || value->len >= SUBJECT_MAX)
        return false;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(value->key, keys[i]) == 0)
            return true;
    return false;
}

static void add_value(struct strbuf *out, const struct json *value)
{
    if (value->type == JSON_STRING && value->len <= SHORT_TEXT) {
        strbuf_addf(out, "%s=%s", value->key, value->text);
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

/* Adds what a call runs: its script or command. Of long code, the first line that is not empty, without its comment
 * sign. Returns NULL if the call runs nothing. */
static const struct json *add_code(struct strbuf *out, const struct json *arguments)
{
    const struct json *code = json_get(arguments, "script");
    if (!code || code->type != JSON_STRING)
        code = json_get(arguments, "command");
    if (!code || code->type != JSON_STRING)
        return NULL;
    const char *line = code->text + strspn(code->text, "# \t\r\n");
    if (code->len <= SHORT_TEXT)
        strbuf_addstr(out, code->text);
    else
        strbuf_add(out, line, utf8_prefix(line, strcspn(line, "\r\n"), SCRIPT_CHARS));
    return code;
}

/* Returns the argument that is code. */
static const struct json *add_subject(struct strbuf *out, const struct json *arguments)
{
    size_t from = out->len;
    const struct json *code = add_code(out, arguments);
    json_each (value, arguments)
        if (is_subject(value))
            strbuf_addf(out, "%s%s", out->len > from ? " " : "", value->text);
    return code;
}

void words_subject(struct strbuf *out, const struct json *arguments)
{
    size_t from = out->len;
    const char *to = json_str(json_get(arguments, "to"), NULL);
    if (arguments && arguments->type == JSON_OBJECT)
        add_subject(out, arguments);
    if (out->len == from)
        words_arguments(out, arguments);
    else if (to)
        strbuf_addf(out, " to=%s", to);
}

void words_arguments(struct strbuf *out, const struct json *arguments)
{
    size_t from = out->len;
    if (!arguments || arguments->type != JSON_OBJECT)
        return;
    const struct json *code = add_subject(out, arguments);
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

void words_script_event(struct strbuf *out, const struct json *sent)
{
    const struct json *data = json_get(sent, "data");
    const char *message = json_str(json_get(sent, "message"), NULL);
    if (message)
        strbuf_addstr(out, message);
    else if (data)
        strbuf_addf(out, "%s %.*s", json_str(json_get(sent, "label"), "result"), (int)data->src_len, data->src);
}

/* ---- outcomes ---- */

void words_output(struct strbuf *out, const struct json *output)
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

static const struct denial_words {
    const char *reason; /* in the journal */
    const char *words;
    bool skipped;
} denials[] = {
    {"duplicate", "duplicate", true},      {"blocked", "not available", true}, {"deadline", "out of time", true},
    {"validation", "bad arguments", true}, {"pre_hook", "rule", false},        {"write_denied", "denied", false},
};

static const struct denial_words *denial_words_of(const struct event_denied_info *denied)
{
    for (size_t i = 0; denied && denied->reason && i < COUNT_OF(denials); i++)
        if (strcmp(denied->reason, denials[i].reason) == 0)
            return &denials[i];
    return NULL;
}

bool words_skipped(const struct event_denied_info *denied)
{
    const struct denial_words *words = denial_words_of(denied);
    return words && words->skipped;
}

void words_denial(struct strbuf *out, const struct event_denied_info *denied)
{
    const struct denial_words *words = denial_words_of(denied);
    const char *details = denied && denied->details && *denied->details ? denied->details : NULL;
    const char *reason = words ? words->words : denied && denied->reason ? denied->reason : "denied";
    bool alone = details && words && strcmp(words->reason, "validation") != 0; /* the details say it all */
    for (; !alone && *reason; reason++)
        strbuf_addch(out, *reason == '_' ? ' ' : *reason);
    strbuf_addf(out, "%s%s", details && !alone ? ": " : "", details ? details : "");
}

/* "timed out after 45 s". `timeout` may be NULL. */
static void words_timeout(struct strbuf *out, const struct event_timeout_info *timeout)
{
    strbuf_addf(out, "timed out after %.3g s%s", timeout ? timeout->deadline_s : 0,
                !timeout || timeout->retryable ? "" : "; tool blocked for this turn");
}

void words_program_error(struct strbuf *out, const struct json *output)
{
    const char *error = json_str(json_get(output, "error"), json_str(json_get(output, "error_text"), NULL));
    json_each (block, json_get(output, "blocks"))
        error = error ? error : json_str(json_get(block, "error"), NULL);
    strbuf_addstr(out, error ? error : "killed by a signal");
}

/* Matches both `File "<script>", line 3, in f` of a traceback and `(<script>, line 3)` of a syntax error. */
size_t words_script_line(const char *text)
{
    static const char name[] = "<script>";
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, name));) {
        at += sizeof(name) - 1;
        const char *line = at + (*at == '"');
        if (strncmp(line, ", line ", 7) != 0)
            continue;
        unsigned long number = strtoul(line + 7, NULL, 10);
        found = number && number < UINT32_MAX ? (size_t)number : found;
    }
    return found;
}

/* For a message with a traceback below it: adds the message, and the line of the script. */
static void add_failure(struct strbuf *out, const char *error)
{
    const char *traceback = strstr(error, "\nTraceback (most recent call last)");
    size_t line = traceback ? words_script_line(traceback) : 0;
    strbuf_add(out, error, traceback ? (size_t)(traceback - error) : strlen(error));
    if (line)
        strbuf_addf(out, " (line %zu)", line);
}

const char *words_last_line(const char *text, size_t *len)
{
    size_t end = *len;
    while (end && strchr(" \t\r\n", text[end - 1]))
        end--;
    size_t start = end;
    while (start && text[start - 1] != '\n')
        start--;
    *len = end - start;
    return text + start;
}

void words_one_line(struct strbuf *out, const char *text)
{
    size_t from = out->len, len = strlen(text);
    if (strncmp(text, "Traceback", 9) == 0) {
        const char *raised = words_last_line(text, &len);
        strbuf_add(out, raised, utf8_prefix(raised, len, WORDS_LINE_CHARS));
        return;
    }
    for (; *text && out->len - from < 4 * WORDS_LINE_CHARS; text++) { /* a character has at most four bytes */
        bool blank = strchr(" \t\r\n", *text);
        if (!blank)
            strbuf_addch(out, *text);
        else if (out->len > from && out->buf[out->len - 1] != ' ')
            strbuf_addch(out, ' ');
    }
    strbuf_set_len(out, from + utf8_prefix(out->buf + from, out->len - from, WORDS_LINE_CHARS));
    while (out->len > from && out->buf[out->len - 1] == ' ')
        strbuf_set_len(out, out->len - 1);
}

void words_outcome(struct strbuf *out, const struct event_tool_finished *finished, const struct json *output,
                   const char *said_no)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (finished->failure)
        add_failure(&words, finished->failure->error ? finished->failure->error : "no reason given");
    else if (finished->denied && said_no)
        strbuf_addf(&words, "%s%s", *said_no ? "you: " : "no reason given", said_no);
    else if (finished->denied)
        words_denial(&words, finished->denied);
    else if (finished->timeout)
        words_timeout(&words, finished->timeout);
    else if (finished->artifact)
        strbuf_addf(&words, "saved as %s", finished->artifact->id ? finished->artifact->id : "?");
    else if (finished->result && call_output_end(output) == CALL_END_STOPPED)
        words_program_error(&words, output);
    else if (finished->result)
        words_output(&words, output);
    words_one_line(out, words.buf);
}

/* ---- states ---- */

const char *words_program_end(int16_t end, char out[WORDS_STATE_MAX])
{
    if (!end)
        return NULL;
    if (end == CALL_END_TIMED_OUT || end == CALL_END_STOPPED)
        return end == CALL_END_STOPPED ? "stopped" : "timed out";
    snprintf(out, WORDS_STATE_MAX, end > 0 ? "exit %d" : "signal %d", end > 0 ? end : -end);
    return out;
}

const char *words_call_state(const struct session_call *call, char out[WORDS_STATE_MAX])
{
    const char *end = words_program_end(call->program_end, out);
    if (end)
        return end;
    if (call->undone)
        return "undone";
    return call_state_name((enum call_state)call->state);
}

void words_call_times(struct strbuf *out, const struct session_call *call)
{
    if (!call->started_seq)
        strbuf_addstr(out, "not started");
    else
        strbuf_addf(out, "started at %.3f s", (double)call->started_t / 1e6);
    if (call->started_seq && call->finished_seq) {
        strbuf_addstr(out, ", took ");
        text_ms(out, call->finished_t > call->started_t ? (call->finished_t - call->started_t) / 1000 : 0);
        strbuf_addstr(out, call->proposed_seq ? " with the question" : "");
    }
    if (call->late)
        strbuf_addstr(out, "; returned late, result discarded");
}

/* ---- calls, gates and turns ---- */

void words_call_number(struct strbuf *out, const struct session *session, const char *id, int64_t turn)
{
    uint32_t row = session && id ? session_find_call_in(session, id, turn) : SESSION_NONE;
    if (row != SESSION_NONE)
        strbuf_addf(out, "#%u", row + 1);
    else
        utf8_sanitize(out, id ? id : "?", strlen(id ? id : "?"), 0);
}

/* "#3 edit_file src/x.c": of the arguments only the subject, which comes before the first name=value. */
static void add_call(struct strbuf *out, const struct session *session, const char *id, int64_t turn)
{
    uint32_t row = session ? session_find_call_in(session, id, turn) : SESSION_NONE;
    words_call_number(out, session, id, turn);
    if (row == SESSION_NONE)
        return;
    const struct session_call *call = &session->calls[row];
    const char *tool = session_name(session, call->tool), *rest = strchr(call->args, '=');
    size_t len = rest ? (size_t)(rest - call->args) : strlen(call->args);
    while (rest && len && call->args[len - 1] != ' ')
        len--;
    while (len && call->args[len - 1] == ' ')
        len--;
    CLEANUP(strbuf) struct strbuf subject = STRBUF_INIT;
    strbuf_add(&subject, call->args, utf8_prefix(call->args, len, SHORT_TEXT));
    strbuf_addf(out, "%s%s%s", *tool ? " " : "", tool, subject.len ? " " : "");
    words_one_line(out, subject.buf);
}

/* The first wave of the newest step that has not started; NULL: none. */
static const struct session_wave *next_wave(const struct session *session)
{
    for (uint32_t i = 0; session && i < session->wave_count; i++) {
        const struct session_wave *wave = &session->waves[session->wave_count - 1 - i];
        const struct session_wave *earlier = wave->number > 1 && i + 1 < session->wave_count ? wave - 1 : NULL;
        if (!earlier || session->calls[earlier->first_call].started_seq)
            return wave;
    }
    return NULL;
}

void words_gate(struct strbuf *out, const struct session *session, const char *gate, const char *call, int64_t turn)
{
    static const struct {
        const char *gate; /* in the journal */
        const char *words;
        const char *of_call; /* before the call, if the gate has one */
    } gates[] = {
        {"before model", "before the model request", NULL},
        {"after answer", "after the answer", NULL},
        {"before wave", "before the next wave", NULL},
        {"before tool", "before a call", "before "},
        {"before write", "before a write", "before the write of "},
        {"after tool", "after a call", "after "},
        {"before reflection", "before the review of the step", NULL},
        {"before finalizing", "before the end of the turn", NULL},
        {"at budget", "at a limit", NULL},
    };
    for (size_t i = 0; gate && i < COUNT_OF(gates); i++) {
        if (strcmp(gate, gates[i].gate) != 0)
            continue;
        const struct session_wave *wave = strcmp(gate, "before wave") == 0 ? next_wave(session) : NULL;
        strbuf_addstr(out, call && gates[i].of_call ? gates[i].of_call : wave ? "" : gates[i].words);
        if (call && gates[i].of_call)
            add_call(out, session, call, turn);
        if (wave) {
            strbuf_addf(out, "before wave %u (", wave->number);
            text_plural(out, wave->call_count, "call", "calls");
            strbuf_addch(out, ')');
        }
        return;
    }
    utf8_sanitize(out, gate ? gate : "?", strlen(gate ? gate : "?"), 0);
    if (call) {
        strbuf_addch(out, ' ');
        words_call_number(out, session, call, turn);
    }
}

void words_wave_end(struct strbuf *out, const struct session *session, const char *why, int64_t turn)
{
    size_t len = strcspn(why, " ");
    CLEANUP(free) char *first = xasprintf("%.*s", (int)len, why);
    bool named = session && session_find_call_in(session, first, turn) != SESSION_NONE;
    if (named)
        words_call_number(out, session, first, turn);
    strbuf_addstr(out, why + (named ? len : 0));
}

const char *words_turn_status(const char *status)
{
    return strcmp(status, "cancelled") == 0 ? "canceled" : status;
}

void words_decisions(struct strbuf *out, int64_t approved, int64_t denied)
{
    size_t before = out->len;
    if (approved > 0)
        strbuf_addf(out, "%lld approved", (long long)approved);
    if (denied > 0)
        strbuf_addf(out, "%s%lld denied", out->len > before ? ", " : "", (long long)denied);
}

void words_decision(struct strbuf *out, const char *decision, const char *by, const char *reason)
{
    static const char *const what[][2] = {
        {"partial", "approved in part"}, {"edited", "approved as edited"}, {"expired", "not answered"}};
    static const char *const who[][2] = {{"key", "by the user"}, {"policy", "by a rule"},
                                         {"rule", "by a rule"},  {"recording", "by the recording"},
                                         {"timeout", "in time"}, {"cancel", "because the turn was canceled"}};
    const char *done = decision, *actor = NULL;
    for (size_t i = 0; i < COUNT_OF(what); i++)
        if (strcmp(decision, what[i][0]) == 0)
            done = what[i][1];
    for (size_t i = 0; i < COUNT_OF(who); i++)
        if (strcmp(by, who[i][0]) == 0)
            actor = who[i][1];
    strbuf_addstr(out, done);
    if (actor)
        strbuf_addf(out, " %s", actor);
    if (*reason)
        strbuf_addf(out, ": %s", reason);
}

void words_amount(struct strbuf *out, const char *key, double amount)
{
    static const char *const counted[][3] = {
        {"steps", "step", "steps"},
        {"tool_calls", "tool call", "tool calls"},
        {"reflections", "reflection", "reflections"},
        {"context_tokens", "token of context", "tokens of context"},
        {"input_tokens", "input token", "input tokens"},
        {"output_tokens", "output token", "output tokens"},
    };
    for (size_t i = 0; i < COUNT_OF(counted); i++)
        if (strcmp(key, counted[i][0]) == 0) {
            text_plural(out, (int64_t)amount, counted[i][1], counted[i][2]);
            return;
        }
    if (strcmp(key, "wall_ms") == 0)
        text_ms(out, (int64_t)amount);
    else if (strcmp(key, "cost_usd") == 0)
        text_money(out, amount);
    else
        text_count(out, (int64_t)amount);
}

void words_limit(struct strbuf *out, const char *key, double limit)
{
    double s = limit / 1000;
    if (!(fabs(limit) < 1e15))
        strbuf_addf(out, "%g", limit);
    else if (strcmp(key, "wall_ms") != 0)
        words_amount(out, key, limit);
    else if (s >= 3600 && fmod(s, 3600) == 0)
        strbuf_addf(out, "%.0f h", s / 3600);
    else if (s > 60 && fmod(s, 60) == 0)
        strbuf_addf(out, "%.0f min", s / 60);
    else if (s > 120)
        text_ms(out, (int64_t)limit);
    else
        strbuf_addf(out, "%g s", s);
}

void words_limit_reached(struct strbuf *out, const struct event_limit_info *limit)
{
    strbuf_addstr(out, "the limit of ");
    words_limit(out, limit->key ? limit->key : "", limit->limit);
    if (limit->skipped > 0) {
        strbuf_addstr(out, ", ");
        text_plural(out, limit->skipped, "call", "calls");
        strbuf_addstr(out, " skipped");
    }
}

const char *words_effect(const char *effect)
{
    static const char *const words[][2] = {
        {"READ_ONLY", "read"},      {"LOCAL_WRITE", "write"}, {"NETWORK", "net"},
        {"DESTRUCTIVE", "destroy"}, {"UNKNOWN", "?"},
    };
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(effect, words[i][0]) == 0)
            return words[i][1];
    return effect;
}

const char *words_call_effect(const char *effect, const char *tool)
{
    bool within = strcmp(effect, "READ_ONLY") == 0 || strcmp(effect, "LOCAL_WRITE") == 0 || !*effect;
    return within && strcmp(tool, "run_script") == 0 ? "script" : words_effect(effect);
}
