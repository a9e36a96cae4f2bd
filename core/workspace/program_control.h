#pragma once
/* The way from a key to a program that runs: whoever owns programs fills this in, the engine asks it, and neither knows
 * the other. Everything is called on the loop.
 *
 * What is typed is in the journal before the program gets it, so whether it could be typed is asked first. What comes
 * of either is told by events: program.output, and program.ended with its cause. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_INPUT_HIDDEN "[not echoed]\n" /* what is in the journal of a line that a terminal does not say back */
#define PROGRAM_INPUT_END \
    "\x04" /* Ctrl-D. Last of what is typed it ends the input, of a program without a terminal too */

struct program_control {
    /* 0: there is such a program, it runs and reads what is typed. -1: why not, in a sentence for whoever typed. */
    int (*ready)(struct program_control *control, const char *program, struct err *err);
    /* Types the text as it is, but for its end; only after `ready` in the same breath. */
    void (*write)(struct program_control *control, const char *program, const char *text, size_t len);
    /* It waits for a line that its terminal does not say back; false of one that there is not. */
    bool (*hides)(struct program_control *control, const char *program);
    /* Ends it and all it started: asked first, then killed. -1: why not. One that is gone already is fine. */
    int (*kill)(struct program_control *control, const char *program, struct err *err);
};
