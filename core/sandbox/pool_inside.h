#pragma once
/* What the files of the pool share: pool.c starts, hands out and ends boxes, pool_clean.c makes one that came back fit
 * for the next. */

#include "base/lines.h"
#include "base/loop.h"
#include "base/waiter.h"
#include "pool.h"

#define SECOND_US      INT64_C(1000000)
#define POOL_WIPE_LINE 4096u

enum slot_state { SLOT_STARTING, SLOT_IDLE, SLOT_BUSY, SLOT_CLEANING };

struct slot {
    struct pool *pool;
    struct slot *next;
    struct box *box;
    char *room;
    bool lives_there; /* its workspace is the room; else it is one that we cannot see, or somebody else's */
    enum slot_state state;
    unsigned number, uses;
    bool dead;  /* the box is gone */
    bool clean; /* the wipe has said so */
    bool slow;  /* it is being cleaned, and not soon done */
    struct loop_work work;
    struct loop_timer limit; /* on what a cleaning slot waits for */
    struct loop_timer soon;  /* then it is slow */
    struct lines lines;      /* of the wipe */
    struct err err;
};

struct pool_ticket {
    struct pool_ticket *next;
    void (*got)(void *user, struct box *box, const char *why);
    void *user;
};

struct pool {
    struct loop *loop;
    struct box_spec *spec; /* our own */
    struct rooms *rooms;   /* NULL: nobody has asked yet */
    char *folder;
    struct pool_options options;
    struct slot *slots;
    struct pool_ticket *waiting, **waiting_end;
    struct loop_task settling, telling;
    struct loop_timer pause; /* while it is armed nothing is started */
    unsigned failures;       /* running */
    char *trouble, *layers, *complaints;
    struct toolset tools;
    struct waiter *curious; /* for the tools to be known */
    uint32_t id, number;    /* for names */
    uint64_t served, retired, failed;
    size_t working; /* threads on rooms, of slots that are in no list any more */
    bool freed;
};

/* Something happened: it is settled soon, and told. */
void pool_changed(struct pool *pool);
/* Ends the box of one that has served, and takes it out. */
void slot_retire(struct slot *slot);

/* The box is back: wipes it when its script has ended, and it is idle then, or retired. */
void slot_clean(struct slot *slot);
/* For box_listener.idle. */
void slot_idle(void *user, struct box *box);
