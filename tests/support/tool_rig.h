#pragma once
/* A workspace in a scratch folder, and its tools called as the executor calls them, on this thread.
 *
 *     struct tool_rig rig;
 *     tool_rig_init(&rig);
 *     scratch_write(&rig.files, "a.txt", "one\n");
 *     tool_rig_run(&rig, &tool_read_file, "{\"path\":\"a.txt\"}");
 *     assert_string_equal(tool_rig_text(&rig, "path"), "a.txt");
 *     tool_rig_release(&rig); */

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "support/scratch.h"
#include "tools/tool.h"

struct tool_rig {
    struct scratch files;  /* what the workspace holds */
    struct scratch beside; /* a folder that is not in it */
    struct beneath *root;
    struct tool_env env;
    struct fake_clock clock;
    struct hold_clock hold;
    bool cancelled; /* the next execution finds its token cancelled */
    struct arena arena;
    struct tool_reply reply;   /* of the last execution */
    const struct json *output; /* of the last execution, parsed; NULL when it was no output */
};

void tool_rig_init(struct tool_rig *rig);
void tool_rig_release(struct tool_rig *rig);
/* First execution; the arguments are checked against the tool's own schema. */
void tool_rig_run(struct tool_rig *rig, const struct tool *tool, const char *arguments);
/* The same with printf; texts in it must need no escaping. */
void tool_rig_runf(struct tool_rig *rig, const struct tool *tool, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Commits the changes of the last reply, which must be a proposal; why it could not be done is then the last reply. */
void tool_rig_commit(struct tool_rig *rig);

/* Fail the test unless the last execution ended like this. */
void tool_rig_expect_error(const struct tool_rig *rig, const char *text);      /* exactly */
void tool_rig_expect_error_with(const struct tool_rig *rig, const char *part); /* containing */
void tool_rig_expect_output(const struct tool_rig *rig, const char *json);     /* exactly */
const char *tool_rig_text(const struct tool_rig *rig, const char *key);
int64_t tool_rig_int(const struct tool_rig *rig, const char *key); /* -1 when it is not there */
/* No temporary of ours is left anywhere in the workspace. */
void tool_rig_expect_no_leftovers(const struct tool_rig *rig);

/* Runs `test` in a child process, as nobody when that is asked for and we are root, and fails unless it returns true.
 * For what a process cannot take back: limits, mounts, its user. */
void tool_rig_in_child(bool (*test)(struct tool_rig *rig), struct tool_rig *rig, bool as_nobody);
