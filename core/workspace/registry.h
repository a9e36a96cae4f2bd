#pragma once
/* Workspaces by a name of the caller's, so that what belongs together shares one.
 *
 * Whoever asks first has it made, on a thread of its own; everybody who asks meanwhile waits for the same one. The
 * making goes on when those who wait give up, and is there for the next. A failure is not remembered. */

#include "base/err.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct workspace;
struct workspace_registry;

/* Makes the workspace for an id; on a thread of the registry. */
typedef struct workspace *workspace_maker(void *user, const char *id, struct err *err);

/* One caller, who may be told to give up. Zeroed at first. */
struct registry_call {
    atomic_bool cancelled;
};

struct workspace_registry *workspace_registry_new(void);
/* Waits for what is being made. The workspaces are freed; their files stay, unless `cleanup`. */
void workspace_registry_free(struct workspace_registry *registry, bool cleanup);

/* The workspace of this id, which stays the registry's; NULL and the error when it cannot be made or the call was
 * cancelled. One that is there is handed out even to a cancelled call. `call` may be NULL. */
struct workspace *workspace_registry_acquire(struct workspace_registry *registry, const char *id, workspace_maker *make,
                                             void *user, struct registry_call *call, struct err *err) CHECKED;
/* Makes that call return. From any thread. */
void workspace_registry_cancel(struct workspace_registry *registry, struct registry_call *call);
