/* The conversation, as far as it is in sight.
 *
 * A place is an item and a line in it, never a line of the whole: how many lines a long session has would be known only
 * after wrapping all of it. So scrolling wraps what comes into sight and nothing else, and the last few items that were
 * wrapped are kept. talk.c says what the items are; a filter leaves out those that do not fit. */

#include "hits.h"
#include "pane.h"
#include "talk.h"
#include "text.h"
#include "ui.h"
#include <math.h>

#define BLOCKS_KEPT 64
#define LABEL_COLS  6 /* the cursor's column and the labels */
#define ITEM_COST   1024
#define ASKED_WIDTH 4096 /* of a text that is asked and not shown */

/* What a wrapped item was made of: when none of it changed, it is what it was. */
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
    struct wrapped asked; /* the item a filter was asked about last */
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
    int64_t seq = talk_seq(session, talk_item(session, number));
    struct block_key key = {view->lines, number, 0, seq, conversation->pane.width - LABEL_COLS - 1};
    if (!seq && number + 3 >= talk_count(session)) /* what may still be written to */
        key.partial = 1 + session->partial_text.len + session->partial_thinking.len + session->last_model_failure_seq +
                      session_turn_running(session);
    if (block->key.lines == key.lines && block->key.item == key.item && block->key.partial == key.partial &&
        block->key.seq == key.seq && block->key.width == key.width)
        return &block->wrapped;
    talk_wrap(&block->wrapped, view, number, key.width);
    block->key = key;
    return &block->wrapped;
}

/* ---- the items that are shown ---- */

/* Words of ours around what was said ("looking back") are not what somebody looks for: a plain word must be in the
 * event too. */
static bool is_said(const struct view *view, size_t number, const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '"' || *at == '\\' || *at == ' ' || (unsigned char)*at >= 0x80)
            return true;
    const struct event *event = view_event(view, talk_seq(view->session, talk_item(view->session, number)));
    return !event || hits_find(event->raw, event->raw_len, text);
}

static bool row_fits(const struct sift_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    struct conversation_pane *conversation = rows->owner;
    *bytes += ITEM_COST;
    for (size_t i = 0; i < filter->count; i++)
        if (!filter->terms[i].not &&!is_said(rows->view, row, filter->terms[i].text))
            return false;
    talk_wrap(&conversation->asked, rows->view, row, ASKED_WIDTH);
    const struct strbuf *text = &conversation->asked.text;
    *bytes += text->len;
    return conversation->asked.count && filter_text_fits(filter, text->buf, text->len);
}

static void conversation_rows(struct pane *pane, const struct view *view, struct sift_rows *rows)
{
    (void)pane;
    rows->total = talk_count(view->session);
    /* The last answer, the look back at it and the end of the turn may still come; so may the words that come before.
     */
    rows->settled = rows->total > 4 ? rows->total - 4 : 0;
    rows->fits = row_fits;
}

/* The shown item behind this one, or the one before it; false when there is none. Items without lines are passed by who
 * asks. */
static bool next_item(const struct conversation_pane *conversation, const struct view *view, size_t *item)
{
    const struct sift *sift = &conversation->pane.sift;
    size_t index = sift_index(sift, *item + 1);
    if (sift->filtered ? index >= sift->matches.count : index >= talk_count(view->session))
        return false;
    *item = sift_row(sift, index);
    return *item < talk_count(view->session);
}

static bool previous_item(const struct conversation_pane *conversation, size_t *item)
{
    const struct sift *sift = &conversation->pane.sift;
    size_t index = sift_index(sift, *item);
    if (!index)
        return false;
    *item = sift_row(sift, index - 1);
    return true;
}

static bool is_shown(const struct conversation_pane *conversation, const struct view *view, size_t item)
{
    const struct sift *sift = &conversation->pane.sift;
    size_t index = sift_index(sift, item);
    return item < talk_count(view->session) &&
           (!sift->filtered || (index < sift->matches.count && sift->matches.rows[index] == item));
}

/* ---- places ---- */

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
    struct spot spot = {talk_count(view->session), 0};
    if (!go_up(conversation, view, &spot))
        spot = (struct spot){0, 0};
    return spot;
}

static bool is_before(struct spot a, struct spot b)
{
    return a.item != b.item ? a.item < b.item : a.line < b.line;
}

/* After a resize or a step back in a replay the line may not be there any more. */
static void settle(struct conversation_pane *conversation, const struct view *view, struct spot *spot)
{
    if (spot->item >= talk_count(view->session)) {
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

/* Keeps the cursor in sight and the end of the pane in use. */
static void scroll(struct conversation_pane *conversation, const struct view *view, int height)
{
    struct spot *top = &conversation->top, *cursor = &conversation->cursor;
    if (conversation->pane.list.follow)
        *cursor = last_spot(conversation, view);
    settle(conversation, view, top);
    settle(conversation, view, cursor);
    if (is_before(*cursor, *top))
        *top = *cursor;
    struct spot first = *cursor; /* the highest place of the cursor that the top may have */
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
    hits_show(canvas, at, conversation->pane.search_text);
    if (here && focused)
        canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
}

static void conversation_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in,
                               bool focused)
{
    struct conversation_pane *conversation = conversation_of(pane);
    pane->height = in.rows;
    pane->width = in.cols;
    if (!talk_count(view->session)) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "Nothing was said yet.");
        canvas_str(canvas, in, 1, 1, LOOK_DIM,
                   view->mode == VIEW_LIVE ? "Press i and say what the agent should do."
                                           : "Go forward to the first prompt.");
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
    if (pane->sift.filtered && !pane->sift.working) {
        /* Items that have nothing to say are none to the reader: how many there are is not told. */
        strbuf_reset(out);
        text_plural(out, (int64_t)pane->sift.matches.count, "message", "messages");
        filter_note(out, pane->filter_text, pane->ops->name, pane->width);
    } else if (pane_sifted(pane)) {
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
    if (!pane->list.count || !talk_count(view->session)) /* going back in a recording takes items away */
        return;
    settle(conversation, view, cursor);
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
        settle(conversation, view, cursor);
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
    struct talk_item item = talk_item(session, conversation->cursor.item);
    int64_t seq = talk_seq(session, item);
    if (!seq && item.kind == TALK_ANSWER)
        seq = session->steps[item.step].requested_seq;
    return (struct selection){seq ? SELECT_TEXT : SELECT_NOTHING, seq, SESSION_NONE};
}

/* Whether a hit begins in these lines. */
static const char *hit_in(const struct wrapped *block, const char *text, size_t first, size_t end)
{
    size_t from = block->lines[first].at, to = end < block->count ? block->lines[end].at : block->text.len;
    size_t over = to + strlen(text) - 1; /* it may go on in the lines after them */
    return hits_find(block->text.buf + from, (over < block->text.len ? over : block->text.len) - from, text);
}

/* The first line with a hit behind line `from`, or the last one before it; of the whole item with SIZE_MAX. */
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
    if (!pane->list.count || !talk_count(view->session))
        return false;
    settle(conversation, view, cursor);
    if (!find_in_item(block_at(conversation, view, cursor->item), text, back, cursor->line, &cursor->line))
        return false;
    pane->list.follow = false;
    return true;
}

static size_t conversation_place(struct pane *pane, const struct view *view)
{
    size_t item = conversation_of(pane)->cursor.item;
    return item < talk_count(view->session) ? item : SIZE_MAX;
}

static void conversation_go(struct pane *pane, const struct view *view, size_t row, const char *text, bool back)
{
    struct conversation_pane *conversation = conversation_of(pane);
    if (row >= talk_count(view->session))
        return;
    conversation->cursor = (struct spot){row, 0};
    find_in_item(block_at(conversation, view, row), text, back, SIZE_MAX, &conversation->cursor.line);
    pane->list.follow = false;
}

static void conversation_click(struct pane *pane, const struct view *view, int row, int col)
{
    struct conversation_pane *conversation = conversation_of(pane);
    (void)col;
    if (!pane->list.count || !talk_count(view->session))
        return;
    struct spot spot = conversation->top;
    settle(conversation, view, &spot);
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
