#pragma once
/* An answer to a question about a write, and what it means: the changes that are to be written, and a note for the
 * model when those are not the ones it proposed. */

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
enum decision_kind decision_from_name(const char *name); /* DECISION_NONE when unknown */

enum decider { BY_KEY, BY_POLICY, BY_RECORDING, BY_TIMEOUT };
const char *decider_name(enum decider by);

struct decision {
    enum decision_kind kind; /* NONE: ask the user */
    enum decider by;
    const char *reason; /* of a denial, for the model to read; may be NULL */
    /* For PARTIAL: which hunks of which files to write. Hunks count from 1; a change without hunks (binary, an empty
     * file, permissions) counts as one. A file that is not named is not written. */
    struct event_hunk_choice_list hunks;
    /* For EDITED: the new sides to write instead; old sides as proposed. Counted only if it was compared with these.
     * NULL in an answer: the question's revised version, of it the hunks above if there are any. */
    struct change_set *edited;
    bool without_undo;  /* write even though the old bytes cannot be kept; of a person who was told so */
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

/* 0 when the decision allows something and fits the proposal, else -1 and why not. The proposal must be counted. */
int decision_fits(const struct decision *decision, const struct change_set *proposed, struct err *err) CHECKED;
/* Applies the hunks or edits to a copy of the proposal: what is to be written. `diffs` are those of the proposal's
 * files. NULL and err when they do not fit it. Files of which nothing is left are left out; the set may end up empty.
 * What is not written as proposed is no longer counted. */
struct change_set *decision_apply(const struct decision *decision, const struct change_set *proposed,
                                  struct diff *const *diffs, struct err *err) CHECKED;
/* For the model, which proposed something else: what of it was written and what was not. A JSON object with `decision`,
 * `applied`, `refused` or `edits`, and the user's `reason`. Of PARTIAL and EDITED only. May take seconds: call it on
 * the pool. */
void decision_note(struct strbuf *out, const struct decision *decision, const struct change_set *proposed,
                   struct diff *const *diffs, const struct change_set *written);

/* The change set of a recorded write.proposed, made again from the files as they are now. NULL and err when a file is
 * not what it was; `lost` is set when that is because the recording does not hold the new bytes. Blocks. */
struct change_set *decision_recorded_changes(struct beneath *root, const struct event_proposed_file_list *files,
                                             bool *lost, struct err *err) CHECKED;
