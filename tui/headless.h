#pragma once
/* --headless: every event as its line on standard output. The journal has it already: sinks hear of an event after it
 * was appended. While a loop runs, what happens in one go is sent in one go. */

#include "base/loop.h"
#include "turn/engine.h"

struct output;

struct headless {
    struct sink sink;
    struct output *output;
    struct loop *loop; /* set while it runs */
    struct loop_task flush;
};
void headless_init(struct headless *headless, struct output *output);
/* The loop begins to run, or (NULL) has ended. */
void headless_run(struct headless *headless, struct loop *loop);
