#pragma once
/* The workbench as a running program: the loop, the terminal, the ui, and either an engine or a recording. app.c is the
 * host of the ui: it turns user requests into intents and seeks. */

#include "options.h"

struct session_row;

/* True if the program is interactive: stdin and stdout are terminals, and no option forbids the workbench. */
bool app_wanted(const struct options *options);
/* Each runs the workbench and returns the exit status. Call them only on a terminal and without --headless. */
int app_live(const struct options *options, bool demo); /* run, demo */
/* Continues this session, with the operand as its next prompt if the session was not named by it. NULL: lists the
 * sessions that the operand names. */
int app_resume(const struct options *options, const struct session_row *row);
int app_replay(const struct options *options); /* replay, with --execute too */
int app_start(const struct options *options);  /* no command: the start screen */
