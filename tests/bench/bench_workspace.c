/* Compares workspaces with plain tools: the digest of 20,000 cached files (400 MB) with sha256sum, a pattern among
 * 200,000 entries with find, staging by link at two sizes, and staging a gigabyte by copy with cp -r. */

#include "base/beneath.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tree.h"
#include "bench.h"
#include "support/shortcuts.h"
#include "workspace/glob.h"
#include "workspace/stage.h"
#include "workspace/workspace.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGEST_FOLDERS 200
#define DIGEST_FILES   100   /* in each */
#define DIGEST_BYTES   20000 /* each */
#define COPY_FOLDERS   500   /* a gigabyte */
#define COPY_ROUNDS    2
#define GLOB_FOLDERS   2000
#define GLOB_FILES     99 /* in each; the folder is an entry too */
#define SMALL_BYTES    ((off_t)1 << 20)
#define LARGE_BYTES    ((off_t)1 << 30)

static char *top;
static struct workspace *ws;

static void make_file(const char *path, const void *bytes, size_t len)
{
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || file_write_all(fd, bytes, len) < 0)
        abort();
}

static char *make_folder(const char *name)
{
    char *path = xasprintf("%s/%s", top, name);
    if (mkdir(path, 0755) < 0)
        abort();
    return path;
}

static void remove_tree(const char *path)
{
    if (file_remove_tree(path, NULL) < 0)
        abort();
}

/* ---- digest ---- */

/* `folders` folders of DIGEST_FILES files. */
static void make_tree(const char *folder, int folders)
{
    CLEANUP(free) unsigned char *bytes = xmalloc(DIGEST_BYTES);
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        bytes[i] = (unsigned char)(i * 31 % 251);
    for (int i = 0; i < folders; i++) {
        CLEANUP(free) char *sub = xasprintf("%s/d%03d", folder, i);
        if (mkdir(sub, 0755) < 0)
            abort();
        for (int j = 0; j < DIGEST_FILES; j++) {
            CLEANUP(free) char *path = xasprintf("%s/f%03d.txt", sub, j);
            bytes[0] = (unsigned char)j;
            make_file(path, bytes, DIGEST_BYTES);
        }
    }
}

static void digest_ours(void *folder)
{
    char digest[HASH_SHA256_HEX];
    if (tree_digest_path(folder, digest, NULL) < 0)
        abort();
}

static void digest_sum(void *folder)
{
    CLEANUP(free) char *script = xasprintf("find '%s' -type f -print0 | xargs -0 sha256sum", (char *)folder);
    const char *const argv[] = {"sh", "-c", script, NULL};
    if (bench_run_program(argv, 0) < 0)
        abort();
}

static void bench_digest(void)
{
    CLEANUP(free) char *folder = make_folder("digest");
    make_tree(folder, DIGEST_FOLDERS);
    digest_ours(folder); /* reads everything once */
    struct bench_pair pair = bench_compare(5, digest_ours, digest_sum, folder);
    bench_report("dir_digest", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.5);
    remove_tree(folder);
}

/* ---- glob ---- */

static void make_glob_tree(const char *folder)
{
    for (int i = 0; i < GLOB_FOLDERS; i++) {
        CLEANUP(free) char *above = xasprintf("%s/d%02d", folder, i % 50), *sub = xasprintf("%s/s%04d", above, i);
        if (i < 50 && mkdir(above, 0755) < 0)
            abort();
        if (mkdir(sub, 0755) < 0)
            abort();
        CLEANUP(fd) int fd = open(sub, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int j = 0; j < GLOB_FILES; j++) {
            char name[32];
            snprintf(name, sizeof(name), "source_file_%02d.%s", j, j % 3 == 0 ? "c" : j % 3 == 1 ? "h" : "txt");
            close(openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        }
    }
}

static void glob_ours(void *folder)
{
    struct beneath *root = beneath_open(folder, NULL);
    CLEANUP(glob_hits) struct glob_hits hits;
    if (!root || glob_find(root, "**/*.c", &hits, NULL) < 0 ||
        hits.count != (size_t)GLOB_FOLDERS * ((GLOB_FILES + 2) / 3))
        abort();
    beneath_close(root);
}

static void glob_floor(void *folder)
{
    const char *const argv[] = {"find", folder, "-name", "*.c", NULL};
    if (bench_run_program(argv, 0) < 0)
        abort();
}

static void bench_glob(void)
{
    CLEANUP(free) char *folder = make_folder("glob");
    make_glob_tree(folder);
    glob_ours(folder);
    struct bench_pair pair = bench_compare(7, glob_ours, glob_floor, folder);
    bench_report("glob_walk", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.2);
    remove_tree(folder);
}

/* ---- staging ---- */

struct links {
    char *small, *large;
};

static void stage_link(const char *path)
{
    CLEANUP(free) char *from = xasprintf("host://%s", path);
    struct stage_input input = {.from = from, .to = "work/inputs/linked", .mode = "link"};
    for (int i = 0; i < 50; i++)
        if (stage_inputs(ws, &input, 1, NULL) < 0)
            abort();
}

static void new_workspace(void)
{
    struct workspace_options options = {.base = top};
    workspace_free(ws);
    ws = workspace_create(&options, "bench", NULL, NULL);
    if (!ws)
        abort();
}

static void link_large(void *user)
{
    new_workspace();
    stage_link(((struct links *)user)->large);
}

static void link_small(void *user)
{
    new_workspace();
    stage_link(((struct links *)user)->small);
}

static void bench_link(void)
{
    CLEANUP(free)
    char *folder = make_folder("link"), *small = xasprintf("%s/small", folder), *large = xasprintf("%s/large", folder);
    struct links links = {small, large};
    for (int i = 0; i < 2; i++) {
        CLEANUP(fd) int fd = open(i ? large : small, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0 || posix_fallocate(fd, 0, i ? LARGE_BYTES : SMALL_BYTES) != 0)
            abort();
    }
    struct bench_pair pair = bench_compare(5, link_large, link_small, &links);
    bench_report("stage_link", pair.value_s * 1e3 / 50, "ms", pair.floor_s * 1e3 / 50, 1.5);
    remove_tree(folder);
}

/* Each copy gets a new folder, and all copies stay until the end. After a removal ext4 skips recently freed inodes one
 * by one, and the next round would measure that. */
static int copies;

static void next_copy(void *folder)
{
    (void)folder;
    copies++;
    sync(); /* otherwise one side writes the dirty pages of the other */
}

static void copy_ours(void *folder)
{
    CLEANUP(free) char *to = xasprintf("work/copy%d", copies);
    if (stage_directory(ws, folder, to, NULL, NULL, NULL) < 0)
        abort();
}

static void copy_cp(void *folder)
{
    CLEANUP(free) char *to = xasprintf("%s/work/copy%d", ws->path, copies);
    const char *const argv[] = {"cp", "-r", folder, to, NULL};
    if (bench_run_program(argv, 0) < 0)
        abort();
}

static void bench_copy(void)
{
    CLEANUP(free) char *folder = make_folder("copy");
    new_workspace();
    make_tree(folder, COPY_FOLDERS);
    digest_ours(folder);
    struct bench_pair pair = bench_compare_sums(COPY_ROUNDS, next_copy, copy_ours, copy_cp, folder);
    bench_report("stage_copy", pair.value_s * 1e3 / COPY_ROUNDS, "ms", pair.floor_s * 1e3 / COPY_ROUNDS, 1.2);
}

int main(void)
{
    top = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    if (!top)
        return 2;
    bench_copy(); /* before anything is removed */
    bench_digest();
    bench_glob();
    bench_link();
    workspace_free(ws);
    remove_tree(top);
    free(top);
    return bench_status();
}
