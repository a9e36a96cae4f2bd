/* Collecting from a workspace that a hostile program prepared: nothing leads out, nothing runs endlessly, and
 * everything left out has a reason. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/walk.h"
#include "support/test.h"
#include "support/workspace_rig.h"
#include "workspace/collect.h"
#include "workspace/versions.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct workspace_test t;

static int setup(void **state)
{
    (void)state;
    workspace_test_init(&t, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    workspace_test_release(&t);
    return 0;
}

/* The names that one pattern gives, with a space between them; the caller's. */
static char *names_of(const char *pattern, struct collected *out)
{
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf names = STRBUF_INIT;
    if (collect_files(t.ws, &pattern, 1, out, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < out->count; i++)
        strbuf_addf(&names, "%s%s", i ? " " : "", out->files[i].name);
    return strbuf_detach(&names, NULL);
}

static void expect_names(const char *pattern, const char *names)
{
    CLEANUP(collected) struct collected out;
    CLEANUP(free) char *got = names_of(pattern, &out);
    assert_string_equal(got, names);
}

static void expect_skipped(const char *pattern, const char *name, const char *why)
{
    CLEANUP(collected) struct collected out;
    CLEANUP(free) char *got = names_of(pattern, &out);
    assert_string_equal(got, "");
    assert_int_equal(out.skipped_count, 1);
    assert_string_equal(out.skipped[0].name, name);
    assert_non_null(strstr(out.skipped[0].why, why));
}

TEST_WITH(content_and_record, setup, teardown)
{
    CLEANUP(collected) struct collected out;
    workspace_test_write(&t, "out/a.txt", "alpha");
    workspace_test_write(&t, "out/b.html", "<html><p>");
    CLEANUP(free) char *names = names_of("$OUTPUT_DIR/**", &out);
    assert_string_equal(names, "out/a.txt out/b.html");
    assert_string_equal(out.files[0].content, "alpha");
    assert_string_equal(out.files[1].mime, "text/html; charset=utf-8");
    assert_int_equal(out.files[0].size, 5);
    assert_string_equal(workspace_test_op(&t)->op, "workspace.collect");
    assert_string_equal(workspace_test_op(&t)->attrs, "{\"patterns\":[\"$OUTPUT_DIR/**\"],\"count\":2}");
    assert_int_equal(recorder_count(&t.recorder, EVENT_WORKSPACE_OP), 1);
}

TEST_WITH(links_inside, setup, teardown)
{
    workspace_test_write(&t, "work/d/x", "1");
    workspace_test_link(&t, "../work/d", "out/folder");
    workspace_test_link(&t, "../work/d/x", "out/file");
    expect_names("out/**", "work/d/x"); /* once, by its real path, however many links lead there */
    CLEANUP(free) char *absolute = workspace_test_path(&t, "work/d/x");
    workspace_test_link(&t, absolute, "out2/absolute");
    expect_names("out2/*", "work/d/x");
    CLEANUP(free) char *folder = workspace_test_path(&t, "work/d");
    workspace_test_link(&t, folder, "out3/way");
    workspace_test_link(&t, "way", "out3/detour");
    expect_names("out3/detour/x", "work/d/x");
    expect_names("out3/*/x", "work/d/x");
}

TEST_WITH(links_that_lead_out, setup, teardown)
{
    scratch_write(&t.files, "secret", "s");
    CLEANUP(free) char *secret = scratch_path(&t.files, "secret");
    workspace_test_link(&t, secret, "out/absolute");
    workspace_test_link(&t, "../../secret", "out/relative");
    workspace_test_link(&t, "/dev/zero", "out/zero");
    workspace_test_link(&t, "/proc/self/environ", "out/proc");
    workspace_test_link(&t, "/", "out/root");
    workspace_test_link(&t, "../..", "out/up");
    expect_names("out/**", "");
    expect_names("out/root/etc/passwd", "");
    expect_names("../secret", "");
    expect_names("out/../../secret", "");
    expect_names("**", "metadata.json");
}

TEST_WITH(special_files, setup, teardown)
{
    CLEANUP(free) char *fifo = workspace_test_path(&t, "out/fifo"), *sock = workspace_test_path(&t, "work/sock");
    assert_int_equal(mkfifo(fifo, 0666), 0);
    expect_names("out/*", "");
    workspace_test_link(&t, "../out/fifo", "runs/to-fifo");
    expect_skipped("runs/*", "out/fifo", "it is a FIFO, not a file");
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(name.sun_path, sizeof(name.sun_path), "%s", sock);
    if (strlen(sock) < sizeof(name.sun_path) && bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
        expect_names("work/*", "");
    close(fd);
}

TEST_WITH(unreadable_files_are_reported, setup, teardown)
{
    if (geteuid() == 0)
        return; /* nothing is, to root */
    workspace_test_write(&t, "out/closed", "x");
    workspace_test_write(&t, "work/closed/x", "x");
    CLEANUP(free) char *file = workspace_test_path(&t, "out/closed"), *folder = workspace_test_path(&t, "work/closed");
    chmod(file, 0);
    chmod(folder, 0);
    expect_skipped("out/*", "out/closed", "Permission denied");
    CLEANUP(collected) struct collected out;
    CLEANUP(free) char *names = names_of("work/**", &out);
    assert_string_equal(names, "");
    assert_true(out.limits_hit);
    assert_int_equal(out.skipped_count, 1);
    assert_string_equal(out.skipped[0].name, "work/closed");
    chmod(folder, 0755);
}

/* Even a user who may read everything cannot descend forever. */
TEST_WITH(a_folder_that_is_too_deep_is_named, setup, teardown)
{
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    strbuf_addstr(&path, "out");
    for (int i = 0; i < 202; i++)
        strbuf_addstr(&path, "/d");
    strbuf_addstr(&path, "/x");
    workspace_test_write(&t, path.buf, "x");
    workspace_test_write(&t, "out/y", "y");
    CLEANUP(collected) struct collected out;
    CLEANUP(free) char *names = names_of("out/**", &out);
    assert_string_equal(names, "out/y");
    assert_true(out.limits_hit);
    assert_int_equal(out.skipped_count, 1);
    assert_int_equal(strncmp(out.skipped[0].name, "out/d/d", 7), 0);
    assert_string_equal(out.skipped[0].why, "it is more than 200 folders deep");
}

TEST_WITH(huge_file, setup, teardown)
{
    CLEANUP(collected) struct collected out;
    CLEANUP(free) char *path = workspace_test_path(&t, "out/huge");
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
    CLEANUP(free) char *names = names_of("out/huge", &out);
    assert_string_equal(names, "out/huge");
    assert_int_equal(out.files[0].len, OUTPUT_MAX_FILE_BYTES);
    assert_int_equal(out.files[0].size, (int64_t)1 << 40);
    assert_true(out.files[0].truncated);
}

/* A file grows by whole pages or whole writes, so it never has just as many bytes as may be read of it. */
#define GROWTH    1000003
#define READ_MOST 3000001

static void *grow(void *path)
{
    CLEANUP(free) char *bytes = xcalloc(1, GROWTH);
    for (int round = 0; round < 20; round++) {
        unlink(path);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        for (int i = 0; i < 8; i++)
            if (write(fd, bytes, GROWTH) != GROWTH)
                abort();
        close(fd);
    }
    return NULL;
}

/* A file that is still being written is never reported as complete. */
TEST_WITH(growing_file, setup, teardown)
{
    pthread_t writer;
    char *globs[] = {"out/*"};
    struct output_spec spec = {.globs = globs, .glob_count = 1, .max_file_bytes = READ_MOST, .inline_content = true};
    CLEANUP(free) char *path = workspace_test_path(&t, "out/grows");
    assert_int_equal(pthread_create(&writer, NULL, grow, path), 0);
    bool whole = true;
    for (bool more = true; more;) {
        CLEANUP(collected) struct collected out;
        more = pthread_tryjoin_np(writer, NULL) != 0;
        assert_int_equal(collect_outputs(t.ws, &spec, &out, NULL), 0);
        for (size_t i = 0; i < out.count; i++)
            whole &= out.files[i].len < READ_MOST || out.files[i].truncated;
    }
    assert_true(whole);
}

/* A link to the folder above it, and links that multiply: each folder has two ways to the next. */
TEST_WITH(endless_links, setup, teardown)
{
    workspace_test_write(&t, "out/real.txt", "x");
    workspace_test_link(&t, ".", "out/self");
    workspace_test_link(&t, "..", "out/above");
    workspace_test_link(&t, "loop-b", "out/loop-a");
    workspace_test_link(&t, "loop-a", "out/loop-b");
    expect_names("out/**/*.txt", "out/real.txt");
    for (int i = 0; i < 30; i++) {
        CLEANUP(free) char *one = xasprintf("work/%d/a", i), *two = xasprintf("work/%d/b", i);
        CLEANUP(free) char *next = xasprintf("../%d", i + 1);
        workspace_test_link(&t, next, one);
        workspace_test_link(&t, next, two);
    }
    workspace_test_write(&t, "work/30/end.txt", "x");
    CLEANUP(collected) struct collected out;
    CLEANUP(free) char *names = names_of("work/**/end.txt", &out);
    assert_string_equal(names, "work/30/end.txt");
}

TEST_WITH(deep_tree, setup, teardown)
{
    CLEANUP(free) char *top = workspace_test_path(&t, "out");
    int fd = open(top, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 2 * WALK_DEPTH_MAX; i++) {
        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    close(openat(fd, "deep.txt", O_WRONLY | O_CREAT, 0644));
    close(fd);
    workspace_test_write(&t, "out/shallow.txt", "x");
    CLEANUP(collected) struct collected out;
    CLEANUP(free) char *names = names_of("out/**/*.txt", &out);
    assert_string_equal(names, "out/shallow.txt");
    assert_true(out.limits_hit); /* it reports that files were left out */
}

TEST_WITH(many_files, setup, teardown)
{
    CLEANUP(free) char *top = workspace_test_path(&t, "out");
    int fd = open(top, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%05d", i);
        close(openat(fd, name, O_WRONLY | O_CREAT, 0644));
    }
    close(fd);
    struct err err = ERR_INIT;
    char *globs[] = {(char *)"out/*"};
    struct output_spec spec = {.globs = globs, .glob_count = 1};
    CLEANUP(collected) struct collected out;
    assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), 0);
    assert_int_equal(out.count, OUTPUT_MAX_FILES);
    assert_string_equal(out.files[99].name, "out/f00099");
    assert_true(out.limits_hit);
}

TEST_WITH(more_than_the_policy_allows, setup, teardown)
{
    struct err err = ERR_INIT;
    char *globs[] = {(char *)"out/*"};
    struct output_spec spec = {.globs = globs, .glob_count = 1};
    CLEANUP(collected) struct collected out;
    workspace_test_write(&t, "out/a", "1");
    t.ws->policy.max_disk_bytes = 100000;
    assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), 0);
    assert_false(out.limits_hit);
    collected_release(&out);
    CLEANUP(free) char *path = workspace_test_path(&t, "work/big");
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_int_equal(ftruncate(fd, 100000), 0);
    close(fd);
    assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), 0);
    assert_int_equal(out.count, 1);
    assert_true(out.limits_hit);
}

TEST_WITH(metadata_is_in_the_way, setup, teardown)
{
    struct err err = ERR_INIT;
    char *globs[] = {(char *)"out/*"};
    struct output_spec spec = {.globs = globs, .glob_count = 1, .inline_content = true};
    workspace_test_write(&t, "out/a", "1");
    CLEANUP(free) char *metadata = workspace_test_path(&t, "metadata.json");
    unlink(metadata);
    assert_int_equal(symlink("/dev/zero", metadata), 0);
    CLEANUP(collected) struct collected out;
    assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), 0); /* a new metadata file */
    unlink(metadata);
    assert_int_equal(mkfifo(metadata, 0600), 0);
    collected_release(&out);
    assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), 0);
    unlink(metadata);
    assert_int_equal(mkdir(metadata, 0700), 0); /* which no file can replace */
    collected_release(&out);
    assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), -1);
    assert_int_equal(err.code, COLLECT_PARTIAL);
    assert_int_equal(out.count, 1);
    assert_string_equal(out.files[0].content, "1");
    assert_memory_equal(workspace_test_op(&t)->error, "partial output commit", 21);
}

TEST_WITH(collected_files_are_saved, setup, teardown)
{
    struct err err = ERR_INIT;
    char *globs[] = {(char *)"out/*", (char *)"out/a*"};
    struct output_spec spec = {.globs = globs, .glob_count = 2, .save = true, .name_template = (char *)"p/"};
    workspace_test_write(&t, "out/a", "1");
    workspace_test_write(&t, "out/b", "2");
    for (int round = 0; round < 2; round++) {
        CLEANUP(collected) struct collected out;
        assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), 0);
        assert_int_equal(out.count, 2); /* once each, though two patterns fit */
        assert_string_equal(out.files[1].saved_as, "p/out/b");
        assert_int_equal(out.files[1].version, round);
        assert_string_equal(out.files[1].content, "");
    }
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    assert_int_equal(versions_load(t.versions, "p/out/b", 1, &content, NULL, NULL, &err), 0);
    assert_string_equal(content.buf, "2");
    spec.max_file_bytes = 1;
    workspace_test_write(&t, "out/long", "long");
    CLEANUP(collected) struct collected out;
    assert_int_equal(collect_outputs(t.ws, &spec, &out, &err), -1);
    assert_string_equal(err.text, "cannot save truncated output file: out/long");
}
