/* Tests of workspaces: their names and folders, the meaning of a policy, and that an operation reports itself. */

#include "base/beneath.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/recorder.h"
#include "support/scratch.h"
#include "support/shortcuts.h"
#include "support/test.h"
#include "workspace/layout.h"
#include "workspace/look.h"
#include "workspace/stage.h"
#include "workspace/workspace.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch files;

static struct recorder recorder; /* of operations */

static const struct event_workspace_op *last_op(void)
{
    return &recorder_last(&recorder, EVENT_WORKSPACE_OP)->workspace_op;
}

static int setup(void **state)
{
    (void)state;
    scratch_init(&files);
    recorder_init(&recorder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    recorder_release(&recorder);
    scratch_release(&files);
    return 0;
}

static struct workspace_options options(void)
{
    return (struct workspace_options){.base = files.path, .ops = recorder.queue};
}

static struct workspace *create(const struct workspace_options *given, const char *id,
                                const struct workspace_policy *policy)
{
    struct err err = ERR_INIT;
    struct workspace *ws = workspace_create(given, id, policy, &err);
    if (!ws)
        fail_msg("%s", err.text);
    return ws;
}

static void cleanup(struct workspace *ws)
{
    struct err err = ERR_INIT;
    if (workspace_cleanup(ws, &err) < 0)
        fail_msg("%s", err.text);
}

static bool warns(struct workspace *ws, struct err *err)
{
    const struct workspace_look *look = workspace_look(ws);
    bool warned = workspace_warn_disk(ws, &look->count, err);
    look_release(ws, look);
    return warned;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

TEST_WITH(create_and_cleanup, setup, teardown)
{
    struct workspace_options given = options();
    struct workspace *ws = create(&given, "a b/ü", NULL);
    CLEANUP(free) char *start = xasprintf("%s/ws_a_b___", files.path);
    assert_memory_equal(ws->path, start, strlen(start));
    assert_string_equal(last_op()->op, "workspace.create");
    assert_non_null(strstr(last_op()->attrs, "\"exec_id\":\"a b/ü\""));
    for (size_t i = 0; i < LAYOUT_DIRS; i++) {
        struct stat st;
        struct err err = ERR_INIT;
        assert_int_equal(beneath_lstat(ws->root, layout_rows[i].name, &st, &err), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 0755);
    }
    cleanup(ws);
    assert_false(exists(ws->path));
    assert_string_equal(last_op()->op, "workspace.cleanup");
    assert_int_equal(recorder_count(&recorder, EVENT_WORKSPACE_OP), 2);
    cleanup(ws);
    workspace_free(ws);
}

TEST_WITH(names_are_unique, setup, teardown)
{
    struct workspace_options given = options();
    char *long_id = xmalloc(5000);
    memset(long_id, 'x', 4999);
    long_id[4999] = '\0';
    struct workspace *first = create(&given, long_id, NULL), *second = create(&given, long_id, NULL);
    assert_string_not_equal(first->path, second->path);
    assert_string_equal(first->id, long_id);
    free(long_id);
    workspace_free(first);
    workspace_free(second);
}

TEST_WITH(policy_persists, setup, teardown)
{
    struct workspace_options given = options();
    struct workspace *ws = create(&given, "kept", &(struct workspace_policy){.persist = true});
    cleanup(ws);
    assert_true(exists(ws->path));
    workspace_free(ws);
}

TEST_WITH(capabilities_are_reported, setup, teardown)
{
    struct workspace_capabilities plain = workspace_describe(&(struct workspace_policy){0});
    assert_string_equal(plain.isolation, "local");
    assert_true(plain.network_allowed && plain.streaming && plain.clean_env && !plain.read_only_mount);
    struct workspace_capabilities boxed =
        workspace_describe(&(struct workspace_policy){.isolated = true, .max_disk_bytes = 7});
    assert_string_equal(boxed.isolation, "");
    assert_false(boxed.network_allowed);
    assert_int_equal(boxed.max_disk_bytes, 7);
}

TEST_WITH(a_trusted_folder_is_used_and_kept, setup, teardown)
{
    struct workspace_options given = options();
    struct err err = ERR_INIT;
    given.trusted = true;
    struct workspace *ws = create(&given, "any", NULL);
    assert_string_equal(ws->path, files.path);
    cleanup(ws);
    assert_true(exists(files.path));
    workspace_free(ws);
    given.base = " ";
    assert_null(workspace_create(&given, "any", NULL, &err));
    assert_string_equal(err.text, "a trusted workspace needs a folder");
    assert_string_equal(last_op()->error, err.text);
}

TEST_WITH(failed_creation_leaves_nothing, setup, teardown)
{
    struct workspace_options given = options();
    struct err err = ERR_INIT;
    scratch_write(&files, "base", "a file");
    CLEANUP(free) char *base = scratch_path(&files, "base");
    given.base = base;
    assert_null(workspace_create(&given, "any", NULL, &err));
    assert_true(err.text[0]);
    CLEANUP(free) char *list = scratch_list(&files, ".");
    assert_string_equal(list, "base");
}

TEST_WITH(disk_use_is_counted, setup, teardown)
{
    struct workspace_options given = options();
    struct err err = ERR_INIT;
    struct workspace *ws = create(&given, "disk", &(struct workspace_policy){.max_disk_bytes = 10000});
    int64_t empty = workspace_disk_used(ws);
    CLEANUP(free) char *path = xasprintf("%s/out/big", ws->path), *other = xasprintf("%s/out/same", ws->path);
    FILE *file = fopen(path, "w");
    assert_int_equal(ftruncate(fileno(file), 5000), 0);
    fclose(file);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(workspace_disk_used(ws), empty + 5000);
    assert_int_equal(workspace_check_disk(ws, 5000 - empty, &err), 0);
    assert_int_equal(workspace_check_disk(ws, 5001 - empty, &err), -1);
    assert_non_null(strstr(err.text, "a limit of 9.8 KB: it has 5"));
    assert_non_null(strstr(err.text, "max_disk_mb"));
    cleanup(ws);
    workspace_free(ws);
}

static void put_bytes(const struct workspace *ws, const char *name, off_t size)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", ws->path, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), size), 0);
    fclose(file);
}

static void set_mode(const struct workspace *ws, const char *name, mode_t mode)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", ws->path, name);
    assert_int_equal(chmod(path, mode), 0);
}

static void make_folder(const struct workspace *ws, const char *name)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", ws->path, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

#define NOBODY 65534

/* Root can enter everything, so this runs as the user nobody. */
static int be_nobody(void **state)
{
    setup(state);
    return geteuid() == 0 && (chown(files.path, NOBODY, NOBODY) || seteuid(NOBODY));
}

static int be_root_again(void **state)
{
    return (getuid() == 0 && seteuid(0)) || teardown(state);
}

static mode_t mode_of(const struct workspace *ws, const char *name)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", ws->path, name);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

TEST_WITH(closed_folders_are_counted, be_nobody, be_root_again)
{
    struct workspace_options given = options();
    struct err err = ERR_INIT;
    struct workspace *ws = create(&given, "shut", &(struct workspace_policy){.max_disk_bytes = 10000});
    int64_t empty = workspace_disk_used(ws);
    make_folder(ws, "work/none");
    make_folder(ws, "work/none/below");
    put_bytes(ws, "work/none/below/a", 1000);
    make_folder(ws, "work/listed");
    put_bytes(ws, "work/listed/b", 500);
    set_mode(ws, "work/none/below", 0);
    set_mode(ws, "work/none", 0);
    set_mode(ws, "work/listed", 0400); /* names can be had, sizes cannot */
    set_mode(ws, "work", 0);
    set_mode(ws, ".", 0);
    /* A running program finds all folders unchanged. */
    assert_int_equal(disk_count(beneath_fd(ws->root)).bytes, empty + 1500);
    assert_int_equal(mode_of(ws, ""), 0);
    set_mode(ws, "", 0700);
    assert_int_equal(mode_of(ws, "work"), 0);
    set_mode(ws, "work", 0700);
    assert_int_equal(mode_of(ws, "work/listed"), 0400);
    assert_int_equal(mode_of(ws, "work/none"), 0);
    set_mode(ws, "work/none", 0700);
    assert_int_equal(mode_of(ws, "work/none/below"), 0);
    set_mode(ws, "work/none", 0);
    set_mode(ws, "work", 0);
    set_mode(ws, "", 0);
    assert_int_equal(workspace_disk_used(ws), empty + 1500);
    assert_false(warns(ws, &err));
    set_mode(ws, "work/none", 0);
    set_mode(ws, "work", 0);
    set_mode(ws, LAYOUT_METADATA, 0);
    set_mode(ws, ".", 0);
    struct stage_input input = {.from = "workspace://work/listed/b", .to = "work/c"};
    assert_int_equal(stage_inputs(ws, &input, 1, &err), 0);
    set_mode(ws, ".", 0);
    assert_int_equal(layout_ensure_beneath(ws->root, clock_system(), &err), 0);
    set_mode(ws, ".", 0500);
    cleanup(ws);
    workspace_free(ws);
}

/* A program may replace a folder of ours with a link: nothing is created at its target, and no failure is permanent. */
TEST_WITH(links_in_place_of_folders_are_replaced, setup, teardown)
{
    struct err err = ERR_INIT;
    struct stat st;
    struct workspace_options given = options();
    struct workspace *ws = create(&given, "links", NULL);
    int folder = open(ws->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static const char *const leads_to[LAYOUT_DIRS] = {"/etc", "nowhere", "..", "inside"};
    assert_int_equal(mkdirat(folder, "inside", 0755), 0);
    for (int i = 0; i < LAYOUT_DIRS; i++) {
        assert_int_equal(unlinkat(folder, layout_rows[i].name, AT_REMOVEDIR), 0);
        assert_int_equal(symlinkat(leads_to[i], folder, layout_rows[i].name), 0);
    }
    assert_int_equal(workspace_mend(ws, &err), 0);
    for (int i = 0; i < LAYOUT_DIRS; i++) {
        assert_int_equal(fstatat(folder, layout_rows[i].name, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_true(strcmp(leads_to[i], "inside") == 0 ? S_ISLNK(st.st_mode) : S_ISDIR(st.st_mode));
    }
    assert_int_equal(fstatat(folder, "nowhere", &st, AT_SYMLINK_NOFOLLOW), -1);
    close(folder);
    cleanup(ws);
    workspace_free(ws);
}

/* Deep files are counted too, and a closed folder is never opened through a link. */
TEST_WITH(deep_folders_are_counted, setup, teardown)
{
    struct workspace_options given = options();
    struct workspace *ws = create(&given, "deep", &(struct workspace_policy){.max_disk_bytes = 10000});
    int64_t empty = workspace_disk_used(ws);
    int folder = open(ws->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mkdirat(folder, "d", 0755), 0);
        int below = openat(folder, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(folder);
        folder = below;
    }
    int file = openat(folder, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(file, 700), 0);
    close(file);
    close(folder);
    assert_int_equal(workspace_disk_used(ws), empty + 700);
    scratch_mkdir(&files, "outside");
    CLEANUP(free) char *outside = scratch_path(&files, "outside"), *link = xasprintf("%s/work/out", ws->path);
    struct stat st;
    assert_int_equal(chmod(outside, 0), 0);
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(workspace_disk_used(ws), empty + 700);
    assert_int_equal(stat(outside, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0);
    cleanup(ws);
    workspace_free(ws);
}

/* Nested folders, the last ones without permissions, with a file in each. */
static void make_deep(int root, const char *name, int depth, int size)
{
    assert_int_equal(mkdirat(root, name, 0755), 0);
    int folder = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(folder, "d", 0755), 0);
        int below = openat(folder, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(folder);
        folder = below;
    }
    for (int i = 0; i < 3; i++) { /* some beside each other */
        char name_[16];
        snprintf(name_, sizeof(name_), "e%d", i);
        assert_int_equal(mkdirat(folder, name_, 0755), 0);
        int below = openat(folder, name_, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int file = openat(below, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(ftruncate(file, size), 0);
        close(file);
        close(below);
        assert_int_equal(fchmodat(folder, name_, 0, 0), 0);
    }
    close(folder);
}

/* For any number of them. */
TEST_WITH(many_that_are_deep_are_counted, setup, teardown)
{
    struct err err = ERR_INIT;
    struct stat st;
    struct workspace_options given = options();
    struct workspace *ws = create(&given, "branches", &(struct workspace_policy){.max_disk_bytes = 1 << 30});
    int root = open(ws->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct disk_count before = disk_count(root);
    for (int i = 0; i < 110; i++) {
        char name[16];
        snprintf(name, sizeof(name), "b%d", i);
        make_deep(root, name, 205, 100 + i);
    }
    struct disk_count after = disk_count(root);
    assert_int_equal(after.missed, 0);
    assert_int_equal(after.entries - before.entries, 110 * (206 + 6));
    assert_int_equal(after.bytes - before.bytes, 3 * (110 * 100 + 109 * 110 / 2));
    int folder = openat(root, "b0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 205; i++) {
        int below = openat(folder, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(folder);
        folder = below;
    }
    assert_int_equal(fstatat(folder, "e1", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0);
    assert_false(warns(ws, &err));
    close(folder);
    close(root);
    cleanup(ws);
    workspace_free(ws);
}

TEST(entries_are_limited)
{
    struct disk_count count = {.bytes = 5, .entries = WORKSPACE_ENTRIES_MAX};
    struct err err = ERR_INIT;
    assert_int_equal(disk_check(20 << 20, &count, 0, &err), 0);
    count.entries++;
    assert_int_equal(disk_check(20 << 20, &count, 0, &err), -1);
    assert_non_null(strstr(err.text, "more than 200000 files and folders"));
    count = (struct disk_count){.bytes = (135 << 20) + 300000};
    assert_int_equal(disk_check(20 << 20, &count, 0, &err), -1);
    assert_string_equal(err.text, "the workspace is full: it has 135 MB, and its limit is 20 MB (delete files, or "
                                  "raise \"max_disk_mb\" in the config file)");
    /* Slightly too much is not reported as exactly the limit. */
    count = (struct disk_count){.bytes = (20 << 20) + 300};
    assert_int_equal(disk_check(20 << 20, &count, 0, &err), -1);
    assert_string_equal(err.text, "the workspace is full: it has more than its limit of 20 MB (delete files, or raise "
                                  "\"max_disk_mb\" in the config file)");
}

TEST_WITH(files_in_place_of_folders_are_reported, setup, teardown)
{
    struct err err = ERR_INIT;
    char *paths[LAYOUT_DIRS];
    scratch_write(&files, "one/runs", "a file");
    CLEANUP(free) char *one = scratch_path(&files, "one"), *two = scratch_path(&files, "two");
    assert_int_equal(layout_ensure(one, clock_system(), NULL, &err), -1);
    assert_string_equal(err.text, "runs exists and is not a folder");
    assert_int_equal(layout_ensure(two, clock_system(), paths, &err), 0);
    CLEANUP(free) char *out = xasprintf("%s/out", two);
    assert_string_equal(paths[LAYOUT_OUT], out);
    for (size_t i = 0; i < LAYOUT_DIRS; i++)
        free(paths[i]);
    /* A link that leads out is not followed. */
    CLEANUP(free) char *inside = xasprintf("%s/work", two);
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(symlink("/tmp", inside), 0);
    assert_int_equal(layout_ensure(two, clock_system(), NULL, &err), -1);
    assert_string_equal(err.text, "path escapes workspace: work");
}
