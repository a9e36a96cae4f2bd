/* Calls of a step: one line each, `c1  read_file  src/lines.c · 42 lines      done      2 ms`. A call that has more to
 * tell (a diff, what it printed) is introduced with its line first and gets its outcome on a line of its own.
 *
 * A call's line comes when it ends, not when it starts: calls of a wave end in any order, and so no line is ever
 * changed after it was sent. */

#include "base/utf8.h"
#include "event/session.h"
#include "event/words.h"
#include "plain_inside.h"
#include <string.h>

#define ID_WIDTH_MAX   6
#define TOOL_WIDTH_MAX 20
#define WORD_WIDTH     9
#define TIME_WIDTH     11

static void call_release(struct plain_call *call)
{
    free(call->id);
    free(call->tool);
    free(call->what);
    plain_output_release(call);
}

static void waves_reset(struct plain *plain)
{
    for (size_t i = 0; i < plain->wave_count; i++)
        free(plain->waves[i].why);
    plain->wave_count = 0;
}

void plain_calls_reset(struct plain *plain)
{
    for (size_t i = 0; i < plain->call_count; i++)
        call_release(&plain->calls[i]);
    plain->call_count = plain->step_first = 0;
    hash_map_clear(&plain->call_index);
    waves_reset(plain);
    for (size_t i = 0; i < plain->ask_count; i++)
        arena_release(&plain->asks[i].arena);
    plain->ask_count = 0;
}

/* The calls of the turn */

static char *short_arguments(const struct json *arguments)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    struct strbuf out = STRBUF_INIT;
    words_arguments(&words, arguments);
    text_breaks(&out, words.buf);
    return strbuf_detach(&out, NULL);
}

static struct plain_call *add_call(struct plain *plain, const char *id, const char *tool)
{
    GROW(plain->calls, plain->call_count, plain->call_room);
    struct plain_call *call = &plain->calls[plain->call_count];
    *call = (struct plain_call){.id = xstrdup(id), .tool = xstrdup(tool), .wave = NO_WAVE};
    if (*id)
        hash_map_put(&plain->call_index, id, (int64_t)plain->call_count);
    plain->call_count++;
    return call;
}

struct plain_call *plain_call(struct plain *plain, const char *id, const char *tool)
{
    int64_t index = hash_map_get(&plain->call_index, id ? id : "?", -1);
    return index >= 0 ? &plain->calls[index] : add_call(plain, id ? id : "?", tool ? tool : "?");
}

/* Ids of our own are short; those of providers are noise, and a number does as well. So it does where there is none. */
static void add_id(struct strbuf *out, const struct plain *plain, const struct plain_call *call)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    text_name(&shown, call->id);
    if (shown.len && utf8_columns(shown.buf, shown.len) <= ID_WIDTH_MAX)
        strbuf_add(out, shown.buf, shown.len);
    else
        strbuf_addf(out, "#%zu", (size_t)(call - plain->calls) + 1);
}

static void measure(struct plain *plain)
{
    /* A narrow terminal has better uses for its columns than long names. */
    size_t most = plain->style.width / 5 < TOOL_WIDTH_MAX ? plain->style.width / 5 : TOOL_WIDTH_MAX;
    plain->id_width = 2;
    plain->tool_width = 8;
    for (size_t i = plain->step_first; i < plain->call_count; i++) {
        CLEANUP(strbuf) struct strbuf id = STRBUF_INIT;
        add_id(&id, plain, &plain->calls[i]);
        size_t columns = utf8_columns(id.buf, id.len);
        if (columns > plain->id_width)
            plain->id_width = columns;
        columns = utf8_columns(plain->calls[i].tool, strlen(plain->calls[i].tool));
        if (columns > plain->tool_width)
            plain->tool_width = columns < most ? columns : most;
    }
}

void plain_calls_answered(struct plain *plain, const struct event_tool_request_list *calls)
{
    plain->step_first = plain->call_count;
    waves_reset(plain);
    for (size_t i = 0; i < calls->count; i++) {
        const struct event_tool_request *item = &calls->items[i];
        const struct json *arguments = plain_json(plain, item->arguments);
        struct plain_call *call = add_call(plain, item->id ? item->id : "", item->name ? item->name : "?");
        /* A model may send its arguments as text that only should be JSON. */
        if (arguments && arguments->type == JSON_STRING)
            arguments = plain_json(plain, arguments->text);
        call->what = short_arguments(arguments);
    }
    measure(plain);
}

void plain_calls_planned(struct plain *plain, const struct event_plan_wave_list *waves)
{
    waves_reset(plain);
    for (size_t i = 0; i < waves->count; i++) {
        const struct event_plan_wave *item = &waves->items[i];
        GROW(plain->waves, plain->wave_count, plain->wave_room);
        plain->waves[plain->wave_count] =
            (struct plain_wave){.why = xstrdup(item->why ? item->why : ""), .calls = item->calls.count};
        for (size_t k = 0; k < item->calls.count; k++) {
            const char *id = item->calls.items[k];
            int64_t index = id ? hash_map_get(&plain->call_index, id, -1) : -1;
            if (index >= 0)
                plain->calls[index].wave = plain->wave_count;
        }
        plain->wave_count++;
    }
}

/* Lines */

/* Says once how the wave of this call runs and why it ended where it did; a step with one call has nothing to say. */
static void wave_line(struct plain *plain, const struct plain_call *call)
{
    if (call->wave >= plain->wave_count || plain->waves[call->wave].shown || plain->call_count - plain->step_first < 2)
        return;
    struct plain_wave *wave = &plain->waves[call->wave];
    wave->shown = true;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "wave %zu: ", call->wave + 1);
    if (wave->calls > 1)
        strbuf_addf(&line, "%zu side by side", wave->calls);
    if (strcmp(wave->why, "last call") != 0 && *wave->why)
        strbuf_addf(&line, "%s%s", wave->calls > 1 ? "; ends because " : "", wave->why);
    else if (wave->calls <= 1)
        strbuf_addstr(&line, "alone");
    plain_indent(plain, GUTTER);
    plain_ink(plain, INK_DIM);
    text_show_cut(plain->out, line.buf, line.len, plain->style.width - GUTTER);
    plain_ink(plain, INK_NONE);
    plain_newline(plain);
}

size_t plain_call_indent(const struct plain *plain)
{
    return GUTTER + plain->id_width + 2;
}

static void add_outcome(struct plain *plain, const char *word, enum ink ink, int64_t ms)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf time = STRBUF_INIT;
    strbuf_addstr(&text, word);
    text_pad(&text, 0, WORD_WIDTH);
    text_ms(&time, ms);
    plain_inked(plain, ink, text.buf);
    plain_indent(plain, time.len < TIME_WIDTH ? TIME_WIDTH - time.len : 1);
    strbuf_add(plain->out, time.buf, time.len);
    plain_newline(plain);
}

/* The line of a call; with an outcome at its right end when `word` is given. */
static void call_line(struct plain *plain, struct plain_call *call, const char *note, const char *word, enum ink ink,
                      int64_t ms)
{
    wave_line(plain, call);
    call->shown = true;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    add_id(&line, plain, call);
    text_pad(&line, 0, plain->id_width + 2);
    CLEANUP(strbuf) struct strbuf tool = STRBUF_INIT;
    text_name_cut(&tool, call->tool, plain->tool_width);
    text_pad(&tool, 0, plain->tool_width + 2);
    strbuf_add(&line, tool.buf, tool.len);
    CLEANUP(strbuf) struct strbuf what = STRBUF_INIT;
    strbuf_addstr(&what, call->what ? call->what : "");
    if (note && *note)
        strbuf_addf(&what, "%s%s%s%s", what.len ? " " : "", what.len ? text_dot() : "", what.len ? " " : "", note);
    size_t taken = GUTTER + plain->id_width + 2 + plain->tool_width + 2;
    size_t right = word ? WORD_WIDTH + TIME_WIDTH + 2 : 0;
    size_t room = plain->style.width > taken + right + 8 ? plain->style.width - taken - right : 8;
    size_t took = text_show_cut(&line, what.buf, what.len, room);
    plain_indent(plain, GUTTER);
    strbuf_add(plain->out, line.buf, line.len);
    if (!word) {
        plain_end_line(plain);
        return;
    }
    plain_indent(plain, room - took + 2);
    add_outcome(plain, word, ink, ms);
}

void plain_call_introduce(struct plain *plain, struct plain_call *call)
{
    if (!call->shown)
        call_line(plain, call, NULL, NULL, INK_NONE, 0);
}

void plain_calls_pending(struct plain *plain)
{
    for (size_t i = plain->step_first; i < plain->call_count; i++) {
        plain_call_introduce(plain, &plain->calls[i]);
        plain_output_end(plain, &plain->calls[i]);
    }
}

void plain_call_started(struct plain *plain, const struct event_tool_started *started)
{
    struct plain_call *call = plain_call(plain, started->call, started->tool);
    /* The arguments it runs with may not be those the model gave: somebody can edit them at a gate. */
    if (started->arguments) {
        free(call->what);
        call->what = short_arguments(plain_json(plain, started->arguments));
    }
}

/* Outcomes */

static void detail_line(struct plain *plain, const char *text)
{
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph(plain, text, plain_call_indent(plain));
}

static void finish(struct plain *plain, struct plain_call *call, const char *note, const char *word, enum ink ink,
                   int64_t ms)
{
    if (!call->shown) {
        call_line(plain, call, note, word, ink, ms);
        return;
    }
    wave_line(plain, call);
    /* Below its diff or its output. With siblings around, its name makes clear whose outcome it is. */
    plain_indent(plain, plain_call_indent(plain));
    CLEANUP(strbuf) struct strbuf time = STRBUF_INIT;
    text_ms(&time, ms);
    plain_inked(plain, ink, word);
    strbuf_addf(plain->out, " %s %s", strstr(word, "timed out") ? "after" : "in", time.buf);
    if (note && *note) {
        strbuf_addf(plain->out, " %s ", text_dot());
        text_show_cut(plain->out, note, strlen(note), plain->style.width / 2);
    }
    plain_newline(plain);
}

/* ", exit 3": false when its program ended well, or there was none. */
static bool add_program_end(struct plain *plain, struct strbuf *word, struct strbuf *detail,
                            const struct event_result_info *result)
{
    char buf[WORDS_STATE_MAX];
    int16_t end = call_result_end(result, &plain->arena);
    if (!end)
        return false;
    strbuf_addf(word, ", %s", words_program_end(end, buf));
    if (end == CALL_END_STOPPED)
        words_program_error(detail, plain_json(plain, result->output));
    return true;
}

void plain_call_finished(struct plain *plain, const struct event_tool_finished *finished)
{
    struct plain_call *call = plain_call(plain, finished->call, finished->tool);
    const char *outcome = finished->outcome ? finished->outcome : "?";
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf detail = STRBUF_INIT;
    const char *word = outcome;
    enum ink ink = INK_BAD;
    plain_write_pending(plain, call->id);
    plain_output_end(plain, call);
    if (strcmp(outcome, "result") == 0) {
        const struct event_result_info *result = finished->result;
        words_output(&note, plain_json(plain, result ? result->output : NULL));
        word = "done";
        ink = INK_GOOD;
        if (result && result->truncated)
            strbuf_addstr(&detail, "the output was cut: it could not be kept");
    } else if (strcmp(outcome, "artifact") == 0) {
        const struct event_artifact_info *artifact = finished->artifact;
        word = "done";
        ink = INK_GOOD;
        text_bytes(&note, artifact ? (uint64_t)artifact->size : 0);
        strbuf_addstr(&note, " kept as ");
        text_name(&note, artifact && artifact->id ? artifact->id : "?");
    } else if (strcmp(outcome, "timeout") == 0) {
        word = "timed out";
        words_timeout(&detail, finished->timeout);
    } else if (strcmp(outcome, "failure") == 0) {
        const struct event_failure_info *failure = finished->failure;
        word = "failed";
        strbuf_addstr(&detail, failure && failure->error ? failure->error : "no reason given");
    } else if (strcmp(outcome, "denied") == 0) {
        ink = INK_WARN;
        if (!call->decided)
            words_denial(&detail, finished->denied);
        else
            strbuf_addstr(&note, "nothing was written"); /* who refused it and why stands right above */
    }
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    text_name_cut(&shown, word, WORD_WIDTH);
    if (add_program_end(plain, &shown, &detail, finished->result)) {
        plain_call_introduce(plain, call); /* that is too long for the column of outcomes */
        ink = INK_BAD;
    }
    finish(plain, call, note.buf, shown.buf, ink, finished->elapsed_ms);
    if (detail.len)
        detail_line(plain, detail.buf);
}
