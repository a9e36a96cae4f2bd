#pragma once
/* A loop, a workspace and programs in it, for tests. A test program has one at a time. */

#include "recorder.h"
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

/* Opens a built-in engine by its name, unless the options have one; aborts if it is not available. `options`: further
 * settings of the programs. */
void program_rig_open(struct program_rig *rig, const char *engine, const struct programs_options *options);
void program_rig_close(struct program_rig *rig);
/* Runs to the end and keeps the result. Returns false and `err` if it could not start. */
bool program_rig_run(struct program_rig *rig, const struct program_spec *spec, struct err *err);
/* The same for a shell command; aborts if it could not start. */
void program_rig_sh(struct program_rig *rig, const char *command);
/* Runs the loop until `holds` returns true; aborts if that takes too long. */
void program_rig_await(struct program_rig *rig, bool (*holds)(void *user), void *user);
/* Counts processes of this machine whose command line holds the text followed by ".$MARK". All programs have that
 * variable (unless there is another provider). It distinguishes them from those of other tests. */
int program_rig_count(const char *text);
/* Counts processes whose WORKSPACE_DIR is this path, except the launchers. */
int program_rig_count_within(const char *path);
