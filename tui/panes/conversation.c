/* The conversation pane: prompts, answers, reflections and how each turn ended.
 *
 * Items are counted, not collected: a turn has a prompt and an end, a step an answer and perhaps a reflection, so the
 * item with a given number is found among the session's rows by binary search (conversation_item).
 *
 * A position is an item and a line in it, never a line of the whole conversation: the number of lines of a long session
 * would be known only after wrapping all of it. So scrolling wraps only what becomes visible, and the last few wrapped
 * items are kept. A filter hides items that do not match. */

#include "app/ui.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/words.h"
#include "pane.h"
#include "screen/text.h"
#include <math.h>
#include <string.h>

#define BLOCKS_KEPT 64
#define LABEL_COLS  7 /* the cursor's column and the labels */
#define ITEM_COST   1024
#define ASKED_WIDTH 4096  /* width of a text that is searched and not shown */
#define PARTIAL_MAX 32768 /* bytes of an unfinished answer that are wrapped again in every frame */

/* ---- items ---- */

enum conversation_kind { CONVERSATION_PROMPT, CONVERSATION_ANSWER, CONVERSATION_REFLECTION, CONVERSATION_END };

struct conversation_item {
    enum conversation_kind kind;
    uint32_t turn, step; /* indexes */
};

static size_t conversation_count(const struct session *session)
{
    return 2 * ((size_t)session->turn_count + session->step_count);
}

static size_t first_item(const struct session *session, uint32_t turn)
{
    return 2 * ((size_t)turn + session->turns[turn].first_step);
}

static struct conversation_item conversation_item(const struct session *session, size_t number)
{
    uint32_t low = 0, high = session->turn_count;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (first_item(session, middle) <= number)
            low = middle;
        else
            high = middle;
    }
    const struct session_turn *turn = &session->turns[low];
    size_t within = number - first_item(session, low);
    if (within == 0)
        return (struct conversation_item){CONVERSATION_PROMPT, low, SESSION_NONE};
    uint32_t step = (uint32_t)((within - 1) / 2);
    if (step >= turn->step_count)
        return (struct conversation_item){CONVERSATION_END, low, SESSION_NONE};
    return (struct conversation_item){within % 2 ? CONVERSATION_ANSWER : CONVERSATION_REFLECTION, low,
                                      turn->first_step + step};
}

/* True while more of the answer may arrive. */
static bool is_arriving(const struct session *session, uint32_t step)
{
    return step + 1 == session->step_count && session_turn_running(session);
}

/* The event that has the text; of an interrupted answer, its last piece. 0: none yet. */
static int64_t conversation_seq(const struct session *session, struct conversation_item item)
{
    const struct session_step *step;
    switch (item.kind) {
    case CONVERSATION_PROMPT:
        return session->turns[item.turn].edited_seq ? session->turns[item.turn].edited_seq
                                                    : session->turns[item.turn].started_seq;
    case CONVERSATION_ANSWER:
        step = &session->steps[item.step];
        return step->responded_seq || is_arriving(session, item.step) ? step->responded_seq : step->last_delta_seq;
    case CONVERSATION_REFLECTION:
        return session->steps[item.step].reflection_seq;
    case CONVERSATION_END:
        return session->turns[item.turn].finished_seq;
    }
    return 0;
}

/* ---- texts of items ---- */

static void add(struct wrapped *out, enum look look, const char *label, const char *text, int width)
{
    if (text && *text)
        wrapped_add(out, look, label, text, strlen(text), width);
}

static void add_thinking(struct wrapped *out, const char *text, size_t len, int width)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (!len)
        return;
    strbuf_addstr(&words, "(thinking) ");
    strbuf_add(&words, text, len);
    wrapped_add(out, LOOK_THINKING, "agent", words.buf, words.len, width);
}

static void add_calls(struct wrapped *out, const struct event_tool_request_list *calls, int width)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    for (size_t i = 0; i < calls->count; i++)
        strbuf_addf(&words, "%s%s", i ? ", " : "(calls ", calls->items[i].name ? calls->items[i].name : "?");
    if (!words.len)
        strbuf_addstr(&words, "(empty answer");
    strbuf_addch(&words, ')');
    wrapped_add(out, LOOK_DIM, "agent", words.buf, words.len, width);
}

static void add_answer(struct wrapped *out, const struct event_model_responded *answer, int width)
{
    bool text = answer->text && *answer->text;
    if (answer->thinking)
        add_thinking(out, answer->thinking, strlen(answer->thinking), width);
    bool thought = answer->thinking && *answer->thinking;
    if (thought && text)
        wrapped_add_blank(out);
    add(out, LOOK_AGENT, thought ? "" : "agent", answer->text, width);
    if (!text && !thought)
        add_calls(out, &answer->tool_calls, width);
}

/* The end of an answer that is still arriving. The whole text follows with the finished answer. */
static const char *partial_end(const struct strbuf *partial, size_t *len)
{
    if (partial->len <= PARTIAL_MAX) {
        *len = partial->len;
        return partial->buf;
    }
    const char *from = partial->buf + partial->len - PARTIAL_MAX;
    const char *newline = memchr(from, '\n', PARTIAL_MAX);
    from = newline ? newline + 1 : from;
    *len = partial->len - (size_t)(from - partial->buf);
    return from;
}

/* Adds the model's error, below the partial answer if there was one, unless another attempt has begun. False: no
 * error. */
static bool add_failure(struct wrapped *out, const struct view *view, bool begun, int width)
{
    const struct session *session = view->session;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    const struct event *event = view_event_of(view, session->last_model_failure_seq, EVENT_MODEL_FAILED);
    if (!event || (begun && event->seq < session->steps[session->step_count - 1].requested_seq))
        return false;
    strbuf_addf(&words, "%s: %s", begun ? "answer interrupted" : "error",
                event->model_failed.error ? event->model_failed.error : "?");
    if (event->model_failed.retry_in_ms > 0 && session_turn_running(session)) {
        strbuf_addstr(&words, "; retrying in ");
        text_ms(&words, event->model_failed.retry_in_ms);
    }
    wrapped_add(out, LOOK_ERROR, begun ? "" : "agent", words.buf, words.len, width);
    return true;
}

static void add_partial(struct wrapped *out, const struct view *view, int width)
{
    const struct session *session = view->session;
    size_t len;
    const char *text;
    if (session->partial_text.len > PARTIAL_MAX || session->partial_thinking.len > PARTIAL_MAX)
        add(out, LOOK_DIM, "agent", "(beginning hidden until the answer is complete)", width);
    if (session->partial_thinking.len) {
        text = partial_end(&session->partial_thinking, &len);
        add_thinking(out, text, len, width);
    }
    if (session->partial_text.len) {
        text = partial_end(&session->partial_text, &len);
        if (session->partial_thinking.len)
            wrapped_add_blank(out);
        wrapped_add(out, LOOK_AGENT, session->partial_thinking.len ? "" : "agent", text, len, width);
    }
    bool begun = session->partial_text.len || session->partial_thinking.len;
    if (!add_failure(out, view, begun, width) && !begun && session_turn_running(session))
        add(out, LOOK_DIM, "agent", "(waiting for the model)", width);
}

/* What had arrived when the turn ended, and why there is no more. */
static void add_interrupted(struct wrapped *out, const struct view *view, struct conversation_item item, int width)
{
    const struct session *session = view->session;
    const struct session_step *step = &session->steps[item.step];
    const char *status = session_name(session, session->turns[item.turn].status);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, thinking = STRBUF_INIT, words = STRBUF_INIT;
    if (!view_interrupted_answer(view, step, &text, &thinking))
        add(out, LOOK_ERROR, "?", "cannot read this part of the recording", width);
    add_thinking(out, thinking.buf, thinking.len, width);
    if (thinking.len && text.len)
        wrapped_add_blank(out);
    add(out, LOOK_AGENT, thinking.len ? "" : "agent", text.buf, width);
    if (item.step + 1 == session->step_count && add_failure(out, view, true, width))
        return;
    strbuf_addf(&words, "(answer interrupted%s%s)", *status ? ": turn " : "",
                strcmp(status, "budget") == 0 ? "stopped at a limit" : words_turn_status(status));
    add(out, LOOK_WARN, "", words.buf, width);
}

/* The prompt as the model got it. */
static void add_prompt(struct wrapped *out, const struct view *view, const struct event *event, int width)
{
    if (event->type == EVENT_TURN_STARTED) {
        add(out, LOOK_USER, "you", event->turn_started.prompt, width);
    } else if (event->type == EVENT_EDITED) {
        add(out, LOOK_USER, "you", json_str(view_json(view, event->edited.after), "?"), width);
        add(out, LOOK_WARN, "", "(edited before it was sent)", width);
    } else {
        add(out, LOOK_DIM, "you", "(the prompt was not recorded)", width);
    }
}

/* The text without the list of sources that older versions appended to it. */
static size_t length_without_sources(const char *text, const struct event_citation_list *sources)
{
    CLEANUP(strbuf) struct strbuf list = STRBUF_INIT;
    size_t len = strlen(text);
    strbuf_addstr(&list, "\n\nSources:\n");
    for (size_t i = 0; i < sources->count; i++)
        strbuf_addf(&list, "- %s\n", sources->items[i].ref ? sources->items[i].ref : "");
    bool appended = sources->count && len >= list.len && strcmp(text + len - list.len, list.buf) == 0;
    return appended ? len - list.len : len;
}

/* The files and pages that the turn read. The list is Keyturn's: the model did not write it and does not read it. */
static void add_sources(struct wrapped *out, const struct event_citation_list *sources, int width)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    for (size_t i = 0; i < sources->count; i++)
        strbuf_addf(&words, "%s%s",
                    i ? ", " : "Sources (listed by Keyturn): ", sources->items[i].ref ? sources->items[i].ref : "?");
    add(out, LOOK_DIM, "note", words.buf, width);
}

/* The final text is usually the last answer, which is right above: only the rest is shown. */
static const char *final_text_rest(const struct view *view, const struct session_turn *turn, const char *text)
{
    for (uint32_t step = turn->first_step + turn->step_count; step-- > turn->first_step;) {
        uint32_t seq = view->session->steps[step].responded_seq;
        if (!seq)
            continue;
        const struct event *event = view_event_of(view, seq, EVENT_MODEL_RESPONDED);
        if (!event || !event->model_responded.text)
            return text;
        size_t len = strlen(event->model_responded.text);
        if (strncmp(text, event->model_responded.text, len) != 0)
            return text;
        return text + len + strspn(text + len, " \t\r\n");
    }
    return text;
}

static void add_end(struct wrapped *out, const struct view *view, const struct session_turn *turn,
                    const struct event *event, int width)
{
    const struct event_turn_finished *end = &event->turn_finished;
    const struct event *final = view_event_of(view, turn->finalized_seq, EVENT_TURN_FINALIZED);
    struct event_citation_list sources = final ? final->turn_finalized.citations : (struct event_citation_list){0};
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT, own = STRBUF_INIT;
    const char *status = end->status && *end->status ? end->status : "ended";
    strbuf_add(&own, end->text ? end->text : "", end->text ? length_without_sources(end->text, &sources) : 0);
    const char *text = final_text_rest(view, turn, own.buf);
    if (*text)
        add(out, LOOK_AGENT, text == own.buf ? "agent" : "", text, width);
    if (*text && sources.count)
        wrapped_add_blank(out);
    add_sources(out, &sources, width);
    if (out->count > 1) /* more than the empty line above the item */
        wrapped_add_blank(out);
    event_words(&words, WORDS_HEAD, view->session, event);
    bool good = strcmp(status, "done") == 0;
    add(out, good ? LOOK_GOOD : strcmp(status, "failed") == 0 ? LOOK_ERROR : LOOK_WARN, "end", words.buf, width);
}

/* Adds what had been removed from the model's context when it gave this answer. */
static void add_compacted(struct wrapped *out, const struct view *view, const struct session_step *step, int width)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    const struct event *event = view_event_of(view, step->compacted_seq, EVENT_CONTEXT_COMPACTED);
    if (!event)
        return;
    strbuf_addch(&words, '(');
    event_words(&words, WORDS_HEAD, view->session, event);
    strbuf_addch(&words, ')');
    wrapped_add(out, LOOK_WARN, "note", words.buf, words.len, width);
    wrapped_add_blank(out);
}

static void conversation_wrap(struct wrapped *out, const struct view *view, size_t number, int width)
{
    const struct session *session = view->session;
    struct conversation_item item = conversation_item(session, number);
    int64_t seq = conversation_seq(session, item);
    const struct event *event = seq ? view_event(view, seq) : NULL;
    wrapped_reset(out);
    if (number)
        wrapped_add_blank(out);
    if (item.kind == CONVERSATION_ANSWER)
        add_compacted(out, view, &session->steps[item.step], width);
    if (seq && !event)
        add(out, LOOK_ERROR, "?", "cannot read this line of the recording", width);
    else if (item.kind == CONVERSATION_PROMPT && seq)
        add_prompt(out, view, event, width);
    else if (item.kind == CONVERSATION_PROMPT)
        add(out, LOOK_DIM, "you", "(the prompt was not recorded)", width);
    else if (item.kind == CONVERSATION_ANSWER && seq && event->type == EVENT_MODEL_DELTA)
        add_interrupted(out, view, item, width);
    else if (item.kind == CONVERSATION_ANSWER && seq && event->type == EVENT_MODEL_RESPONDED)
        add_answer(out, &event->model_responded, width);
    else if (item.kind == CONVERSATION_ANSWER && !seq && item.step + 1 == session->step_count)
        add_partial(out, view, width);
    else if (item.kind == CONVERSATION_REFLECTION && seq && event->type == EVENT_REFLECTION && event->reflection.text &&
             *event->reflection.text) {
        CLEANUP(free) char *words = xasprintf("(reflection) %s", event->reflection.text);
        add(out, LOOK_THINKING, "agent", words, width);
    } else if (item.kind == CONVERSATION_END && seq && event->type == EVENT_TURN_FINISHED)
        add_end(out, view, &session->turns[item.turn], event, width);
    if (number && out->count == 1) /* only the empty line */
        wrapped_reset(out);
}

/* ---- positions ---- */

/* The inputs of a wrapped item. If none of them changed, the wrapped item is still valid. */
struct block_key {
    const struct journal_reader *lines;
    size_t item, partial;
    int64_t seq;
    int width;
};

struct block {
    struct block_key key;
    struct wrapped wrapped;
};

struct spot {
    size_t item, line;
};

struct conversation_pane {
    struct pane pane;
    struct spot top, cursor;
    struct block blocks[BLOCKS_KEPT];
    struct wrapped asked; /* the item that the filter searched last */
};

static struct conversation_pane *conversation_of(struct pane *pane)
{
    return (struct conversation_pane *)pane;
}

static void conversation_init(struct pane *pane)
{
    struct conversation_pane *conversation = conversation_of(pane);
    list_init(&pane->list, true);
    for (size_t i = 0; i < BLOCKS_KEPT; i++)
        wrapped_init(&conversation->blocks[i].wrapped);
    wrapped_init(&conversation->asked);
}

static void conversation_release(struct pane *pane)
{
    for (size_t i = 0; i < BLOCKS_KEPT; i++)
        wrapped_release(&conversation_of(pane)->blocks[i].wrapped);
    wrapped_release(&conversation_of(pane)->asked);
}

static const struct wrapped *block_at(struct conversation_pane *conversation, const struct view *view, size_t number)
{
    const struct session *session = view->session;
    struct block *block = &conversation->blocks[number % BLOCKS_KEPT];
    int64_t seq = conversation_seq(session, conversation_item(session, number));
    struct block_key key = {view->lines, number, 0, seq, conversation->pane.width - LABEL_COLS - 1};
    if (!seq && number + 3 >= conversation_count(session)) /* items that may still change */
        key.partial = 1 + session->partial_text.len + session->partial_thinking.len + session->last_model_failure_seq +
                      session_turn_running(session);
    if (block->key.lines == key.lines && block->key.item == key.item && block->key.partial == key.partial &&
        block->key.seq == key.seq && block->key.width == key.width)
        return &block->wrapped;
    conversation_wrap(&block->wrapped, view, number, key.width);
    block->key = key;
    return &block->wrapped;
}

/* ---- the items that are shown ---- */

/* Keyturn's own labels ("looking back") should not match a search: a plain word must be in the event too. */
static bool is_said(const struct view *view, size_t number, const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '"' || *at == '\\' || *at == ' ' || (unsigned char)*at >= 0x80)
            return true;
    const struct event *event =
        view_event(view, conversation_seq(view->session, conversation_item(view->session, number)));
    return !event || event->type == EVENT_MODEL_DELTA || text_match_find(event->raw, event->raw_len, text);
}

static bool row_fits(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    struct conversation_pane *conversation = rows->owner;
    *bytes += ITEM_COST;
    for (size_t i = 0; i < filter->count; i++)
        if (!filter->terms[i].not &&!is_said(rows->view, row, filter->terms[i].text))
            return false;
    conversation_wrap(&conversation->asked, rows->view, row, ASKED_WIDTH);
    const struct strbuf *text = &conversation->asked.text;
    *bytes += text->len;
    return conversation->asked.count && filter_text_fits(filter, text->buf, text->len);
}

static void conversation_rows(struct pane *pane, const struct view *view, struct row_filter_rows *rows)
{
    (void)pane;
    rows->total = conversation_count(view->session);
    /* The last answer, its reflection, the end of the turn and the items before them may still change. */
    rows->settled = rows->total > 4 ? rows->total - 4 : 0;
    rows->fits = row_fits;
}

/* The next shown item, or the previous one; false if there is none. The caller skips items without lines. */
static bool next_item(const struct conversation_pane *conversation, const struct view *view, size_t *item)
{
    const struct row_filter *rows_filter = &conversation->pane.rows_filter;
    size_t index = row_filter_index(rows_filter, *item + 1);
    if (rows_filter->filtered ? index >= rows_filter->matches.count : index >= conversation_count(view->session))
        return false;
    *item = row_filter_row(rows_filter, index);
    return *item < conversation_count(view->session);
}

static bool previous_item(const struct conversation_pane *conversation, size_t *item)
{
    const struct row_filter *rows_filter = &conversation->pane.rows_filter;
    size_t index = row_filter_index(rows_filter, *item);
    if (!index)
        return false;
    *item = row_filter_row(rows_filter, index - 1);
    return true;
}

static bool is_shown(const struct conversation_pane *conversation, const struct view *view, size_t item)
{
    const struct row_filter *rows_filter = &conversation->pane.rows_filter;
    size_t index = row_filter_index(rows_filter, item);
    return item < conversation_count(view->session) &&
           (!rows_filter->filtered || (index < rows_filter->matches.count && rows_filter->matches.rows[index] == item));
}

/* ---- positions on the screen ---- */

static size_t lines_of(struct conversation_pane *conversation, const struct view *view, size_t item)
{
    return block_at(conversation, view, item)->count;
}

static bool go_down(struct conversation_pane *conversation, const struct view *view, struct spot *spot)
{
    if (is_shown(conversation, view, spot->item) && spot->line + 1 < lines_of(conversation, view, spot->item)) {
        spot->line++;
        return true;
    }
    for (size_t item = spot->item; next_item(conversation, view, &item);) {
        if (lines_of(conversation, view, item)) {
            *spot = (struct spot){item, 0};
            return true;
        }
    }
    return false;
}

static bool go_up(struct conversation_pane *conversation, const struct view *view, struct spot *spot)
{
    if (spot->line && is_shown(conversation, view, spot->item)) {
        spot->line--;
        return true;
    }
    for (size_t item = spot->item; previous_item(conversation, &item);) {
        size_t lines = lines_of(conversation, view, item);
        if (lines) {
            *spot = (struct spot){item, lines - 1};
            return true;
        }
    }
    return false;
}

static struct spot last_spot(struct conversation_pane *conversation, const struct view *view)
{
    struct spot spot = {conversation_count(view->session), 0};
    if (!go_up(conversation, view, &spot))
        spot = (struct spot){0, 0};
    return spot;
}

static bool is_before(struct spot a, struct spot b)
{
    return a.item != b.item ? a.item < b.item : a.line < b.line;
}

/* After a resize or a step back in a replay the line may no longer exist. */
static void settle_scroll(struct conversation_pane *conversation, const struct view *view, struct spot *spot)
{
    if (spot->item >= conversation_count(view->session)) {
        *spot = last_spot(conversation, view);
        return;
    }
    if (!is_shown(conversation, view, spot->item)) {
        spot->line = 0;
        if (!go_down(conversation, view, spot))
            go_up(conversation, view, spot);
        return;
    }
    size_t lines = lines_of(conversation, view, spot->item);
    if (spot->line < lines)
        return;
    spot->line = lines ? lines - 1 : 0;
    if (!lines && !go_up(conversation, view, spot))
        *spot = (struct spot){0, 0};
}

/* Keeps the cursor visible and the end of the pane filled. */
static void scroll(struct conversation_pane *conversation, const struct view *view, int height)
{
    struct spot *top = &conversation->top, *cursor = &conversation->cursor;
    if (conversation->pane.list.follow)
        *cursor = last_spot(conversation, view);
    settle_scroll(conversation, view, top);
    settle_scroll(conversation, view, cursor);
    if (is_before(*cursor, *top))
        *top = *cursor;
    struct spot first = *cursor; /* the first line that may be at the top with the cursor still visible */
    for (int i = 1; i < height; i++)
        go_up(conversation, view, &first);
    if (is_before(*top, first))
        *top = first;
    struct spot at = *top;
    int used = 1;
    while (used < height && go_down(conversation, view, &at))
        used++;
    while (used < height && go_up(conversation, view, top))
        used++;
}

/* ---- the pane ---- */

static void paint_line(struct conversation_pane *conversation, const struct view *view, struct canvas *canvas,
                       struct rect at, struct spot spot, bool focused)
{
    const struct wrapped *block = block_at(conversation, view, spot.item);
    const struct wrapped_line *line = &block->lines[spot.line];
    bool here = spot.item == conversation->cursor.item && spot.line == conversation->cursor.line;
    canvas_str(canvas, at, 0, 1, line->look == LOOK_USER ? LOOK_USER : LOOK_DIM, line->label);
    canvas_text(canvas, at, 0, LABEL_COLS, (enum look)line->look, block->text.buf + line->at, line->len);
    text_match_show(canvas, at, conversation->pane.search_text);
    if (here && focused)
        canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
}

static void conversation_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in,
                               bool focused)
{
    struct conversation_pane *conversation = conversation_of(pane);
    pane->height = in.rows;
    pane->width = in.cols;
    if (!conversation_count(view->session)) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "No messages yet.");
        if (view->mode == VIEW_LIVE)
            canvas_printf(canvas, in, 1, 1, LOOK_DIM, "Press %s to write a prompt.",
                          keymap_key(pane->keymap, ACTION_PROMPT));
        else
            canvas_str(canvas, in, 1, 1, LOOK_DIM, "Step forward to the first prompt.");
        return;
    }
    if (!pane_update(pane, view, in.rows)) {
        pane_paint_nothing(pane, canvas, in, "message");
        return;
    }
    scroll(conversation, view, in.rows);
    struct spot spot = conversation->top;
    for (int row = 0; row < in.rows; row++) {
        if (spot.line < lines_of(conversation, view, spot.item))
            paint_line(conversation, view, canvas, rect_make(in.row + row, in.col, 1, in.cols), spot, focused);
        if (!go_down(conversation, view, &spot))
            break;
    }
}

static void conversation_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    const struct session *session = view->session;
    const struct session_turn *turn = session_turn(session);
    if (!turn)
        return;
    if (session->turn_count > 1)
        strbuf_addf(out, "turn %u · ", turn->number);
    strbuf_addf(out, "step %u", turn->step_count);
    double limit = session->budget.limit[BUDGET_STEPS];
    if (!isnan(limit) && limit >= 0 && limit < 1e9)
        strbuf_addf(out, " of %.0f", limit);
    if (pane->rows_filter.filtered && !pane->rows_filter.working) {
        /* Items without text do not count for the reader, so no count is shown. */
        strbuf_reset(out);
        text_plural(out, (int64_t)pane->rows_filter.matches.count, "message", "messages");
        filter_note(out, pane->filter_text, pane->ops->name, pane->width);
    } else if (pane_is_filtered(pane)) {
        strbuf_reset(out);
        pane_note(pane, view, out, "message", "messages");
    }
    if (!pane->list.follow)
        strbuf_addstr(out, " · scrolled");
}

static void conversation_move(struct pane *pane, const struct view *view, enum action action)
{
    struct conversation_pane *conversation = conversation_of(pane);
    struct spot *cursor = &conversation->cursor;
    int page = pane->height > 1 ? pane->height - 1 : 1;
    if (!pane->list.count || !conversation_count(view->session)) /* going back in a recording removes items */
        return;
    settle_scroll(conversation, view, cursor);
    switch (action) {
    case ACTION_UP:
        go_up(conversation, view, cursor);
        break;
    case ACTION_DOWN:
        go_down(conversation, view, cursor);
        break;
    case ACTION_PAGE_UP:
        for (int i = 0; i < page; i++) {
            go_up(conversation, view, cursor);
            go_up(conversation, view, &conversation->top);
        }
        break;
    case ACTION_PAGE_DOWN:
        for (int i = 0; i < page; i++) {
            go_down(conversation, view, cursor);
            go_down(conversation, view, &conversation->top);
        }
        break;
    case ACTION_HOME:
        *cursor = (struct spot){0, 0};
        settle_scroll(conversation, view, cursor);
        break;
    case ACTION_END:
        *cursor = last_spot(conversation, view);
        break;
    default:
        return;
    }
    struct spot last = last_spot(conversation, view);
    pane->list.follow = !is_before(*cursor, last);
    pane_search_stop(pane);
}

static struct selection conversation_selected(struct pane *pane, const struct view *view)
{
    struct conversation_pane *conversation = conversation_of(pane);
    const struct session *session = view->session;
    if (!is_shown(conversation, view, conversation->cursor.item))
        return (struct selection){SELECT_NOTHING, 0, SESSION_NONE};
    struct conversation_item item = conversation_item(session, conversation->cursor.item);
    int64_t seq = conversation_seq(session, item);
    if (item.kind == CONVERSATION_ANSWER && !session->steps[item.step].responded_seq)
        seq = session->steps[item.step].requested_seq;
    return (struct selection){seq ? SELECT_TEXT : SELECT_NOTHING, seq, SESSION_NONE};
}

/* The match that begins in these lines; NULL: none. */
static const char *hit_in(const struct wrapped *block, const char *text, size_t first, size_t end)
{
    size_t from = block->lines[first].at, to = end < block->count ? block->lines[end].at : block->text.len;
    size_t over = to + strlen(text) - 1; /* the match may continue in the following lines */
    return text_match_find(block->text.buf + from, (over < block->text.len ? over : block->text.len) - from, text);
}

/* The first line with a match after line `from`, or the last one before it. SIZE_MAX: searches the whole item. */
static bool find_in_item(const struct wrapped *block, const char *text, bool back, size_t from, size_t *line)
{
    if (!back) {
        size_t first = from == SIZE_MAX ? 0 : from + 1;
        const char *hit = first < block->count ? hit_in(block, text, first, block->count) : NULL;
        if (hit)
            *line = wrapped_line_at(block, (size_t)(hit - block->text.buf));
        return hit;
    }
    for (size_t row = from < block->count ? from : block->count; row-- > 0;)
        if (hit_in(block, text, row, row + 1)) {
            *line = row;
            return true;
        }
    return false;
}

static bool conversation_search(struct pane *pane, const struct view *view, const char *text, bool back)
{
    struct conversation_pane *conversation = conversation_of(pane);
    struct spot *cursor = &conversation->cursor;
    if (!pane->list.count || !conversation_count(view->session))
        return false;
    settle_scroll(conversation, view, cursor);
    if (!find_in_item(block_at(conversation, view, cursor->item), text, back, cursor->line, &cursor->line))
        return false;
    pane->list.follow = false;
    return true;
}

static size_t conversation_place(struct pane *pane, const struct view *view)
{
    size_t item = conversation_of(pane)->cursor.item;
    return item < conversation_count(view->session) ? item : SIZE_MAX;
}

static void conversation_go(struct pane *pane, const struct view *view, size_t row, const char *text, bool back)
{
    struct conversation_pane *conversation = conversation_of(pane);
    if (row >= conversation_count(view->session))
        return;
    conversation->cursor = (struct spot){row, 0};
    find_in_item(block_at(conversation, view, row), text, back, SIZE_MAX, &conversation->cursor.line);
    pane->list.follow = false;
}

static void conversation_click(struct pane *pane, const struct view *view, int row, int col)
{
    struct conversation_pane *conversation = conversation_of(pane);
    (void)col;
    if (!pane->list.count || !conversation_count(view->session))
        return;
    struct spot spot = conversation->top;
    settle_scroll(conversation, view, &spot);
    for (int i = 0; i < row; i++)
        if (!go_down(conversation, view, &spot))
            break;
    conversation->cursor = spot;
    pane->list.follow = !is_before(spot, last_spot(conversation, view));
}

const struct pane_ops pane_conversation = {
    .number = 1,
    .name = "conversation",
    .size = sizeof(struct conversation_pane),
    .init = conversation_init,
    .release = conversation_release,
    .note = conversation_note,
    .paint = conversation_paint,
    .move = conversation_move,
    .selected = conversation_selected,
    .rows = conversation_rows,
    .texts = true,
    .place = conversation_place,
    .go = conversation_go,
    .search = conversation_search,
    .click = conversation_click,
};
