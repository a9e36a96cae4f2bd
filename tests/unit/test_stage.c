/* Tests of staging files into a workspace: nothing outside changes, shared files are not written to, and the policy's
 * limit holds. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/workspace_rig.h"
#include "workspace/layout.h"
#include "workspace/stage.h"
#include "workspace/versions.h"
#include "workspace/workspace.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct workspace_test t;

static int setup(void **state)
{
    (void)state;
    workspace_test_init(&t, &(struct workspace_policy){.max_disk_bytes = 100000});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    workspace_test_release(&t);
    return 0;
}

static struct stat look(const char *path)
{
    CLEANUP(free) char *full = workspace_test_path(&t, path);
    struct stat st = {0};
    if (lstat(full, &st) < 0)
        st.st_mode = 0;
    return st;
}

static void expect_text(const char *path, const char *text)
{
    CLEANUP(free) char *got = workspace_test_read(&t, path);
    if (!got)
        fail_msg("there is no %s", path);
    assert_string_equal(got, text);
}

static void put(const char *path, const char *text, mode_t mode)
{
    struct err err = ERR_INIT;
    struct stage_file file = {.path = path, .bytes = text, .len = strlen(text), .mode = mode};
    if (stage_files(t.ws, &file, 1, &err) < 0)
        fail_msg("%s", err.text);
}

static void expect_refused(const char *path, const char *why)
{
    struct err err = ERR_INIT;
    struct stage_file file = {.path = path, .bytes = "x", .len = 1};
    assert_int_equal(stage_files(t.ws, &file, 1, &err), -1);
    assert_string_equal(err.text, why);
    assert_string_equal(workspace_test_op(&t)->error, why);
}

static void input(const char *from, const char *to, const char *mode)
{
    struct err err = ERR_INIT;
    struct stage_input one = {.from = from, .to = to, .mode = mode};
    if (stage_inputs(t.ws, &one, 1, &err) < 0)
        fail_msg("%s", err.text);
}

static void expect_input_refused(const char *from, const char *to, const char *why)
{
    struct err err = ERR_INIT;
    struct stage_input one = {.from = from, .to = to};
    assert_int_equal(stage_inputs(t.ws, &one, 1, &err), -1);
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
}

TEST_WITH(files_are_copied, setup, teardown)
{
    put("work/a/b", "one", 0);
    put("work/run.sh", "two", 0755);
    expect_text("work/a/b", "one");
    assert_int_equal(look("work/a/b").st_mode & 0777, 0644);
    assert_int_equal(look("work/run.sh").st_mode & 0777, 0755);
    assert_string_equal(workspace_test_op(&t)->op, "workspace.stage.files");
    assert_string_equal(workspace_test_op(&t)->attrs, "{\"count\":1}");
    expect_refused("", "empty file path");
    expect_refused("../x", "path escapes workspace: ../x");
    expect_refused("work/../../x", "path escapes workspace: work/../../x");
    expect_refused("/etc/x", "path escapes workspace: /etc/x");
}

TEST_WITH(existing_files_are_replaced, setup, teardown)
{
    scratch_write(&t.files, "outside", "mine");
    CLEANUP(free) char *outside = scratch_path(&t.files, "outside"), *hard = workspace_test_path(&t, "work/hard");
    CLEANUP(free) char *fifo = workspace_test_path(&t, "work/fifo");
    workspace_test_link(&t, outside, "work/link");
    assert_int_equal(link(outside, hard), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    put("work/link", "new", 0);
    put("work/hard", "new", 0);
    put("work/fifo", "new", 0);
    CLEANUP(free) char *still = scratch_read(&t.files, "outside", NULL);
    assert_string_equal(still, "mine");
    assert_true(S_ISREG(look("work/link").st_mode) && S_ISREG(look("work/fifo").st_mode));
    CLEANUP(free) char *list = scratch_list(&t.files, strrchr(t.ws->path, '/') + 1);
    assert_string_equal(list, "metadata.json out runs skills work");
    /* A folder that is a link out of the workspace. */
    workspace_test_link(&t, t.files.path, "out/away");
    expect_refused("out/away/x", "path escapes workspace: out/away");
    assert_false(scratch_exists(&t.files, "x"));
}

TEST_WITH(the_size_is_limited, setup, teardown)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *big = xcalloc(1, 60000);
    struct stage_file files[2] = {{.path = "work/one", .bytes = big, .len = 60000},
                                  {.path = "work/two", .bytes = big, .len = 60000}};
    assert_int_equal(stage_files(t.ws, files, 2, &err), -1);
    assert_int_equal(err.code, EDQUOT);
    assert_true(look("work/one").st_mode != 0);
    assert_true(look("work/two").st_mode == 0);
    scratch_write_bytes(&t.files, "host/large", big, 60000);
    CLEANUP(free) char *host = scratch_path(&t.files, "host");
    assert_int_equal(stage_directory(t.ws, host, "work/in", NULL, NULL, &err), -1);
    assert_int_equal(err.code, EDQUOT);
    CLEANUP(free) char *from = xasprintf("host://%s/large", host);
    expect_input_refused(from, NULL, "and the workspace has room for");
    assert_int_equal(versions_save(t.versions, "large", big, 60000, NULL, NULL, &err), 0);
    expect_input_refused("artifact://large", NULL, "and the workspace has room for");
    input(from, NULL, "link"); /* costs nothing */
}

TEST_WITH(directories_are_copied, setup, teardown)
{
    struct err err = ERR_INIT;
    bool mounted;
    scratch_write(&t.files, "host/bin/tool", "#!");
    scratch_write(&t.files, "host/doc", "d");
    scratch_write(&t.files, "elsewhere", "e");
    scratch_chmod(&t.files, "host/bin/tool", 0755);
    CLEANUP(free) char *host = scratch_path(&t.files, "host"), *elsewhere = scratch_path(&t.files, "elsewhere");
    CLEANUP(free) char *inner = scratch_path(&t.files, "host/bin/inner"), *outer = scratch_path(&t.files, "host/outer");
    CLEANUP(free) char *fifo = scratch_path(&t.files, "host/fifo");
    assert_int_equal(symlink("../doc", inner) | symlink(elsewhere, outer) | mkfifo(fifo, 0600), 0);
    struct stage_options options = {.read_only = true, .allow_mount = true};
    assert_int_equal(stage_directory(t.ws, host, "skills/s", &options, &mounted, &err), 0);
    assert_false(mounted);
    assert_non_null(strstr(workspace_test_op(&t)->attrs, "\"to\":\"skills/s\",\"mount_used\":false"));
    assert_int_equal(look("skills/s/bin/tool").st_mode & 0777, 0555);
    assert_int_equal(look("skills/s/bin").st_mode & 0777, 0555);
    assert_int_equal(look("skills/s").st_mode & 0222, 0);
    expect_text("skills/s/bin/inner", "d");
    assert_true(S_ISLNK(look("skills/s/bin/inner").st_mode));
    expect_text("skills/s/outer", "e");
    assert_true(S_ISREG(look("skills/s/outer").st_mode)); /* a link out of the source would lead nowhere in a sandbox */
    assert_int_equal(look("skills/s/fifo").st_mode, 0);
    /* Programs that can see the folder itself use it; the copy is for readers from outside. */
    size_t count;
    t.ws->lends = true;
    assert_int_equal(stage_directory(t.ws, host, "work/./m/", &options, &mounted, &err), 0);
    assert_true(mounted);
    expect_text("work/m/doc", "d");
    assert_non_null(strstr(workspace_test_op(&t)->attrs, "\"mount_used\":true"));
    struct bind_mount *bind_mounts = workspace_bind_mounts(t.ws, &count);
    assert_int_equal(count, 1);
    assert_string_equal(bind_mounts[0].path, host);
    assert_string_equal(bind_mounts[0].place, "work/m");
    bind_mounts_free(bind_mounts, count);
    /* Never over a file that a program put there, nor through a link. */
    CLEANUP(free) char *moved = xasprintf("%s/moved", t.ws->path), *work = xasprintf("%s/work", t.ws->path);
    assert_int_equal(rename(work, moved) | symlink("moved", work), 0);
    bind_mounts_free(workspace_bind_mounts(t.ws, &count), count);
    assert_int_equal(count, 0);
    assert_int_equal(unlink(work) | rename(moved, work), 0);
    assert_int_equal(stage_directory(t.ws, host, "../up", NULL, NULL, &err), -1);
    assert_int_equal(stage_directory(t.ws, " ", "work/x", NULL, NULL, &err), -1);
}

TEST_WITH(copying_into_itself, setup, teardown)
{
    workspace_test_write(&t, "work/a/file", "1");
    input("workspace://work", "work/inputs/copy", NULL);
    expect_text("work/inputs/copy/a/file", "1");
    assert_int_equal(look("work/inputs/copy/inputs/copy").st_mode, 0);
}

TEST_WITH(links_are_relative, setup, teardown)
{
    workspace_test_write(&t, "work/deep/er/x", "1");
    input("workspace://work/deep/er/x", "out/l", "link");
    input("workspace://work/deep", "work/deep/er/up", " LINK ");
    CLEANUP(free) char *path = workspace_test_path(&t, "out/l");
    char target[256] = "";
    assert_true(readlink(path, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "../work/deep/er/x");
    expect_text("work/deep/er/up/er/x", "1");
    input("workspace://work/deep/er/x", "out/l", "link"); /* again: in its place */
    expect_text("out/l", "1");
    workspace_test_write(&t, "out/folder/full", "1");
    input("workspace://work/deep/er/x", "out/folder", "link");
    expect_text("out/folder", "1");
}

TEST_WITH(sources_that_lead_out, setup, teardown)
{
    scratch_write(&t.files, "secret", "s");
    workspace_test_link(&t, t.files.path, "work/away");
    workspace_test_write(&t, "work/tree/x", "1");
    CLEANUP(free) char *secret = scratch_path(&t.files, "secret");
    workspace_test_link(&t, secret, "work/tree/leak");
    expect_input_refused("workspace://work/away/secret", "work/x", "path escapes workspace");
    expect_input_refused("workspace://../secret", "work/x", "path escapes workspace");
    expect_input_refused("skill://../work/away/secret", "work/x", "path escapes workspace");
    expect_input_refused("skill://../work/tree/x", "work/x", "path escapes workspace");
    expect_input_refused("host://relative", "work/x", "must be absolute");
    expect_input_refused("host:///dev/zero", "work/x", "it is a device");
    /* A program's link is copied as a link: its target is not ours to read. */
    input("workspace://work/tree", "work/copy", NULL);
    assert_true(S_ISLNK(look("work/copy/leak").st_mode));
}

TEST_WITH(pinned_sources_are_copied, setup, teardown)
{
    struct err err = ERR_INIT;
    struct stage_input pinned = {.from = "artifact://a/b.txt", .pin = true};
    assert_int_equal(versions_save(t.versions, "a/b.txt", "zero", 4, NULL, NULL, &err), 0);
    assert_int_equal(stage_inputs(t.ws, &pinned, 1, &err), 0);
    assert_int_equal(versions_save(t.versions, "a/b.txt", "one", 3, NULL, NULL, &err), 0);
    assert_int_equal(stage_inputs(t.ws, &pinned, 1, &err), 0);
    expect_text("work/inputs/b.txt", "zero");
    pinned.pin = false;
    assert_int_equal(stage_inputs(t.ws, &pinned, 1, &err), 0);
    expect_text("work/inputs/b.txt", "one");
    CLEANUP(free) char *metadata = workspace_test_read(&t, LAYOUT_METADATA);
    assert_non_null(strstr(metadata, "\"version\":1,\"mode\":\"copy\""));
}

TEST_WITH(inputs_of_every_workspace, setup, teardown)
{
    struct err err = ERR_INIT;
    scratch_write(&t.files, "inputs/data", "d");
    CLEANUP(free) char *inputs = scratch_path(&t.files, "inputs");
    struct workspace_options options = {.base = t.files.path, .inputs = inputs};
    struct workspace *ws = workspace_create(&options, "auto", NULL, &err);
    assert_non_null(ws);
    CLEANUP(free) char *path = xasprintf("%s/work/inputs/data", ws->path);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(workspace_cleanup(ws, &err), 0);
    workspace_free(ws);
    assert_true(scratch_exists(&t.files, "inputs/data")); /* the link was replaced, not its target */
}

TEST_WITH(sparse_stays_sparse, setup, teardown)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&t.files, "sparse");
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    assert_int_equal(ftruncate(fd, 64 << 20), 0);
    assert_int_equal(pwrite(fd, "middle", 6, 32 << 20), 6);
    close(fd);
    t.ws->policy.max_disk_bytes = 0;
    CLEANUP(free) char *from = xasprintf("host://%s", path);
    struct stage_input one = {.from = from, .to = "work/sparse"};
    assert_int_equal(stage_inputs(t.ws, &one, 1, &err), 0);
    struct stat st = look("work/sparse");
    assert_int_equal(st.st_size, 64 << 20);
    assert_true(st.st_blocks * 512 < 16 << 20);
    CLEANUP(free) char *copy = workspace_test_path(&t, "work/sparse");
    char middle[7] = "";
    fd = open(copy, O_RDONLY);
    assert_int_equal(pread(fd, middle, 6, 32 << 20), 6);
    close(fd);
    assert_string_equal(middle, "middle");
}
