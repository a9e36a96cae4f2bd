#pragma once
/* A workspace in a scratch folder; calls its tools as the executor does, on this thread.
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
#include "scratch.h"
#include "tools/tool.h"

struct tool_rig {
    struct scratch files;  /* contents of the workspace */
    struct scratch beside; /* a folder outside of it */
    struct beneath *root;
    struct tool_env env;
    struct fake_clock clock;
    struct hold_clock hold;
    bool cancelled; /* the next execution finds its token canceled */
    struct arena arena;
    struct tool_reply reply;   /* of the last execution */
    const struct json *output; /* of the last execution, parsed; NULL if it was not an output */
};

void tool_rig_init(struct tool_rig *rig);
void tool_rig_release(struct tool_rig *rig);
/* First execution; checks the arguments against the tool's own schema. */
void tool_rig_run(struct tool_rig *rig, const struct tool *tool, const char *arguments);
/* The same with printf; the texts must not need escaping. */
void tool_rig_runf(struct tool_rig *rig, const struct tool *tool, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Commits the changes of the last reply, which must be a proposal. If that fails, the reason becomes the last reply. */
void tool_rig_commit(struct tool_rig *rig);

/* Fail the test unless the last execution ended like this. */
void tool_rig_expect_error(const struct tool_rig *rig, const char *text);      /* exactly */
void tool_rig_expect_error_with(const struct tool_rig *rig, const char *part); /* containing */
void tool_rig_expect_output(const struct tool_rig *rig, const char *json);     /* exactly */
const char *tool_rig_text(const struct tool_rig *rig, const char *key);
int64_t tool_rig_int(const struct tool_rig *rig, const char *key); /* -1 if absent */
/* Checks that no temporary file of ours is left in the workspace. */
void tool_rig_expect_no_leftovers(const struct tool_rig *rig);

/* Runs `test` in a child process and fails unless it returns true. The child changes to the user nobody if `as_nobody`
 * is set and we are root. For what a process cannot take back: limits, mounts, its user. */
void tool_rig_in_child(bool (*test)(struct tool_rig *rig), struct tool_rig *rig, bool as_nobody);
