/* Answers to a question: stage and discard hunks, approve, deny, edit, allow. Each becomes an intent with the id and
 * the digest of the loaded question. ui_key makes sure that it was on the screen, and the engine compares both with
 * what it would write. */

#include "base/arena.h"
#include "base/mem.h"
#include "dialogs/dialog.h"
#include "screen/text.h"
#include "tools/change.h"
#include "write.h"
#include <string.h>

/* The shown change with the kept pieces, for the editor. NULL and err on failure. */
static struct change_set *chosen_changes(const struct write_pane *write, struct err *err)
{
    struct change_set *chosen = change_set_copy(write->diff.set);
    for (size_t i = 0; i < chosen->count && i < write->diff.file_count; i++) {
        const struct diffview_file *file = &write->diff.files[i];
        const struct diffview_piece *pieces = &write->diff.pieces[file->first_piece];
        struct change *change = &chosen->items[i];
        CLEANUP(free) bool *keep = xcalloc(file->piece_count, sizeof(*keep));
        size_t kept = 0;
        for (size_t k = 0; k < file->piece_count; k++)
            kept += keep[k] = pieces[k].keep;
        if (kept == file->piece_count)
            continue;
        if (pieces[0].hunk == DIFFVIEW_NO_HUNK && change->old.exists) {
            change_side_set(&change->new, change->old.bytes, change->old.len, change->old.mode);
        } else if (pieces[0].hunk == DIFFVIEW_NO_HUNK) {
            change_side_absent(&change->new);
        } else if (change_keep_hunks(change, file->diff, keep, file->piece_count, err)) {
            change_set_free(chosen);
            return NULL;
        }
    }
    return chosen;
}

static const char *key_of(const struct ui *ui, enum action action)
{
    return keymap_key(ui_keymap(ui), action);
}

/* The pane if it has loaded a question that can be answered, else NULL. */
static struct write_pane *open_write(struct ui *ui)
{
    struct write_pane *write = (struct write_pane *)ui_get_pane(ui, pane_write.number);
    return write->open ? write : NULL;
}

/* The same for decisions about the shown diff: NULL also while another version is about to be shown. */
static struct write_pane *shown_write(struct ui *ui, const struct view *view)
{
    const struct question *question = view_question(view);
    if (!question || !question->revising)
        return open_write(ui);
    ui_message(ui, LOOK_WARN, "Comparing your version. Read it, then press the key again.");
    return NULL;
}

/* A key cannot approve rows that were never on the screen: scrolls to the first of them and requires the key again. */
static bool all_rows_seen(struct write_pane *write, struct ui *ui, enum action action, const char *does)
{
    CLEANUP(strbuf) struct strbuf rows = STRBUF_INIT;
    size_t unseen = write_pane_unseen(write);
    if (!unseen || write->unseen_warned)
        return true;
    text_plural(&rows, (int64_t)unseen, "row has", "rows have");
    write_pane_scroll_to(write, write->seen);
    write->unseen_warned = true;
    ui_question_moved(ui);
    ui_message(ui, LOOK_WARN, "%s not been on screen yet: %s again %s", rows.buf, key_of(ui, action), does);
    return false;
}

/* Answers the open question with the current choice. */
static bool submit_choice(struct write_pane *write, struct ui *ui)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct decision decision = {.kind = DECISION_APPROVED, .by = BY_KEY, .without_undo = write->no_undo != NULL};
    size_t kept = diffview_kept(&write->diff);
    if (kept == 0 && write->diff.piece_count) {
        ui_message(ui, LOOK_WARN, "All hunks are discarded. %s denies the write, %s restores a hunk.",
                   key_of(ui, ACTION_DENY), key_of(ui, ACTION_HUNK_TOGGLE));
        return false;
    }
    if (kept < write->diff.piece_count) {
        decision.kind = DECISION_PARTIAL;
        decision.hunks = diffview_hunks(&write->diff, &arena);
    }
    if (write->edited)
        decision.kind = DECISION_EDITED;
    return ui_submit(
        ui, &(struct intent){.type = INTENT_ANSWER, .answer = {write->ask, write->digest, write->revision, decision}});
}

void pane_write_approve(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = shown_write(ui, view);
    if (write && all_rows_seen(write, ui, action, "approves"))
        submit_choice(write, ui);
}

void pane_write_deny(struct ui *ui, const struct view *view, enum action action)
{
    const struct write_pane *write = open_write(ui);
    (void)view, (void)action;
    if (write)
        ui_submit(ui, &(struct intent){.type = INTENT_ANSWER,
                                       .answer = {.question = write->ask, .decision = {.kind = DECISION_DENIED}}});
}

static void deny_with(struct ui *ui, const char *text, void *data)
{
    const struct write_pane *write = data;
    ui_submit(ui, &(struct intent){.type = INTENT_ANSWER,
                                   .answer = {.question = write->reason_ask,
                                              .decision = {.kind = DECISION_DENIED, .reason = *text ? text : NULL}}});
}

static const struct dialog_text deny_reason = {
    .title = "deny with a reason", .label = "The model reads: ", .multiline = true, .done = deny_with};

void pane_write_deny_with_reason(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = open_write(ui);
    (void)view, (void)action;
    if (!write)
        return;
    free(write->reason_ask);
    write->reason_ask = xstrdup(write->ask);
    ui_open_dialog(ui, dialog_text_new(&deny_reason, "", write));
}

/* The rule applies from the next question on; this one is answered as usual. */
static void allow_and_approve(struct write_pane *write, struct ui *ui, const struct view *view)
{
    CLEANUP(free) char *tool = xstrdup(write->tool);
    size_t count = write->diff.file_count;
    for (size_t i = 0; i < count; i++)
        if (diffview_protected(&write->diff.files[i])) {
            ui_message(ui, LOOK_WARN, "%s is protected: %s cannot allow it, %s approves this write alone",
                       write->diff.files[i].path, key_of(ui, ACTION_ALLOW), key_of(ui, ACTION_APPROVE));
            return;
        }
    if (!count && view_question(view) && view_question(view)->named) {
        ui_message(ui, LOOK_WARN, "%s cannot allow this: Keyturn asks about it every time. %s approves it once.",
                   key_of(ui, ACTION_ALLOW), key_of(ui, ACTION_APPROVE));
        return;
    }
    if (!count) {
        struct intent calls = {.type = INTENT_ALLOW, .allow = {.tool = tool}};
        if (submit_choice(write, ui) && ui_submit(ui, &calls))
            ui_message(ui, LOOK_GOOD, "Allowed for this session: every call of %s that has no diff (:permissions)",
                       tool);
        return;
    }
    char **paths = xcalloc(count + 1, sizeof(*paths));
    for (size_t i = 0; i < count; i++)
        paths[i] = xstrdup(write->diff.files[i].path);
    /* Approve first: a write that cannot be approved must not be allowed either. The loaded question may be gone after
     * that. */
    bool good = submit_choice(write, ui);
    for (size_t i = 0; i < count; i++) {
        struct intent intent = {.type = INTENT_ALLOW, .allow = {.tool = tool, .path = paths[i]}};
        good = good && ui_submit(ui, &intent);
    }
    if (good)
        ui_message(ui, LOOK_GOOD, "Allowed for this session: %s on %s%s (:permissions)", tool, paths[0],
                   count > 1 ? " and the others" : "");
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

void pane_write_allow(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = shown_write(ui, view);
    if (write && all_rows_seen(write, ui, action, "allows it"))
        allow_and_approve(write, ui, view);
}

/* The editor gets what would be written now, so discarded hunks stay discarded. */
void pane_write_edit(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = shown_write(ui, view);
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    (void)action;
    if (!write)
        return;
    if (!write->diff.piece_count)
        ui_message(ui, LOOK_WARN, "No text to edit. %s runs the call unchanged, %s denies it.",
                   key_of(ui, ACTION_APPROVE), key_of(ui, ACTION_DENY));
    if (!write->diff.piece_count || !host->edit_text)
        return;
    size_t index = write->diff.pieces[write->piece].file;
    const struct diffview_file *file = &write->diff.files[index];
    if (file->binary) {
        ui_message(ui, LOOK_WARN, "Cannot edit a binary file. %s approves it unchanged, %s denies it.",
                   key_of(ui, ACTION_APPROVE), key_of(ui, ACTION_DENY));
        return;
    }
    struct change_set *set = chosen_changes(write, &err);
    if (!set) {
        ui_message(ui, LOOK_ERROR, "%s", err.text);
        return;
    }
    struct change *change = &set->items[index];
    if (host->edit_text(host, change->path, change->new.bytes ? change->new.bytes : "", change->new.len, &text, &err)) {
        ui_message(ui, LOOK_ERROR, "%s", err.text);
        change_set_free(set);
        return;
    }
    if (change->new.exists && text.len == change->new.len &&memcmp(text.buf, change->new.bytes, text.len) == 0) {
        ui_message(ui, LOOK_TEXT, "No changes were made in the editor.");
        ui_submit(ui, &(struct intent){.type = INTENT_TOUCH});
        change_set_free(set);
        return;
    }
    mode_t mode = change->new.exists ? change->new.mode : change->old.exists ? change->old.mode : 0644;
    change_side_set(&change->new, text.buf, text.len, mode);
    write->edited_file = index;
    ui_submit(ui, &(struct intent){.type = INTENT_REVISE, .revise = {write->ask, set}});
    change_set_free(set);
}

/* The write whose hunks can be chosen; NULL, after a message, if there is none. */
static struct write_pane *write_with_hunks(struct ui *ui, const struct view *view)
{
    struct write_pane *write = shown_write(ui, view);
    if (!write || !write->diff.whole)
        return write;
    ui_message(ui, LOOK_WARN, "Too large to decide hunk by hunk. %s approves all of it, %s denies it.",
               key_of(ui, ACTION_APPROVE), key_of(ui, ACTION_DENY));
    return NULL;
}

void pane_write_toggle_hunk(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = write_with_hunks(ui, view);
    (void)action;
    if (write && write->diff.piece_count)
        diffview_keep(&write->diff, write->piece, !write->diff.pieces[write->piece].keep);
}

void pane_write_toggle_all_hunks(struct ui *ui, const struct view *view, enum action action)
{
    struct write_pane *write = write_with_hunks(ui, view);
    (void)action;
    if (write)
        diffview_keep_all(&write->diff, diffview_kept(&write->diff) < write->diff.piece_count);
}
