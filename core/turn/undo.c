/* Undoes and redoes writes (undo.h).
 *
 * Steps: save what is there now (pool) → record that checkpoint → restore the old bytes (pool) → record what happened.
 */

#include "undo.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/checkpoint.h"
#include "turn.h"
#include <string.h>

/* ---- which write ---- */

bool undo_possible(const struct session_question *ask, bool redo)
{
    return ask->applied_seq && (redo ? ask->undone_seq && ask->redo : !ask->undone_seq && ask->checkpoint);
}

/* Whether the write has this file. Of many files the fold knows the first ones. */
static bool has_path(const struct session_question *ask, const char *path)
{
    size_t len = strlen(path);
    for (const char *at = ask->paths, *hit; len && (hit = strstr(at, path)); at = hit + 1)
        if ((hit == ask->paths || (hit - ask->paths > 1 && strncmp(hit - 2, ", ", 2) == 0)) &&
            (!hit[len] || strncmp(hit + len, ", ", 2) == 0))
            return true;
    return false;
}

/* The write that was made, or undone, last; of this path unless it is NULL. */
static uint32_t find_newest(const struct session *session, const char *path, bool redo)
{
    uint32_t newest = SESSION_NONE, newest_seq = 0;
    for (uint32_t row = 0; row < session->ask_count; row++) {
        const struct session_question *ask = &session->asks[row];
        uint32_t seq = redo ? ask->undone_seq : ask->applied_seq;
        if (!undo_possible(ask, redo) || seq <= newest_seq || (path && !has_path(ask, path)))
            continue;
        newest = row;
        newest_seq = seq;
    }
    return newest;
}

/* The write of the call with this number. Only its last question can have been applied. */
static uint32_t find_call(const struct session *session, const char *number, struct err *err)
{
    uint64_t call = strtoull(number, NULL, 10);
    if (call < 1 || call > session->call_count) {
        err_set(err, "unknown call #%.20s", number);
        return SESSION_NONE;
    }
    uint32_t row = session->calls[call - 1].ask;
    if (row != SESSION_NONE && session->asks[row].applied_seq)
        return row;
    err_set(err, "call #%.20s wrote nothing", number);
    return SESSION_NONE;
}

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")] && strlen(text) < 10;
}

uint32_t undo_find(const struct session *session, const char *what, bool redo, struct err *err)
{
    bool call = what && (*what == '#' || is_number(what)), checkpoint = what && strncmp(what, "cp_", 3) == 0;
    const char *number = call && *what == '#' ? what + 1 : what;
    uint32_t row = SESSION_NONE;
    if (call && is_number(number)) {
        if ((row = find_call(session, number, err)) == SESSION_NONE)
            return row;
    } else if (checkpoint && (row = session_find_checkpoint(session, what)) == SESSION_NONE) {
        err_set(err, "unknown checkpoint %.40s", what);
        return row;
    } else if (row == SESSION_NONE) {
        row = find_newest(session, what, redo);
        if (row == SESSION_NONE)
            err_set(err,
                    what ? "no write to %s: \"%.100s\" (give a call like #3, a path, or a checkpoint like cp_3)"
                         : "no write to %s",
                    redo ? "redo" : "undo", what);
        return row;
    }
    const struct session_question *ask = &session->asks[row];
    if (undo_possible(ask, redo))
        return row;
    if (redo)
        err_set(err, "%.40s is not undone, so there is nothing to redo", what);
    else if (ask->undone_seq)
        err_set(err, "%.40s is undone already (redo brings it back)", what);
    else
        err_set(err, "%.40s was written without a checkpoint, so it cannot be undone", what);
    return SESSION_NONE;
}

/* ---- restoring ---- */

struct undo {
    struct loop_work work;
    struct engine *engine;
    const struct engine_config *config;
    int64_t turn;
    int64_t started_us;
    bool redo;
    char *checkpoint; /* the checkpoint to restore */
    char *kept;       /* the checkpoint of what it replaces */
    struct change_set *changes;
    struct err err;
    bool failed;
    void (*ended)(struct engine *engine);
};

static int record_undo(struct undo *undo, struct event event)
{
    return engine_record(undo->engine, undo->turn, &event, 1);
}

static void record_failure(struct undo *undo)
{
    int64_t elapsed_us = loop_now_us(undo->config->loop) - undo->started_us;
    record_undo(undo, (struct event){.type = EVENT_WORKSPACE_OP,
                                     .workspace_op = {.op = undo->redo ? "redo" : "undo",
                                                      .elapsed_ms = elapsed_us / 1000,
                                                      .error = undo->err.text}});
}

static void record_success(struct undo *undo)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event_strs paths = turn_list_paths(&arena, undo->changes);
    struct event undone = {.type = EVENT_WRITE_UNDONE,
                           .write_undone = {.checkpoint = undo->checkpoint, .paths = paths}};
    struct event redone = {.type = EVENT_WRITE_REDONE,
                           .write_redone = {.checkpoint = undo->checkpoint, .paths = paths}};
    const struct event *event = undo->redo ? &redone : &undone;
    if (record_undo(undo, *event) == 0)
        engine_restored(undo->engine, event);
}

static void finish_undo(struct undo *undo)
{
    struct engine *engine = undo->engine;
    void (*ended)(struct engine *) = undo->ended;
    if (undo->failed)
        record_failure(undo);
    else
        record_success(undo);
    change_set_free(undo->changes);
    free(undo->checkpoint);
    free(undo->kept);
    free(undo);
    ended(engine);
}

static void commit_undo(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    undo->failed = change_set_commit(undo->changes, undo->config->root, &undo->err) < 0;
}

static void undo_committed(struct loop_work *work)
{
    finish_undo(CONTAINER_OF(work, struct undo, work));
}

/* Removes a checkpoint that is not in the journal, because undo could never find it. */
static void discard_undo(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    checkpoint_discard(undo->config->checkpoints, undo->kept);
}

static void save_undo(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    undo->changes = checkpoint_undo(undo->config->checkpoints, undo->config->root, undo->checkpoint, &undo->err);
    if (undo->changes)
        undo->kept = checkpoint_save(undo->config->checkpoints, "undo", undo->changes, &undo->err);
    undo->failed = !undo->kept;
}

static void undo_saved(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (undo->failed) {
        finish_undo(undo);
        return;
    }
    undo->failed =
        record_undo(undo, (struct event){.type = EVENT_CHECKPOINT_SAVED,
                                         .checkpoint_saved = {.checkpoint = undo->kept,
                                                              .paths = turn_list_paths(&arena, undo->changes)}}) < 0;
    loop_work_start(undo->config->loop, &undo->work, undo->failed ? discard_undo : commit_undo, undo_committed);
}

struct undo *undo_start(struct engine *engine, const struct engine_config *config, int64_t turn, uint32_t row,
                        bool redo, void (*ended)(struct engine *engine))
{
    const struct session *session = engine_session(engine);
    const struct session_question *ask = &session->asks[row];
    struct undo *undo = xcalloc(1, sizeof(*undo));
    undo->engine = engine;
    undo->config = config;
    undo->turn = turn;
    undo->started_us = loop_now_us(config->loop);
    undo->redo = redo;
    undo->checkpoint = xstrdup(session_name(session, redo ? ask->redo : ask->checkpoint));
    undo->ended = ended;
    loop_work_start(config->loop, &undo->work, save_undo, undo_saved);
    return undo;
}

/* ---- telling the model ---- */

void undo_notes_release(struct undo_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i].text);
    free(notes->items);
    *notes = (struct undo_notes){0};
}

/* Paths are written as JSON: a name may hold anything, also a line break. */
static char *note_text(const struct session *session, uint32_t row, const struct event_strs *paths, bool redone)
{
    struct strbuf text = STRBUF_INIT;
    uint32_t call = session->asks[row].call;
    strbuf_addf(&text, "- %s: %s of ", redone ? "redone" : "undone",
                call == SESSION_NONE ? "the write" : session_name(session, session->calls[call].tool));
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i] ? paths->items[i] : "";
        strbuf_addstr(&text, i ? ", " : "");
        json_write_str(&text, path, strlen(path), JSON_COMPACT);
    }
    strbuf_addstr(&text, redone ? "; its change is in place again\n" : "; its change is gone\n");
    return strbuf_detach(&text, NULL);
}

void undo_notes_add(struct undo_notes *notes, const struct session *session, const struct event *event)
{
    bool redo = event->type == EVENT_WRITE_REDONE;
    if (!redo && event->type != EVENT_WRITE_UNDONE)
        return;
    const struct event_strs *paths = redo ? &event->write_redone.paths : &event->write_undone.paths;
    uint32_t row =
        session_find_checkpoint(session, redo ? event->write_redone.checkpoint : event->write_undone.checkpoint);
    if (row == SESSION_NONE)
        return;
    for (size_t i = 0; i < notes->count; i++) {
        if (notes->items[i].row != row)
            continue;
        free(notes->items[i].text);
        memmove(&notes->items[i], &notes->items[i + 1], (--notes->count - i) * sizeof(*notes->items));
        return;
    }
    GROW(notes->items, notes->count, notes->room);
    notes->items[notes->count++] =
        (struct undo_note){row, note_text(session, row, paths, !session->asks[row].undone_seq)};
}

bool undo_notes_write(const struct undo_notes *notes, struct message_list *to)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!notes->count)
        return false;
    strbuf_addstr(&text, "The user changed which of your writes stand:\n");
    for (size_t i = 0; i < notes->count; i++)
        strbuf_addstr(&text, notes->items[i].text);
    strbuf_addstr(&text, "Read these files again before you rely on their content.\n");
    message_list_add(to, ROLE_SYSTEM, text.buf)->meaning = "undo";
    return true;
}
