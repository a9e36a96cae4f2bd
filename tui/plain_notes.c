/* What happens beside the steps: a line or two each, with a label that says what it is. */

#include "event/words.h"
#include "plain_inside.h"
#include <math.h>
#include <string.h>

static void add_amount(struct strbuf *out, const char *key, double amount)
{
    if (strcmp(key, "wall_ms") == 0)
        text_ms(out, (int64_t)amount);
    else if (strcmp(key, "cost_usd") == 0)
        text_money(out, amount);
    else
        text_count(out, (int64_t)amount);
}

void plain_note_budget(struct plain *plain, const struct event_budget_warned *warned)
{
    const char *key = warned->key ? warned->key : "?";
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    CLEANUP(free)
    char *words = xstrdup(strcmp(key, "wall_ms") == 0 ? "time" : strcmp(key, "cost_usd") == 0 ? "cost" : key);
    for (char *at = words; *at; at++)
        if (*at == '_')
            *at = ' ';
    /* A recording may claim any number; only those that are one are put in words. */
    bool sane = warned->limit > 0 && fabs(warned->used) < 1e15 && warned->limit < 1e15;
    text_name(&line, words);
    strbuf_addstr(&line, ": ");
    if (sane) {
        add_amount(&line, key, warned->used);
        strbuf_addstr(&line, " of ");
        add_amount(&line, key, warned->limit);
        strbuf_addf(&line, " used (%.0f %%)", warned->used / warned->limit * 100);
    } else {
        strbuf_addstr(&line, "near its limit");
    }
    plain_label(plain, INK_WARN, "budget");
    plain_paragraph(plain, line.buf, GUTTER);
}

void plain_note_held(struct plain *plain, const struct event_held *event)
{
    free(plain->held);
    plain->held = xstrdup(event->gate ? event->gate : "?");
}

void plain_note_released(struct plain *plain, const struct event_released *event)
{
    const char *by = event->by ? event->by : "?";
    /* A question that was answered has a line of its own. */
    if (strcmp(by, "decision") != 0) {
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        text_name(&line, plain->held ? plain->held : event->gate ? event->gate : "?");
        strbuf_addstr(&line, ", released by ");
        text_name(&line, by);
        plain_label(plain, INK_WARN, "held");
        plain_paragraph(plain, line.buf, GUTTER);
    }
    free(plain->held);
    plain->held = NULL;
}

void plain_note_edited(struct plain *plain, const struct event_edited *event)
{
    if (event->what && strcmp(event->what, "write") == 0) {
        plain_write_edited(plain, event);
        return;
    }
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name(&line, event->what ? event->what : "?");
    strbuf_addstr(&line, event->call ? " of " : "");
    text_name(&line, event->call ? event->call : "");
    strbuf_addstr(&line, ", now ");
    text_show_cut(&line, event->after ? event->after : "gone", strlen(event->after ? event->after : "gone"),
                  2 * plain->style.width);
    plain_label(plain, INK_WARN, "edited");
    plain_paragraph(plain, line.buf, GUTTER);
}

void plain_note_late(struct plain *plain, const struct event_late_suppressed *event)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name(&line, event->call ? event->call : "a call");
    strbuf_addstr(&line, " came back after ");
    text_ms(&line, event->elapsed_ms);
    strbuf_addstr(&line, "; nothing of it was used");
    plain_label(plain, INK_WARN, "late");
    plain_paragraph(plain, line.buf, GUTTER);
}

/* What its workspace says next is about this. */
void plain_note_ended(struct plain *plain, const struct event *event)
{
    const char *why = event->program_ended.why ? event->program_ended.why : "";
    free(plain->ended);
    plain->ended = xstrdup(strncmp(why, "killed: ", 8) == 0 ? why + 8 : why);
    plain_note_summary(plain, "program", event);
}

/* What went well is told by the call that wanted it. */
void plain_note_workspace(struct plain *plain, const struct event_workspace_op *op)
{
    if (!op->error || !*op->error)
        return;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    text_name(&line, op->op ? op->op : "?");
    strbuf_addch(&line, ' ');
    text_ms(&line, op->elapsed_ms);
    strbuf_addf(&line, ": %s", op->error);
    if (plain->ended && *plain->ended && op->op && strcmp(op->op, "workspace.run") == 0)
        strbuf_addf(&line, " (%s)", plain->ended);
    plain_label(plain, INK_DIM, "sandbox");
    plain_paragraph(plain, line.buf, GUTTER);
}

/* What the events pane shows of it, on one line. */
void plain_note_summary(struct plain *plain, const char *label, const struct event *event)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    event_words(&line, WORDS_ROW, event);
    plain_label(plain, INK_DIM, label);
    text_show_cut(plain->out, line.buf ? line.buf : "", line.len, plain->style.width - GUTTER);
    plain_newline(plain);
}

/* A type this version does not know: its line as it is. */
void plain_note_other(struct plain *plain, const struct event *event)
{
    plain_label(plain, INK_DIM, "other");
    text_show_cut(plain->out, event->raw ? event->raw : event->type_name,
                  event->raw ? event->raw_len : strlen(event->type_name), plain->style.width - GUTTER);
    plain_newline(plain);
}
