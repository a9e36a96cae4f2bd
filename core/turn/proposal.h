#pragma once
/* A proposed write in words that others read: the files of write.proposed, the edit in the journal, the reply that the
 * model gets. */

#include "base/arena.h"
#include "event/event.h"
#include "tools/change.h"

struct diff;
struct strbuf;

/* The files as write.proposed holds them, with their diffs as text; counts the changes. A diff that takes too much room
 * in the record is cut, and can then only be decided as a whole. May take seconds: call it on the pool. */
struct event_proposed_file_list proposal_files(struct arena *arena, struct change_set *changes,
                                               struct diff *const *diffs);
/* What a person wrote instead, as the JSON of `edited`. It may be of some of the files only, and is enough to write the
 * same again. */
void proposal_edit(struct strbuf *before, struct strbuf *after, const struct change_set *proposed,
                   const struct change_set *edited);
/* What the model reads of a write: {"path":…,"applied":true,"added":…,"removed":…}; a move has from and to instead.
 * `note`: of another decision than a plain yes, "" without one. The caller frees it. */
char *proposal_reply(const struct change_set *proposed, const struct change_set *written, const char *note);
