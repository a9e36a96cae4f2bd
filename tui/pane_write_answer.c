/* Answers to a question: keep and drop, approve, deny, edit, allow. Each becomes an intent with the digest of what was
 * on the screen; the engine compares it with what it would write. */

#include "base/mem.h"
#include "dialog.h"
#include "pane_write.h"
#include "text.h"
#include "tools/change.h"
#include <string.h>

void write_pane_forget_edit(struct write_pane *write)
{
    for (size_t i = 0; write->edited && write->edited_diffs && i < write->edited->count; i++)
        diff_free(write->edited_diffs[i]);
    free(write->edited_diffs);
    change_set_free(write->edited);
    write->edited_diffs = NULL;
    write->edited = NULL;
}

static void put_back(struct change *change)
{
    if (change->old.exists)
        change_side_set(&change->new, change->old.bytes, change->old.len, change->old.mode);
    else
        change_side_absent(&change->new);
}

struct change_set *write_pane_chosen(const struct write_pane *write, const struct change_set *set, struct err *err)
{
    struct change_set *chosen = change_set_copy(set);
    for (size_t i = 0; i < chosen->count && i < write->diff.file_count; i++) {
        const struct diffview_file *file = &write->diff.files[i];
        const struct diffview_piece *pieces = &write->diff.pieces[file->first_piece];
        CLEANUP(free) bool *keep = xcalloc(file->piece_count, sizeof(*keep));
        size_t kept = 0;
        for (size_t k = 0; k < file->piece_count; k++)
            kept += keep[k] = pieces[k].keep;
        if (kept == file->piece_count)
            continue;
        if (pieces[0].hunk == DIFFVIEW_NO_HUNK)
            put_back(&chosen->items[i]);
        else if (change_keep_hunks(&chosen->items[i], keep, file->piece_count, err)) {
            change_set_free(chosen);
            return NULL;
        }
    }
    return chosen;
}

/* ui_key takes answers only for a question that was on the screen. The user's own version has to be seen as well: NULL,
 * and a message, where no frame has shown it yet. */
static struct write_pane *painted_write(struct ui *ui)
{
    struct write_pane *write = (struct write_pane *)ui_get_pane(ui, pane_write.number);
    if (write->open && write->painted)
        return write;
    ui_say(ui, LOOK_WARN, "the question was not on the screen yet: read it first (6 shows it)");
    return NULL;
}

/* A key cannot approve rows that were never on the screen: scrolls to the first of them and requires the key again. */
static bool all_rows_seen(struct write_pane *write, struct ui *ui, const char *again)
{
    CLEANUP(strbuf) struct strbuf rows = STRBUF_INIT;
    size_t unseen = write_pane_unseen(write);
    if (!unseen || write->unseen_told)
        return true;
    text_plural(&rows, (int64_t)unseen, "row has", "rows have");
    write_pane_scroll_to(write, write->seen);
    write->unseen_told = true;
    ui_question_moved(ui);
    ui_say(ui, LOOK_WARN, "%s not been on the screen yet: %s", rows.buf, again);
    return false;
}

static bool submit_approval(struct write_pane *write, struct ui *ui)
{
    CLEANUP(strbuf) struct strbuf hunks = STRBUF_INIT;
    struct change_set *edited = NULL;
    struct err err = ERR_INIT;
    size_t kept = diffview_kept(&write->diff);
    if (kept == 0 && write->diff.piece_count) {
        ui_say(ui, LOOK_WARN, "nothing left to approve: n denies, Space keeps a hunk again");
        return false;
    }
    if (write->edited) {
        edited = write_pane_chosen(write, write->edited, &err);
        if (!edited) {
            ui_say(ui, LOOK_ERROR, "%s", err.text);
            return false;
        }
    } else if (kept < write->diff.piece_count) {
        diffview_write_hunks(&write->diff, &hunks);
    }
    struct intent intent = {.type = INTENT_APPROVE,
                            .approve = {.ask = write->ask,
                                        .digest = write->digest,
                                        .hunks = hunks.len ? hunks.buf : NULL,
                                        .edited = edited,
                                        .without_undo = write->no_undo != NULL}};
    /* Kept before it is sent: the answer may bring the question back at once. */
    change_set_free(write->sent);
    write->sent = edited;
    memcpy(write->sent_digest, write->digest, sizeof(write->sent_digest));
    return ui_submit(ui, &intent);
}

void pane_write_approve(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = painted_write(ui);
    (void)view, (void)action;
    if (write && all_rows_seen(write, ui, "y again approves"))
        submit_approval(write, ui);
}

void pane_write_deny(struct ui *ui, const struct view *view, enum action action)
{
    const struct write_pane *write = painted_write(ui);
    (void)view, (void)action;
    if (write)
        ui_submit(ui, &(struct intent){.type = INTENT_DENY, .deny = {.ask = write->ask}});
}

static void deny_with(struct ui *ui, const char *text, void *data)
{
    const struct write_pane *write = data;
    ui_submit(ui, &(struct intent){.type = INTENT_DENY, .deny = {write->reason_ask, *text ? text : NULL}});
}

static const struct dialog_text deny_reason = {
    .title = "deny with a reason", .label = "The model reads: ", .multiline = true, .done = deny_with};

void pane_write_deny_with_reason(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = painted_write(ui);
    (void)view, (void)action;
    if (!write)
        return;
    free(write->reason_ask);
    write->reason_ask = xstrdup(write->ask);
    ui_open_dialog(ui, dialog_text_new(&deny_reason, "", write));
}

/* The rule counts from the next question on; this one is answered like any other. */
static void allow_and_approve(struct write_pane *write, struct ui *ui, const struct view *view)
{
    CLEANUP(free) char *tool = xstrdup(write->tool);
    size_t count = write->diff.file_count;
    for (size_t i = 0; i < count; i++)
        if (diffview_protected(&write->diff.files[i])) {
            ui_say(ui, LOOK_WARN, "%s is protected: A cannot allow it, y approves this write alone",
                   write->diff.files[i].path);
            return;
        }
    if (!count && view->question->named) {
        ui_say(ui, LOOK_WARN, "A cannot allow this: Keyturn asks about it every time. y approves it once.");
        return;
    }
    if (!count) {
        struct intent calls = {.type = INTENT_ALLOW, .allow = {.tool = tool}};
        if (submit_approval(write, ui) && ui_submit(ui, &calls))
            ui_say(ui, LOOK_GOOD, "allowed for this session: every call of %s that has no diff (:permissions)", tool);
        return;
    }
    char **paths = xcalloc(count + 1, sizeof(*paths));
    for (size_t i = 0; i < count; i++)
        paths[i] = xstrdup(write->diff.files[i].path);
    /* Approved first: what cannot be approved must not be allowed either. What is shown may be gone after that. */
    bool good = submit_approval(write, ui);
    for (size_t i = 0; i < count; i++) {
        struct intent intent = {.type = INTENT_ALLOW, .allow = {.tool = tool, .path = paths[i]}};
        good = good && ui_submit(ui, &intent);
    }
    if (good)
        ui_say(ui, LOOK_GOOD, "allowed for this session: %s on %s%s (:permissions)", tool, paths[0],
               count > 1 ? " and the others" : "");
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

void pane_write_allow(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = painted_write(ui);
    (void)action;
    if (write && all_rows_seen(write, ui, "A again allows it"))
        allow_and_approve(write, ui, view);
}

void write_pane_take_edited(struct write_pane *write, struct change_set *take_set, size_t file)
{
    struct diff **diffs = xcalloc(take_set->count + 1, sizeof(*diffs));
    for (size_t i = 0; i < take_set->count; i++)
        diffs[i] = change_diff(&take_set->items[i], NULL);
    diffview_load(&write->diff, take_set, diffs);
    write_pane_forget_edit(write);
    write->edited = take_set;
    write->edited_diffs = diffs;
    write->diff.choices = true;
    write->painted = false; /* the new version has to be seen before it is approved */
    write->piece = write->diff.files[file].first_piece;
    write->pane.list.top = write->diff.pieces[write->piece].row;
}

/* The editor gets what would be written now, so what was dropped stays dropped. */
void pane_write_edit(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = painted_write(ui);
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    (void)action;
    if (!write)
        return;
    if (!write->diff.piece_count)
        ui_say(ui, LOOK_WARN, "there is no text to edit: y lets the call run as it is, n denies it");
    if (!write->diff.piece_count || !host->edit_text)
        return;
    size_t index = write->diff.pieces[write->piece].file;
    const struct diffview_file *file = &write->diff.files[index];
    if (file->binary) {
        ui_say(ui, LOOK_WARN, "a binary file cannot be edited: y approves it as it is, n denies it");
        return;
    }
    struct change_set *set = write_pane_chosen(write, write->edited ? write->edited : view->question->changes, &err);
    if (!set) {
        ui_say(ui, LOOK_ERROR, "%s", err.text);
        return;
    }
    struct change *change = &set->items[index];
    if (host->edit_text(host, change->path, change->new.bytes ? change->new.bytes : "", change->new.len, &text, &err)) {
        ui_say(ui, LOOK_ERROR, "%s", err.text);
        change_set_free(set);
        return;
    }
    /* The time in the editor was spent on this very question. */
    if (!ui_submit(ui, &(struct intent){.type = INTENT_ATTEND})) {
        change_set_free(set);
        return;
    }
    if (change->new.exists && text.len == change->new.len &&memcmp(text.buf, change->new.bytes, text.len) == 0) {
        ui_say(ui, LOOK_TEXT, "nothing was changed in the editor");
        change_set_free(set);
        return;
    }
    mode_t mode = change->new.exists ? change->new.mode : change->old.exists ? change->old.mode : 0644;
    change_side_set(&change->new, text.buf, text.len, mode);
    write_pane_take_edited(write, set, index);
    ui_say(ui, LOOK_WARN, "this is your version now: y writes it");
}

/* The write whose hunks can be chosen; NULL, and a message, where there is none. */
static struct write_pane *write_with_hunks(struct ui *ui)
{
    struct write_pane *write = painted_write(ui);
    if (!write || !write->diff.whole)
        return write;
    ui_say(ui, LOOK_WARN, "too large to be decided hunk by hunk: y approves all of it, n denies it");
    return NULL;
}

void pane_write_toggle_hunk(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = write_with_hunks(ui);
    (void)view, (void)action;
    if (write && write->diff.piece_count)
        diffview_keep(&write->diff, write->piece, !write->diff.pieces[write->piece].keep);
}

void pane_write_toggle_all_hunks(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = write_with_hunks(ui);
    (void)view, (void)action;
    if (write)
        diffview_keep_all(&write->diff, diffview_kept(&write->diff) < write->diff.piece_count);
}
