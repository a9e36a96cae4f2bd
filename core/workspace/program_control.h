#pragma once
/* The interface between keys and a running program.
 *
 * The owner of programs fills it in and the engine calls it, so that neither depends on the other. All functions run
 * on the loop.
 *
 * The journal records input before the program gets it, so the engine calls `ready` first. Events report the
 * results: program.output, and program.ended with its cause. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_INPUT_HIDDEN "[not echoed]\n" /* the journal's text for a line that a terminal does not echo */
#define PROGRAM_INPUT_END \
    "\x04" /* Ctrl-D. At the end of the input it ends the input, also for a program without a terminal */

struct program_control {
    /* Returns 0 if the program exists, runs and reads input. Else -1 and a sentence for the user who typed. */
    int (*ready)(struct program_control *control, const char *program, struct err *err);
    /* Writes the text unchanged, except Ctrl-D at its end. Call only directly after `ready`. */
    void (*write)(struct program_control *control, const char *program, const char *text, size_t len);
    /* True if the program waits for a line that its terminal does not echo. False for an unknown program. */
    bool (*hides)(struct program_control *control, const char *program);
    /* Sets the size of the program's terminal. Does nothing without a terminal or for an unknown program. */
    void (*resize)(struct program_control *control, const char *program, int rows, int cols);
    /* Ends the program and all it started: SIGTERM, then SIGKILL. -1 and the reason on failure. A program that has
     * ended is fine. */
    int (*kill)(struct program_control *control, const char *program, struct err *err);
};
