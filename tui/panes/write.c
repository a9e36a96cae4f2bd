/* The write pane: a proposed change, hunk by hunk, and its outcome.
 *
 * It shows one of three things. An open question: its diff from the engine with a choice per hunk, or the user's own
 * version after an edit. A question of a recording: the recorded diff, which cannot be answered. And if no question is
 * open, the newest write of the session or an earlier one: what was proposed, decided and applied.
 *
 * `y` approves what is on the screen. So the diff is loaded when a frame is made, never when a key arrives. If a
 * question changed in between, its digest differs, and the answer is refused until the new diff was painted. */

#include "write.h"
#include "app/status.h"
#include "base/mem.h"
#include "event/words.h"
#include "screen/text.h"
#include "tools/change.h"
#include <string.h>

#define ROOMY 14 /* rows from which blank lines are used */

static void write_init(struct pane *pane)
{
    struct write_pane *write = (struct write_pane *)pane;
    diffview_init(&write->diff);
    strbuf_init(&write->story);
    document_init(&write->call, 0);
    list_init(&pane->list, false);
    write->pick = SESSION_NONE;
}

static void unload(struct write_pane *write)
{
    diffview_release(&write->diff);
    free(write->ask);
    free(write->tool);
    free(write->no_undo);
    free(write->arguments);
    free(write->said);
    free(write->left_out);
    write->ask = write->tool = write->no_undo = write->arguments = write->said = write->left_out = NULL;
    document_reset(&write->call, 0);
    write->open = write->unseen_warned = write->edited = false;
    write->seen = 0;
    write->digest[0] = '\0';
    write->row = (struct session_question){0};
    write->asked_t = -1;
    strbuf_reset(&write->story);
}

static void write_release(struct pane *pane)
{
    struct write_pane *write = (struct write_pane *)pane;
    unload(write);
    strbuf_release(&write->story);
    document_release(&write->call);
    free(write->reason_ask);
}

/* ---- the outcome ---- */

static void add_decision(struct strbuf *out, const struct session *session, const struct event *event)
{
    const char *reason = event->write_decided.reason, *decision = event->write_decided.decision;
    event_words(out, WORDS_HEAD, session, event);
    strbuf_addch(out, '\n');
    if (reason && *reason)
        strbuf_addf(out, "reason: %.400s\n", reason);
    if (decision && strcmp(decision, "edited") == 0)
        strbuf_addstr(out, "proposed version below; an edited version was written\n");
}

static void load_recorded(struct write_pane *write, const struct view *view, uint32_t index)
{
    const struct session *session = view->session;
    const struct session_question *ask = &session->asks[index];
    unload(write);
    write->row = *ask;
    write->ask = xstrdup(session_name(session, ask->id));
    if (ask->call != SESSION_NONE)
        write->tool = xstrdup(session_name(session, session->calls[ask->call].tool));
    const struct event *event = view_event_of(view, ask->proposed_seq, EVENT_WRITE_PROPOSED);
    if (event) {
        write->asked_t = ask->proposed_t;
        diffview_load_recorded(&write->diff, &event->write_proposed.files);
        write_pane_load_call(write, view, index);
    }
    event = view_event_of(view, ask->decided_seq, EVENT_WRITE_DECIDED);
    if (event) {
        diffview_decide(&write->diff, event->write_decided.decision ? event->write_decided.decision : "",
                        &event->write_decided.hunks);
        add_decision(&write->story, session, event);
    }
    event = view_event_of(view, ask->applied_seq, EVENT_WRITE_APPLIED);
    if (event) {
        event_words(&write->story, WORDS_HEAD, session, event);
        strbuf_addch(&write->story, '\n');
    }
    if (ask->undone_seq)
        strbuf_addstr(&write->story, "undone: the files are as they were before this write\n");
}

static void load_question(struct write_pane *write, const struct view *view, const struct question *question)
{
    const struct session *session = view->session;
    uint32_t index = session_find_ask(session, question->id);
    unload(write);
    write->open = true;
    write->ask = xstrdup(question->id);
    write->tool = xstrdup(question->tool);
    write->revision = question->revision;
    memcpy(write->digest, question->digest, sizeof(write->digest));
    write->edited = question->revised != NULL;
    if (write->edited)
        diffview_load(&write->diff, question->revised, question->revised_diffs);
    else
        diffview_load(&write->diff, question->changes, question->diffs);
    write->diff.choices = true;
    write->no_undo = question->no_undo ? xstrdup(question->no_undo) : NULL;
    /* It was approved before, but could not be undone, so it is asked again: keep the earlier choice. */
    if (write->no_undo && question->decision.kind == DECISION_PARTIAL)
        diffview_decide(&write->diff, decision_name(DECISION_PARTIAL), &question->decision.hunks);
    write->diff.decided = false;
    if (index != SESSION_NONE) {
        write->row = session->asks[index];
        write->asked_t = write->row.proposed_t;
    }
    write_pane_load_call(write, view, index);
}

static bool is_loaded(const struct write_pane *write, const struct session *session, uint32_t index)
{
    const struct session_question *ask = &session->asks[index], *have = &write->row;
    return write->ask && !write->open && strcmp(write->ask, session_name(session, ask->id)) == 0 &&
           have->proposed_seq == ask->proposed_seq && have->decided_seq == ask->decided_seq &&
           have->applied_seq == ask->applied_seq && have->restored_seq == ask->restored_seq;
}

/* Loads what the pane must show now. */
static void sync_view(struct write_pane *write, const struct view *view)
{
    const struct session *session = view->session;
    bool fresh = false;
    if (session->ask_count != write->ask_count)
        write->pick = SESSION_NONE;
    write->ask_count = session->ask_count;
    const struct question *question = view_question(view);
    size_t file = 0;
    if (question) {
        bool same = write->open && strcmp(write->ask, question->id) == 0;
        fresh = !same || write->revision != question->revision;
        file = same ? write->edited_file : 0;
        if (fresh)
            load_question(write, view, question);
    } else if (session->ask_count) {
        uint32_t index = write->pick < session->ask_count ? write->pick : session->ask_count - 1;
        fresh = !is_loaded(write, session, index);
        if (fresh)
            load_recorded(write, view, index);
    } else if (write->ask) {
        unload(write);
        fresh = true;
    }
    if (fresh) { /* after an edit, start at the edited file */
        write->piece = file < write->diff.file_count ? write->diff.files[file].first_piece : 0;
        write->pane.list = (struct list){.top = file ? write->diff.pieces[write->piece].row : 0};
    }
}

/* ---- painting ---- */

void write_pane_scroll_to(struct write_pane *write, size_t top)
{
    struct list *list = &write->pane.list;
    size_t rows = write_pane_rows(write), height = write->pane.height > 0 ? (size_t)write->pane.height : 1;
    size_t last = rows > height ? rows - height : 0;
    list->count = rows;
    list->top = top < last ? top : last;
    list->cursor = list->top;
}

static void go_to_piece(struct write_pane *write, size_t piece)
{
    const struct diffview *diff = &write->diff;
    if (piece >= diff->piece_count)
        return;
    size_t top = write->pane.list.top, height = (size_t)(write->pane.height > 0 ? write->pane.height : 1);
    size_t first = diff->pieces[piece].row;
    size_t behind = piece + 1 < diff->piece_count ? diff->pieces[piece + 1].row : diff->rows;
    write->piece = piece;
    if (first < top || behind - first > height)
        write_pane_scroll_to(write, first);
    else if (behind > top + height)
        write_pane_scroll_to(write, behind - height);
}

/* The distance of the selected piece's head from the first shown row. */
static long piece_offset(const struct write_pane *write)
{
    return (long)diffview_row_of(&write->diff, write->piece) - (long)write->pane.list.top;
}

/* After a resize, keep the selected piece at its place and visible: Space must not discard a hunk that is not
 * visible. */
static void settle_view(struct write_pane *write, long offset, struct rect place)
{
    bool same = write->rows == place.rows && write->cols == place.cols;
    write->rows = place.rows;
    write->cols = place.cols;
    if (same || write->arguments) {
        write_pane_scroll_to(write, write->pane.list.top);
        return;
    }
    long top = (long)diffview_row_of(&write->diff, write->piece) - offset;
    write_pane_scroll_to(write, top > 0 ? (size_t)top : 0);
    if (offset >= 0)
        go_to_piece(write, write->piece);
}

static void paint_nothing(const struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in)
{
    canvas_str(canvas, in, 0, 1, LOOK_DIM, "No write yet.");
    if (view->mode == VIEW_REPLAY)
        canvas_printf(canvas, in, 1, 1, LOOK_DIM, "Press %s for the next write of the recording.",
                      keymap_key(pane->keymap, ACTION_NEXT_WRITE));
    else
        canvas_printf(canvas, in, 1, 1, LOOK_DIM,
                      "When a call changes a file, its diff appears here. %s approves it, %s denies it.",
                      keymap_key(pane->keymap, ACTION_APPROVE), keymap_key(pane->keymap, ACTION_DENY));
}

static void write_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect inside,
                        bool focused)
{
    struct write_pane *write = (struct write_pane *)pane;
    struct diffview *diff = &write->diff;
    (void)focused;
    sync_view(write, view);
    pane->width = inside.cols;
    if (!write->ask) {
        paint_nothing(pane, view, canvas, inside);
        return;
    }
    bool roomy = inside.rows >= ROOMY;
    long offset = piece_offset(write);
    if (diff->heads != (diff->file_count > 1) || diff->spaced != roomy)
        diffview_arrange(diff, diff->file_count > 1, roomy);
    int used = write_pane_paint_head(write, view, canvas, inside) + (roomy ? 1 : 0);
    int foot = write->open && roomy ? 2 : 0;
    struct rect below = rect_make(inside.row + used, inside.col, inside.rows - used - foot, inside.cols);
    pane->height = below.rows;
    write->first = below.row - inside.row;
    write_pane_lay_call(write, canvas, below.cols - 2);
    settle_view(write, offset, below);
    if (write->arguments) {
        write_pane_see_call(write);
        document_paint(&write->call, canvas, rect_make(below.row, below.col + 1, below.rows, below.cols - 1),
                       pane->list.top, 0);
    } else {
        diffview_paint(diff, canvas, below, pane->list.top, pane->list.left, write->open ? write->piece : SIZE_MAX,
                       pane->search_text);
    }
    if (foot && !(view_question(view) && view_question(view)->revising))
        write_pane_paint_foot(write, canvas, rect_make(inside.row + inside.rows - 1, inside.col, 1, inside.cols));
}

/* Adds which part of a call is visible, if it is longer than the pane. */
static void note_call(const struct write_pane *write, struct strbuf *out)
{
    size_t rows = write_pane_rows(write), top = write->pane.list.top, end = top + (size_t)write->rows;
    strbuf_addstr(out, "a call without a diff");
    if (!write->arguments || write->rows <= 0 || (top == 0 && end >= rows))
        return;
    strbuf_addstr(out, " · rows ");
    text_count(out, (int64_t)top + 1);
    strbuf_addstr(out, " to ");
    text_count(out, (int64_t)(end < rows ? end : rows));
    strbuf_addstr(out, " of ");
    text_count(out, (int64_t)rows);
}

/* True if hunks cannot be chosen: the diff is too large, or one file has no hunks. */
static bool all_or_nothing(const struct diffview *diff)
{
    return diff->whole || !diff->piece_count || (diff->piece_count == 1 && diff->pieces[0].hunk == DIFFVIEW_NO_HUNK);
}

static void write_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    struct write_pane *write = (struct write_pane *)pane;
    const struct diffview *diff = &write->diff;
    sync_view(write, view);
    if (!write->ask)
        return;
    size_t added, removed;
    diffview_counts(diff, &added, &removed);
    /* For a denied write, show what it would have changed. For a write without a choice, show all of it. */
    bool all = diff->whole || (diff->decided && !diffview_kept(diff));
    if (all)
        added = removed = 0;
    for (size_t i = 0; all && i < diff->file_count; i++) {
        added += diff->files[i].added;
        removed += diff->files[i].removed;
    }
    if (!write->open && write->ask_count > 1)
        strbuf_addf(out, "write %u of %u · ", (write->pick < write->ask_count ? write->pick : write->ask_count - 1) + 1,
                    write->ask_count);
    if (diff->file_count > 1)
        strbuf_addf(out, "file %zu of %zu · ", diff->pieces[write->piece].file + 1, diff->file_count);
    if (!diff->file_count) {
        note_call(write, out);
        return;
    }
    if (all_or_nothing(diff) && diff->files[0].binary) {
        strbuf_addstr(out, "binary");
        return;
    }
    if (!all_or_nothing(diff))
        strbuf_addf(out, "hunk %zu of %zu · ", write->piece + 1, diff->piece_count);
    strbuf_addf(out, "+%zu −%zu", added, removed);
}

/* ---- moving ---- */

/* After scrolling: moves the cursor to a hunk that is visible. */
static void follow_scroll(struct write_pane *write)
{
    const struct diffview *diff = &write->diff;
    size_t top = write->pane.list.top, end = top + (size_t)(write->pane.height > 0 ? write->pane.height : 1);
    if (!diff->piece_count)
        return;
    size_t head = diffview_row_of(diff, write->piece);
    size_t behind = write->piece + 1 < diff->piece_count ? diff->pieces[write->piece + 1].row : diff->rows;
    if (head >= end)
        write->piece = diffview_piece_at(diff, end - 1);
    else if (behind <= top)
        write->piece = diffview_piece_at(diff, top);
}

/* Moving past the first or the last line shows the previous or the next write. */
static void other_write(struct write_pane *write, bool back)
{
    uint32_t now = write->pick < write->ask_count ? write->pick : write->ask_count - 1;
    if (write->open || !write->ask_count || (back ? now == 0 : now + 1 >= write->ask_count))
        return;
    write->pick = back ? now - 1 : now + 1;
}

static void write_move(struct pane *pane, const struct view *view, enum action action)
{
    struct write_pane *write = (struct write_pane *)pane;
    struct list *list = &pane->list;
    size_t page = pane->height > 2 ? (size_t)pane->height - 1 : 1;
    size_t before = list->top;
    (void)view;
    bool fits = write_pane_rows(write) <= (size_t)(pane->height > 0 ? pane->height : 0);
    switch (action) {
    case ACTION_UP:
        write_pane_scroll_to(write, list->top ? list->top - 1 : 0);
        break;
    case ACTION_DOWN:
        write_pane_scroll_to(write, list->top + 1);
        break;
    case ACTION_PAGE_UP:
        write_pane_scroll_to(write, list->top > page ? list->top - page : 0);
        break;
    case ACTION_PAGE_DOWN:
        write_pane_scroll_to(write, list->top + page);
        break;
    case ACTION_HOME:
        write_pane_scroll_to(write, 0);
        break;
    case ACTION_END:
        write_pane_scroll_to(write, write_pane_rows(write));
        break;
    default:
        list_move(list, action_list_step(action), pane->height);
        return;
    }
    bool up = action == ACTION_UP || action == ACTION_PAGE_UP || action == ACTION_HOME;
    if (list->top != before)
        follow_scroll(write);
    else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
        other_write(write, up);
    else if (fits && (action == ACTION_UP || action == ACTION_DOWN))
        go_to_piece(write, up ? (write->piece ? write->piece - 1 : 0) : write->piece + 1);
}

void pane_write_go_to_hunk(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = (struct write_pane *)ui_get_pane(ui, pane_write.number);
    (void)view;
    go_to_piece(write, action == ACTION_HUNK_NEXT ? write->piece + 1 : write->piece ? write->piece - 1 : 0);
}

static struct selection write_selected(struct pane *pane, const struct view *view)
{
    struct write_pane *write = (struct write_pane *)pane;
    struct selection selection = {.kind = SELECT_NOTHING, .call = SESSION_NONE};
    sync_view(write, view);
    if (write->ask && write->row.proposed_seq)
        selection = (struct selection){.kind = SELECT_HUNK, .seq = write->row.proposed_seq, .call = write->row.call};
    return selection;
}

static bool write_search(struct pane *pane, const struct view *view, const char *text, bool back)
{
    struct write_pane *write = (struct write_pane *)pane;
    size_t row = pane->list.cursor;
    (void)view;
    if (write->arguments ? !document_search(&write->call, text, back, &row)
                         : !diffview_search(&write->diff, text, back, &row))
        return false;
    write->piece = diffview_piece_at(&write->diff, row);
    if (row < pane->list.top || row >= pane->list.top + (size_t)(pane->height > 0 ? pane->height : 1))
        write_pane_scroll_to(write, row > 3 ? row - 3 : 0);
    pane->list.cursor = row;
    return true;
}

static void write_click(struct pane *pane, const struct view *view, int row, int col)
{
    struct write_pane *write = (struct write_pane *)pane;
    (void)view;
    (void)col;
    if (row >= write->first && write->diff.piece_count)
        write->piece = diffview_piece_at(&write->diff, pane->list.top + (size_t)(row - write->first));
}

bool pane_write_choice(struct pane *pane, const struct view *view, struct write_choice *out)
{
    struct write_pane *write = (struct write_pane *)pane;
    sync_view(write, view);
    if (!write->open)
        return false;
    const struct question *question = view_question(view);
    bool guarded = question && question->named;
    for (size_t i = 0; i < write->diff.file_count; i++)
        guarded |= diffview_protected(&write->diff.files[i]);
    *out = (struct write_choice){.guarded = guarded,
                                 .kept = diffview_kept(&write->diff),
                                 .hunks = all_or_nothing(&write->diff) ? 0 : write->diff.piece_count,
                                 .edited = write->edited,
                                 .call = !write->diff.file_count,
                                 .unseen = write->unseen_warned ? 0 : write_pane_unseen(write),
                                 .no_undo = write->no_undo != NULL};
    return true;
}

const struct pane_ops pane_write = {
    .number = 6,
    .name = "write",
    .size = sizeof(struct write_pane),
    .init = write_init,
    .release = write_release,
    .note = write_note,
    .paint = write_paint,
    .move = write_move,
    .selected = write_selected,
    .search = write_search,
    .click = write_click,
};
