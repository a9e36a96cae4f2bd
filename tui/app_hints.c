/* The demo is the tutorial: one line says what to try next. It follows from the state alone, so it goes away when the
 * thing was done, whatever way it was done. With the usual keys every hint fits on a screen of 80 columns; what matters
 * most comes first, for those that are narrower. */

#include "app_inside.h"
#include "script.h"
#include <string.h>

static size_t hunk_count(const struct view *view)
{
    size_t hunks = 0;
    const struct question *question = view_question(view);
    for (size_t i = 0; i < question->changes->count; i++)
        hunks += question->changes->items[i].counts.hunks;
    return hunks;
}

/* Texts with the keys as they are bound: "$hunk-next" stands for the key of that action. */
static void add_hint(struct strbuf *out, const struct keymap *keymap, const char *text)
{
    while (*text) {
        size_t len = *text == '$' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz-0123456789") : 0;
        if (!len) {
            strbuf_addch(out, *text++);
            continue;
        }
        CLEANUP(free) char *name = xmemdup0(text + 1, len);
        enum action action = action_from_name(name);
        if (action == ACTION_NONE)
            BUG("a hint names the action %s", name);
        const char *key = keymap_key(keymap, action);
        strbuf_addstr(out, *key ? key : name);
        text += len + 1;
    }
}

static const char *question_hint(const struct view *view, size_t kept)
{
    if (view_question(view)->no_undo)
        return "This one could not be undone: $approve writes it all the same, $deny denies it.";
    if (kept == 0)
        return "Nothing is kept: $hunk-toggle keeps a hunk, $deny denies all of it.";
    if (kept < hunk_count(view))
        return "$approve approves what is kept and drops the rest, $hunk-toggle takes a hunk back.";
    if (view->session->ask_count == 1 && hunk_count(view) > 1)
        return "Hunk 2 is not needed: $hunk-next goes there, $hunk-toggle drops it, $approve approves the rest.";
    if (hunk_count(view) > 1)
        return "$hunk-toggle keeps or drops a hunk, $approve approves what is kept, $deny denies all of it.";
    return "$approve approves, $deny denies, $deny-reason denies with a reason, $edit-write edits it in your editor.";
}

static const char *gate_hint(const struct view *view)
{
    bool edits = view->gate.gate == GATE_MODEL || view->gate.gate == GATE_TOOL || view->gate.gate == GATE_RESULT;
    if (view->gate.gate == GATE_TOOL && script_within(view->gate.arguments))
        return "Held at a script: $step steps, $continue goes on, $edit edits it, $edit-arguments its arguments.";
    return edits ? "Held at a gate: $step goes to the next one, $continue goes on, $edit edits what comes next."
                 : "Held at a gate: $step goes to the next one, $continue goes on, $break makes it a breakpoint.";
}

static bool wrote_something(const struct session *session)
{
    for (uint32_t i = 0; i < session->ask_count; i++)
        if (session->asks[i].applied_seq && !session->asks[i].undone_seq)
            return true;
    return false;
}

/* How a turn ended, in its own words: one that was cancelled is not done. */
static const char *ended_hint(const struct session *session, const struct session_turn *turn)
{
    const char *status = session_name(session, turn->status);
    if (strcmp(status, "cancelled") == 0)
        return wrote_something(session) ? "The turn was cancelled. $undo undoes a write, $prompt says what comes next."
                                        : "The turn was cancelled. $prompt says what comes next, $quit quits.";
    if (strcmp(status, "budget") == 0)
        return "The budget ended the turn. $inspect shows a row in full, $prompt says what comes next.";
    if (strcmp(status, "failed") == 0 && turn->number > 1)
        return "The recorded model has said all it has. $sessions opens other recordings, $quit quits.";
    if (strcmp(status, "done") != 0)
        return "The turn failed; the events say why. $inspect shows a row in full, $quit quits.";
    return wrote_something(session)
               ? "Done. $undo undoes a write, $inspect shows a row in full, $sessions opens others, $quit quits."
               : "Done; nothing was written. $inspect shows a row in full, $sessions opens others, $quit quits.";
}

static bool told_something(const struct session *session)
{
    return session->call_count && session->calls[session->call_count - 1].output_seq;
}

void app_demo_hint(struct strbuf *out, const struct view *view, const struct keymap *keymap, size_t kept)
{
    const struct session *session = view->session;
    const struct session_turn *turn = session_turn(session);
    const char *hint;
    if (view_question(view))
        hint = question_hint(view, kept);
    else if (view->held)
        hint = gate_hint(view);
    else if (turn && turn->finished_seq)
        hint = ended_hint(session, turn);
    else if (told_something(session) && !session->ask_count)
        hint = "A script ran in the sandbox: $pane-3 goes to it, $unfold shows what it told.";
    else if (session->call_count == 0)
        hint = "A recorded model, real tools, a scratch copy. $pane-next changes panes, $pause pauses.";
    else
        hint = "$pause holds at the next gate, $zoom gives a pane the whole screen, $help shows every key.";
    add_hint(out, keymap, hint);
}
