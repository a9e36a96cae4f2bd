/* Several threads make, fill, collect and remove 500 workspaces at once and leave nothing behind: no folder, no file,
 * no descriptor. */

#include "base/mem.h"
#include "support/recorder.h"
#include "support/scratch.h"
#include "support/test.h"
#include "support/versions_memory.h"
#include "workspace/collect.h"
#include "workspace/stage.h"
#include "workspace/versions.h"
#include "workspace/workspace.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define THREADS    8
#define WORKSPACES 500

static struct scratch files;
static struct versions *versions;
static atomic_int next;
static struct recorder recorder; /* of operations */

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* NULL, or what went wrong. */
static const char *live(int number)
{
    static char *globs[] = {(char *)"$OUTPUT_DIR/**"};
    static const struct output_spec spec = {.globs = globs, .glob_count = 1, .inline_content = true, .save = true};
    struct workspace_options options = {.base = files.path, .versions = versions, .ops = recorder.queue};
    char text[32], path[32];
    struct err err = ERR_INIT;
    struct workspace *ws = workspace_create(&options, "stress", NULL, &err);
    if (!ws)
        return "not made";
    snprintf(text, sizeof(text), "content %d", number);
    snprintf(path, sizeof(path), "out/d%d/f", number);
    struct stage_file put[] = {{.path = path, .bytes = text, .len = strlen(text)},
                               {.path = "work/x", .bytes = "x", .len = 1}};
    struct stage_input input = {
        .from = "workspace://work/x", .to = "work/inputs/y", .mode = number % 2 ? "link" : "copy"};
    const char *wrong = NULL;
    struct collected out = {0};
    if (stage_files(ws, put, COUNT_OF(put), &err) < 0 || stage_inputs(ws, &input, 1, &err) < 0)
        wrong = "not staged";
    else if (collect_outputs(ws, &spec, &out, &err) < 0)
        wrong = "not collected";
    else if (out.count != 1 || strcmp(out.files[0].content, text) != 0 || strcmp(out.files[0].name, path) != 0)
        wrong = "collected something else";
    collected_release(&out);
    if (workspace_cleanup(ws, &err) < 0)
        wrong = "not cleaned up";
    workspace_free(ws);
    return wrong;
}

static void *work(void *user)
{
    (void)user;
    for (int number; (number = atomic_fetch_add(&next, 1)) < WORKSPACES;) {
        const char *wrong = live(number);
        if (wrong)
            return (void *)wrong;
    }
    return NULL;
}

TEST(five_hundred_workspaces_work_at_once)
{
    pthread_t threads[THREADS];
    scratch_init(&files);
    recorder_init(&recorder);
    versions = versions_in_memory();
    int before = open_descriptors();
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
    assert_int_equal(open_descriptors(), before);
    CLEANUP(free) char *left = scratch_list(&files, ".");
    assert_string_equal(left, "");
    assert_int_equal(recorder_count(&recorder, EVENT_WORKSPACE_OP), WORKSPACES * 5); /* one per operation */
    for (size_t i = 0; i < recorder.count; i++)
        assert_null(recorder.events[i]->workspace_op.error);
    recorder_release(&recorder);
    versions_free(versions);
    scratch_release(&files);
}

static struct workspace *make(void *user, const char *id, struct err *err)
{
    (void)user;
    return workspace_create(&(struct workspace_options){.base = files.path}, id, NULL, err);
}

static void *acquire(void *user)
{
    struct workspace_registry *registry = user;
    char id[16];
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof(id), "id%d", i % 10);
        if (!workspace_registry_acquire(registry, id, make, NULL, NULL, NULL))
            return (void *)"not acquired";
    }
    return NULL;
}

TEST(threads_can_share_the_table)
{
    pthread_t threads[THREADS];
    scratch_init(&files);
    struct workspace_registry *registry = workspace_registry_new();
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, acquire, registry), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    workspace_registry_free(registry, true);
    CLEANUP(free) char *left = scratch_list(&files, ".");
    assert_string_equal(left, "");
    scratch_release(&files);
}
