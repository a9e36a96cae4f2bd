#pragma once
/* A look at a workspace: one walk of its tree, for all who need to know what is in it.
 *
 *     const struct workspace_look *look = workspace_look(ws);     walks, unless nothing changed since the last look
 *     … look->count, look->entries …
 *     look_release(look);
 *
 * The disk limit, the warnings of a call and workspace.state share it. changes.h says how it knows that nothing
 * changed; that works only where programs run on this machine (workspace_options.local). */

#include "base/arena.h"
#include "event/event.h"
#include "sandbox/disk_limit.h"
#include <stdint.h>

struct workspace_look;
struct looker;
struct workspace;

struct workspace_look {
    struct disk_count count;
    struct event_workspace_entry_list entries;
    int64_t more; /* entries that are not listed */
    struct event_workspace_input_list inputs;
    struct event_workspace_skill_list skills;
    int64_t took_us; /* the walk */
    struct arena arena;
    unsigned refs;
};

/* Blocks. From any thread, one walk at a time. */
const struct workspace_look *workspace_look(struct workspace *ws);
void look_release(struct workspace *ws, const struct workspace_look *look);
/* What the last look counted, and how long that took; false: there was no look yet. Does not block. */
bool workspace_last_count(struct workspace *ws, struct disk_count *count, int64_t *took_us);
/* Counts while programs run: a walk of its own, because a running program can hide from the reports. `early`: it has
 * not run for long, and the last look counts as long as nothing was reported. Blocks. */
struct disk_count workspace_sample(struct workspace *ws, bool early);
/* Walks so far, for tests and measurements. */
struct workspace_walks {
    unsigned looks, samples;
};
struct workspace_walks workspace_walks(struct workspace *ws);

/* A program starts, and all its processes have ended. `sure` false: some may live on. */
void workspace_program_begins(struct workspace *ws);
void workspace_program_ended(struct workspace *ws, bool sure);
