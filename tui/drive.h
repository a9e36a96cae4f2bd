#pragma once
/* Runs the turns of a session without a screen: shows them, listens for Ctrl-C, and knows how it all ended. */

#include "base/loop.h"
#include "headless.h"
#include "output.h"
#include "plain.h"
#include "setup.h"

struct drive {
    struct setup setup;
    struct output output;
    struct headless headless;
    struct plain *plain;
    struct sink sink;   /* our own ear */
    struct sink *extra; /* one more, told first; NULL: none */
    bool quiet;         /* shows nothing */
    bool patient;       /* waits for late calls as long as it takes */
    const char *prompt; /* the one turn, when there is no recording */
    struct recording *recording;
    const char *record;  /* the file that --record names */
    const char *scratch; /* removed when the program leaves in a hurry */
    size_t turns_max;    /* of the recording; 0: all of them */
    bool enough;         /* set while an event is told: the turn is cancelled, no other begins, and all is well */

    size_t turns, next;     /* how many there are, which one comes next */
    struct loop_task step;  /* on to the next turn, or to the end */
    struct loop_task stop;  /* cancels the turn, from the loop */
    struct loop_timer look; /* for late calls */
    int64_t waits_since_us;
    bool running, over;
    bool unusable; /* what it shows could not be shown, or not be recorded: the run means nothing */
    int interrupts;
    int stopped; /* the exit status that the first of them stands for */
    int status;
    char *ended;
    char *trouble; /* what the model's newest failure was */
};

/* Sets up, runs every turn, takes down; returns the exit status. The plan's sinks are filled in here. */
int drive(struct drive *drive, struct setup_plan *plan);
