/* The dialect of OpenAI-compatible Chat Completions. It accepts the deviations of real servers: calls without an index,
 * an id in every piece or in none, a whole call at once, arguments as an object, "stop" despite calls, usage
 * anywhere. */

#include "answer.h"
#include "base/mem.h"

/* ---- writing ---- */

static void write_message(struct request_writer *writing, const char *role, const char *text)
{
    json_open(&writing->w, NULL, '{');
    json_add_str(&writing->w, "role", role);
    json_add_str(&writing->w, "content", text);
    json_close(&writing->w, '}');
}

/* Joins consecutive messages of one role. The templates of local models expect one system message and alternating
 * roles. */
static size_t write_joined(struct request_writer *writing, size_t from, size_t to, const char *role)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = from; i < to; i++)
        if (!dialect_blank(writing->messages->items[i].text))
            strbuf_addf(&text, "%s%s", text.len ? "\n\n" : "", writing->messages->items[i].text);
    if (text.len)
        write_message(writing, role, text.buf);
    return to;
}

static void write_calls(struct request_writer *writing, const struct message *message)
{
    json_open(&writing->w, "tool_calls", '[');
    for (size_t k = 0; k < message->call_count; k++) {
        const struct tool_call *call = &message->calls[k];
        CLEANUP(strbuf) struct strbuf arguments = STRBUF_INIT;
        json_write(&arguments, dialect_arguments(&writing->arena, call->arguments), JSON_COMPACT);
        json_open(&writing->w, NULL, '{');
        json_add_str(&writing->w, "id", call->id);
        json_add_str(&writing->w, "type", "function");
        json_open(&writing->w, "function", '{');
        json_add_str(&writing->w, "name", call->name);
        json_add_str(&writing->w, "arguments", arguments.buf);
        json_close(&writing->w, '}');
        json_close(&writing->w, '}');
    }
    json_close(&writing->w, ']');
}

/* Returns the reasoning that this model wants back, or NULL. */
static const char *reasoning_of(struct request_writer *writing, const struct message *message)
{
    /* Only the loop that the reasoning is about needs it; servers refuse it or drop it once the user has spoken again.
     */
    if (!message->opaque || !message->call_count || message_is_earlier(message))
        return NULL;
    const struct json *opaque = json_parse(&writing->arena, message->opaque, strlen(message->opaque), NULL);
    if (strcmp(json_str(json_get(opaque, "provider"), ""), dialect_openai.name) != 0 ||
        strcmp(json_str(json_get(opaque, "model"), ""), writing->ask->spec->model) != 0)
        return NULL;
    return json_str(json_get(opaque, "reasoning_content"), NULL);
}

static size_t write_assistant(struct request_writer *writing, size_t i)
{
    const struct message *message = &writing->messages->items[i];
    const char *reasoning = reasoning_of(writing, message);
    if (dialect_blank(message->text) && !message->call_count)
        return i + 1;
    json_open(&writing->w, NULL, '{');
    json_add_str(&writing->w, "role", "assistant");
    json_add_str(&writing->w, "content", *message->text ? message->text : NULL);
    if (reasoning)
        json_add_str(&writing->w, "reasoning_content", reasoning);
    if (message->call_count)
        write_calls(writing, message);
    json_close(&writing->w, '}');
    if (!message->call_count)
        return i + 1;
    for (size_t k = 0; k < message->call_count; k++) {
        const struct message *result = dialect_result(writing->messages, i + 1, message->calls[k].id);
        json_open(&writing->w, NULL, '{');
        json_add_str(&writing->w, "role", "tool");
        json_add_str(&writing->w, "tool_call_id", message->calls[k].id);
        json_add_str(&writing->w, "content", result ? result->text : dialect_no_result);
        json_close(&writing->w, '}');
    }
    return i + 1 + dialect_results(writing->messages, i + 1);
}

/* A group is the system prompt, an answer with its results, or what is said between two answers. */
static size_t openai_write_group(struct request_writer *writing, size_t i)
{
    const struct message_list *messages = writing->messages;
    const struct message *message = &messages->items[i];
    size_t to = i;
    if (i == 0 && message->role == ROLE_SYSTEM)
        return write_joined(writing, 0, dialect_system_count(messages), "system");
    struct writer_state *state = &writing->state;
    state->go_on = message->role == ROLE_ASSISTANT && !message->call_count;
    if (message->role == ROLE_ASSISTANT) {
        bool blank = dialect_blank(message->text) && !message->call_count;
        if (state->answered && !blank)
            write_message(writing, "user", dialect_go_on);
        state->answered = blank ? state->answered : state->go_on;
        return write_assistant(writing, i);
    }
    state->answered = false;
    while (to < messages->count && messages->items[to].role != ROLE_ASSISTANT)
        to++;
    return write_joined(writing, i, to, "user");
}

static void openai_write_end(struct request_writer *writing)
{
    if (writing->state.go_on)
        write_message(writing, "user", dialect_go_on);
    json_close(&writing->w, ']');
    json_close(&writing->w, '}');
}

static void write_tools(struct json_writer *w, const struct model_request *request)
{
    json_open(w, "tools", '[');
    for (size_t i = 0; i < request->tool_count; i++) {
        json_open(w, NULL, '{');
        json_add_str(w, "type", "function");
        json_open(w, "function", '{');
        json_add_str(w, "name", request->tools[i].name);
        json_add_str(w, "description", request->tools[i].description);
        json_add_raw(w, "parameters", request->tools[i].parameters);
        json_close(w, '}');
        json_close(w, '}');
    }
    json_close(w, ']');
}

static size_t openai_write_head(struct request_writer *writing)
{
    const struct dialect_request *ask = writing->ask;
    const struct model_request *request = ask->request;
    struct json_writer *w = &writing->w;
    json_open(w, NULL, '{');
    json_add_str(w, "model", ask->spec->model);
    json_add_bool(w, "stream", true);
    if (!dialect_said(ask, "stream_options"))
        json_add_raw(w, "stream_options", "{\"include_usage\":true}");
    if (request->max_output_tokens > 0 && !dialect_said(ask, "max_tokens") &&
        !dialect_said(ask, "max_completion_tokens"))
        json_add_int(w, "max_completion_tokens", request->max_output_tokens);
    if (request->tool_count)
        write_tools(w, request);
    if (request->tool_count && request->reflection && !dialect_said(ask, "tool_choice"))
        json_add_str(w, "tool_choice", "none");
    if (request->tool_count && request->parallel && !dialect_said(ask, "parallel_tool_calls"))
        json_add_bool(w, "parallel_tool_calls", true); /* some servers default to one call at a time */
    dialect_write_options(w, ask);
    json_open(w, "messages", '[');
    return 0;
}

/* ---- reading ---- */

static void take_usage(struct answer *answer, const struct json *usage)
{
    const struct json *details = json_get(usage, "prompt_tokens_details");
    if (!usage || usage->type != JSON_OBJECT)
        return;
    answer->counted = true;
    answer->usage = (struct usage){
        .input = dialect_count(usage, "prompt_tokens", 0),
        .output = dialect_count(usage, "completion_tokens", 0),
        .cache_read = dialect_count(details, "cached_tokens", dialect_count(usage, "prompt_cache_hit_tokens", 0)),
        .cache_write = dialect_count(details, "cache_write_tokens", 0),
    };
    answer->cost_usd = json_num(json_get(usage, "cost"), answer->cost_usd);
}

/* Finds the call that a piece belongs to. The index decides. Without one, a new id begins a new call. With one, an id
 * that differs from the call's also begins a new call, because some servers number every call 0. */
static struct answer_call *slot_of(struct answer *answer, const struct json *piece, const char *id, const char *name)
{
    int64_t index = json_int(json_get(piece, "index"), -1);
    struct answer_call *call = NULL;
    if (index >= 0)
        call = answer_find_call(answer, index);
    else if (answer->call_count)
        call = &answer->calls[answer->call_count - 1];
    bool another = call && id && *id && (call->id ? strcmp(call->id, id) != 0 : index < 0);
    if (!call || another)
        call = answer_add_call(answer, index, id, name);
    if (!call)
        return NULL;
    if (!call->id && id && *id)
        call->id = xstrdup(id);
    if (!call->name && name && *name)
        call->name = xstrdup(name);
    return call;
}

static bool take_call(struct answer *answer, const struct json *piece)
{
    const struct json *function = json_get(piece, "function"), *arguments = json_get(function, "arguments");
    struct answer_call *call =
        slot_of(answer, piece, json_str(json_get(piece, "id"), NULL), json_str(json_get(function, "name"), NULL));
    if (!call)
        return false;
    if (arguments && arguments->type == JSON_STRING)
        return answer_add_arguments(answer, call, arguments->text, arguments->len);
    if (!arguments || arguments->type != JSON_OBJECT)
        return true;
    size_t before = call->arguments.len;
    json_write(&call->arguments, arguments, JSON_COMPACT);
    return answer_keep(answer, call->arguments.len - before);
}

static bool add_text(struct answer *answer, const struct json *text)
{
    return !text || text->type != JSON_STRING || answer_add_text(answer, text->text, text->len);
}

static bool take_delta(struct answer *answer, const struct json *delta)
{
    const struct json *thought = json_get(delta, "reasoning_content"), *refusal = json_get(delta, "refusal");
    if (!thought || thought->type != JSON_STRING)
        thought = json_get(delta, "reasoning");
    if (thought && thought->type == JSON_STRING && !answer_add_thinking(answer, thought->text, thought->len))
        return false;
    if (refusal && refusal->type == JSON_STRING && refusal->len)
        answer->refused = true;
    if (!add_text(answer, json_get(delta, "content")) || !add_text(answer, refusal))
        return false;
    json_each (piece, json_get(delta, "tool_calls"))
        if (!take_call(answer, piece))
            return false;
    return true;
}

/* Uses the stop reasons of the Anthropic dialect, which the journal uses too. */
static void take_finish(struct answer *answer, const char *reason)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {{"stop", "end_turn"},
                 {"length", "max_tokens"},
                 {"tool_calls", "tool_use"},
                 {"function_call", "tool_use"},
                 {"content_filter", "refusal"}};
    const char *stop = reason;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(reason, words[i].theirs) == 0)
            stop = words[i].ours;
    if (strcmp(stop, "refusal") == 0)
        answer->refused = true;
    if (answer->call_count && strcmp(stop, "end_turn") == 0)
        stop = "tool_use";
    answer_set_stop(answer, stop);
    for (size_t i = 0; i < answer->call_count; i++)
        answer->calls[i].closed = true;
}

static bool openai_take(struct answer *answer, const char *data, size_t len)
{
    if (len >= 6 && memcmp(data, "[DONE]", 6) == 0) {
        answer->ended = true;
        if (answer->refused)
            answer_set_stop(answer, "refusal");
        return false;
    }
    const struct json *chunk = answer_parse(answer, data, len);
    if (!chunk)
        return false;
    const struct json *error = json_get(chunk, "error"), *choice = json_at(json_get(chunk, "choices"), 0);
    if ((error && error->type != JSON_NULL) || (!choice && json_get(chunk, "message"))) {
        dialect_fail(answer, chunk);
        return false;
    }
    take_usage(answer, json_get(chunk, "usage"));
    if (!choice)
        return true;
    const char *reason = json_str(json_get(choice, "finish_reason"), NULL);
    if (!take_delta(answer, json_get(choice, "delta")))
        return false;
    if (reason && *reason)
        take_finish(answer, reason);
    return true;
}

static char *openai_keep(const struct answer *answer, const struct live_spec *spec)
{
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    if (!spec->keep_reasoning || !answer->thinking.len || !answer->call_count)
        return NULL;
    json_open(&w, NULL, '{');
    json_add_str(&w, "provider", dialect_openai.name);
    json_add_str(&w, "model", spec->model);
    json_add_str(&w, "reasoning_content", answer->thinking.buf);
    json_close(&w, '}');
    return strbuf_detach(&out, NULL);
}

const struct dialect dialect_openai = {
    .name = "openai",
    .usual_url = "https://api.openai.com/v1",
    .path = "/chat/completions",
    .usual_env = "OPENAI_API_KEY",
    .key_header = "Authorization: Bearer ",
    .header = NULL,
    .write_head = openai_write_head,
    .write_group = openai_write_group,
    .write_end = openai_write_end,
    .take = openai_take,
    .keep = openai_keep,
};
