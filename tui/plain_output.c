/* What calls and programs print: lines, of a flood both ends. The first ones come as they are printed; of the rest the
 * newest are kept until the call has ended, so that what it said last stands above its outcome. */

#include "plain_inside.h"
#include "told.h"
#include <string.h>

#define HEAD_LINES    20
#define TAIL_LINES    10
#define TAIL_BYTES    1024 /* of a line that is kept */
#define PARTIAL_BYTES (64u << 10)
#define PROGRAM_LINES 4 /* at each end of a piece */

struct plain_tail {
    struct {
        char *text;
        bool error;
    } lines[TAIL_LINES];   /* the newest, by their number modulo so many */
    struct strbuf partial; /* a line that may go on */
    bool partial_error;
};

void plain_output_release(struct plain_call *call)
{
    if (!call->tail)
        return;
    for (size_t i = 0; i < TAIL_LINES; i++)
        free(call->tail->lines[i].text);
    strbuf_release(&call->tail->partial);
    free(call->tail);
    call->tail = NULL;
}

static void add_hidden(struct strbuf *out, size_t lines)
{
    strbuf_addch(out, '(');
    text_count(out, (int64_t)lines);
    strbuf_addf(out, " more %s in the recording)", lines == 1 ? "line" : "lines");
}

static void show_line(struct plain *plain, const char *text, size_t len, bool error)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    if (memchr(text, '\r', len)) /* other signs are there for whoever reads the account */
        told_show(&text, &len, &shown);
    plain_indent(plain, plain_call_indent(plain));
    plain_inked(plain, error ? INK_BAD : INK_DIM, error ? "! " : "| ");
    text_show_cut(plain->out, text, len, plain->style.width - plain_call_indent(plain) - 2);
    plain_newline(plain);
}

static void add_line(struct plain *plain, struct plain_call *call, const char *text, size_t len, bool error)
{
    size_t number = call->outputs++;
    if (number < HEAD_LINES) {
        show_line(plain, text, len, error);
        return;
    }
    size_t slot = number % TAIL_LINES;
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
    if (error != call->tail->partial_error || !told_is_stream(stream))
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
    if (!told_is_stream(stream))
        end_partial(plain, call);
}

void plain_output_end(struct plain *plain, struct plain_call *call)
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
        plain_indent(plain, plain_call_indent(plain));
        plain_inked(plain, INK_DIM, line.buf);
        plain_newline(plain);
    }
    for (size_t number = HEAD_LINES + hidden; number < call->outputs; number++) {
        const char *text = call->tail->lines[number % TAIL_LINES].text;
        show_line(plain, text, strlen(text), call->tail->lines[number % TAIL_LINES].error);
    }
    plain_output_release(call);
}

/* A message is said as it is; a value has its name before it. */
void plain_call_script(struct plain *plain, const struct event_script_event *event)
{
    const struct json *value = plain_json(plain, event->event), *data = json_get(value, "data");
    const char *message = json_str(json_get(value, "message"), NULL);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (message)
        strbuf_addstr(&text, message);
    else if (data)
        strbuf_addf(&text, "%s %.*s", json_str(json_get(value, "label"), "result"), (int)data->src_len, data->src);
    else if (event->event)
        strbuf_addstr(&text, event->event);
    strbuf_addch(&text, '\n'); /* each is whole, whatever its level is called */
    plain_call_output(plain, event->call, json_str(json_get(value, "level"), NULL), text.buf);
}

/* ---- programs that go on beyond their call ---- */

static void program_line(struct plain *plain, const char *program, const char *text, size_t len, bool first)
{
    CLEANUP(strbuf) struct strbuf name = STRBUF_INIT, shown = STRBUF_INIT;
    told_show(&text, &len, &shown);
    text_name(&name, program);
    if (first)
        plain_label(plain, INK_DIM, "program");
    else
        plain_indent(plain, GUTTER);
    strbuf_addf(plain->out, "%s | ", name.buf);
    text_show_cut(plain->out, text, len, plain->style.width - GUTTER - name.len - 3);
    plain_newline(plain);
}

void plain_program_output(struct plain *plain, const struct event_program_output *output)
{
    struct told told = {.text = output->text ? output->text : ""};
    const char *program = output->program ? output->program : "?";
    size_t count = 0, number = 0;
    told.len = strlen(told.text);
    for (struct told_lines lines = told_lines(&told); told_lines_next(&lines);)
        count++;
    for (struct told_lines lines = told_lines(&told); told_lines_next(&lines); number++) {
        bool hidden = number >= PROGRAM_LINES && number + PROGRAM_LINES < count;
        if (!hidden) {
            program_line(plain, program, lines.line, lines.len, number == 0);
        } else if (number == PROGRAM_LINES) {
            CLEANUP(strbuf) struct strbuf more = STRBUF_INIT;
            add_hidden(&more, count - 2 * PROGRAM_LINES);
            program_line(plain, program, more.buf, more.len, false);
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
    plain_label(plain, INK_DIM, "program");
    strbuf_add(plain->out, head.buf, head.len);
    text_show_cut(plain->out, text, len, plain->style.width - GUTTER - head.len);
    plain_newline(plain);
}
