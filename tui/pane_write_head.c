/* What stands around the diff: whose write it is and how it stands above it, what `y` would do below it.
 *
 * A question must not move while it is read. So the words about time are chosen by the room that their longest form
 * needs, and not by what they say now: a minute more never makes a second row of one. */

#include "base/mem.h"
#include "base/utf8.h"
#include "flow.h"
#include "pane_write.h"
#include "text.h"
#include <string.h>

#define LONG_WAIT_S    (9 * 3600 + 59 * 60 + 59)
#define LONG_DUE_S     (59 * 60 + 59)
#define GAP            2
#define NOTE_ROWS      2
#define ROOM_FOR_CAUSE 10 /* rows from which the whole cause is worth its place */

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
        add_part(out, "asked ");
        if (asked_s < 60)
            strbuf_addf(out, "%lld s", (long long)asked_s);
        else
            add_clock(out, asked_s);
        strbuf_addstr(out, " ago");
    }
    if (what & SAY_DUE) {
        add_part(out, "denied in ");
        add_clock(out, left_s);
    }
    if (what & SAY_HELD)
        add_part(out, "clocks are held");
}

/* The most that can be said in so many columns, however long it takes; the least in any case. */
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

/* How it stands: of a question, how long it waits in at most `room` columns if it can; else what became of it. */
static void add_state(struct strbuf *out, const struct write_pane *write, const struct view *view,
                      const struct canvas *canvas, int room)
{
    if (write->open) {
        bool due = view->question_due_t > 0;
        unsigned words = choose_words(canvas, due, seconds_since(write->asked_t, view->question_due_t), room);
        add_waiting(out, words, seconds_since(write->asked_t, view->now_t),
                    due ? seconds_since(view->now_t, view->question_due_t) : 0);
    } else if (!write->row.decided_seq) {
        strbuf_addstr(out, view->mode == VIEW_REPLAY ? "asks here · read only" : "not asked yet");
    } else {
        strbuf_add(out, write->story.buf, strcspn(write->story.buf, "\n"));
    }
}

/* The tool and the path on the left, how it stands on the right. A question has one row, and its path gives way in the
 * middle; what became of a write has a row of its own where one is too short. Returns the rows. */
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
        flow_path(&tool, canvas, write->tool, in.cols / 3);
        col += canvas_str(canvas, in, 0, col, LOOK_CALL_ASKS, tool.buf) + GAP;
    }
    int wants = canvas_str_columns(canvas, whole, strlen(whole));
    add_state(&state, write, view, canvas, in.cols - 1 - col - wants - GAP);
    int needs = canvas_str_columns(canvas, state.buf, state.len);
    bool beside = write->open || col + wants + GAP + needs < in.cols || in.rows < 8;
    int room = in.cols - 1 - col - (beside ? needs + GAP : 0);
    flow_path(&path, canvas, whole, room > 1 ? room : 1);
    write->path_cut = strcmp(path.buf, whole) != 0;
    canvas_str(canvas, in, 0, col, LOOK_STRONG, path.buf);
    if (beside)
        canvas_right(canvas, in, 0, 1, look, state.buf);
    else
        flow_paint(canvas, rect_make(in.row, in.col, 2, in.cols - 1), 1, 1, look, state.buf);
    return beside ? 1 : 2;
}

static int paint_note(struct canvas *canvas, struct rect in, int row, enum look look, const char *text)
{
    int most = row + NOTE_ROWS < in.rows ? row + NOTE_ROWS : in.rows;
    return flow_paint(canvas, rect_make(in.row, in.col, most, in.cols - 1), row, 1, look, text);
}

/* "cannot do this in there: no space left" → "no space left" */
static const char *last_cause(const char *text)
{
    const char *last = text;
    for (const char *at = text; (at = strstr(at, ": ")); last = at)
        at += 2;
    return last;
}

/* Of a change that is too large to be shown: what is seen of it, and where the rest is. */
static const char *cut_words(const struct write_pane *write)
{
    bool nothing = false;
    for (size_t i = 0; i < write->diff.file_count; i++)
        nothing |= write->diff.files[i].diff && write->diff.files[i].diff->estimate;
    if (!write->open)
        return nothing ? "its difference was not recorded" : "only its beginning was recorded";
    return nothing ? "! too large to be compared: e opens the new text in your editor"
                   : "! only its beginning is shown: e opens all of the new text in your editor";
}

/* The file to warn of: the one under the cursor, else the first protected one; and how many more are protected. */
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

/* A path over as many rows as may be taken. Where they are too few its beginning gives way. */
static int paint_whole_path(struct canvas *canvas, struct rect in, int row, enum look look, const char *path)
{
    int cols = in.cols - 2, most = in.rows / 3 > 1 ? in.rows / 3 : 1;
    const char *from = path;
    if (cols < 8 || row >= in.rows)
        return 0;
    while (flow_rows(canvas, from, cols) > most)
        from += utf8_prefix(from, strlen(from), 1);
    CLEANUP(free) char *end = NULL;
    if (from > path) { /* one more gives way to the sign */
        from += utf8_prefix(from, strlen(from), 1);
        end = xasprintf("…%s", from);
    }
    int last = row + most < in.rows ? row + most : in.rows;
    return flow_paint(canvas, rect_make(in.row, in.col, last, in.cols - 1), row, 1, look, end ? end : path);
}

/* Where the write goes, why that matters, and what it cannot keep. */
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
            strbuf_addf(&text, ", as %zu more", more);
        strbuf_addf(&text, ": %s", guarded->why);
        if (guarded != file) /* the header has the path of that one */
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
        strbuf_addf(&text, "! asked through a link as %s", file->through);
        row += paint_note(canvas, in, row, look, text.buf);
    }
    if (file && file->loses) {
        strbuf_reset(&text);
        strbuf_addf(&text, "! %s: %s", file->new_exists ? "does not keep" : "undo does not bring back", file->loses);
        row += paint_note(canvas, in, row, look, text.buf);
    }
    return row - first;
}

/* What is special about a question; it stays in sight however far the diff is scrolled. */
static int paint_special(const struct write_pane *write, const struct view *view, struct canvas *canvas, struct rect in)
{
    const struct question *question = write->open ? view_question(view) : NULL;
    int row = paint_place(write, view, canvas, in, 0);
    if (write->no_undo) {
        row += paint_note(canvas, in, row, LOOK_WARN,
                          "! this write cannot be undone: y writes it without undo, n denies it");
        row += paint_note(canvas, in, row, LOOK_DIM,
                          in.rows < ROOM_FOR_CAUSE ? last_cause(write->no_undo) : write->no_undo);
    } else if (question && question->again) {
        row += paint_note(canvas, in, row, LOOK_WARN,
                          question->moved ? "! its folder was moved or replaced: read the new diff"
                                          : "! the file changed after you saw it: read the new diff");
    }
    if (question && question->revising)
        row += paint_note(canvas, in, row, LOOK_WARN, "! this is not your version yet: that is being compared");
    else if (write->edited)
        row += paint_note(canvas, in, row, LOOK_WARN, "edited: this is your version; y writes it");
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
    /* What became of it, after the line that the header has. */
    const char *at = write->story.buf + strcspn(write->story.buf, "\n");
    while (*at == '\n' && at[1] && row < below.rows) {
        size_t len = strcspn(++at, "\n");
        canvas_text(canvas, below, row++, 1, LOOK_DIM, at, len);
        at += len;
    }
    return used + row;
}

/* `told`: it was said already that there are unseen rows. */
static void add_call_words(struct strbuf *out, size_t unseen, bool told)
{
    strbuf_addstr(out, unseen && !told ? "shows " : "approves the call");
    if (unseen && told)
        strbuf_addstr(out, "; ");
    if (unseen)
        text_plural(out, (int64_t)unseen, told ? "row of it was" : "more row", told ? "rows of it were" : "more rows");
    if (unseen)
        strbuf_addstr(out, told ? " not in sight yet" : " before it approves the call");
}

void write_pane_paint_foot(const struct write_pane *write, struct canvas *canvas, struct rect line)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t kept = diffview_kept(&write->diff), all = write->diff.piece_count, unseen = write_pane_unseen(write);
    if (all == 0)
        add_call_words(&text, unseen, write->unseen_told);
    else if (kept == 0)
        strbuf_addstr(&text, "nothing left to approve: n denies, Space keeps a hunk again");
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
