/* Tests of walking a tree: its orders, very deep and very wide trees, and what a walk never does (follow a link, run
 * out of descriptors, leave a folder open). */

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/walk.h"
#include "support/scratch.h"
#include "support/test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define DEEP        10000
#define WIDE        100000
#define DESCRIPTORS 128 /* while a test walks */

static struct scratch files;
static int top;
static struct rlimit limit_before;

static size_t count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static size_t descriptors_before;

static int setup(void **state)
{
    (void)state;
    scratch_init(&files);
    top = open(files.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    getrlimit(RLIMIT_NOFILE, &limit_before);
    struct rlimit few = {DESCRIPTORS, limit_before.rlim_max};
    descriptors_before = count_descriptors();
    return top < 0 || setrlimit(RLIMIT_NOFILE, &few);
}

static int teardown(void **state)
{
    (void)state;
    bool leaked = count_descriptors() != descriptors_before;
    setrlimit(RLIMIT_NOFILE, &limit_before);
    close(top);
    scratch_release(&files);
    return leaked;
}

/* Writes down what the walk does. */
struct record {
    struct strbuf seen;
    size_t entries, entered, left, denied;
    size_t stop_at;        /* entries; 0: never */
    const char *skip;      /* a path that is not entered */
    int code, depth, lost; /* lost: folders that were left without a descriptor */
    atomic_bool cancel;
};

static enum walk_next record_entry(void *user, const struct walk_entry *entry)
{
    struct record *r = user;
    struct stat st;
    assert_int_equal(strlen(entry->path), entry->path_len);
    assert_int_equal(fstatat(entry->dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(IFTODT(st.st_mode), entry->type);
    r->entries++;
    if (entry->depth > r->depth)
        r->depth = entry->depth;
    if (r->entries <= 100)
        strbuf_addf(&r->seen, "%s%s%s", r->seen.len ? " " : "", entry->path, entry->type == DT_DIR ? "/" : "");
    if (r->entries == r->stop_at)
        return WALK_STOP;
    return r->skip && strcmp(r->skip, entry->path) == 0 ? WALK_SKIP : WALK_CONTINUE;
}

static enum walk_next record_enter(void *user, const struct walk_entry *entry, int fd)
{
    struct record *r = user;
    assert_true(entry->dir_fd >= 0 && fd >= 0);
    r->entered++;
    return WALK_CONTINUE;
}

static void record_leave(void *user, const struct walk_entry *entry, int fd)
{
    struct record *r = user;
    struct stat in, named;
    r->left++;
    if (fd < 0 || entry->dir_fd < 0) {
        r->lost++;
        return;
    }
    assert_int_equal(fstat(fd, &in), 0);
    assert_int_equal(fstatat(entry->dir_fd, entry->name, &named, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(in.st_ino, named.st_ino);
}

static enum walk_next record_denied(void *user, const char *path, int code)
{
    struct record *r = user;
    strbuf_addf(&r->seen, "%s!%.20s", r->seen.len ? " " : "", path);
    r->denied++;
    r->code = code;
    return WALK_CONTINUE;
}

static const struct walk_visitor recorder = {
    .entry = record_entry, .enter = record_enter, .leave = record_leave, .denied = record_denied};

static void walk(struct record *r, const char *prefix, const struct walk_options *options)
{
    struct err err = ERR_INIT;
    size_t before = count_descriptors();
    strbuf_init(&r->seen);
    if (walk_tree(top, prefix, options, &recorder, r, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r->left, r->entered);
    assert_int_equal(count_descriptors(), before);
}

static void assert_walk(const struct walk_options *options, const char *want)
{
    struct record r = {0};
    walk(&r, "", options);
    assert_string_equal(r.seen.buf, want);
    strbuf_release(&r.seen);
}

static void make_files(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        scratch_write(&files, names[i], "x");
}

TEST_WITH(entries_come_in_order, setup, teardown)
{
    static const char *const names[] = {"b/z", "b/a/q", "a", "a-b", "b.c", "b0", "a.d/x", ".git/config", "b/.git"};
    make_files(names, COUNT_OF(names));
    assert_walk(&(struct walk_options){.order = WALK_BY_PATH},
                ".git/ .git/config a a-b a.d/ a.d/x b.c b/ b/.git b/a/ b/a/q b/z b0");
    assert_walk(&(struct walk_options){.order = WALK_BY_PATH, .skip_git = true},
                "a a-b a.d/ a.d/x b.c b/ b/a/ b/a/q b/z b0");
    assert_walk(&(struct walk_options){.order = WALK_BREADTH_FIRST, .skip_git = true},
                "a a-b a.d/ b/ b.c b0 a.d/x b/a/ b/z b/a/q");
    assert_walk(&(struct walk_options){.order = WALK_BREADTH_FIRST, .skip_git = true, .max_depth = 2},
                "a a-b a.d/ b/ b.c b0 a.d/x b/a/ !b/a b/z");
    struct record r = {.skip = "up/b"};
    walk(&r, "up", &(struct walk_options){.order = WALK_BY_PATH});
    assert_string_equal(r.seen.buf, "up/.git/ up/.git/config up/a up/a-b up/a.d/ up/a.d/x up/b.c up/b/ up/b0");
    strbuf_release(&r.seen);
    struct record any = {0};
    walk(&any, "", &(struct walk_options){.order = WALK_ANY});
    assert_int_equal(any.entries, 13);
    strbuf_release(&any.seen);
}

TEST_WITH(links_are_not_followed, setup, teardown)
{
    scratch_write(&files, "d/f", "x");
    assert_int_equal(symlinkat("/", top, "root"), 0);
    assert_int_equal(symlinkat("d", top, "e"), 0);
    assert_int_equal(symlinkat("..", top, "up"), 0);
    assert_int_equal(mkfifoat(top, "pipe", 0600), 0);
    for (int order = WALK_ANY; order <= WALK_BREADTH_FIRST; order++) {
        struct record r = {0};
        walk(&r, "", &(struct walk_options){.order = (enum walk_order)order});
        assert_int_equal(r.entries, 6);
        strbuf_release(&r.seen);
    }
}

TEST_WITH(stopping_closes_every_folder, setup, teardown)
{
    static const char *const names[] = {"a/b/c/d", "a/b/c/e", "z"};
    make_files(names, COUNT_OF(names));
    struct record r = {.stop_at = 4};
    walk(&r, "", &(struct walk_options){.order = WALK_BY_PATH});
    assert_string_equal(r.seen.buf, "a/ a/b/ a/b/c/ a/b/c/d");
    assert_int_equal(r.left, 3);
    strbuf_release(&r.seen);
}

TEST_WITH(without_denied_the_walk_fails, setup, teardown)
{
    static const struct walk_visitor only = {.entry = record_entry};
    struct record r = {.seen = STRBUF_INIT};
    struct err err = ERR_INIT;
    scratch_write(&files, "a/b/c/d", "x");
    assert_int_equal(walk_tree(top, "", &(struct walk_options){.max_depth = 2}, &only, &r, &err), -1);
    assert_string_equal(err.text, "a/b is more than 2 folders deep");
    r.cancel = true;
    assert_int_equal(walk_tree(top, "", &(struct walk_options){.cancelled = &r.cancel}, &only, &r, &err), -1);
    assert_int_equal(err.code, ECANCELED);
    strbuf_release(&r.seen);
}

/* Root can enter any folder, so only the modes matter. */
TEST_WITH(closed_folders_are_walked, setup, teardown)
{
    scratch_write(&files, "shut/listed/f", "x");
    scratch_chmod(&files, "shut/listed", 0400);
    scratch_chmod(&files, "shut", 0);
    struct record r = {0};
    if (geteuid() != 0) {
        walk(&r, "", &(struct walk_options){.order = WALK_ANY});
        assert_string_equal(r.seen.buf, "shut/ !shut");
        assert_int_equal(r.code, EACCES);
        strbuf_release(&r.seen);
    }
    assert_walk(&(struct walk_options){.unlock = true, .relock = true}, "shut/ shut/listed/ shut/listed/f");
    assert_int_equal(scratch_mode(&files, "shut"), 0);
    r = (struct record){.stop_at = 3};
    walk(&r, "", &(struct walk_options){.unlock = true, .relock = true});
    assert_int_equal(scratch_mode(&files, "shut"), 0);
    strbuf_release(&r.seen);
    assert_walk(&(struct walk_options){.unlock = true}, "shut/ shut/listed/ shut/listed/f");
    assert_int_equal(scratch_mode(&files, "shut") & S_IXUSR, S_IXUSR);
    assert_int_equal(scratch_mode(&files, "shut/listed"), 0500);
}

/* Folders named "d" within each other; each has files before and after it in any order. Returns the deepest one. */
static int make_deep(int depth, int width, mode_t mode)
{
    int at = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < depth; i++) {
        char name[16];
        for (int k = 0; k < width; k++) {
            snprintf(name, sizeof(name), "f%d", k);
            close(openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        }
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(fchmod(at, i ? mode : 0700), 0);
        close(at);
        at = below;
    }
    return at;
}

TEST_WITH(deep_trees_are_walked, setup, teardown)
{
    close(make_deep(DEEP, 1, 0700));
    for (int order = WALK_ANY; order <= WALK_BY_PATH; order++) {
        struct record r = {0};
        walk(&r, "", &(struct walk_options){.order = (enum walk_order)order, .max_depth = WALK_ANY_DEPTH});
        assert_int_equal(r.entries, 2 * DEEP);
        assert_int_equal(r.depth, DEEP - 1);
        assert_int_equal(r.denied, 0);
        strbuf_release(&r.seen);
        r = (struct record){.stop_at = DEEP + 500};
        walk(&r, "", &(struct walk_options){.order = (enum walk_order)order, .max_depth = WALK_ANY_DEPTH});
        strbuf_release(&r.seen);
        r = (struct record){0};
        walk(&r, "", &(struct walk_options){.order = (enum walk_order)order});
        assert_int_equal(r.entries, 2 * WALK_DEPTH_MAX);
        assert_int_equal(r.denied, 1);
        assert_int_equal(r.code, ELOOP);
        strbuf_release(&r.seen);
    }
    struct record r = {0};
    walk(&r, "", &(struct walk_options){.order = WALK_BREADTH_FIRST, .max_depth = WALK_ANY_DEPTH});
    assert_true(r.entries > 2 * WALK_DEPTH_MAX); /* as deep as a path can be long */
    assert_int_equal(r.code, ENAMETOOLONG);
    strbuf_release(&r.seen);
}

/* Folders that the walk closed meanwhile get their modes back too. */
TEST_WITH(deep_closed_folders_are_walked, setup, teardown)
{
    int bottom = make_deep(300, 3, 0);
    struct record r = {0};
    walk(&r, "", &(struct walk_options){.max_depth = WALK_ANY_DEPTH, .unlock = true, .relock = true});
    assert_int_equal(r.entries, 1200);
    strbuf_release(&r.seen);
    r = (struct record){.stop_at = 1000};
    walk(&r, "", &(struct walk_options){.max_depth = WALK_ANY_DEPTH, .unlock = true, .relock = true});
    strbuf_release(&r.seen);
    struct stat st;
    close(bottom);
    int at = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 1; i < 300; i++) {
        assert_int_equal(fstatat(at, "d", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0);
        assert_int_equal(fchmodat(at, "d", 0700, 0), 0);
        int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = below;
    }
    close(at);
}

/* A program moves the folders around the walk to the top while the walk is deep in them. */
static enum walk_next move_away(void *user, const struct walk_entry *entry)
{
    static int middle;
    if (entry->depth == 150 && strcmp(entry->name, "d") == 0)
        middle = openat(entry->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (entry->depth == 299 && middle) {
        assert_int_equal(renameat(middle, "d", top, "elsewhere"), 0);
        close(middle);
        middle = 0;
    }
    return record_entry(user, entry);
}

static void record_moved(void *user, const struct walk_entry *entry, int fd)
{
    struct record *r = user;
    (void)entry;
    r->left++;
    r->lost += fd < 0;
}

TEST_WITH(moved_while_the_walk_is_in_it, setup, teardown)
{
    static const struct walk_visitor visitor = {
        .entry = move_away, .enter = record_enter, .leave = record_moved, .denied = record_denied};
    struct record r = {.seen = STRBUF_INIT};
    struct err err = ERR_INIT;
    close(make_deep(300, 1, 0700));
    assert_int_equal(walk_tree(top, "", &(struct walk_options){.max_depth = WALK_ANY_DEPTH}, &visitor, &r, &err), 0);
    assert_int_equal(r.denied, 1);
    assert_int_equal(r.code, ESTALE);
    assert_true(r.lost > 0 && r.lost < 100);
    assert_int_equal(r.left, r.entered);
    strbuf_release(&r.seen);
}

static enum walk_next check_order(void *user, const struct walk_entry *entry)
{
    struct record *r = user;
    assert_true(strcmp(r->seen.buf, entry->name) < 0);
    strbuf_reset(&r->seen);
    strbuf_addstr(&r->seen, entry->name);
    r->cancel = ++r->entries == r->stop_at;
    return WALK_CONTINUE;
}

TEST_WITH(wide_folders_are_walked, setup, teardown)
{
    for (int i = 0; i < WIDE; i++) {
        char name[32];
        snprintf(name, sizeof(name), "a_longer_name_%d", i * 7919 % WIDE);
        close(openat(top, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    static const struct walk_visitor sorted = {.entry = check_order, .denied = record_denied};
    struct err err = ERR_INIT;
    struct record r = {.seen = STRBUF_INIT};
    assert_int_equal(walk_tree(top, "", &(struct walk_options){.order = WALK_BY_PATH}, &sorted, &r, &err), 0);
    assert_int_equal(r.entries, WIDE);
    strbuf_release(&r.seen);
    r = (struct record){.seen = STRBUF_INIT, .stop_at = WIDE / 2};
    struct walk_options options = {.order = WALK_BREADTH_FIRST, .cancelled = &r.cancel};
    assert_int_equal(walk_tree(top, "", &options, &sorted, &r, &err), -1);
    assert_int_equal(r.entries, WIDE / 2);
    strbuf_release(&r.seen);
    r = (struct record){0};
    walk(&r, "", &(struct walk_options){.order = WALK_ANY});
    assert_int_equal(r.entries, WIDE);
    strbuf_release(&r.seen);
    r = (struct record){0};
    walk(&r, "", &(struct walk_options){.order = WALK_BY_PATH, .max_names = 1000});
    assert_true(r.entries > 1000 && r.entries < 5000);
    assert_int_equal(r.code, E2BIG);
    strbuf_release(&r.seen);
}

void test_begin(void)
{
    if (access("/dev/shm", W_OK) == 0) /* a hundred thousand files are slow on a disk */
        setenv("TMPDIR", "/dev/shm", 1);
}
