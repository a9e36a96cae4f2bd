#pragma once
/* Runs the turns of a session without a screen: prints them, handles Ctrl-C, and returns the exit status. */

#include "app/setup.h"
#include "base/loop.h"
#include "cli_out.h"
#include "plain.h"

/* --headless: prints each event as its JSON line on standard output, after it was appended to the journal. While the
 * loop runs, the events of one loop step are sent with one write. */
struct headless {
    struct sink sink;
    struct cli_out *output;
    struct loop *loop; /* set while the loop runs */
    struct loop_task flush;
};

struct run_loop {
    struct setup setup;
    struct cli_out output;
    struct headless headless;
    struct plain *plain;
    struct sink sink;   /* receives events for the run loop */
    struct sink *extra; /* another sink, called first; NULL: none */
    bool quiet;         /* prints nothing */
    bool patient;       /* waits for late calls without a limit */
    const char *prompt; /* the only turn, if there is no recording */
    struct recording *recording;
    const char *record;  /* the file that --record names */
    const char *scratch; /* removed when the program exits at once */
    size_t turns_max;    /* turns of the recording to run; 0: all */
    bool enough;         /* set from a sink: cancel the turn, start no other, and exit with success */

    size_t turns, next;     /* number of turns, the next one */
    struct loop_task step;  /* starts the next turn, or ends the run */
    struct loop_task stop;  /* cancels the turn from the loop */
    struct loop_timer look; /* checks for late calls */
    int64_t waits_since_us;
    bool running, over;
    bool unusable; /* an event could not be printed or recorded, so the run is void */
    int interrupts;
    int stopped; /* the exit status for the first signal; 0: none */
    int status;
    char *limit;   /* the sentence about the limit that ended the newest turn; NULL: none did */
    char *trouble; /* the newest error of the model */
};

/* Sets up, runs every turn, takes down; returns the exit status. It fills in the plan's sinks. */
int run_loop_turns(struct run_loop *run, struct setup_plan *plan);
