#pragma once
/* A workspace for one test, with the scratch folder it is in and an artifact service in memory. */

#include "support/scratch.h"
#include "workspace/workspace.h"
#include <stddef.h>

struct workspace_test {
    struct scratch files; /* holds the workspace, and whatever a test puts beside it */
    struct workspace *ws;
    struct versions *versions;
    /* The last record that was told, and how many. */
    char op[64], attrs[1024], error[512];
    int told;
};

void workspace_test_init(struct workspace_test *t, const struct workspace_policy *policy);
void workspace_test_release(struct workspace_test *t);
/* In the workspace: a file, with the folders on its way; a link; its content, which is the caller's (NULL: none). */
void workspace_test_write(struct workspace_test *t, const char *path, const char *text);
void workspace_test_link(struct workspace_test *t, const char *target, const char *path);
char *workspace_test_read(struct workspace_test *t, const char *path);
/* The absolute path; the caller's. */
char *workspace_test_path(struct workspace_test *t, const char *path);
