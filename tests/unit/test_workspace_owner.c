/* Tests of who owns the files of a workspace if Keyturn runs as root: the sandbox's user if programs run as that user,
 * else root. The originals of copies do not change. For any other user the owner is always the same. */

#include "base/mem.h"
#include "sandbox/user.h"
#include "support/scratch.h"
#include "support/test.h"
#include "workspace/stage.h"
#include "workspace/workspace.h"
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch files;
static uid_t wanted_uid;
static gid_t wanted_gid;
static int seen;

static int setup(void **state)
{
    (void)state;
    scratch_init(&files);
    scratch_write(&files, "host/folder/private", "p");
    scratch_chmod(&files, "host/folder/private", 0600);
    scratch_write(&files, "host/file", "f");
    scratch_write(&files, "outside/file", "o");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_release(&files);
    return 0;
}

static int check_owner(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if (type != FTW_SL && type != FTW_SLN && (st->st_uid != wanted_uid || st->st_gid != wanted_gid))
        fail_msg("%s belongs to %u:%u", path, (unsigned)st->st_uid, (unsigned)st->st_gid);
    if (type == FTW_F && st->st_nlink != 1)
        fail_msg("%s is another name of something", path);
    seen++;
    return 0;
}

/* Everything below belongs to them. */
static int count_owned(const char *path, uid_t uid, gid_t gid)
{
    wanted_uid = uid;
    wanted_gid = gid;
    seen = 0;
    assert_int_equal(nftw(path, check_owner, 16, FTW_PHYS), 0);
    return seen;
}

static struct workspace *fill(bool other_user)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *base = xasprintf("%s/base", files.path), *folder = xasprintf("%s/host/folder", files.path);
    CLEANUP(free) char *from = xasprintf(HOST_SCHEME "%s/host/file", files.path);
    CLEANUP(free) char *outside = xasprintf("%s/outside", files.path);
    struct workspace_options options = {.base = base, .other_user = other_user};
    struct workspace *ws = workspace_create(&options, "owner", NULL, &err);
    if (!ws)
        fail_msg("%s", err.text);
    struct stage_file put = {.path = "work/new/deep/file", .bytes = "x", .len = 1};
    struct stage_input inputs[] = {{.from = from, .to = "work/in/copied"},
                                   {.from = from, .to = "work/in/linked", .mode = "link"},
                                   {.from = "workspace://work/new", .to = "out/again"}};
    assert_int_equal(stage_files(ws, &put, 1, &err), 0);
    assert_int_equal(stage_directory(ws, folder, "skills/one", &(struct stage_options){.read_only = true}, NULL, &err),
                     0);
    assert_int_equal(stage_inputs(ws, inputs, COUNT_OF(inputs), &err), 0);
    /* A link that a program puts in the way leads nowhere outside. */
    CLEANUP(free) char *trap = xasprintf("%s/work/trap", ws->path);
    assert_int_equal(symlink(outside, trap), 0);
    put.path = "work/trap/file";
    assert_int_equal(stage_files(ws, &put, 1, &err), -1);
    return ws;
}

static void check(bool other_user, uid_t uid, gid_t gid)
{
    struct workspace *ws = fill(other_user);
    CLEANUP(free) char *host = xasprintf("%s/host", files.path), *outside = xasprintf("%s/outside", files.path);
    assert_true(count_owned(ws->path, uid, gid) > 15);
    assert_int_equal(count_owned(host, geteuid(), getegid()), 4);
    assert_int_equal(count_owned(outside, geteuid(), getegid()), 2);
    workspace_free(ws);
}

TEST_WITH(files_belong_to_the_user_of_the_sandbox, setup, teardown)
{
    const struct sandbox_user *user = sandbox_user();
    check(true, user ? user->uid : geteuid(), user ? user->gid : getegid());
}

TEST_WITH(without_a_sandbox_user_files_are_ours, setup, teardown)
{
    check(false, geteuid(), getegid());
}

TEST(sandbox_user_is_neither_root_nor_nobody)
{
    const struct sandbox_user *user = sandbox_user_always();
    assert_int_not_equal(user->uid, 0);
    assert_int_not_equal(user->gid, 0);
    assert_int_not_equal(user->uid, 65534);
    if (geteuid() != 0) {
        assert_null(sandbox_user());
        return;
    }
    assert_int_equal(seteuid(65534), 0);
    const struct sandbox_user *ordinary = sandbox_user();
    assert_int_equal(seteuid(0), 0);
    assert_null(ordinary);
}
