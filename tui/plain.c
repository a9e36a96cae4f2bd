/* The turn from its prompt to its end. A label in the gutter says who speaks or what it is; everything else stands to
 * the right of it, so the eye can run down the labels. */

#include "plain_inside.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

#define WIDTH_MAX 100
#define WIDTH_MIN 40

struct plain_style plain_style_for(int fd)
{
    struct plain_style style = {.width = WIDTH_MAX};
    const char *term = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    if (!isatty(fd))
        return style;
    style.width = text_terminal_width(fd, WIDTH_MAX);
    style.width = style.width > WIDTH_MAX ? WIDTH_MAX : style.width < WIDTH_MIN ? WIDTH_MIN : style.width;
    style.colour = !(no_colour && *no_colour) && term && *term && strcmp(term, "dumb") != 0;
    return style;
}

/* Pieces of a line */

void plain_ink(struct plain *plain, enum ink ink)
{
    static const char *const codes[] = {"0", "1", "2", "32", "31", "33", "36"};
    if (plain->style.colour)
        strbuf_addf(plain->out, "\033[%sm", codes[ink]);
}

void plain_inked(struct plain *plain, enum ink ink, const char *text)
{
    if (ink != INK_NONE)
        plain_ink(plain, ink);
    strbuf_addstr(plain->out, text);
    if (ink != INK_NONE)
        plain_ink(plain, INK_NONE);
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

void plain_gap(struct plain *plain)
{
    if (!plain->blank)
        strbuf_addch(plain->out, '\n');
    plain->blank = true;
}

void plain_indent(struct plain *plain, size_t columns)
{
    for (; columns; columns--)
        strbuf_addch(plain->out, ' ');
}

void plain_label(struct plain *plain, enum ink ink, const char *label)
{
    size_t columns = strlen(label);
    plain_inked(plain, ink, label);
    plain_indent(plain, columns < GUTTER ? GUTTER - columns : 1);
}

void plain_paragraph(struct plain *plain, const char *text, size_t indent)
{
    text_wrap(plain->out, text, strlen(text), indent, plain->style.width);
    plain->blank = false;
}

void plain_paragraph_inked(struct plain *plain, enum ink ink, const char *text, size_t indent)
{
    plain_ink(plain, ink);
    plain_paragraph(plain, text, indent);
    strbuf_set_len(plain->out, plain->out->len - 1); /* the colour ends before the line does */
    plain_ink(plain, INK_NONE);
    plain_newline(plain);
}

void plain_text(struct plain *plain, const char *text)
{
    text_show(plain->out, text, strlen(text), 0);
}

const struct json *plain_json(struct plain *plain, const char *text)
{
    return text ? json_parse(&plain->arena, text, strlen(text), NULL) : NULL;
}

/* Session and turn */

static void session_started(struct plain *plain, const struct event_session_started *started)
{
    const char *provider = started->model ? started->model->provider : NULL;
    const char *name = started->model ? started->model->name : NULL;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    /* A file that a person wrote was made by no program: it is called by its name, if it has one. */
    if (started->app) {
        text_name(&line, started->app);
    } else {
        strbuf_addstr(&line, started->session ? "recording " : "recording");
        text_name(&line, started->session ? started->session : "");
    }
    if (provider) {
        strbuf_addf(&line, " %s ", text_dot());
        text_name(&line, provider);
        strbuf_addstr(&line, name && *name ? " " : "");
        text_name(&line, name ? name : "");
    }
    if (started->workspace) {
        strbuf_addf(&line, " %s ", text_dot());
        text_name(&line, started->workspace);
    }
    plain_paragraph_inked(plain, INK_DIM, line.buf, 0);
}

static void turn_started(struct plain *plain, const struct event *event)
{
    const char *prompt = event->turn_started.prompt;
    plain_calls_pending(plain);
    plain_calls_reset(plain);
    plain->step = 0;
    plain->cost_usd = NAN;
    free(plain->answer);
    plain->answer = NULL;
    plain_gap(plain);
    if (plain->past_turn) {
        CLEANUP(free) char *label = xasprintf("turn %lld", (long long)event->turn);
        plain_inked(plain, INK_DIM, label);
        plain_newline(plain);
        plain_gap(plain);
    }
    plain_label(plain, INK_BOLD, "you");
    plain_paragraph(plain, prompt ? prompt : "", GUTTER);
    plain->past_turn = true;
}

static void context_loaded(struct plain *plain, const struct event_context_loaded *loaded)
{
    const struct event_pack_entry_list *pack = &loaded->pack;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    if (loaded->memory.count)
        text_plural(&line, (int64_t)loaded->memory.count, "memory", "memories");
    if (pack->count) {
        strbuf_addstr(&line, line.len ? ", " : "");
        text_plural(&line, (int64_t)pack->count, "excerpt", "excerpts");
        for (size_t i = 0; i < pack->count; i++) {
            strbuf_addstr(&line, i ? ", " : ": ");
            text_name(&line, pack->items[i].path ? pack->items[i].path : "?");
        }
    }
    if (!line.len)
        return;
    plain_gap(plain);
    plain_label(plain, INK_DIM, "found");
    plain_paragraph(plain, line.buf, GUTTER);
}

/* Steps */

static bool has_tokens(const struct event_usage *usage)
{
    return usage && (usage->input || usage->output);
}

/* "3.2 s · 1,204 tokens in, 312 out · $0.004" */
static void add_usage(struct strbuf *out, int64_t ms, const struct event_usage *usage, double cost_usd)
{
    text_ms(out, ms);
    if (has_tokens(usage)) {
        strbuf_addf(out, " %s ", text_dot());
        text_count(out, usage->input);
        strbuf_addstr(out, " tokens in, ");
        text_count(out, usage->output);
        strbuf_addstr(out, " out");
    }
    if (!isnan(cost_usd)) {
        strbuf_addf(out, " %s ", text_dot());
        text_money(out, cost_usd);
    }
}

static void thinking_shown(struct plain *plain, const char *thinking)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    strbuf_addstr(&line, "thinks: ");
    size_t room = 3 * (plain->style.width - GUTTER);
    text_show_cut(&line, thinking, strlen(thinking), room);
    plain_indent(plain, GUTTER);
    plain_paragraph_inked(plain, INK_DIM, line.buf, GUTTER);
}

static bool has_text(const char *text)
{
    return text && text[strspn(text, " \t\r\n")];
}

static void model_responded(struct plain *plain, const struct event_model_responded *responded)
{
    bool last = responded->tool_calls.count == 0;
    /* Who writes answers down by hand need not number them. */
    plain->step = responded->step > 0 ? responded->step : plain->step + 1;
    CLEANUP(free) char *label = last ? xstrdup("answer") : xasprintf("step %lld", (long long)plain->step);
    CLEANUP(strbuf) struct strbuf usage = STRBUF_INIT;
    /* Nor measure them. */
    if (responded->latency_ms || has_tokens(responded->usage) || !isnan(responded->cost_usd))
        add_usage(&usage, responded->latency_ms, responded->usage, responded->cost_usd);
    if (responded->stop && last && strcmp(responded->stop, "end_turn") != 0 && *responded->stop)
        strbuf_addf(&usage, "%s%s%sstopped by %s", usage.len ? " " : "", usage.len ? text_dot() : "",
                    usage.len ? " " : "", responded->stop);
    if (!isnan(responded->cost_usd))
        plain->cost_usd = (isnan(plain->cost_usd) ? 0 : plain->cost_usd) + responded->cost_usd;
    plain_calls_pending(plain);
    plain_gap(plain);
    plain_label(plain, INK_BOLD, label);
    /* Without numbers the answer itself stands beside its label. */
    bool beside = !usage.len && !has_text(responded->thinking) && has_text(responded->text);
    if (usage.len) {
        plain_ink(plain, INK_DIM);
        plain_text(plain, usage.buf);
        plain_ink(plain, INK_NONE);
    }
    if (!beside)
        plain_end_line(plain);
    if (has_text(responded->thinking))
        thinking_shown(plain, responded->thinking);
    if (has_text(responded->text)) {
        if (!beside)
            plain_indent(plain, GUTTER);
        plain_paragraph(plain, responded->text, GUTTER);
        if (!last)
            plain_gap(plain);
    }
    free(plain->answer);
    plain->answer = xstrdup(responded->text ? responded->text : "");
    plain_calls_answered(plain, &responded->tool_calls);
}

static void model_failed(struct plain *plain, const struct event_model_failed *failed)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "could not be asked: %s", failed->error ? failed->error : "no reason was given");
    if (failed->retry_in_ms == EVENT_NULL_INT) {
        strbuf_addstr(&line, "; gave up");
    } else {
        strbuf_addstr(&line, "; again in ");
        text_ms(&line, failed->retry_in_ms);
    }
    plain_gap(plain);
    plain_label(plain, INK_BAD, "model");
    plain_paragraph(plain, line.buf, GUTTER);
}

static void reflection(struct plain *plain, const struct event_reflection *reflected)
{
    plain_gap(plain);
    plain_label(plain, INK_BOLD, "look back");
    plain_paragraph(plain, has_text(reflected->text) ? reflected->text : "(nothing was said)", GUTTER);
    if (!reflected->should_continue) {
        plain_indent(plain, GUTTER);
        plain_inked(plain, INK_DIM, "goes no further");
        plain_newline(plain);
    }
}

/* The end */

static void note_failed(struct plain *plain, const char *what, const struct event_final_status *status)
{
    if (!status || !status->status || strcmp(status->status, "failed") != 0)
        return;
    CLEANUP(free) char *line = xasprintf("%s failed: %s", what, status->reason ? status->reason : "no reason given");
    plain_label(plain, INK_WARN, "note");
    plain_paragraph(plain, line, GUTTER);
}

static void turn_finalized(struct plain *plain, const struct event_turn_finalized *finalized)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; i < finalized->citations.count; i++) {
        const char *ref = finalized->citations.items[i].ref;
        strbuf_addstr(&line, ref && line.len ? ", " : "");
        text_name(&line, ref ? ref : "");
    }
    if (line.len) {
        plain_gap(plain);
        plain_label(plain, INK_DIM, "sources");
        plain_paragraph(plain, line.buf, GUTTER);
    }
    note_failed(plain, "memory", finalized->memory);
    note_failed(plain, "record of decisions", finalized->decisions);
    note_failed(plain, "judges", finalized->judges);
}

static enum ink status_ink(const char *status)
{
    return strcmp(status, "done") == 0 ? INK_GOOD : strcmp(status, "failed") == 0 ? INK_BAD : INK_WARN;
}

/* The final text, less what the newest answer said already. */
static void final_text(struct plain *plain, const char *text)
{
    size_t known = plain->answer ? strlen(plain->answer) : 0;
    if (known && strncmp(text, plain->answer, known) == 0)
        return; /* what follows is the list of sources, which has a line of its own */
    if (!has_text(text))
        return;
    plain_gap(plain);
    plain_label(plain, INK_BOLD, "result");
    plain_paragraph(plain, text, GUTTER);
}

static void turn_finished(struct plain *plain, const struct event_turn_finished *finished)
{
    const char *status = finished->status ? finished->status : "?";
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    plain_write_pending(plain, NULL);
    plain_calls_pending(plain);
    final_text(plain, finished->text ? finished->text : "");
    if (strcmp(status, "budget") == 0)
        strbuf_addf(&line, "used up %s ", text_dot());
    text_plural(&line, finished->steps, "step", "steps");
    strbuf_addf(&line, " %s ", text_dot());
    text_plural(&line, finished->tool_calls, "call", "calls");
    strbuf_addf(&line, " %s ", text_dot());
    add_usage(&line, finished->elapsed_ms, finished->usage, plain->cost_usd);
    if (finished->waited_ms >= 1000) {
        strbuf_addf(&line, " %s waited ", text_dot());
        text_ms(&line, finished->waited_ms);
    }
    plain_gap(plain);
    CLEANUP(strbuf) struct strbuf label = STRBUF_INIT;
    text_name_cut(&label, status, GUTTER - 1);
    plain_label(plain, status_ink(status), label.buf);
    plain_paragraph(plain, line.buf, GUTTER);
}

static void tell(struct plain *plain, const struct event *event)
{
    switch (event->type) {
    case EVENT_SESSION_STARTED:
        session_started(plain, &event->session_started);
        break;
    case EVENT_TURN_STARTED:
        turn_started(plain, event);
        break;
    case EVENT_CONTEXT_LOADED:
        context_loaded(plain, &event->context_loaded);
        break;
    case EVENT_MODEL_RESPONDED:
        model_responded(plain, &event->model_responded);
        break;
    case EVENT_MODEL_FAILED:
        model_failed(plain, &event->model_failed);
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
        plain_write_decided(plain, &event->write_decided);
        break;
    case EVENT_WRITE_APPLIED:
        plain_write_applied(plain, &event->write_applied);
        break;
    case EVENT_WRITE_UNDONE:
        plain_write_undone(plain, &event->write_undone);
        break;
    case EVENT_TOOL_FINISHED:
        plain_call_finished(plain, &event->tool_finished);
        break;
    case EVENT_WORKSPACE_OP:
        plain_note_workspace(plain, &event->workspace_op);
        break;
    case EVENT_MODEL_CHANGED:
        plain_note_summary(plain, "model", event);
        break;
    case EVENT_TOOLS_CHANGED:
        plain_note_summary(plain, "tools", event);
        break;
    case EVENT_CONTEXT_COMPACTED:
        plain_note_summary(plain, "context", event);
        break;
    case EVENT_PROGRAM_STARTED:
        plain_note_summary(plain, "program", event);
        break;
    case EVENT_PROGRAM_OUTPUT:
        plain_program_output(plain, &event->program_output);
        break;
    case EVENT_PROGRAM_INPUT:
        plain_program_input(plain, &event->program_input);
        break;
    case EVENT_PROGRAM_ENDED:
        plain_note_ended(plain, event);
        break;
    case EVENT_NETWORK_CONNECTED:
        plain_note_summary(plain, "network", event);
        break;
    case EVENT_LATE_SUPPRESSED:
        plain_note_late(plain, &event->late_suppressed);
        break;
    case EVENT_REFLECTION:
        reflection(plain, &event->reflection);
        break;
    case EVENT_BUDGET_WARNED:
        plain_note_budget(plain, &event->budget_warned);
        break;
    case EVENT_HELD:
        plain_note_held(plain, &event->held);
        break;
    case EVENT_RELEASED:
        plain_note_released(plain, &event->released);
        break;
    case EVENT_EDITED:
        plain_note_edited(plain, &event->edited);
        break;
    case EVENT_TURN_FINALIZED:
        turn_finalized(plain, &event->turn_finalized);
        break;
    case EVENT_TURN_FINISHED:
        turn_finished(plain, &event->turn_finished);
        break;
    case EVENT_OTHER:
        plain_note_other(plain, event);
        break;
    case EVENT_BUDGET_OPENED: /* the summary tells what was used, the warnings what ran short */
    case EVENT_BUDGET_CHARGED:
    case EVENT_TURN_PREPARED:
    case EVENT_MODEL_REQUESTED:
    case EVENT_MODEL_DELTA: /* the answer comes whole */
    case EVENT_CHECKPOINT_SAVED:
    case EVENT_WRITES_CLOSED:
    case EVENT_WORKSPACE_STATE: /* the operations tell what changed */
    case EVENT_SESSION_ENDED:
    case EVENT_TYPE_COUNT:
        break;
    }
}

void plain_event(struct plain *plain, const struct event *event)
{
    if (event->type != EVENT_PROGRAM_ENDED && event->type != EVENT_WORKSPACE_OP &&
        event->type != EVENT_WORKSPACE_STATE) {
        free(plain->ended);
        plain->ended = NULL;
    }
    tell(plain, event);
    arena_reset(&plain->arena);
    output_flush(plain->output);
}

static void sink_event(struct sink *sink, const struct event *event, const struct session *session)
{
    (void)session;
    plain_event((struct plain *)sink, event);
}

struct plain *plain_new(struct output *output, const struct plain_style *style)
{
    struct plain *plain = xcalloc(1, sizeof(*plain));
    plain->sink.event = sink_event;
    plain->output = output;
    plain->out = &output->text;
    plain->style = *style;
    plain->cost_usd = NAN;
    plain->blank = true; /* nothing above needs keeping apart */
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
        plain_label(plain, INK_WARN, "held");
        plain_text(plain, plain->held);
        plain_newline(plain);
    }
    arena_reset(&plain->arena);
    output_flush(plain->output);
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
    arena_release(&plain->arena);
    free(plain->held);
    free(plain->ended);
    free(plain->answer);
    free(plain->edit);
    free(plain);
}
