/* Prints the calls of a step, one line each: `c1  read_file  src/lines.c · 42 lines      done      2 ms`. A call with
 * more to show (a diff, its output) gets its line first, and its outcome on a separate line.
 *
 * A call's line is printed when it ends, not when it starts. Calls of a wave end in any order, and no line is ever
 * changed after it was sent.
 *
 * Output of calls and programs is printed in lines. Of a long output both ends are printed: the first lines as they
 * arrive, and the newest of the rest when the call has ended. So its last lines are right above its outcome. */

#include "base/utf8.h"
#include "event/session.h"
#include "event/words.h"
#include "panes/call_output.h"
#include "plain_internal.h"
#include "turn/waves.h"
#include <string.h>

#define ID_WIDTH_MAX   6
#define TOOL_WIDTH_MAX 20
#define WORD_WIDTH     9
#define TIME_WIDTH     11

#define HEAD_LINES    20
#define TAIL_LINES    10
#define TAIL_BYTES    1024 /* longest line that is kept */
#define PARTIAL_BYTES (64u << 10)
#define PROGRAM_LINES 4 /* at each end of a long output */

struct plain_tail {
    struct {
        char *text;
        bool error;
    } lines[TAIL_LINES];   /* the newest lines, indexed by their number modulo TAIL_LINES */
    struct strbuf partial; /* a line that is not complete yet */
    bool partial_error;
};

static void tail_release(struct plain_call *call)
{
    for (size_t i = 0; call->tail && i < TAIL_LINES; i++)
        free(call->tail->lines[i].text);
    if (call->tail)
        strbuf_release(&call->tail->partial);
    free(call->tail);
    call->tail = NULL;
}

static void waves_reset(struct plain *plain)
{
    for (size_t i = 0; i < plain->wave_count; i++)
        free(plain->waves[i].why);
    plain->wave_count = 0;
}

void plain_calls_reset(struct plain *plain)
{
    for (size_t i = 0; i < plain->call_count; i++) {
        struct plain_call *call = &plain->calls[i];
        free(call->id);
        free(call->tool);
        free(call->what);
        tail_release(call);
    }
    plain->calls_before += plain->call_count;
    plain->call_count = plain->step_first = 0;
    hash_map_clear(&plain->call_index);
    waves_reset(plain);
    for (size_t i = 0; i < plain->ask_count; i++)
        arena_release(&plain->asks[i].arena);
    plain->ask_count = 0;
}

/* ---- the calls of the turn ---- */

static void set_arguments(struct plain_call *call, const char *arguments)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    struct strbuf out = STRBUF_INIT;
    const struct json *value = event_leaf(&arena, arguments);
    /* A model may send its arguments as a string that should be JSON. */
    if (value && value->type == JSON_STRING)
        value = event_leaf(&arena, value->text);
    words_arguments(&words, value);
    text_breaks(&out, words.buf);
    free(call->what);
    call->what = strbuf_detach(&out, NULL);
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

static void add_number(struct strbuf *out, const struct plain *plain, const struct plain_call *call)
{
    strbuf_addf(out, "#%zu", plain->calls_before + (size_t)(call - plain->calls) + 1);
}

void plain_call_number(struct strbuf *out, const struct plain *plain, const char *id)
{
    int64_t index = id ? hash_map_get(&plain->call_index, id, -1) : -1;
    if (index >= 0)
        add_number(out, plain, &plain->calls[index]);
    else
        text_name(out, id ? id : "?");
}

void plain_calls_answered(struct plain *plain, const struct event_tool_request_list *calls)
{
    /* On a narrow terminal, limit the width of tool names. */
    size_t most = plain->style.width / 5 < TOOL_WIDTH_MAX ? plain->style.width / 5 : TOOL_WIDTH_MAX;
    plain->step_first = plain->call_count;
    plain->id_width = 2;
    plain->tool_width = 8;
    waves_reset(plain);
    for (size_t i = 0; i < calls->count; i++) {
        const struct event_tool_request *item = &calls->items[i];
        struct plain_call *call = add_call(plain, item->id ? item->id : "", item->name ? item->name : "?");
        CLEANUP(strbuf) struct strbuf id = STRBUF_INIT;
        set_arguments(call, item->arguments);
        add_number(&id, plain, call);
        size_t id_columns = utf8_columns(id.buf, id.len), columns = utf8_columns(call->tool, strlen(call->tool));
        if (id_columns > plain->id_width)
            plain->id_width = id_columns;
        if (columns > plain->tool_width)
            plain->tool_width = columns < most ? columns : most;
    }
}

void plain_calls_planned(struct plain *plain, const struct event_plan_wave_list *waves)
{
    waves_reset(plain);
    for (size_t i = 0; i < waves->count; i++) {
        const struct event_plan_wave *item = &waves->items[i];
        const char *why = waves_cut_by(waves, i);
        GROW(plain->waves, plain->wave_count, plain->wave_room);
        plain->waves[plain->wave_count] =
            (struct plain_wave){.why = why ? xstrdup(why) : NULL, .calls = item->calls.count};
        for (size_t k = 0; k < item->calls.count; k++) {
            const char *id = item->calls.items[k];
            int64_t index = id ? hash_map_get(&plain->call_index, id, -1) : -1;
            if (index >= 0)
                plain->calls[index].wave = plain->wave_count;
        }
        plain->wave_count++;
    }
}

/* ---- lines ---- */

/* The reason may begin with the id of the next call. */
static void add_wave_end(struct strbuf *out, const struct plain *plain, const struct plain_wave *wave)
{
    size_t len = strcspn(wave->why, " ");
    CLEANUP(free) char *first = xasprintf("%.*s", (int)len, wave->why);
    bool named = hash_map_get(&plain->call_index, first, -1) >= 0;
    strbuf_addstr(out, wave->calls > 1 ? "; ends: " : "");
    if (named)
        plain_call_number(out, plain, first);
    strbuf_addstr(out, wave->why + (named ? len : 0));
}

/* Prints once how the wave of this call runs and why it ended there. Prints nothing for a step with one call. */
static void wave_line(struct plain *plain, const struct plain_call *call)
{
    if (call->wave >= plain->wave_count || plain->waves[call->wave].shown || plain->call_count - plain->step_first < 2)
        return;
    struct plain_wave *wave = &plain->waves[call->wave];
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
    wave->shown = true;
    strbuf_addf(&line, "wave %zu: ", call->wave + 1);
    if (wave->calls > 1)
        strbuf_addf(&line, "%zu in parallel", wave->calls);
    if (wave->why)
        add_wave_end(&line, plain, wave);
    else if (wave->calls <= 1)
        strbuf_addstr(&line, "alone");
    text_show_cut(&shown, line.buf, line.len, plain->style.width - GUTTER);
    plain_line(plain, GUTTER, INK_DIM, shown.buf);
}

size_t plain_call_indent(const struct plain *plain)
{
    return GUTTER + plain->id_width + 2;
}

/* Prints the line of a call. If `word` is given, the outcome is at its right end. */
static void call_line(struct plain *plain, struct plain_call *call, const char *note, const char *word, enum ink ink,
                      const char *time)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT, tool = STRBUF_INIT, what = STRBUF_INIT, outcome = STRBUF_INIT;
    wave_line(plain, call);
    call->shown = true;
    add_number(&line, plain, call);
    text_pad(&line, 0, plain->id_width + 2);
    text_name_cut(&tool, call->tool, plain->tool_width);
    text_pad(&tool, 0, plain->tool_width + 2);
    strbuf_add(&line, tool.buf, tool.len);
    strbuf_addstr(&what, call->what ? call->what : "");
    if (*note)
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
    strbuf_addstr(&outcome, word);
    text_pad(&outcome, 0, WORD_WIDTH);
    plain_indent(plain, room - took + 2);
    plain_inked(plain, ink, outcome.buf);
    plain_indent(plain, strlen(time) < TIME_WIDTH ? TIME_WIDTH - strlen(time) : 1);
    strbuf_addstr(plain->out, time);
    plain_newline(plain);
}

void plain_call_introduce(struct plain *plain, struct plain_call *call)
{
    if (!call->shown)
        call_line(plain, call, "", NULL, INK_NONE, "");
}

static void plain_output_end(struct plain *plain, struct plain_call *call);

void plain_calls_pending(struct plain *plain)
{
    for (size_t i = plain->step_first; i < plain->call_count; i++) {
        plain_call_introduce(plain, &plain->calls[i]);
        plain_output_end(plain, &plain->calls[i]);
    }
}

void plain_call_started(struct plain *plain, const struct event_tool_started *started)
{
    /* The user may have edited the model's arguments at a gate. */
    struct plain_call *call = plain_call(plain, started->call, started->tool);
    if (started->arguments)
        set_arguments(call, started->arguments);
}

/* ---- output of calls ---- */

static void output_line(struct plain *plain, const char *text, size_t len, bool error)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    if (memchr(text, '\r', len)) /* other control characters are made visible for the reader */
        call_output_show(&text, &len, &shown);
    plain_indent(plain, plain_call_indent(plain));
    plain_inked(plain, error ? INK_BAD : INK_DIM, error ? "! " : "| ");
    text_show_cut(plain->out, text, len, plain->style.width - plain_call_indent(plain) - 2);
    plain_newline(plain);
}

static void add_line(struct plain *plain, struct plain_call *call, const char *text, size_t len, bool error)
{
    size_t number = call->outputs++, slot = number % TAIL_LINES;
    if (number < HEAD_LINES) {
        output_line(plain, text, len, error);
        return;
    }
    free(call->tail->lines[slot].text);
    call->tail->lines[slot].text = xmemdup0(text, len < TAIL_BYTES ? len : TAIL_BYTES);
    call->tail->lines[slot].error = error;
}

static void end_partial(struct plain *plain, struct plain_call *call)
{
    struct strbuf *partial = &call->tail->partial;
    if (partial->len)
        add_line(plain, call, partial->buf, partial->len, call->tail->partial_error);
    strbuf_reset(partial);
}

void plain_call_output(struct plain *plain, const char *id, const char *stream, const char *text)
{
    struct plain_call *call = plain_call(plain, id, NULL);
    bool error = stream && strcmp(stream, "stderr") == 0;
    plain_call_introduce(plain, call);
    if (!call->tail)
        call->tail = xcalloc(1, sizeof(*call->tail));
    struct strbuf *partial = &call->tail->partial;
    if (error != call->tail->partial_error || !call_output_is_stream(stream))
        end_partial(plain, call);
    call->tail->partial_error = error;
    for (const char *at = text ? text : ""; *at;) {
        size_t len = strcspn(at, "\n");
        strbuf_add(partial, at, len);
        if (at[len] == '\n' && !partial->len)
            add_line(plain, call, "", 0, error);
        else if (at[len] == '\n' || partial->len > PARTIAL_BYTES)
            end_partial(plain, call);
        at += len + (at[len] == '\n');
    }
    if (!call_output_is_stream(stream))
        end_partial(plain, call);
}

void plain_call_script(struct plain *plain, const struct event_script_event *event)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const struct json *sent = event_leaf(&arena, event->event);
    words_script_event(&text, sent);
    if (!text.len && event->event)
        strbuf_addstr(&text, event->event);
    strbuf_addch(&text, '\n'); /* each log entry is a whole line, whatever its level */
    plain_call_output(plain, event->call, json_str(json_get(sent, "level"), NULL), text.buf);
}

static void add_hidden(struct strbuf *out, size_t lines)
{
    strbuf_addch(out, '(');
    text_plural(out, (int64_t)lines, "more line in the recording)", "more lines in the recording)");
}

/* Call when the call has ended: prints its last lines of output. */
static void plain_output_end(struct plain *plain, struct plain_call *call)
{
    if (!call->tail)
        return;
    end_partial(plain, call);
    size_t kept = call->outputs > HEAD_LINES ? call->outputs - HEAD_LINES : 0;
    size_t hidden = kept > TAIL_LINES ? kept - TAIL_LINES : 0;
    if (hidden) {
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        strbuf_addstr(&line, "| ");
        add_hidden(&line, hidden);
        plain_line(plain, plain_call_indent(plain), INK_DIM, line.buf);
    }
    for (size_t number = HEAD_LINES + hidden; number < call->outputs; number++) {
        const char *text = call->tail->lines[number % TAIL_LINES].text;
        output_line(plain, text, strlen(text), call->tail->lines[number % TAIL_LINES].error);
    }
    tail_release(call);
}

/* ---- programs that outlive their call ---- */

/* `head` is Keyturn's text; then follows what was printed or typed. */
static void program_line(struct plain *plain, bool first, const char *head, const char *text, size_t len)
{
    plain_label(plain, first ? INK_DIM : INK_NONE, first ? "program" : "");
    strbuf_addstr(plain->out, head);
    text_show_cut(plain->out, text, len, plain->style.width - GUTTER - strlen(head));
    plain_newline(plain);
}

void plain_program_output(struct plain *plain, const struct event_program_output *output)
{
    struct call_output told = {.text = output->text ? output->text : ""};
    CLEANUP(strbuf) struct strbuf head = STRBUF_INIT;
    size_t count = 0, number = 0;
    told.len = strlen(told.text);
    text_name(&head, output->program ? output->program : "?");
    strbuf_addstr(&head, " | ");
    for (struct call_output_lines lines = call_output_lines(&told); call_output_lines_next(&lines);)
        count++;
    for (struct call_output_lines lines = call_output_lines(&told); call_output_lines_next(&lines); number++) {
        CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
        if (number < PROGRAM_LINES || number + PROGRAM_LINES >= count) {
            call_output_show(&lines.line, &lines.len, &shown);
            program_line(plain, number == 0, head.buf, lines.line, lines.len);
        } else if (number == PROGRAM_LINES) {
            add_hidden(&shown, count - 2 * PROGRAM_LINES);
            program_line(plain, false, head.buf, shown.buf, shown.len);
        }
    }
}

void plain_program_input(struct plain *plain, const struct event_program_input *input)
{
    const char *text = input->text ? input->text : "";
    size_t len = strlen(text);
    CLEANUP(strbuf) struct strbuf head = STRBUF_INIT;
    while (len && text[len - 1] == '\n')
        len--;
    text_name(&head, input->program ? input->program : "?");
    strbuf_addstr(&head, " typed by ");
    text_name(&head, input->by ? input->by : "?");
    strbuf_addstr(&head, ": ");
    program_line(plain, true, head.buf, text, len);
}

/* ---- outcomes ---- */

static void outcome_line(struct plain *plain, struct plain_call *call, const char *note, const char *word, enum ink ink,
                         bool timed_out, int64_t ms)
{
    CLEANUP(strbuf) struct strbuf time = STRBUF_INIT;
    text_ms(&time, ms);
    if (!call->shown) {
        call_line(plain, call, note, word, ink, time.buf);
        return;
    }
    wave_line(plain, call);
    plain_indent(plain, plain_call_indent(plain)); /* below its diff or its output */
    plain_inked(plain, ink, word);
    strbuf_addf(plain->out, " %s %s", timed_out ? "after" : "in", time.buf);
    if (*note) {
        strbuf_addf(plain->out, " %s ", text_dot());
        text_show_cut(plain->out, note, strlen(note), plain->style.width / 2);
    }
    plain_newline(plain);
}

void plain_call_finished(struct plain *plain, const struct event_tool_finished *finished)
{
    struct plain_call *call = plain_call(plain, finished->call, finished->tool);
    const char *outcome = finished->outcome ? finished->outcome : "?", *word = outcome;
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT, detail = STRBUF_INIT, shown = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *output = finished->result ? event_leaf(&arena, finished->result->output) : NULL;
    enum ink ink = INK_BAD;
    bool timed_out = false;
    plain_write_pending(plain, call->id);
    plain_output_end(plain, call);
    if (strcmp(outcome, "result") == 0) {
        word = "done";
        ink = INK_GOOD;
        words_output(&note, output);
        if (finished->result && finished->result->truncated)
            strbuf_addstr(&detail, "the output was cut; the rest could not be stored");
    } else if (strcmp(outcome, "artifact") == 0) {
        const struct event_artifact_info *artifact = finished->artifact;
        word = "done";
        ink = INK_GOOD;
        text_bytes(&note, artifact ? (uint64_t)artifact->size : 0);
        strbuf_addstr(&note, " saved as ");
        text_name(&note, artifact && artifact->id ? artifact->id : "?");
    } else if (strcmp(outcome, "timeout") == 0) {
        word = "timed out";
        timed_out = true;
        if (finished->timeout && !finished->timeout->retryable)
            strbuf_addstr(&detail, "tool blocked for this turn");
    } else if (strcmp(outcome, "failure") == 0) {
        word = "failed";
        strbuf_addstr(&detail,
                      finished->failure && finished->failure->error ? finished->failure->error : "no reason given");
    } else if (strcmp(outcome, "denied") == 0) {
        ink = INK_WARN;
        word = words_skipped(finished->denied) ? "skipped" : outcome;
        if (call->decided)
            strbuf_addstr(&note, "nothing was written"); /* the line above says who denied it and why */
        else
            words_denial(&detail, finished->denied);
    }
    text_name_cut(&shown, word, WORD_WIDTH);
    char buf[WORDS_STATE_MAX];
    int16_t end = call_result_end(finished->result, &arena);
    if (end) { /* too long for the outcome column */
        ink = INK_BAD;
        strbuf_addf(&shown, ", %s", words_program_end(end, buf));
        plain_call_introduce(plain, call);
    }
    if (end == CALL_END_STOPPED)
        words_program_error(&detail, output);
    timed_out |= end == CALL_END_TIMED_OUT;
    outcome_line(plain, call, note.buf, shown.buf, ink, timed_out, finished->elapsed_ms);
    if (detail.len) {
        plain_indent(plain, plain_call_indent(plain));
        plain_paragraph(plain, INK_NONE, detail.buf, plain_call_indent(plain));
    }
}
