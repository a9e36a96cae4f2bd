#pragma once
/* One sandbox engine, tried: a box is started and a script in it does what must not work. */

#include "base/loop.h"
#include "base/strbuf.h"
#include "sandbox/box.h"
#include "sandbox/executor.h"

struct rooms;

enum trial_verdict {
    TRIAL_FAILED, /* no box can be had */
    TRIAL_WORKS,
    TRIAL_WEAK,    /* a box can be had, but something in it is not held */
    TRIAL_UNTRIED, /* nobody asked for it */
};

struct trial {
    const struct sandbox_engine *engine;
    enum trial_verdict verdict;
    bool over;
    struct strbuf text; /* one line for people */
    char *layers;       /* JSON, once a box was ready */

    struct loop *loop;
    struct rooms *rooms;
    struct box_spec spec;
    struct box *box;
    struct script_run *run;
    struct loop_timer limit;
    struct loop_task telling;
    void (*tried)(void *user);
    void *user;
    bool outer; /* the second box: the engine's own limits alone */
    bool ended;
    int64_t started_us, ready_ms;
    char *room;
};

/* Tries it; `tried` is called from the loop when it is over. `named`: somebody asked for this one, so one elsewhere is
 * tried too. */
void trial_start(struct trial *trial, struct loop *loop, struct rooms *rooms, const struct box_spec *spec, bool named,
                 void (*tried)(void *user), void *user);
/* Takes down what is there, over or not. */
void trial_end(struct trial *trial);
