/* Makes the files of a test's workspace with plain system calls, so that a test does not rely on the code it tests. */

#include "workspace_rig.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "versions_memory.h"
#include "workspace/versions.h"
#include <stdio.h>
#include <string.h>

void workspace_test_init(struct workspace_test *t, const struct workspace_policy *policy)
{
    struct err err = ERR_INIT;
    memset(t, 0, sizeof(*t));
    scratch_init(&t->files);
    recorder_init(&t->recorder);
    t->versions = versions_in_memory();
    struct workspace_options options = {.base = t->files.path, .versions = t->versions, .ops = t->recorder.queue};
    t->ws = workspace_create(&options, "test", policy, &err);
    if (!t->ws)
        BUG("%s", err.text);
    recorder_forget(&t->recorder);
}

void workspace_test_release(struct workspace_test *t)
{
    workspace_free(t->ws);
    versions_free(t->versions);
    recorder_release(&t->recorder);
    scratch_release(&t->files);
}

const struct event_workspace_op *workspace_test_op(struct workspace_test *t)
{
    return &recorder_last(&t->recorder, EVENT_WORKSPACE_OP)->workspace_op;
}

char *workspace_test_path(struct workspace_test *t, const char *path)
{
    return xasprintf("%s/%s", t->ws->path, path);
}

/* Makes the parent folders of the path. */
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
