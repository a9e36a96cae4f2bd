/* The demo turn: where its recording is, the folder it works in, and the hints that make it a tutorial.
 *
 * demo_hint derives one line from the current state alone. A hint therefore disappears when the user did what it
 * suggests, in whatever way. With the default keys every hint fits into 80 columns. The most important words come
 * first. */

#include "demo.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli_error.h"
#include "dialogs/inspect_docs.h"
#include <dirent.h>
#include <errno.h>
#include <string.h>

/* The first candidate folder that contains `below`; with "", the first that exists. */
static char *find(const char *below)
{
    CLEANUP(free) char *program = file_program_dir();
    const char *named = getenv("KEYTURN_FIXTURES");
    char *const places[] = {
        named && *named ? xstrdup(named) : NULL,
        xasprintf("%s/../fixtures", program),
        xasprintf("%s/../share/keyturn/fixtures", program),
    };
    char *found = NULL;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        CLEANUP(free) char *place = places[i];
        CLEANUP(free) char *path = place ? xasprintf("%s%s", place, below) : NULL;
        if (!found && path && access(path, R_OK) == 0)
            found = steal(&path);
    }
    return found;
}

char *demo_find(void)
{
    char *found = find("/demo.jsonl");
    if (!found) {
        CLEANUP(free) char *program = file_program_dir();
        cli_error(STATUS_USAGE, "cannot find fixtures/demo.jsonl near %s (set KEYTURN_FIXTURES)", program);
    }
    return found;
}

char *demo_folder(void)
{
    return find("");
}

/* -1: not a readable folder; else whether it contains anything. */
static int holds_something(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : -1;
    const struct dirent *entry;
    int found = 0;
    while (!found && (entry = readdir(dir)))
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return found;
}

int demo_workspace(const struct options *options, const struct recording *recording, const char *temp, char **path)
{
    struct err err = ERR_INIT;
    const char *files = recording_files(recording);
    if (options->workspace) {
        int full = holds_something(options->workspace);
        if (full < 0)
            return cli_error(STATUS_USAGE, "%s: %s (name a folder)", options->workspace, strerror(errno));
        if (full)
            return cli_error(STATUS_USAGE, "%s: not empty (the demo needs a new or empty folder)", options->workspace);
        *path = xstrdup(options->workspace);
    } else {
        *path = xasprintf("%s/workspace", temp);
    }
    if (file_mkdirs(*path, 0777, &err) || (files && file_copy_tree(files, *path, &err)))
        return cli_error(STATUS_USAGE, "%s", err.text);
    return 0;
}

/* ---- hints ---- */

static size_t hunk_count(const struct view *view)
{
    size_t hunks = 0;
    const struct question *question = view_question(view);
    for (size_t i = 0; i < question->changes->count; i++)
        hunks += question->changes->items[i].counts.hunks;
    return hunks;
}

/* Adds a hint with the keys as they are bound: "$hunk-next" is replaced by the key of that action. */
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
        return "This write cannot be undone. $approve writes it anyway, $deny denies it.";
    if (kept == 0)
        return "All hunks are discarded. $hunk-toggle restores a hunk, $deny denies the write.";
    if (kept < hunk_count(view))
        return "$approve approves the other hunks, $hunk-toggle restores this one.";
    if (view->session->ask_count == 1 && hunk_count(view) > 1)
        return "Hunk 2 is not needed: $hunk-next goes there, $hunk-toggle discards it, $approve approves the rest.";
    if (hunk_count(view) > 1)
        return "$hunk-toggle discards or restores a hunk, $approve approves the rest, $deny denies all.";
    return "$approve approves, $deny denies, $deny-reason denies with a reason, $edit-write edits it in your editor.";
}

static const char *gate_hint(const struct view *view)
{
    bool edits = view->gate.gate == GATE_MODEL || view->gate.gate == GATE_TOOL || view->gate.gate == GATE_RESULT;
    if (view->gate.gate == GATE_TOOL && script_within(view->gate.arguments))
        return "Paused before a script: $step steps, $continue continues, $edit edits the script.";
    return edits ? "Paused: $step steps, $continue continues, $edit edits what comes next."
                 : "Paused: $step steps, $continue continues, $break toggles a breakpoint.";
}

static bool wrote_something(const struct session *session)
{
    struct session_writes writes = session_count_writes(session);
    return writes.applied > writes.undone;
}

/* The hint after the end of a turn. A canceled turn is not called done. */
static const char *ended_hint(const struct session *session, const struct session_turn *turn)
{
    const char *status = session_name(session, turn->status);
    if (strcmp(status, "cancelled") == 0)
        return wrote_something(session) ? "The turn was canceled. $undo undoes a write, $prompt opens the prompt."
                                        : "The turn was canceled. $prompt opens the prompt, $quit quits.";
    if (strcmp(status, "budget") == 0)
        return "The turn reached its limit. $inspect shows a row in full, $prompt opens the prompt.";
    if (strcmp(status, "failed") == 0 && turn->number > 1)
        return "The recorded model has no more answers. $sessions opens other recordings, $quit quits.";
    if (strcmp(status, "done") != 0)
        return "The turn failed; the events pane says why. $inspect shows a row in full, $quit quits.";
    return wrote_something(session)
               ? "Done. $undo undoes a write, $inspect shows a row in full, $sessions opens others, $quit quits."
               : "Done; nothing was written. $inspect shows a row in full, $sessions opens others, $quit quits.";
}

static bool reported_something(const struct session *session)
{
    return session->call_count && session->calls[session->call_count - 1].output_seq;
}

void demo_hint(struct strbuf *out, const struct view *view, const struct keymap *keymap, size_t kept)
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
    else if (reported_something(session) && !session->ask_count)
        hint = "A script ran in the sandbox: $pane-3 goes to it, $unfold shows its output.";
    else if (session->call_count == 0)
        hint = "A recorded model, real tools, a scratch copy. $pane-next changes panes, $pause pauses.";
    else
        hint = "$pause pauses at the next stop, $zoom zooms a pane, $help lists all keys.";
    add_hint(out, keymap, hint);
}
