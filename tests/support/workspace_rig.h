#pragma once
/* A workspace for one test, with the scratch folder it is in and an artifact service in memory. */

#include "recorder.h"
#include "scratch.h"
#include "workspace/workspace.h"
#include <stddef.h>

struct workspace_test {
    struct scratch files; /* holds the workspace, and what a test puts beside it */
    struct workspace *ws;
    struct versions *versions;
    struct recorder recorder; /* of the workspace's operations */
};

void workspace_test_init(struct workspace_test *t, const struct workspace_policy *policy);
void workspace_test_release(struct workspace_test *t);
/* Returns the last operation. */
const struct event_workspace_op *workspace_test_op(struct workspace_test *t);
/* In the workspace: write a file with its parent folders, make a link, read a file (the caller frees it; NULL:
 * none). */
void workspace_test_write(struct workspace_test *t, const char *path, const char *text);
void workspace_test_link(struct workspace_test *t, const char *target, const char *path);
char *workspace_test_read(struct workspace_test *t, const char *path);
/* Returns the absolute path; the caller frees it. */
char *workspace_test_path(struct workspace_test *t, const char *path);
