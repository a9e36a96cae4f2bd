#pragma once
/* --headless: every event as its line on standard output, sent the moment it happened. The journal has it already:
 * sinks hear of an event after it was appended. */

#include "turn/engine.h"

struct output;

struct headless {
    struct sink sink;
    struct output *output;
};
void headless_init(struct headless *headless, struct output *output);
