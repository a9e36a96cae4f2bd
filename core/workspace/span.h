#pragma once
/* What an operation on a workspace tells: its name, how long it took, what it was about and why it failed. One record per
 * operation, told when it ends, on the thread that carried it out; it becomes a `workspace.op` event. */

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include <stdint.h>

struct clock;

/* The operations (span names). */
#define SPAN_CREATE      "workspace.create"
#define SPAN_CLEANUP     "workspace.cleanup"
#define SPAN_STAGE_FILES "workspace.stage.files"
#define SPAN_STAGE_DIR   "workspace.stage.dir"
#define SPAN_RUN         "workspace.run"
#define SPAN_COLLECT     "workspace.collect"
#define SPAN_INLINE      "workspace.inline"

/* What they say (attribute keys). */
#define SPAN_EXEC_ID    "exec_id"
#define SPAN_PATH       "path"
#define SPAN_COUNT      "count"
#define SPAN_PATTERNS   "patterns"
#define SPAN_CMD        "cmd"
#define SPAN_CWD        "cwd"
#define SPAN_EXIT_CODE  "exit_code"
#define SPAN_TIMED_OUT  "timed_out"
#define SPAN_HOST_PATH  "host_path"
#define SPAN_TO         "to"
#define SPAN_MOUNT_USED "mount_used"

struct workspace_op {
    const char *op;
    int64_t elapsed_ms;
    const char *error; /* NULL when all went well */
    const char *attrs; /* a JSON object */
};

/* Told of every operation; `done` NULL: nobody listens. Must be safe to call from the threads that operations run on. */
struct workspace_observer {
    void (*done)(void *user, const struct workspace_op *op);
    void *user;
};

/* An operation under way:
 *
 *     struct span span;
 *     struct err own = ERR_INIT;
 *     span_begin(&span, &ws->observer, ws->clock, SPAN_STAGE_FILES);
 *     json_add_int(&span.attrs, SPAN_COUNT, count);
 *     return span_end(&span, put_all(ws, …, &own), &own, err);                                                        */
struct span {
    const struct workspace_observer *observer;
    struct clock *clock;
    const char *op;
    int64_t began_us;
    struct strbuf text;
    struct json_writer attrs;
};
void span_begin(struct span *span, const struct workspace_observer *observer, struct clock *clock, const char *op);
/* Tells the record, hands `own` on to `err` when `status` is an error, and returns `status`. */
int span_end(struct span *span, int status, const struct err *own, struct err *err);
