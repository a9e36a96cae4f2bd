#pragma once
/* The workbench as a running program: the loop, the terminal, the ui, and either an engine or a recording. app.c is the
 * ui's host: it turns wishes into intents and seeks. */

#include "options.h"

/* Somebody sits in front of it: a terminal on both sides, and nothing says otherwise. */
bool app_wanted(const struct options *options);
/* Run the workbench; the exit status. Called when there is a terminal and --headless was not given. */
int app_live(const struct options *options, bool demo); /* run, demo */
int app_replay(const struct options *options);          /* replay, with --execute too */
int app_start(const struct options *options);           /* no command: the start screen */
