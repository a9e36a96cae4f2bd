/* The conversation, as far as it is in sight.
 *
 * A place is an item and a line in it, never a line of the whole: how many lines a long session has would be known only
 * after wrapping all of it. So scrolling wraps what comes into sight and nothing else, and the last few items that were
 * wrapped are kept. talk.c says what the items are. */

#include "hits.h"
#include "pane.h"
#include "talk.h"
#include "ui.h"
#include <math.h>

#define BLOCKS_KEPT 64
#define LABEL_COLS  6 /* the cursor's column and the labels */

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
}

static void conversation_release(struct pane *pane)
{
    for (size_t i = 0; i < BLOCKS_KEPT; i++)
        wrapped_release(&conversation_of(pane)->blocks[i].wrapped);
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

/* ---- places ---- */

static size_t lines_of(struct conversation_pane *conversation, const struct view *view, size_t item)
{
    return block_at(conversation, view, item)->count;
}

static bool go_down(struct conversation_pane *conversation, const struct view *view, struct spot *spot)
{
    size_t count = talk_count(view->session);
    if (spot->item < count && spot->line + 1 < lines_of(conversation, view, spot->item)) {
        spot->line++;
        return true;
    }
    for (size_t item = spot->item + 1; item < count; item++) {
        if (lines_of(conversation, view, item)) {
            *spot = (struct spot){item, 0};
            return true;
        }
    }
    return false;
}

static bool go_up(struct conversation_pane *conversation, const struct view *view, struct spot *spot)
{
    if (spot->line) {
        spot->line--;
        return true;
    }
    for (size_t item = spot->item; item-- > 0;) {
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
                   view->mode == VIEW_LIVE ? "Press i and say what the agent should do." : "Go forward to the first prompt.");
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
    if (!pane->list.follow)
        strbuf_addstr(out, " · scrolled");
}

static bool conversation_act(struct pane *pane, struct ui *ui, const struct view *view, enum action action)
{
    struct conversation_pane *conversation = conversation_of(pane);
    struct spot *cursor = &conversation->cursor, before = *cursor;
    int page = pane->height > 1 ? pane->height - 1 : 1;
    bool moved = true;
    (void)ui;
    if (!talk_count(view->session))
        return false;
    settle(conversation, view, cursor);
    switch (action) {
    case ACTION_UP:
        moved = go_up(conversation, view, cursor);
        break;
    case ACTION_DOWN:
        moved = go_down(conversation, view, cursor);
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
        break;
    case ACTION_END:
        *cursor = last_spot(conversation, view);
        break;
    default:
        return false;
    }
    struct spot last = last_spot(conversation, view);
    pane->list.follow = !is_before(*cursor, last);
    return moved || cursor->item != before.item || cursor->line != before.line;
}

static struct selection conversation_selected(struct pane *pane, const struct view *view)
{
    struct conversation_pane *conversation = conversation_of(pane);
    const struct session *session = view->session;
    if (conversation->cursor.item >= talk_count(session))
        return (struct selection){SELECT_NOTHING, 0, SESSION_NONE};
    struct talk_item item = talk_item(session, conversation->cursor.item);
    int64_t seq = talk_seq(session, item);
    if (!seq && item.kind == TALK_ANSWER)
        seq = session->steps[item.step].requested_seq;
    return (struct selection){seq ? SELECT_TEXT : SELECT_NOTHING, seq, SESSION_NONE};
}

/* Whether wrapping the item is worth it: a plain word is in the line as it is in the text. */
static bool may_have(const struct view *view, size_t number, const char *text)
{
    int64_t seq = talk_seq(view->session, talk_item(view->session, number));
    for (const char *at = text; *at; at++)
        if (*at == '"' || *at == '\\' || *at == ' ' || (unsigned char)*at >= 0x80)
            return true;
    if (!seq || !view->lines || (uint64_t)seq > journal_count(view->lines))
        return true;
    size_t len;
    const char *line = journal_line(view->lines, (size_t)seq - 1, &len);
    return hits_find(line, len, text);
}

/* The first or last hit in an item's lines from `from` on, or before it; the whole item with SIZE_MAX. */
static bool find_in_item(const struct wrapped *block, const char *text, bool back, size_t from, size_t *line)
{
    const char *begin = block->text.buf, *end = begin + block->text.len, *hit;
    bool found = false;
    for (const char *at = begin; (hit = hits_find(at, (size_t)(end - at), text)); at = hit + 1) {
        size_t row = wrapped_line_at(block, (size_t)(hit - begin));
        if (back ? from != SIZE_MAX && row >= from : from != SIZE_MAX && row <= from)
            continue;
        *line = row;
        found = true;
        if (!back)
            return true;
    }
    return found;
}

static bool conversation_search(struct pane *pane, const struct view *view, const char *text, bool back)
{
    struct conversation_pane *conversation = conversation_of(pane);
    size_t count = talk_count(view->session), line;
    if (!count || !*text)
        return false;
    settle(conversation, view, &conversation->cursor);
    size_t item = conversation->cursor.item, from = conversation->cursor.line;
    for (size_t looked = 0; looked <= count; looked++) {
        if (may_have(view, item, text) && find_in_item(block_at(conversation, view, item), text, back, from, &line)) {
            conversation->cursor = (struct spot){item, line};
            pane->list.follow = false;
            return true;
        }
        from = SIZE_MAX;
        item = back ? (item ? item - 1 : count - 1) : (item + 1 < count ? item + 1 : 0);
    }
    return false;
}

static void conversation_click(struct pane *pane, const struct view *view, int row, int col)
{
    struct conversation_pane *conversation = conversation_of(pane);
    (void)col;
    if (!talk_count(view->session))
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
    .act = conversation_act,
    .selected = conversation_selected,
    .search = conversation_search,
    .click = conversation_click,
};
