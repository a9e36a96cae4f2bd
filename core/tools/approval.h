#pragma once
/* Who decides about a write. This module never judges whether a change is good: it says who answers, and holds what was
 * answered before. Order: a recorded decision for this very call (replay), a rule the user made for this session
 * (`A`: this tool on this path, or its calls that no diff can be shown of), the mode. A protected place (protected.def)
 * comes before all of them: only a person approves a write there, each time. */

#include "event/event.h"
#include "change.h"
#include <stdint.h>

struct strbuf;

enum approve_mode {
    APPROVE_ASK,   /* a person; refused when nobody can be asked */
    APPROVE_DENY,
    APPROVE_ALLOW,
};
int approve_mode_from_name(const char *name); /* -1 when unknown */

enum decision { DECISION_NONE, DECISION_APPROVED, DECISION_DENIED, DECISION_PARTIAL, DECISION_EDITED, DECISION_EXPIRED };
const char *decision_name(enum decision decision);
enum decision decision_from_name(const char *name); /* DECISION_NONE when unknown */

enum decider { BY_KEY, BY_POLICY, BY_RECORDING, BY_TIMEOUT };
const char *decider_name(enum decider by);

/* An answer to a question about a change set. */
struct verdict {
    enum decision decision; /* NONE: hold for the user */
    enum decider by;
    char *reason;           /* of a denial, for the model to read; may be NULL */
    /* For PARTIAL, else NULL: JSON [{"path":…,"keep":[1,3],"of":3}]. Hunks count from 1; a change without hunks (binary, an
     * empty file, permissions) counts as one. A file that is not named is not written. */
    char *hunks;
    struct change_set *edited; /* for EDITED: the new sides to write instead; old sides as proposed */
    bool without_undo;         /* write even though the old bytes cannot be kept; of a person who was told so */
};
void verdict_release(struct verdict *verdict);
static inline void verdict_cleanup(struct verdict *verdict)
{
    verdict_release(verdict);
}
struct verdict verdict_copy(const struct verdict *verdict);

struct approval;
struct approval *approval_new(enum approve_mode mode, bool somebody_there);
void approval_free(struct approval *approval);
/* This tool on this path for the session; revocable. A path of NULL: whatever it is asked to do that shows no file, and
 * nothing else. */
void approval_allow(struct approval *approval, const char *tool, const char *path);
bool approval_revoke(struct approval *approval, const char *tool, const char *path);
/* Everything that was allowed to this tool: it is another one now. */
void approval_forget(struct approval *approval, const char *tool);
/* A decision from a recording for the n-th question of a call in a turn (n from 0, in the order added). */
void approval_record(struct approval *approval, int64_t turn, const char *call, const struct verdict *verdict);
/* What is decided without asking; DECISION_NONE when a person must. `named`: what named_find says of the arguments of
 * a call without files, NULL: nothing. Sets `nobody` when it was refused because nobody could be asked (exit status 4).
 * The verdict is the caller's to release. */
struct verdict approval_judge(struct approval *approval, int64_t turn, const char *call, const char *tool,
                              const struct change_set *set, const char *named, bool *nobody);

/* 0 when the verdict allows something and fits the proposal, else -1 and why not. Compares nothing when the proposal is
 * counted. */
int verdict_fits(const struct verdict *verdict, const struct change_set *proposed, struct err *err) CHECKED;
/* Applies the verdict's hunks or edits to a copy of the proposal: what is to be written. NULL and err when they do not
 * fit it. APPROVED gives a plain copy. Files of which nothing is left are left out; the set may end up empty. What
 * is not written as proposed is no longer counted. May take seconds: call it on the pool. */
struct change_set *verdict_changes(const struct verdict *verdict, const struct change_set *proposed, struct err *err) CHECKED;
/* For the model, which proposed something else: what of it was written and what was not. A JSON object with `decision`,
 * `applied`, `refused` or `edits`, and the user's `reason`. Of PARTIAL and EDITED only. Likewise for the pool. */
void verdict_note(struct strbuf *out, const struct verdict *verdict, const struct change_set *proposed,
                  const struct change_set *written);
/* The choice of hunks as write.decided holds it, in the arena. */
struct event_hunk_choice_list verdict_hunks_to_event(struct arena *arena, const struct verdict *verdict);
