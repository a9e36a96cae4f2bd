/* Paints the parts around the diff: above it the tool, the path and the state of the write, below it what `y` would do.
 *
 * A question must not move while the user reads it. So the text about time is chosen by the width of its longest form,
 * not of its current one: passing time never adds a second row. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "screen/text.h"
#include "write.h"
#include <string.h>

#define LONG_WAIT_S    (9 * 3600 + 59 * 60 + 59)
#define LONG_DUE_S     (59 * 60 + 59)
#define GAP            2
#define NOTE_ROWS      2
#define ROOM_FOR_CAUSE 10 /* rows from which the whole cause is shown */

enum { SAY_ASKED = 1, SAY_DUE = 2, SAY_HELD = 4 };

static int64_t seconds_since(int64_t then_t, int64_t now_t)
{
    return then_t >= 0 && now_t > then_t ? (now_t - then_t) / 1000000 : 0;
}

/* "0:07", "12:03", "1:02:03" */
static void add_clock(struct strbuf *out, int64_t seconds)
{
    if (seconds >= 3600)
        strbuf_addf(out, "%lld:%02lld:%02lld", (long long)(seconds / 3600), (long long)(seconds / 60 % 60),
                    (long long)(seconds % 60));
    else
        strbuf_addf(out, "%lld:%02lld", (long long)(seconds / 60), (long long)(seconds % 60));
}

static void add_part(struct strbuf *out, const char *text)
{
    strbuf_addf(out, "%s%s", out->len ? " · " : "", text);
}

static void add_waiting(struct strbuf *out, unsigned what, int64_t asked_s, int64_t left_s)
{
    if (what & SAY_ASKED) {
        add_part(out, "waiting ");
        if (asked_s < 60)
            strbuf_addf(out, "%lld s", (long long)asked_s);
        else
            add_clock(out, asked_s);
    }
    if (what & SAY_DUE) {
        add_part(out, "denied in ");
        add_clock(out, left_s);
    }
    if (what & SAY_HELD)
        add_part(out, "clocks stopped");
}

/* The longest text that fits in `room` columns at any time; the shortest text if none fits. */
static unsigned choose_words(const struct canvas *canvas, bool due, int64_t due_s, int room)
{
    static const unsigned waits[] = {SAY_ASKED | SAY_HELD, SAY_ASKED, 0};
    static const unsigned ends[] = {SAY_ASKED | SAY_DUE | SAY_HELD, SAY_DUE | SAY_HELD, SAY_DUE, 0};
    const unsigned *words = due ? ends : waits;
    for (; words[1]; words++) {
        CLEANUP(strbuf) struct strbuf longest = STRBUF_INIT;
        add_waiting(&longest, *words, LONG_WAIT_S, due_s > LONG_DUE_S ? due_s : LONG_DUE_S);
        if (canvas_str_columns(canvas, longest.buf, longest.len) <= room)
            break;
    }
    return *words;
}

/* Adds the state: for a question how long it waits, in `room` columns if possible; else its outcome. */
static void add_state(struct strbuf *out, const struct write_pane *write, const struct view *view,
                      const struct canvas *canvas, int room)
{
    if (write->open) {
        bool due = view->question_due_t > 0;
        unsigned words = choose_words(canvas, due, seconds_since(write->asked_t, view->question_due_t), room);
        add_waiting(out, words, seconds_since(write->asked_t, view->now_t),
                    due ? seconds_since(view->now_t, view->question_due_t) : 0);
    } else if (!write->row.decided_seq) {
        strbuf_addstr(out, view->mode == VIEW_REPLAY ? "waiting for approval · read only" : "no question yet");
    } else {
        strbuf_add(out, write->story.buf, strcspn(write->story.buf, "\n"));
    }
}

/* Paints the tool and the path on the left, the state on the right. A question has one row, and its path is shortened
 * in the middle. The outcome of a write gets a second row if needed. Returns the rows. */
static int paint_header(struct write_pane *write, const struct view *view, struct canvas *canvas, struct rect in)
{
    CLEANUP(strbuf) struct strbuf tool = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf state = STRBUF_INIT;
    const struct diffview *diff = &write->diff;
    const char *whole = diff->piece_count ? diff->files[diff->pieces[write->piece].file].path : "";
    enum look look = write->open ? LOOK_STATUS_WAIT : LOOK_DIM;
    int col = 1;
    if (write->tool) {
        paragraph_path(&tool, canvas, write->tool, in.cols / 3);
        col += canvas_str(canvas, in, 0, col, LOOK_CALL_WAITING, tool.buf) + GAP;
    }
    int wants = canvas_str_columns(canvas, whole, strlen(whole));
    add_state(&state, write, view, canvas, in.cols - 1 - col - wants - GAP);
    int needs = canvas_str_columns(canvas, state.buf, state.len);
    bool beside = write->open || col + wants + GAP + needs < in.cols || in.rows < 8;
    int room = in.cols - 1 - col - (beside ? needs + GAP : 0);
    paragraph_path(&path, canvas, whole, room > 1 ? room : 1);
    write->path_cut = strcmp(path.buf, whole) != 0;
    canvas_str(canvas, in, 0, col, LOOK_STRONG, path.buf);
    if (beside)
        canvas_right(canvas, in, 0, 1, look, state.buf);
    else
        paragraph_paint(canvas, rect_make(in.row, in.col, 2, in.cols - 1), 1, 1, look, state.buf);
    return beside ? 1 : 2;
}

static int paint_note(struct canvas *canvas, struct rect in, int row, enum look look, const char *text)
{
    int most = row + NOTE_ROWS < in.rows ? row + NOTE_ROWS : in.rows;
    return paragraph_paint(canvas, rect_make(in.row, in.col, most, in.cols - 1), row, 1, look, text);
}

/* "cannot do this in there: no space left" → "no space left" */
static const char *last_cause(const char *text)
{
    const char *last = text;
    for (const char *at = text; (at = strstr(at, ": ")); last = at)
        at += 2;
    return last;
}

/* For a change that is too large to show: which part is visible, and where the rest is. */
static const char *cut_words(const struct write_pane *write)
{
    bool nothing = false;
    for (size_t i = 0; i < write->diff.file_count; i++)
        nothing |= write->diff.files[i].diff && write->diff.files[i].diff->estimate;
    if (!write->open)
        return nothing ? "diff not recorded" : "only the beginning was recorded";
    return nothing ? "! too large to compare: e opens the new text in your editor"
                   : "! only the beginning is shown: e opens all of the new text in your editor";
}

/* The file to warn about: the one under the cursor, else the first protected one. `more`: how many others are
 * protected. */
static const struct diffview_file *guarded_file(const struct write_pane *write, size_t *more)
{
    const struct diffview *diff = &write->diff;
    const struct diffview_file *found = diff->piece_count ? &diff->files[diff->pieces[write->piece].file] : NULL;
    const struct diffview_file *here = found;
    if (found && !found->guard)
        found = NULL;
    *more = 0;
    for (size_t i = 0; i < diff->file_count; i++) {
        const struct diffview_file *file = &diff->files[i];
        if (!diffview_protected(file) || file == here)
            continue;
        if (found)
            ++*more;
        else
            found = file;
    }
    return found;
}

/* Paints a path over several rows. If they are too few, its beginning is cut. */
static int paint_whole_path(struct canvas *canvas, struct rect in, int row, enum look look, const char *path)
{
    int cols = in.cols - 2, most = in.rows / 3 > 1 ? in.rows / 3 : 1;
    const char *from = path;
    if (cols < 8 || row >= in.rows)
        return 0;
    while (paragraph_rows(canvas, from, cols) > most)
        from += utf8_prefix(from, strlen(from), 1);
    CLEANUP(free) char *end = NULL;
    if (from > path) { /* drop one more character for the mark */
        from += utf8_prefix(from, strlen(from), 1);
        end = xasprintf("…%s", from);
    }
    int last = row + most < in.rows ? row + most : in.rows;
    return paragraph_paint(canvas, rect_make(in.row, in.col, last, in.cols - 1), row, 1, look, end ? end : path);
}

/* Paints where the write goes, why that matters, and which attributes it cannot keep. */
static int paint_place(const struct write_pane *write, const struct view *view, struct canvas *canvas, struct rect in,
                       int row)
{
    size_t more;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const struct diffview_file *guarded = guarded_file(write, &more);
    const struct diffview_file *file =
        write->diff.piece_count ? &write->diff.files[write->diff.pieces[write->piece].file] : NULL;
    enum look look = write->open ? LOOK_WARN : LOOK_DIM;
    int first = row;
    if (guarded) {
        strbuf_addf(&text, "! %s", guarded->guard);
        if (more)
            strbuf_addf(&text, " (and %zu more)", more);
        strbuf_addf(&text, ": %s", guarded->why);
        if (guarded != file) /* the header shows the path of that file */
            strbuf_addf(&text, " (%s)", guarded->path);
        row += paint_note(canvas, in, row, look, text.buf);
        if (guarded == file && write->path_cut && diffview_protected(file))
            row += paint_whole_path(canvas, in, row, LOOK_STRONG, file->path);
    }
    const struct question *question = write->open ? view_question(view) : NULL;
    if (question && question->named) {
        strbuf_reset(&text);
        strbuf_addf(&text, "! this call %s", question->named);
        row += paint_note(canvas, in, row, look, text.buf);
    }
    if (file && file->through) {
        strbuf_reset(&text);
        strbuf_addf(&text, "! via link %s", file->through);
        row += paint_note(canvas, in, row, look, text.buf);
    }
    if (file && file->loses) {
        strbuf_reset(&text);
        strbuf_addf(&text, "! %s: %s", file->new_exists ? "loses" : "undo does not restore", file->loses);
        row += paint_note(canvas, in, row, look, text.buf);
    }
    return row - first;
}

static const char *key_of(const struct write_pane *write, enum action action)
{
    return keymap_key(write->pane.keymap, action);
}

/* Paints warnings about a question. They stay visible however far the diff is scrolled. */
static int paint_special(const struct write_pane *write, const struct view *view, struct canvas *canvas, struct rect in)
{
    const struct question *question = write->open ? view_question(view) : NULL;
    int row = paint_place(write, view, canvas, in, 0);
    if (write->no_undo) {
        CLEANUP(free)
        char *warning = xasprintf("! this write cannot be undone: %s writes it without undo, %s denies it",
                                  key_of(write, ACTION_APPROVE), key_of(write, ACTION_DENY));
        row += paint_note(canvas, in, row, LOOK_WARN, warning);
        row += paint_note(canvas, in, row, LOOK_DIM,
                          in.rows < ROOM_FOR_CAUSE ? last_cause(write->no_undo) : write->no_undo);
    } else if (question && question->again) {
        row += paint_note(canvas, in, row, LOOK_WARN,
                          question->moved ? "! its folder was moved or replaced: read the new diff"
                                          : "! the file changed after you saw it: read the new diff");
    }
    if (question && question->revising)
        row += paint_note(canvas, in, row, LOOK_WARN, "! comparing your version");
    else if (write->edited) {
        CLEANUP(free) char *edited = xasprintf("Edited. %s writes your version.", key_of(write, ACTION_APPROVE));
        row += paint_note(canvas, in, row, LOOK_WARN, edited);
    }
    if (write->diff.whole)
        row += paint_note(canvas, in, row, LOOK_WARN, cut_words(write));
    if (write->left_out)
        row += paint_note(canvas, in, row, write->open ? LOOK_WARN : LOOK_DIM, write->left_out);
    return row;
}

int write_pane_paint_head(struct write_pane *write, const struct view *view, struct canvas *canvas, struct rect in)
{
    int used = paint_header(write, view, canvas, in);
    struct rect below = rect_make(in.row + used, in.col, in.rows - used, in.cols);
    int row = paint_special(write, view, canvas, below);
    /* The outcome, after the line that the header shows. */
    const char *at = write->story.buf + strcspn(write->story.buf, "\n");
    while (*at == '\n' && at[1] && row < below.rows) {
        size_t len = strcspn(++at, "\n");
        canvas_text(canvas, below, row++, 1, LOOK_DIM, at, len);
        at += len;
    }
    return used + row;
}

/* `warned`: the user already knows about unseen rows. */
static void add_call_words(struct strbuf *out, size_t unseen, bool warned)
{
    strbuf_addstr(out, unseen && !warned ? "shows " : "approves the call");
    if (unseen && warned)
        strbuf_addstr(out, "; ");
    if (unseen)
        text_plural(out, (int64_t)unseen, warned ? "row was" : "more row", warned ? "rows were" : "more rows");
    if (unseen)
        strbuf_addstr(out, warned ? " not on screen yet" : " before it approves the call");
}

void write_pane_paint_foot(const struct write_pane *write, struct canvas *canvas, struct rect line)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t kept = diffview_kept(&write->diff), all = write->diff.piece_count, unseen = write_pane_unseen(write);
    if (all == 0)
        add_call_words(&text, unseen, write->unseen_warned);
    else if (kept == 0)
        strbuf_addf(&text, "All hunks are discarded. %s denies the write, %s restores a hunk.",
                    key_of(write, ACTION_DENY), key_of(write, ACTION_HUNK_TOGGLE));
    else if (kept < all)
        strbuf_addf(&text, "approves %zu of %zu hunks%s", kept, all, write->edited ? " of your version" : "");
    else
        strbuf_addf(&text, "approves %s",
                    write->edited                   ? "your version"
                    : all == 1 || write->diff.whole ? "the whole change"
                                                    : "every hunk");
    if (kept && write->no_undo)
        strbuf_addstr(&text, ", without undo");
    canvas_str(canvas, line, 0, 1, (kept || !all) && !unseen && !write->no_undo ? LOOK_TEXT : LOOK_WARN, text.buf);
}

/* ---- calls without a diff ---- */

/* The call that a write belongs to.
 *
 * Without a diff, an external tool or an unsandboxed program asks to do something whose result cannot be computed. Then
 * the user decides about the call itself. The pane shows its arguments in full, and the tool's output before the
 * question, for example the state of a file. The first key does not approve rows that were never on the screen.
 *
 * With a diff, the tool's output before the question is what the diff leaves out. */

#define SAID_BACK 256 /* events before a question that are searched for output */

static bool is_of(const struct view *view, const struct session_call *call, const struct event *event)
{
    return event->type == EVENT_TOOL_OUTPUT && event->tool_output.call && event->tool_output.text &&
           event->turn == view->session->turns[call->turn].number &&
           strcmp(event->tool_output.call, session_name(view->session, call->id)) == 0;
}

static void gather_between(struct strbuf *out, const struct view *view, const struct session_question *ask,
                           uint32_t after)
{
    const struct session_call *call = &view->session->calls[ask->call];
    int64_t end = ask->proposed_seq, first = end - SAID_BACK > after ? end - SAID_BACK : (int64_t)after + 1;
    for (int64_t seq = first; seq < end; seq++) {
        const struct event *event = view_event(view, seq);
        if (event && is_of(view, call, event))
            strbuf_addstr(out, event->tool_output.text);
    }
}

/* Collects the call's output before the question. For a question asked again, the output may precede the first
 * question. */
static void gather_said(struct strbuf *out, const struct view *view, const struct session_question *ask)
{
    const struct session *session = view->session;
    for (uint32_t before = ask->before;; ask = &session->asks[before], before = ask->before) {
        bool first = before == SESSION_NONE;
        gather_between(out, view, ask,
                       first ? session->calls[ask->call].started_seq : session->asks[before].proposed_seq);
        if (out->len || first)
            return;
    }
}

void write_pane_load_call(struct write_pane *write, const struct view *view, uint32_t ask)
{
    const struct session *session = view->session;
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    uint32_t call = ask != SESSION_NONE ? session->asks[ask].call : SESSION_NONE;
    if (call == SESSION_NONE)
        return;
    gather_said(&said, view, &session->asks[ask]);
    if (write->diff.file_count) {
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        while (said.len && said.buf[said.len - 1] == '\n')
            strbuf_set_len(&said, said.len - 1);
        text_name(&line, said.buf); /* on one line: a line break in a name must not end it */
        write->left_out = line.len ? strbuf_detach(&line, NULL) : NULL;
        return;
    }
    const struct event *event = view_event_of(view, session->calls[call].started_seq, EVENT_TOOL_STARTED);
    if (event && event->tool_started.arguments)
        write->arguments = xstrdup(event->tool_started.arguments);
    if (said.len)
        write->said = strbuf_detach(&said, NULL);
}

static void add_sentence(struct document *out, const char *text)
{
    document_text(out, LOOK_DIM, text, strlen(text), 0, true);
}

static void add_sentences(struct document *out, bool open)
{
    if (open) {
        add_sentence(out, "No diff: y runs the tool with these arguments.");
        add_sentence(out, "A also allows every later call of it without a diff.");
    } else {
        add_sentence(out, "No diff: the question was about the call and its arguments.");
    }
}

/* Makes the text readable, then wraps it into rows, so that no part is hidden at the right. */
static void add_call(struct document *out, const struct write_pane *write, const struct canvas *canvas)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(document) struct document readable;
    const struct json *value = event_leaf(&arena, write->arguments);
    document_init(&readable, 0);
    if (write->said) {
        document_quote(&readable, LOOK_TEXT, write->said, strlen(write->said));
        document_begin(&readable, 0);
    }
    if (value)
        document_json(&readable, value, 0);
    else
        document_quote(&readable, LOOK_TEXT, write->arguments, strlen(write->arguments));
    document_fold(out, &readable, canvas);
}

/* Wraps to another width. The same text counts as seen, and the same line stays first. */
void write_pane_lay_call(struct write_pane *write, const struct canvas *canvas, int width)
{
    struct document *call = &write->call;
    if (!write->arguments || (call->width == width && call->count))
        return;
    size_t top = write->pane.list.top, seen = write->seen;
    uint32_t first = top < call->count ? call->lines[top].from : 0;
    uint32_t unseen = seen < call->count ? call->lines[seen].from : call->count ? UINT32_MAX : 0;
    document_reset(call, width);
    add_sentences(call, write->open);
    document_begin(call, 0);
    add_call(call, write, canvas);
    write->pane.list.top = document_row_from(call, first);
    write->seen = document_row_from(call, unseen);
}

void write_pane_see_call(struct write_pane *write)
{
    size_t top = write->pane.list.top, end = top + (size_t)(write->pane.height > 0 ? write->pane.height : 0);
    end = end < write->call.count ? end : write->call.count;
    /* Count without a gap from the top: rows that were jumped over were not seen. */
    if (top <= write->seen && end > write->seen)
        write->seen = end;
}

size_t write_pane_unseen(const struct write_pane *write)
{
    return write->arguments && write->call.count > write->seen ? write->call.count - write->seen : 0;
}

size_t write_pane_rows(const struct write_pane *write)
{
    return write->arguments ? write->call.count : diffview_rows(&write->diff);
}
