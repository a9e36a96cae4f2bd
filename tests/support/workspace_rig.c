/* Plain calls, so that a test does not rest on what it tests. */

#include "support/workspace_rig.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "workspace/versions.h"
#include <stdio.h>
#include <string.h>

static void on_op(void *user, const struct workspace_op *op)
{
    struct workspace_test *t = user;
    snprintf(t->op, sizeof(t->op), "%s", op->op);
    snprintf(t->attrs, sizeof(t->attrs), "%s", op->attrs);
    snprintf(t->error, sizeof(t->error), "%s", op->error ? op->error : "");
    t->told++;
}

void workspace_test_init(struct workspace_test *t, const struct workspace_policy *policy)
{
    struct err err = ERR_INIT;
    memset(t, 0, sizeof(*t));
    scratch_init(&t->files);
    t->versions = versions_in_memory();
    struct workspace_options options = {.base = t->files.path, .versions = t->versions, .observer = {on_op, t}};
    t->ws = workspace_create(&options, "test", policy, &err);
    if (!t->ws)
        BUG("%s", err.text);
    t->told = 0;
}

void workspace_test_release(struct workspace_test *t)
{
    workspace_free(t->ws);
    versions_free(t->versions);
    scratch_release(&t->files);
}

char *workspace_test_path(struct workspace_test *t, const char *path)
{
    return xasprintf("%s/%s", t->ws->path, path);
}

/* Makes the folders on the way to the path. */
static void make_way(const char *path)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = xmemdup0(path, (size_t)(strrchr(path, '/') - path));
    if (file_mkdirs(folder, 0755, &err) < 0)
        BUG("%s", err.text);
}

void workspace_test_write(struct workspace_test *t, const char *path, const char *text)
{
    CLEANUP(free) char *full = workspace_test_path(t, path);
    make_way(full);
    FILE *file = fopen(full, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        BUG("cannot write %s", full);
}

void workspace_test_link(struct workspace_test *t, const char *target, const char *path)
{
    CLEANUP(free) char *full = workspace_test_path(t, path);
    make_way(full);
    if (symlink(target, full) < 0)
        BUG("cannot link %s", full);
}

char *workspace_test_read(struct workspace_test *t, const char *path)
{
    CLEANUP(free) char *full = workspace_test_path(t, path);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    return file_read(full, &text, 0, NULL) < 0 ? NULL : strbuf_detach(&text, NULL);
}
