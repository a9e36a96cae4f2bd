#pragma once
/* A turn in which everything happens once: reads side by side on the loop and on the pool, an output too long to show,
 * a write with a question, one whose file changes under the question, a tool of somebody else that asks in words, a
 * failing call, a look back, a model that fails and is asked again, pieces of answers. For sweeps that break it off
 * everywhere.
 *
 *     struct rich_turn rich;
 *     rich_turn_init(&rich);
 *     rich.at_event = 17;                 after the 17th event …
 *     rich.rounds = 2;                    … and two rounds of the loop …
 *     rich.strike = my_function;          … this happens, from a task
 *     rich_turn_run(&rich);
 *     rich_turn_release(&rich);                                                                                    */

#include "support/fake_tools.h"
#include "support/turn_check.h"

struct rich_turn {
    struct turn_rig rig;
    struct fake_tool look, see, dump, foreign, bad;
    char *long_output;
    const char *journal; /* path; NULL: in memory */
    bool stepping;       /* stands at every gate and steps on from there */
    bool meddled;

    size_t at_event; /* 0: never */
    int rounds;
    int64_t at_us; /* or at this time of the loop's clock; -1: not */
    void (*strike)(struct rich_turn *rich);
    bool struck;          /* whether it came to that */
    size_t events_before; /* heard by then */

    struct sink sink;
    struct loop_task strike_task, step_task;
    struct loop_timer strike_timer;
};

/* Scratch folders in memory where the system has that: a sweep syncs thousands of files, and the disk proves nothing.
 */
void rich_turn_in_memory(void);

void rich_turn_init(struct rich_turn *rich);
/* From the prompt until nothing is under way. */
void rich_turn_run(struct rich_turn *rich);
/* Frees everything; BUG()s when something of the loop is left open. */
void rich_turn_release(struct rich_turn *rich);

/* The files that it writes, and what is in them before and after. */
struct rich_file {
    const char *path, *before, *after;
};
extern const struct rich_file rich_files[2];
