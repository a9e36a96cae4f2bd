#pragma once
/* A turn with one of everything, for sweeps that interrupt it at every point. It has parallel reads on the loop and on
 * the pool, an output too long to show, a write with a question, and a write whose file changes during the question. It
 * also has a foreign tool that asks in words, a failing call, a reflection, a model request that fails and is retried,
 * and pieces of answers.
 *
 *     struct rich_turn rich;
 *     rich_turn_init(&rich);
 *     rich.at_event = 17;                 after the 17th event …
 *     rich.rounds = 2;                    … and two rounds of the loop …
 *     rich.strike = my_function;          … this happens, from a task
 *     rich_turn_run(&rich);
 *     rich_turn_release(&rich);                                                                                    */

#include "fake_tools.h"
#include "turn_check.h"

struct rich_turn {
    struct turn_rig rig;
    struct fake_tool look, see, dump, foreign, bad;
    char *long_output;
    const char *journal; /* path; NULL: in memory */
    bool stepping;       /* stops at every gate and steps from there */
    bool meddled;

    size_t at_event; /* 0: never */
    int rounds;
    int64_t at_us; /* or at this time of the loop's clock; -1: no */
    void (*strike)(struct rich_turn *rich);
    bool struck;          /* whether strike was called */
    size_t events_before; /* events before that */

    struct sink sink;
    struct loop_task strike_task, step_task;
    struct loop_timer strike_timer;
};

/* Puts scratch folders in memory if the system can: a sweep syncs thousands of files, and a disk would prove
 * nothing. */
void rich_turn_in_memory(void);

void rich_turn_init(struct rich_turn *rich);
/* Runs from the prompt until no event is left. */
void rich_turn_run(struct rich_turn *rich);
/* Frees everything; BUG()s if a timer, task or job of the loop is left. */
void rich_turn_release(struct rich_turn *rich);

/* The files that it writes, and their contents before and after. */
struct rich_file {
    const char *path, *before, *after;
};
extern const struct rich_file rich_files[2];
