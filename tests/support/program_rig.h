#pragma once
/* A loop, a workspace and programs in it, for tests. One at a time in a test program. */

#include "support/recorder.h"
#include "workspace/program.h"
#include <stdbool.h>

struct program_rig {
    struct loop *loop;
    struct workspace *ws;
    struct programs *programs;
    struct program_result result; /* of the last rig_run */
    struct recorder recorder;     /* of the workspace, and of the programs unless the options have an emitter */
    char *folder;
};

/* By the name of a built-in engine, unless the options have one; it aborts when it cannot be had. `options`: what else
 * is said of the programs. */
void program_rig_open(struct program_rig *rig, const char *engine, const struct programs_options *options);
void program_rig_close(struct program_rig *rig);
/* Runs to the end and keeps the result; false and `err` when it could not begin. */
bool program_rig_run(struct program_rig *rig, const struct program_spec *spec, struct err *err);
/* The same for a shell's command; aborts when it could not begin. */
void program_rig_sh(struct program_rig *rig, const char *command);
/* Runs the loop until `holds` does; aborts when that takes too long. */
void program_rig_await(struct program_rig *rig, bool (*holds)(void *user), void *user);
/* Processes of this machine whose command line holds the text with ".$MARK" behind it, which is a variable of all
 * programs (unless there is another provider) and tells them from those of other tests. */
int program_rig_count(const char *text);
/* Processes that have the workspace at this path as theirs, but for whoever starts programs. */
int program_rig_count_within(const char *path);
