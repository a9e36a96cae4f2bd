#pragma once
/* Undo and redo of writes: which write a user means, the restoring itself, and the note that tells the model.
 *
 * Both are writes: they save a checkpoint of the bytes they replace. Undo restores the checkpoint of the write; redo
 * restores the one that the undo saved. */

#include "event/event.h"
#include "event/session.h"
#include "model/message.h"

struct engine;
struct engine_config;
struct turn;

/* The row of the write that `what` names: a call ("#3"), a path, or a checkpoint ("cp_3"). NULL: to undo, the newest
 * write that stands; to redo, the newest one that was undone. SESSION_NONE and a sentence if there is none. */
uint32_t undo_find(const struct session *session, const char *what, bool redo, struct err *err) CHECKED;

/* Whether this write was made, has its checkpoint, and stands (to undo) or is undone (to redo). */
bool undo_possible(const struct session_question *ask, bool redo);

/* An undo or a redo at work. */
struct undo;
/* Restores the write of this row. Emits write.undone or write.redone, or a workspace.op event with the reason it
 * failed; then calls `ended`. */
struct undo *undo_start(struct engine *engine, const struct engine_config *config, int64_t turn, uint32_t row,
                        bool redo, void (*ended)(struct engine *engine));

/* Notes that the next request sends to the model: one line per write. An undo and its redo cancel each other. */
struct undo_note {
    uint32_t row; /* of the write */
    char *text;
};
struct undo_notes {
    struct undo_note *items;
    size_t count, room;
};
void undo_notes_release(struct undo_notes *notes);
/* Adds a write.undone or write.redone that the session has folded; ignores other events. */
void undo_notes_add(struct undo_notes *notes, const struct session *session, const struct event *event);
/* Appends a message with all of them, if there are any. The notes stay. */
bool undo_notes_write(const struct undo_notes *notes, struct message_list *to);
