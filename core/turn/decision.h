#pragma once
/* A decision about a write, and its meaning: the changes to write, and a note for the model if they differ from its
 * proposal. */

#include "base/arena.h"
#include "event/event.h"
#include "tools/change.h"

struct diff;
struct strbuf;

enum decision_kind {
    DECISION_NONE,
    DECISION_APPROVED,
    DECISION_DENIED,
    DECISION_PARTIAL,
    DECISION_EDITED,
    DECISION_EXPIRED
};
const char *decision_name(enum decision_kind kind);
enum decision_kind decision_from_name(const char *name); /* DECISION_NONE if unknown */

enum decider { BY_KEY, BY_POLICY, BY_RECORDING, BY_TIMEOUT, BY_CANCEL };
const char *decider_name(enum decider by);

struct decision {
    enum decision_kind kind; /* NONE: ask the user */
    enum decider by;
    const char *reason; /* of a denial, for the model to read; may be NULL */
    /* For PARTIAL: which hunks of which files to write. Hunks count from 1; a change without hunks (binary, an empty
     * file, permissions) counts as one. A file that is not named is not written. */
    struct event_hunk_choice_list hunks;
    /* For EDITED: the new sides to write instead; old sides as proposed. Counts are known only if it was compared
     * with these. NULL in an answer: the question's revised version, limited to the hunks above if there are any. */
    struct change_set *edited;
    bool without_undo;  /* write although the old bytes cannot be saved; only from a person who was asked about that */
    struct arena arena; /* holds the texts of a copy */
};
/* A copy owns everything; only copies are released. */
struct decision decision_copy(const struct decision *decision);
void decision_release(struct decision *decision);
static inline void decision_cleanup(struct decision *decision)
{
    decision_release(decision);
}
static inline bool decision_denies(const struct decision *decision)
{
    return decision->kind == DECISION_DENIED || decision->kind == DECISION_EXPIRED;
}

/* Returns 0 if the decision allows something and fits the proposal, else -1 and the reason. The proposal must be
 * counted. */
int decision_fits(const struct decision *decision, const struct change_set *proposed, struct err *err) CHECKED;
/* Applies the hunks or edits to a copy of the proposal and returns the changes to write. `diffs` are those of the
 * proposal's files. NULL and err if they do not fit. Files without changes are left out; the set may end up empty.
 * Changes that differ from the proposal are no longer counted. */
struct change_set *decision_apply(const struct decision *decision, const struct change_set *proposed,
                                  struct diff *const *diffs, struct err *err) CHECKED;
/* Writes a note for the model: which parts of its proposal were written and which were not. A JSON object with
 * `decision`, `applied`, `refused` or `edits`, and the user's `reason`. For PARTIAL and EDITED only. May take
 * seconds: call it on the pool. */
void decision_note(struct strbuf *out, const struct decision *decision, const struct change_set *proposed,
                   struct diff *const *diffs, const struct change_set *written);

/* Rebuilds the change set of a recorded write.proposed from the current files. NULL and err if a file has changed;
 * `lost` is set if the reason is that the recording lacks the new bytes. Blocks. */
struct change_set *decision_recorded_changes(struct beneath *root, const struct event_proposed_file_list *files,
                                             bool *lost, struct err *err) CHECKED;

/* A proposed write as text: the files of write.proposed, the edit in the journal, the reply to the model. */

struct diff;
struct strbuf;

/* The files for write.proposed, with their diffs as text; counts the changes. A diff that is too large for the
 * journal is cut, and can then only be decided as a whole. May take seconds: call it on the pool. */
struct event_proposed_file_list proposal_files(struct arena *arena, struct change_set *changes,
                                               struct diff *const *diffs);
/* The user's own version, as the JSON of `edited`. It may cover only some of the files, and is enough to write the
 * same again. */
void proposal_edit(struct strbuf *before, struct strbuf *after, const struct change_set *proposed,
                   const struct change_set *edited);
/* The model's result of a write: {"path":…,"applied":true,"added":…,"removed":…}; a move has from and to instead.
 * `note`: of a decision other than a plain approval, otherwise "". The caller frees it. */
char *proposal_reply(const struct change_set *proposed, const struct change_set *written, const char *note);
