#pragma once
/* A pool of warm boxes, started before a caller needs them.
 *
 * Each sandbox (a box_options) has one pool. The pool keeps `size` boxes idle or in use. While all are in use it
 * starts up to `overflow` more. Further callers wait, and the pool serves them in order.
 *
 * The pool wipes the workspace of a returned box and checks its harness: idle, alive, quiet stream. It replaces a
 * box after POOL_USES_MAX uses and after any failure.
 *
 * A script may keep running after its result. The pool wipes the box when the script has ended, and replaces the box
 * if that takes longer than POOL_SETTLE_S. A caller that waits meanwhile gets another box, if the limit allows one
 * more.
 *
 * If a box cannot be started, the pool tries again with a growing pause. During the pause callers get the reason
 * instead of waiting forever. */

#include "box.h"
#include <stdint.h>

struct pool;
struct pool_ticket;
struct waiter;

#define POOL_USES_MAX 50
#define POOL_SETTLE_S 5

struct pool_options {
    struct loop *loop;
    const struct box_options *spec; /* copied, except the engine, which must outlive the pool */
    size_t size;                    /* 0 is allowed: the pool keeps no warm box */
    size_t overflow;
    bool lazy;          /* starts no box before the first request, except one to list its tools */
    const char *folder; /* where the pool creates the workspaces of boxes; 0700 */
    /* Called when the status has changed; may be NULL. */
    void (*changed)(void *user);
    void *user;
    /* Starts a box; NULL: box_start. For tests. */
    struct box *(*start)(struct loop *loop, const struct box_options *spec, const char *name,
                         const struct box_listener *listener, struct err *err);
};

struct pool *pool_new(const struct pool_options *options, struct err *err) CHECKED;
/* Kills every box. No callback of a waiting caller runs after this. */
void pool_free(struct pool *pool);

/* Requests a box. The loop calls `got` once: with a box, or with NULL and the reason. */
struct pool_ticket *pool_take(struct pool *pool, void (*got)(void *user, struct box *box, const char *why), void *user);
void pool_forget(struct pool *pool, struct pool_ticket *ticket); /* cancels the request */
/* Returns a box. If something failed in it (script_result_keeps_box), pass reusable = false: the pool ends and
 * replaces it. */
void pool_give(struct pool *pool, struct box *box, bool reusable);

/* The names of secrets that scripts in these boxes may receive, NULL-terminated; NULL: none. Owned by the pool. */
const char *const *pool_secrets(const struct pool *pool);

/* The tools of the newest box that became ready. If there is a tools folder, the pool starts a box just to list
 * them. */
const struct toolset *pool_tools(const struct pool *pool);
/* True if the caller need not wait: a box has listed the tools, or no box could be started to list them. */
bool pool_tools_known(const struct pool *pool);
/* Wakes the waiter when pool_tools_known becomes true. */
void pool_await_tools(struct pool *pool, struct waiter *waiter);
void pool_stop_awaiting(struct pool *pool, struct waiter *waiter); /* may be called after the wake-up */

struct pool_status {
    const char *engine;
    const char *layers;  /* of the newest box that became ready; NULL: none yet */
    const char *trouble; /* why no box can be started; NULL: no trouble */
    /* Problems of the newest box that became ready: a tool that failed to load, a limit that the engine lacks. NULL:
     * none. */
    const char *complaints;
    size_t starting; /* includes boxes that are being wiped */
    size_t idle, busy;
    size_t waiting; /* callers that wait for a box */
    uint64_t served, retired, failed;
};
struct pool_status pool_status(const struct pool *pool);

/* Lists the boxes, oldest first: state, number of uses, and the layers that confine each box. */
struct pool_box {
    unsigned number;
    const char *state; /* "starting", "warm", "busy", "wiped" */
    unsigned uses;
    const char *layers; /* JSON; NULL before the box was ready. Owned by the box. */
};
size_t pool_boxes(const struct pool *pool, struct pool_box *boxes, size_t room); /* returns the number written */
/* Replaces the `changed` callback from now on. */
void pool_watch(struct pool *pool, void (*changed)(void *user), void *user);
