#pragma once
/* Warm boxes, ready before they are asked for.
 *
 * One pool per sandbox (a box_spec). `size` boxes are kept idle or in use, up to `overflow` more are made while all are
 * in use, further callers wait and are served in order. A box that comes back has its workspace wiped and its harness
 * checked (it is idle, alive, its stream is quiet); it is retired after POOL_USES_MAX uses and after any failure, and
 * replaced. A script may go on after its result: the box is wiped when it has ended, and retired when
 * that takes longer than POOL_SETTLE_S; who waits meanwhile gets another box, if there may be one more. A box that
 * cannot be started is tried again with a growing pause; while that goes on, callers are told why instead of waiting
 * for ever. */

#include "box.h"
#include <stdint.h>

#define POOL_USES_MAX 50
#define POOL_SETTLE_S 5

struct pool;
struct pool_ticket;
struct waiter;

struct pool_options {
    struct loop *loop;
    const struct box_spec *spec; /* copied, but for the engine, which must stay */
    size_t size;                 /* 0 is allowed: nothing is kept warm */
    size_t overflow;
    bool lazy;          /* nothing is made before somebody asks for the first box, but to hear of its tools */
    const char *folder; /* where the workspaces of boxes are made; 0700 */
    /* Something in the status changed; may be NULL. */
    void (*changed)(void *user);
    void *user;
    /* How a box is made; NULL: box_start. For tests. */
    struct box *(*start)(struct loop *loop, const struct box_spec *spec, const char *name,
                         const struct box_listener *listener, struct err *err);
};

struct pool *pool_new(const struct pool_options *options, struct err *err) CHECKED;
/* Kills every box; waiting callers are not called any more. */
void pool_free(struct pool *pool);

/* Asks for a box. `got` is called from the loop, once: with a box, or with NULL and why there is none. */
struct pool_ticket *pool_take(struct pool *pool, void (*got)(void *user, struct box *box, const char *why), void *user);
void pool_forget(struct pool *pool, struct pool_ticket *ticket); /* stops waiting */
/* Gives a box back. Not reusable, since something failed in it (script_result_keeps_box): it is ended and replaced. */
void pool_give(struct pool *pool, struct box *box, bool reusable);

/* The names of secrets that may be handed in to its boxes, NULL-terminated; NULL: none. The pool's. */
const char *const *pool_secrets(const struct pool *pool);

/* The tools of its newest box that was ready. One is made just to ask, where there is a folder of tools. */
const struct toolset *pool_tools(const struct pool *pool);
/* Whether there is nothing to wait for: the tools are told, or a box could not be started to tell them. */
bool pool_tools_known(const struct pool *pool);
/* Wakes whoever waits for that. */
void pool_await_tools(struct pool *pool, struct waiter *waiter);
void pool_stop_awaiting(struct pool *pool, struct waiter *waiter); /* fine if it was woken already */

struct pool_status {
    const char *engine;
    const char *layers;  /* of the newest box that was ready; NULL: none yet */
    const char *trouble; /* why none can be started, NULL: none */
    /* Of the newest box that was ready, although it was: a tool that could not be loaded, a limit that the engine left
     * out. NULL: none. */
    const char *complaints;
    size_t starting; /* or being wiped */
    size_t idle, busy;
    size_t waiting; /* callers */
    uint64_t served, retired, failed;
};
struct pool_status pool_status(const struct pool *pool);

/* Each box there is, oldest first: what it does, how often it has served, what holds it. */
struct pool_box {
    unsigned number;
    const char *state; /* "starting", "warm", "busy", "wiped" */
    unsigned uses;
    const char *layers; /* JSON; NULL before it was ready. The box's. */
};
size_t pool_boxes(const struct pool *pool, struct pool_box *boxes, size_t room); /* how many were written */
/* Tells somebody else of changes from now on. */
void pool_watch(struct pool *pool, void (*changed)(void *user), void *user);
