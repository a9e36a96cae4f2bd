/* The dialect of Anthropic Messages.
 *
 * Blocks are identified by their index. Thinking comes with a signature. During a tool loop it must go back byte for
 * byte, in its place among the other blocks, even if thinking was not requested. So an answer with such blocks keeps an
 * outline of itself ("opaque" in the message). The outline holds thinking unchanged, and texts and calls by their
 * place. The texts and calls themselves come from the message when it is sent, because the turn may have changed a
 * call's id, or the user its arguments.
 *
 * An answer that the server interrupted keeps an outline too and is sent back as the last message. The next answer
 * continues from there. */

#include "answer.h"
#include "base/mem.h"
#include <ctype.h>

#define MAX_TOKENS   8192 /* the default: the API requires the field */
#define THINKING_MIN 1024 /* the API's minimum */

/* ---- writing ---- */

static void close_message(struct request_writer *writing)
{
    if (writing->state.role == ROLE_SYSTEM)
        return;
    json_close(&writing->w, ']');
    json_close(&writing->w, '}');
    writing->state.role = ROLE_SYSTEM;
}

/* Joins consecutive messages of one side. The API wants the results of calls and the user's next text in one
 * message. */
static void open_message(struct request_writer *writing, enum role role)
{
    if (writing->state.role == role)
        return;
    close_message(writing);
    json_open(&writing->w, NULL, '{');
    json_add_str(&writing->w, "role", role_name(role));
    json_open(&writing->w, "content", '[');
    writing->state.role = role;
    writing->state.begun = true;
}

/* Marks the end of what the next request repeats: the server may cache it. */
static void mark_cache(struct json_writer *w)
{
    json_add_raw(w, "cache_control", "{\"type\":\"ephemeral\"}");
}

static void write_text(struct request_writer *writing, const char *text, size_t len, bool last)
{
    json_open(&writing->w, NULL, '{');
    json_add_str(&writing->w, "type", "text");
    json_add_strn(&writing->w, "text", text, len);
    if (last)
        mark_cache(&writing->w);
    json_close(&writing->w, '}');
}

/* Another provider's id may hold characters that this API refuses. */
static void write_id(struct json_writer *w, const char *key, const char *id)
{
    CLEANUP(free) char *clean = xstrdup(*id ? id : "call");
    for (char *at = clean; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            *at = '_';
    json_add_str(w, key, clean);
}

static void write_call(struct request_writer *writing, const struct tool_call *call)
{
    json_open(&writing->w, NULL, '{');
    json_add_str(&writing->w, "type", "tool_use");
    write_id(&writing->w, "id", call->id);
    json_add_str(&writing->w, "name", call->name);
    json_add_value(&writing->w, "input", dialect_arguments(&writing->arena, call->arguments));
    json_close(&writing->w, '}');
}

static void write_result(struct request_writer *writing, const char *id, const struct message *result, bool last)
{
    open_message(writing, ROLE_USER);
    json_open(&writing->w, NULL, '{');
    json_add_str(&writing->w, "type", "tool_result");
    write_id(&writing->w, "tool_use_id", id);
    json_add_str(&writing->w, "content", result ? result->text : dialect_no_result);
    if (!result || result->failed)
        json_add_bool(&writing->w, "is_error", true);
    if (last)
        mark_cache(&writing->w);
    json_close(&writing->w, '}');
}

/* Returns true if the message still has every text and call of the outline. */
static bool fits(const struct json *outline, const struct message *message)
{
    size_t len = strlen(message->text), calls = 0;
    json_each (block, outline) {
        int64_t at = json_int(json_get(block, "at"), -1), bytes = json_int(json_get(block, "bytes"), -1);
        if (json_get(block, "keep"))
            continue;
        if (json_get(block, "call"))
            calls++;
        else if (at < 0 || bytes < 0 || (size_t)at > len || (size_t)bytes > len - (size_t)at)
            return false;
    }
    return calls == message->call_count;
}

/* Returns the blocks that this model wants back; NULL if it would accept none. Sets `paused` if it continues from
 * there. */
static const struct json *outline_of(struct request_writer *writing, const struct message *message, bool *paused)
{
    *paused = false;
    if (!message->opaque)
        return NULL;
    const struct json *opaque = json_parse(&writing->arena, message->opaque, strlen(message->opaque), NULL);
    const struct json *blocks = json_get(opaque, "blocks");
    if (strcmp(json_str(json_get(opaque, "provider"), ""), dialect_anthropic.name) != 0 ||
        strcmp(json_str(json_get(opaque, "model"), ""), writing->ask->spec->model) != 0 || !blocks || !blocks->count ||
        !fits(blocks, message))
        return NULL;
    *paused = json_bool(json_get(opaque, "paused"), false);
    return blocks;
}

static void write_outline(struct request_writer *writing, const struct json *outline, const struct message *message)
{
    size_t call = 0;
    json_each (block, outline) {
        const struct json *keep = json_get(block, "keep");
        const char *text = message->text + json_int(json_get(block, "at"), 0);
        if (keep)
            json_add_value(&writing->w, NULL, keep);
        else if (json_get(block, "call"))
            write_call(writing, &message->calls[call++]);
        else
            write_text(writing, text, (size_t)json_int(json_get(block, "bytes"), 0), false);
    }
}

static size_t write_assistant(struct request_writer *writing, size_t i)
{
    const struct message *message = &writing->messages->items[i];
    bool paused;
    const struct json *outline = outline_of(writing, message, &paused);
    size_t results = dialect_results(writing->messages, i + 1);
    bool last = i + 1 + results == writing->messages->count;
    if (dialect_blank(message->text) && !message->call_count && !paused)
        return i + 1;
    if (!writing->state.begun) { /* the API requires a first message of the user */
        open_message(writing, ROLE_USER);
        write_text(writing, dialect_go_on, strlen(dialect_go_on), false);
    }
    /* Thinking must begin a message, and the user said this when the answer was requested. */
    if (writing->state.role == ROLE_ASSISTANT && !writing->state.paused) {
        open_message(writing, ROLE_USER);
        write_text(writing, dialect_go_on, strlen(dialect_go_on), false);
    }
    open_message(writing, ROLE_ASSISTANT);
    writing->state.paused = paused;
    if (outline) {
        write_outline(writing, outline, message);
    } else {
        if (!dialect_blank(message->text))
            write_text(writing, message->text, strlen(message->text), false);
        for (size_t k = 0; k < message->call_count; k++)
            write_call(writing, &message->calls[k]);
    }
    if (!message->call_count)
        return i + 1;
    /* The API requires one result for each call, right after the calls. */
    for (size_t k = 0; k < message->call_count; k++) {
        const struct message *result = dialect_result(writing->messages, i + 1, message->calls[k].id);
        write_result(writing, message->calls[k].id, result, last && k + 1 == message->call_count);
    }
    return i + 1 + results;
}

/* A group is one message, or an answer with its results. */
static size_t anthropic_write_group(struct request_writer *writing, size_t i)
{
    const struct message_list *messages = writing->messages;
    const struct message *message = &messages->items[i];
    if (message->role == ROLE_ASSISTANT)
        return write_assistant(writing, i);
    if (!dialect_blank(message->text)) {
        open_message(writing, ROLE_USER);
        write_text(writing, message->text, strlen(message->text), i + 1 == messages->count);
    }
    return i + 1;
}

/* The API treats a last message of the model as the beginning of its answer. That is correct only for an interrupted
 * one. */
static void anthropic_write_end(struct request_writer *writing)
{
    bool answers = writing->state.role == ROLE_ASSISTANT && writing->state.paused;
    if (writing->state.role != ROLE_USER && !answers) {
        open_message(writing, ROLE_USER);
        write_text(writing, dialect_go_on, strlen(dialect_go_on), true);
    }
    close_message(writing);
    json_close(&writing->w, ']');
    json_close(&writing->w, '}');
}

static void write_system(struct request_writer *writing, size_t count)
{
    bool first = true;
    json_open(&writing->w, "system", '[');
    for (size_t i = 0; i < count; i++) {
        const char *text = writing->messages->items[i].text;
        if (dialect_blank(text))
            continue;
        write_text(writing, text, strlen(text), first); /* the messages after it may differ in the next request */
        first = false;
    }
    json_close(&writing->w, ']');
}

static void write_tools(struct json_writer *w, const struct model_request *request)
{
    json_open(w, "tools", '[');
    for (size_t i = 0; i < request->tool_count; i++) {
        json_open(w, NULL, '{');
        json_add_str(w, "name", request->tools[i].name);
        json_add_str(w, "description", request->tools[i].description);
        json_add_raw(w, "input_schema", request->tools[i].parameters);
        json_close(w, '}');
    }
    json_close(w, ']');
}

/* With thinking requested, the API requires the thinking of an answer whose calls have just run. If another model gave
 * the answer, or it was recorded without thinking, the request goes without thinking. */
static bool may_think(struct request_writer *writing)
{
    const struct message_list *messages = writing->messages;
    size_t i = messages->count;
    bool paused;
    while (i > 0 && messages->items[i - 1].role == ROLE_TOOL)
        i--;
    if (i == messages->count || i == 0 || !messages->items[i - 1].call_count)
        return true;
    return outline_of(writing, &messages->items[i - 1], &paused) != NULL;
}

static size_t anthropic_write_head(struct request_writer *writing)
{
    const struct dialect_request *ask = writing->ask;
    const struct model_request *request = ask->request;
    struct json_writer *w = &writing->w;
    size_t system = dialect_system_count(request->messages);
    int64_t thinking = request->reflection ? 0 : request->thinking_tokens;
    int64_t most = request->max_output_tokens > 0 ? request->max_output_tokens : MAX_TOKENS;
    bool own = dialect_said(ask, "thinking");
    if (thinking > 0)
        thinking = !own && may_think(writing) ? (thinking > THINKING_MIN ? thinking : THINKING_MIN) : 0;
    json_open(w, NULL, '{');
    json_add_str(w, "model", ask->spec->model);
    json_add_bool(w, "stream", true);
    if (!dialect_said(ask, "max_tokens"))
        json_add_int(w, "max_tokens", most + thinking);
    if (thinking > 0) {
        json_open(w, "thinking", '{');
        json_add_str(w, "type", "enabled");
        json_add_int(w, "budget_tokens", thinking);
        json_close(w, '}');
    }
    if (request->tool_count)
        write_tools(w, request);
    if (request->tool_count && request->reflection && !dialect_said(ask, "tool_choice"))
        json_add_raw(w, "tool_choice", "{\"type\":\"none\"}");
    dialect_write_options(w, ask);
    if (system)
        write_system(writing, system);
    json_open(w, "messages", '[');
    return system;
}

/* ---- reading ---- */

/* Each count in the event replaces the earlier one. */
static void take_usage(struct answer *answer, const struct json *usage)
{
    struct usage *known = &answer->usage;
    answer->counted |= usage && usage->type == JSON_OBJECT;
    answer->fresh_input = dialect_count(usage, "input_tokens", answer->fresh_input);
    known->cache_read = dialect_count(usage, "cache_read_input_tokens", known->cache_read);
    known->cache_write = dialect_count(usage, "cache_creation_input_tokens", known->cache_write);
    known->output = dialect_count(usage, "output_tokens", known->output);
    known->input = answer->fresh_input + known->cache_read + known->cache_write;
}

static bool take_call_start(struct answer *answer, int64_t index, const struct json *block)
{
    const struct json *input = json_get(block, "input");
    struct answer_call *call =
        answer_add_call(answer, index, json_str(json_get(block, "id"), NULL), json_str(json_get(block, "name"), NULL));
    struct answer_block *made = call ? answer_add_block(answer, index, BLOCK_CALL) : NULL;
    if (!made)
        return false;
    made->call = answer->call_count - 1;
    if (!input || input->type != JSON_OBJECT || !input->count)
        return true;
    json_write(&call->arguments, input, JSON_COMPACT); /* the whole input at once */
    return answer_keep(answer, call->arguments.len);
}

static bool take_other_start(struct answer *answer, int64_t index, const struct json *block)
{
    struct answer_block *made = answer_add_block(answer, index, BLOCK_OTHER);
    if (!made)
        return false;
    json_write(&made->text, block, JSON_COMPACT);
    return answer_keep(answer, made->text.len);
}

static bool take_block_start(struct answer *answer, int64_t index, const struct json *block)
{
    const char *type = json_str(json_get(block, "type"), "");
    const struct json *text = json_get(block, "text"), *thinking = json_get(block, "thinking");
    if (strcmp(type, "text") == 0) {
        bool apart =
            answer->block_count && answer->text.len && answer->blocks[answer->block_count - 1].kind != BLOCK_TEXT;
        if (apart && !answer_add_text(answer, "\n\n", 2))
            return false;
        struct answer_block *made = answer_add_block(answer, index, BLOCK_TEXT);
        if (!made)
            return false;
        const char *first = json_str(text, "");
        made->at = answer->text.len;
        made->len = strlen(first);
        return answer_add_text(answer, first, strlen(first));
    }
    if (strcmp(type, "tool_use") == 0)
        return take_call_start(answer, index, block);
    if (strcmp(type, "thinking") == 0) {
        struct answer_block *made = answer_add_block(answer, index, BLOCK_THINKING);
        const char *first = json_str(thinking, "");
        if (!made)
            return false;
        strbuf_addstr(&made->text, first);
        strbuf_addstr(&made->signature, json_str(json_get(block, "signature"), ""));
        return answer_keep(answer, made->signature.len) && answer_add_thinking(answer, first, strlen(first));
    }
    return take_other_start(answer, index, block);
}

/* A text delta without a block of its own still counts as text. */
static bool take_text_delta(struct answer *answer, struct answer_block *block, const struct json *text)
{
    if (!text || text->type != JSON_STRING)
        return true;
    if (block && block->kind == BLOCK_TEXT)
        block->len += text->len;
    return answer_add_text(answer, text->text, text->len);
}

static bool take_delta(struct answer *answer, int64_t index, const struct json *delta)
{
    const char *type = json_str(json_get(delta, "type"), "");
    struct answer_block *block = answer_find_block(answer, index);
    if (strcmp(type, "text_delta") == 0)
        return take_text_delta(answer, block, json_get(delta, "text"));
    if (strcmp(type, "input_json_delta") == 0) {
        const struct json *piece = json_get(delta, "partial_json");
        struct answer_call *call = answer_find_call(answer, index);
        if (call && piece && piece->type == JSON_STRING)
            return answer_add_arguments(answer, call, piece->text, piece->len);
        if (block && block->kind == BLOCK_OTHER && piece && piece->type == JSON_STRING) {
            strbuf_add(&block->input, piece->text, piece->len);
            return answer_keep(answer, piece->len);
        }
    } else if (strcmp(type, "thinking_delta") == 0) {
        const struct json *piece = json_get(delta, "thinking");
        if (block && block->kind == BLOCK_THINKING && piece && piece->type == JSON_STRING) {
            strbuf_add(&block->text, piece->text, piece->len);
            return answer_add_thinking(answer, piece->text, piece->len);
        }
    } else if (strcmp(type, "signature_delta") == 0) {
        const char *piece = json_str(json_get(delta, "signature"), "");
        if (block && block->kind == BLOCK_THINKING) {
            strbuf_addstr(&block->signature, piece);
            return answer_keep(answer, strlen(piece));
        }
    }
    return true;
}

static bool anthropic_take(struct answer *answer, const char *data, size_t len)
{
    const struct json *event = answer_parse(answer, data, len);
    if (!event)
        return false;
    const char *type = json_str(json_get(event, "type"), "");
    int64_t index = json_int(json_get(event, "index"), -1);
    if (strcmp(type, "content_block_delta") == 0)
        return take_delta(answer, index, json_get(event, "delta"));
    if (strcmp(type, "content_block_start") == 0)
        return take_block_start(answer, index, json_get(event, "content_block"));
    if (strcmp(type, "content_block_stop") == 0) {
        struct answer_call *call = answer_find_call(answer, index);
        if (call)
            call->closed = true;
    } else if (strcmp(type, "message_start") == 0) {
        take_usage(answer, json_get(json_get(event, "message"), "usage"));
    } else if (strcmp(type, "message_delta") == 0) {
        const char *stop = json_str(json_get(json_get(event, "delta"), "stop_reason"), NULL);
        if (stop)
            answer_set_stop(answer, stop);
        answer->refused = stop && strcmp(stop, "refusal") == 0;
        take_usage(answer, json_get(event, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        answer->ended = true;
        return false;
    } else if (strcmp(type, "error") == 0) {
        dialect_fail(answer, event);
        return false;
    }
    return true;
}

/* Writes a block of an unknown kind, with the input that came in pieces. */
static void keep_other(struct json_writer *w, const struct answer_block *block)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *input = block->input.len ? json_parse(&arena, block->input.buf, block->input.len, NULL) : NULL;
    if (!input) {
        json_add_raw(w, "keep", block->text.buf);
        return;
    }
    json_open(w, "keep", '{');
    json_each (field, json_parse(&arena, block->text.buf, block->text.len, NULL))
        json_add_value(w, field->key, strcmp(field->key, "input") == 0 ? input : field);
    json_close(w, '}');
}

static char *anthropic_keep(const struct answer *answer, const struct live_spec *spec)
{
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    bool paused = answer->stop && strcmp(answer->stop, MODEL_PAUSED) == 0, wanted = paused;
    for (size_t i = 0; i < answer->block_count; i++)
        wanted |= answer->blocks[i].kind == BLOCK_THINKING || answer->blocks[i].kind == BLOCK_OTHER;
    if (!wanted)
        return NULL;
    json_open(&w, NULL, '{');
    json_add_str(&w, "provider", dialect_anthropic.name);
    json_add_str(&w, "model", spec->model);
    if (paused)
        json_add_bool(&w, "paused", true);
    json_open(&w, "blocks", '[');
    for (size_t i = 0; i < answer->block_count; i++) {
        const struct answer_block *block = &answer->blocks[i];
        if (block->kind == BLOCK_TEXT && !block->len)
            continue; /* the API refuses an empty text */
        json_open(&w, NULL, '{');
        if (block->kind == BLOCK_TEXT) {
            json_add_int(&w, "at", (int64_t)block->at);
            json_add_int(&w, "bytes", (int64_t)block->len);
        } else if (block->kind == BLOCK_CALL) {
            json_add_bool(&w, "call", true);
        } else if (block->kind == BLOCK_OTHER) {
            keep_other(&w, block);
        } else {
            json_open(&w, "keep", '{');
            json_add_str(&w, "type", "thinking");
            json_add_strn(&w, "thinking", block->text.buf, block->text.len);
            json_add_strn(&w, "signature", block->signature.buf, block->signature.len);
            json_close(&w, '}');
        }
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_close(&w, '}');
    return strbuf_detach(&out, NULL);
}

const struct dialect dialect_anthropic = {
    .name = "anthropic",
    .usual_url = "https://api.anthropic.com",
    .path = "/v1/messages",
    .usual_env = "ANTHROPIC_API_KEY",
    .key_header = "x-api-key: ",
    .header = "anthropic-version: 2023-06-01",
    .write_head = anthropic_write_head,
    .write_group = anthropic_write_group,
    .write_end = anthropic_write_end,
    .take = anthropic_take,
    .keep = anthropic_keep,
};
