/* Prints a turn as plain text, from its prompt to its end. A label in the gutter names the speaker or the kind of line.
 * Everything else is to the right of it, so that the reader can scan the labels. */

#include "event/words.h"
#include "plain_internal.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#define WIDTH_MAX   100
#define WIDTH_MIN   40
#define PARTIAL_MAX ((size_t)1 << 20) /* bytes of an answer that did not arrive as a whole */

struct plain_style plain_style_for(int fd)
{
    struct plain_style style = {.width = WIDTH_MAX};
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    if (!isatty(fd))
        return style;
    style.width = text_terminal_width(fd, WIDTH_MAX);
    style.width = style.width > WIDTH_MAX ? WIDTH_MAX : style.width < WIDTH_MIN ? WIDTH_MIN : style.width;
    style.color = !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
    return style;
}

/* ---- lines ---- */

void plain_inked(struct plain *plain, enum ink ink, const char *text)
{
    static const char *const codes[] = {"0", "1", "2", "32", "31", "33", "36"};
    bool color = ink != INK_NONE && plain->style.color;
    strbuf_addf(plain->out, color ? "\033[%sm%s\033[0m" : "%.0s%s", codes[ink], text);
}

void plain_newline(struct plain *plain)
{
    strbuf_addch(plain->out, '\n');
    plain->blank = false;
}

void plain_end_line(struct plain *plain)
{
    while (plain->out->len && plain->out->buf[plain->out->len - 1] == ' ')
        strbuf_set_len(plain->out, plain->out->len - 1);
    plain_newline(plain);
}

/* Prints an empty line, unless the last one is empty. */
static void plain_gap(struct plain *plain)
{
    if (!plain->blank)
        strbuf_addch(plain->out, '\n');
    plain->blank = true;
}

void plain_indent(struct plain *plain, size_t columns)
{
    strbuf_addf(plain->out, "%*s", (int)columns, "");
}

void plain_line(struct plain *plain, size_t indent, enum ink ink, const char *text)
{
    plain_indent(plain, indent);
    plain_inked(plain, ink, text);
    plain_newline(plain);
}

void plain_label(struct plain *plain, enum ink ink, const char *label)
{
    size_t columns = strlen(label);
    plain_inked(plain, ink, label);
    plain_indent(plain, columns < GUTTER ? GUTTER - columns : 1);
}

void plain_paragraph(struct plain *plain, enum ink ink, const char *text, size_t indent)
{
    CLEANUP(strbuf) struct strbuf lines = STRBUF_INIT;
    text_wrap(&lines, text, strlen(text), indent, plain->style.width);
    strbuf_set_len(&lines, lines.len - 1); /* end the color before the end of the line */
    plain_inked(plain, ink, lines.buf);
    plain_newline(plain);
}

/* ---- notes: a label, and the event in words ---- */

static const struct note {
    const char *label; /* NULL: the event is not shown */
    enum ink ink;
    bool gap; /* print an empty line before it */
    bool cut; /* cut it to one line */
} notes[EVENT_TYPE_COUNT] = {
    [EVENT_OTHER] = {"other", INK_DIM, false, true},
    [EVENT_CONTEXT_LOADED] = {"found", INK_DIM, true, false},
    [EVENT_MODEL_FAILED] = {"model", INK_BAD, true, false},
    [EVENT_MODEL_CHANGED] = {"model", INK_DIM, false, true},
    [EVENT_TOOLS_CHANGED] = {"tools", INK_DIM, false, true},
    [EVENT_CONTEXT_COMPACTED] = {"context", INK_DIM, false, true},
    [EVENT_WRITE_UNDONE] = {"undone", INK_WARN, false, false},
    [EVENT_WRITE_REDONE] = {"redone", INK_WARN, false, false},
    [EVENT_WORKSPACE_OP] = {"sandbox", INK_DIM, false, false},
    [EVENT_PROGRAM_STARTED] = {"program", INK_DIM, false, true},
    [EVENT_PROGRAM_ENDED] = {"program", INK_DIM, false, true},
    [EVENT_NETWORK_CONNECTED] = {"network", INK_DIM, false, true},
    [EVENT_LATE_SUPPRESSED] = {"late", INK_WARN, false, false},
    [EVENT_REFLECTION] = {"review", INK_BOLD, true, false},
    [EVENT_BUDGET_WARNED] = {"budget", INK_WARN, false, false},
    [EVENT_RELEASED] = {"paused", INK_WARN, false, false},
    [EVENT_EDITED] = {"edited", INK_WARN, false, false},
    [EVENT_TURN_FINALIZED] = {"sources", INK_DIM, true, false},
};

/* Adds the event in words, with the number of its call instead of the id. */
static void add_words(struct strbuf *out, const struct plain *plain, const struct event *event)
{
    struct event numbered = *event;
    CLEANUP(strbuf) struct strbuf number = STRBUF_INIT;
    const char **call = event->type == EVENT_LATE_SUPPRESSED     ? &numbered.late_suppressed.call
                        : event->type == EVENT_EDITED            ? &numbered.edited.call
                        : event->type == EVENT_NETWORK_CONNECTED ? &numbered.network_connected.call
                                                                 : NULL;
    if (call && *call) {
        plain_call_number(&number, plain, *call);
        *call = number.buf;
    }
    event_words(out, WORDS_PLAIN, NULL, &numbered);
}

static void note(struct plain *plain, const struct event *event)
{
    const struct note *note = &notes[event->type];
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    if (note->label)
        add_words(&line, plain, event);
    if (!note->label || (!line.len && !note->cut))
        return;
    /* A workspace operation right after the end of a program belongs to that end. */
    if (event->type == EVENT_WORKSPACE_OP && plain->ended && *plain->ended && event->workspace_op.op &&
        strcmp(event->workspace_op.op, "workspace.run") == 0)
        strbuf_addf(&line, " (%s)", plain->ended);
    if (note->gap)
        plain_gap(plain);
    plain_label(plain, note->ink, note->label);
    if (note->cut) {
        text_show_cut(plain->out, line.buf, line.len, plain->style.width - GUTTER);
        plain_newline(plain);
    } else {
        plain_paragraph(plain, INK_NONE, line.buf, GUTTER);
    }
}

static void replace(char **text, const char *with)
{
    free(*text);
    *text = with ? xstrdup(with) : NULL;
}

/* ---- the turn ---- */

static void turn_started(struct plain *plain, const struct event *event)
{
    const char *prompt = event->turn_started.prompt;
    plain_calls_pending(plain);
    plain_calls_reset(plain);
    plain->step = 0;
    plain->cost_usd = NAN;
    replace(&plain->answer, NULL);
    plain_gap(plain);
    plain->turns++;
    if (plain->turns > 1) { /* lines written by hand have no number */
        CLEANUP(free) char *label = xasprintf("turn %lld", (long long)(event->turn > 0 ? event->turn : plain->turns));
        plain_line(plain, 0, INK_DIM, label);
        plain_gap(plain);
    }
    plain_label(plain, INK_BOLD, "you");
    plain_paragraph(plain, INK_NONE, prompt ? prompt : "", GUTTER);
}

static bool has_text(const char *text)
{
    return text && text[strspn(text, " \t\r\n")];
}

static void model_responded(struct plain *plain, const struct event *event)
{
    const struct event_model_responded *responded = &event->model_responded;
    bool last = responded->tool_calls.count == 0;
    /* Answers that a person wrote by hand may have no step number. */
    plain->step = responded->step > 0 ? responded->step : plain->step + 1;
    CLEANUP(free) char *label = last ? xstrdup("answer") : xasprintf("step %lld", (long long)plain->step);
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT, head = STRBUF_INIT;
    event_words(&words, WORDS_HEAD, NULL, event);
    text_show(&head, words.buf, words.len, 0);
    if (!isnan(responded->cost_usd))
        plain->cost_usd = (isnan(plain->cost_usd) ? 0 : plain->cost_usd) + responded->cost_usd;
    plain_calls_pending(plain);
    plain_gap(plain);
    plain_label(plain, INK_BOLD, label);
    /* If the head has no numbers, the answer itself follows the label. */
    bool beside = !head.len && !has_text(responded->thinking) && has_text(responded->text);
    if (head.len)
        plain_inked(plain, INK_DIM, head.buf);
    if (!beside)
        plain_end_line(plain);
    if (has_text(responded->thinking)) {
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        strbuf_addstr(&line, "thinks: ");
        text_show_cut(&line, responded->thinking, strlen(responded->thinking), 3 * (plain->style.width - GUTTER));
        plain_indent(plain, GUTTER);
        plain_paragraph(plain, INK_DIM, line.buf, GUTTER);
    }
    if (has_text(responded->text)) {
        plain_indent(plain, beside ? 0 : GUTTER);
        plain_paragraph(plain, INK_NONE, responded->text, GUTTER);
        if (!last)
            plain_gap(plain);
    }
    replace(&plain->answer, responded->text ? responded->text : "");
    plain_calls_answered(plain, &responded->tool_calls);
}

static void note_failed(struct plain *plain, const char *what, const struct event_final_status *status)
{
    if (!status || !status->status || strcmp(status->status, "failed") != 0)
        return;
    CLEANUP(free) char *line = xasprintf("%s failed: %s", what, status->reason ? status->reason : "no reason given");
    plain_label(plain, INK_WARN, "note");
    plain_paragraph(plain, INK_NONE, line, GUTTER);
}

/* The text of an answer that will not arrive as a whole. */
static void interrupted(struct plain *plain)
{
    if (!has_text(plain->partial.buf))
        return;
    plain_gap(plain);
    plain_label(plain, INK_BOLD, "answer");
    plain_paragraph(plain, INK_NONE, plain->partial.buf, GUTTER);
    plain_line(plain, GUTTER, INK_WARN, "(interrupted)");
    strbuf_reset(&plain->partial);
}

static void turn_finished(struct plain *plain, const struct event_turn_finished *finished)
{
    const char *status = finished->status ? finished->status : "?";
    size_t known = plain->answer ? strlen(plain->answer) : 0;
    CLEANUP(strbuf) struct strbuf label = STRBUF_INIT, line = STRBUF_INIT;
    plain_write_pending(plain, NULL);
    plain_calls_pending(plain);
    /* If the text begins with the newest answer, the rest is the list of sources, which has its own line. */
    if (has_text(finished->text) && !(known && strncmp(finished->text, plain->answer, known) == 0)) {
        plain_gap(plain);
        plain_label(plain, INK_BOLD, "result");
        plain_paragraph(plain, INK_NONE, finished->text, GUTTER);
    }
    words_turn_end(&line, finished, plain->cost_usd);
    text_name_cut(&label, words_turn_status(status), GUTTER - 1);
    plain_gap(plain);
    plain_label(plain,
                strcmp(status, "done") == 0     ? INK_GOOD
                : strcmp(status, "failed") == 0 ? INK_BAD
                                                : INK_WARN,
                label.buf);
    plain_paragraph(plain, INK_NONE, line.buf, GUTTER);
}

static void print_event(struct plain *plain, const struct event *event)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT, gate = STRBUF_INIT;
    switch (event->type) {
    case EVENT_SESSION_STARTED:
        event_words(&line, WORDS_PLAIN, NULL, event);
        plain_paragraph(plain, INK_DIM, line.buf, 0);
        break;
    case EVENT_TURN_STARTED:
        turn_started(plain, event);
        break;
    case EVENT_MODEL_REQUESTED:
        strbuf_reset(&plain->partial);
        break;
    case EVENT_MODEL_DELTA:
        if (event->model_delta.text && plain->partial.len < PARTIAL_MAX)
            strbuf_addstr(&plain->partial, event->model_delta.text);
        break;
    case EVENT_MODEL_RESPONDED:
        strbuf_reset(&plain->partial);
        model_responded(plain, event);
        break;
    case EVENT_WAVES_PLANNED:
        plain_calls_planned(plain, &event->waves_planned.waves);
        break;
    case EVENT_TOOL_STARTED:
        plain_call_started(plain, &event->tool_started);
        break;
    case EVENT_TOOL_OUTPUT:
        plain_call_output(plain, event->tool_output.call, event->tool_output.stream, event->tool_output.text);
        break;
    case EVENT_SCRIPT_EVENT:
        plain_call_script(plain, &event->script_event);
        break;
    case EVENT_WRITE_PROPOSED:
        plain_write_proposed(plain, event);
        break;
    case EVENT_WRITE_DECIDED:
        plain_write_decided(plain, event);
        break;
    case EVENT_WRITE_APPLIED:
        plain_write_applied(plain, event);
        break;
    case EVENT_TOOL_FINISHED:
        plain_call_finished(plain, &event->tool_finished);
        break;
    case EVENT_PROGRAM_OUTPUT:
        plain_program_output(plain, &event->program_output);
        break;
    case EVENT_PROGRAM_INPUT:
        plain_program_input(plain, &event->program_input);
        break;
    case EVENT_PROGRAM_ENDED: { /* printed in brackets after "it was ended", so leave out that word */
        const char *why = event->program_ended.why ? event->program_ended.why : "";
        replace(&plain->ended, strncmp(why, "killed: ", 8) == 0 ? why + 8 : why);
        note(plain, event);
        break;
    }
    case EVENT_REFLECTION:
        note(plain, event);
        if (!event->reflection.should_continue)
            plain_line(plain, GUTTER, INK_DIM, "stops the turn");
        break;
    case EVENT_HELD:
        if (event->held.call)
            plain_call_number(&line, plain, event->held.call);
        words_gate(&gate, NULL, event->held.gate, event->held.call ? line.buf : NULL, 0);
        replace(&plain->held, gate.buf);
        break;
    case EVENT_RELEASED: { /* in a file that a person wrote, the event may not name the gate */
        struct event at_gate = *event;
        at_gate.released.gate = plain->held ? plain->held : event->released.gate;
        note(plain, &at_gate);
        replace(&plain->held, NULL);
        break;
    }
    case EVENT_EDITED: /* the edit of a write precedes its decision and is shown with it */
        if (event->edited.what && strcmp(event->edited.what, "write") == 0)
            replace(&plain->edit, event->edited.after);
        else
            note(plain, event);
        break;
    case EVENT_TURN_FINALIZED:
        interrupted(plain);
        note(plain, event);
        note_failed(plain, "memory", event->turn_finalized.memory);
        note_failed(plain, "decisions", event->turn_finalized.decisions);
        note_failed(plain, "judges", event->turn_finalized.judges);
        break;
    case EVENT_TURN_FINISHED:
        turn_finished(plain, &event->turn_finished);
        break;
    default: /* a note, or nothing: warnings of the budget show what ran short, and the answer is printed as a whole */
        note(plain, event);
        break;
    }
}

void plain_event(struct plain *plain, const struct event *event)
{
    if (event->type != EVENT_PROGRAM_ENDED && event->type != EVENT_WORKSPACE_OP && event->type != EVENT_WORKSPACE_STATE)
        replace(&plain->ended, NULL);
    print_event(plain, event);
    cli_out_flush(plain->output);
}

static void sink_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct plain *plain = (struct plain *)sink;
    if (session_turn(session)) /* a resumed session has calls that were not printed */
        plain->calls_before = session_turn(session)->first_call;
    plain_event(plain, event);
}

struct plain *plain_new(struct cli_out *output, const struct plain_style *style)
{
    struct plain *plain = xcalloc(1, sizeof(*plain));
    strbuf_init(&plain->partial);
    plain->sink.event = sink_event;
    plain->output = output;
    plain->out = &output->text;
    plain->style = *style;
    plain->cost_usd = NAN;
    plain->blank = true; /* no empty line needed at the top */
    return plain;
}

struct sink *plain_sink(struct plain *plain)
{
    return &plain->sink;
}

void plain_end(struct plain *plain)
{
    plain_write_pending(plain, NULL);
    plain_calls_pending(plain);
    if (plain->held) {
        plain_label(plain, INK_WARN, "paused");
        text_name(plain->out, plain->held);
        plain_newline(plain);
    }
    cli_out_flush(plain->output);
}

void plain_free(struct plain *plain)
{
    if (!plain)
        return;
    plain_calls_reset(plain);
    free(plain->calls);
    free(plain->waves);
    free(plain->asks);
    hash_map_release(&plain->call_index);
    free(plain->held);
    free(plain->ended);
    free(plain->answer);
    free(plain->edit);
    strbuf_release(&plain->partial);
    free(plain);
}
