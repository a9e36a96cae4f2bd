/* Tests of versioned artifacts, in memory and on disk: the same tests for both. */

#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "support/test.h"
#include "support/versions_memory.h"
#include "workspace/versions.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct scratch files;

static int setup_memory(void **state)
{
    scratch_init(&files);
    *state = versions_in_memory();
    return 0;
}

static int setup_disk(void **state)
{
    scratch_init(&files);
    CLEANUP(free) char *folder = scratch_path(&files, "data/artifacts");
    *state = versions_on_disk(folder, "/p");
    return 0;
}

static int teardown(void **state)
{
    versions_free(*state);
    scratch_release(&files);
    return 0;
}

/* The same test for both kinds. */
#define STORE_TEST(NAME)                                \
    static void check_##NAME(struct versions *v);       \
    TEST_WITH(NAME##_in_memory, setup_memory, teardown) \
    {                                                   \
        check_##NAME(*state);                           \
    }                                                   \
    TEST_WITH(NAME##_on_disk, setup_disk, teardown)     \
    {                                                   \
        check_##NAME(*state);                           \
    }                                                   \
    static void check_##NAME(struct versions *v)

static int64_t save(struct versions *v, const char *name, const char *text, const char *mime)
{
    struct err err = ERR_INIT;
    int64_t version = -5;
    if (versions_save(v, name, text, strlen(text), mime, &version, &err) < 0)
        fail_msg("%s", err.text);
    return version;
}

static void expect(struct versions *v, const char *name, int64_t version, const char *text, const char *mime)
{
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    CLEANUP(free) char *type = NULL;
    struct err err = ERR_INIT;
    int64_t actual;
    if (versions_load(v, name, version, &content, &type, &actual, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(content.buf, text);
    assert_string_equal(type, mime);
    if (version != VERSIONS_NEWEST)
        assert_int_equal(actual, version);
}

static void expect_none(struct versions *v, const char *name, int64_t version, const char *why)
{
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    struct err err = ERR_INIT;
    assert_int_equal(versions_load(v, name, version, &content, NULL, NULL, &err), -1);
    assert_string_equal(err.text, why);
}

STORE_TEST(versions_are_saved_and_loaded)
{
    struct err err = ERR_INIT;
    CLEANUP(free) int64_t *list = NULL;
    size_t count;
    assert_int_equal(save(v, "out/a", "zero", "text/plain"), 0);
    assert_int_equal(save(v, "out/a", "one", " "), 1);
    assert_int_equal(save(v, "../b", "other", NULL), 0);
    for (int i = 2; i < 12; i++) /* ten and more sort as numbers */
        assert_int_equal(save(v, "out/a", "more", "x/y"), i);
    expect(v, "out/a", 0, "zero", "text/plain");
    expect(v, "out/a", 1, "one", "application/octet-stream");
    expect(v, "out/a", VERSIONS_NEWEST, "more", "x/y");
    expect(v, "../b", VERSIONS_NEWEST, "other", "application/octet-stream");
    assert_int_equal(versions_list(v, "out/a", &list, &count, &err), 0);
    assert_int_equal(count, 12);
    assert_int_equal(list[11], 11);
    expect_none(v, "out/a", 12, "artifact not found: out/a has no version 12");
    expect_none(v, "none", VERSIONS_NEWEST, "artifact not found: none");
}

STORE_TEST(versions_are_removed)
{
    struct err err = ERR_INIT;
    save(v, "a", "x", NULL);
    save(v, "b", "y", NULL);
    assert_int_equal(versions_remove(v, "a", &err), 0);
    assert_int_equal(versions_remove(v, "a", &err), 0);
    expect_none(v, "a", VERSIONS_NEWEST, "artifact not found: a");
    expect(v, "b", 0, "y", "application/octet-stream");
    assert_int_equal(save(v, "a", "again", NULL), 0);
}

TEST_WITH(wrong_names_are_refused, setup_memory, teardown)
{
    struct versions *v = *state;
    struct err err = ERR_INIT;
    assert_int_equal(versions_save(v, " ", "x", 1, NULL, NULL, &err), -1);
    assert_string_equal(err.text, "the artifact has no name");
    assert_int_equal(versions_save(NULL, "x", "x", 1, NULL, NULL, &err), -1);
    assert_string_equal(err.text, "artifacts are off");
}

STORE_TEST(any_bytes_are_kept)
{
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    assert_int_equal(versions_save(v, "bytes", "a\0b\0", 4, "x/y", NULL, &err), 0);
    assert_int_equal(versions_load(v, "bytes", 0, &content, NULL, NULL, &err), 0);
    assert_int_equal(content.len, 4);
    assert_memory_equal(content.buf, "a\0b\0", 4);
}

static void *save_ten(void *user)
{
    for (int i = 0; i < 10; i++)
        if (versions_save(user, "shared", "x", 1, NULL, NULL, NULL) < 0)
            return user;
    return NULL;
}

STORE_TEST(versions_are_saved_at_once_by_many)
{
    struct err err = ERR_INIT;
    pthread_t threads[4];
    CLEANUP(free) int64_t *list = NULL;
    size_t count;
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, save_ten, v), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(versions_list(v, "shared", &list, &count, &err), 0);
    assert_int_equal(count, 40);
    assert_int_equal(list[39], 39);
}

TEST_WITH(a_name_belongs_to_its_project, setup_disk, teardown)
{
    CLEANUP(free) char *folder = scratch_path(&files, "two");
    struct versions *a = versions_on_disk(folder, "/home/me/a"), *b = versions_on_disk(folder, "/home/me/b");
    assert_int_equal(save(a, "report.csv", "of a", NULL), 0);
    expect_none(b, "report.csv", VERSIONS_NEWEST, "artifact not found: report.csv");
    assert_int_equal(save(b, "report.csv", "of b", NULL), 0);
    assert_int_equal(save(a, "report.csv", "of a again", NULL), 1);
    expect(b, "report.csv", VERSIONS_NEWEST, "of b", "application/octet-stream");
    assert_int_equal(versions_remove(b, "report.csv", NULL), 0);
    expect(a, "report.csv", 0, "of a", "application/octet-stream");
    versions_free(a);
    versions_free(b);
}

/* As a version without projects left it: the folder of the name directly in the base. */
static char *old_artifact(const char *digest, int days)
{
    CLEANUP(free) char *label = xasprintf("old/%s/name", digest);
    CLEANUP(free) char *version = xasprintf("old/%s/0", digest);
    const char *const parts[] = {label, version};
    struct timespec when = {.tv_sec = time(NULL) - days * 86400};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        CLEANUP(free) char *path = scratch_path(&files, parts[i]);
        scratch_write_bytes(&files, parts[i], "text/plain\0old", 14);
        assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){when, when}, 0), 0);
    }
    return scratch_path(&files, version);
}

/* The folder that "report.csv" had. */
static const char *report_digest(void)
{
    static char digest[HASH_SHA256_HEX];
    hash_sha256("report.csv", strlen("report.csv"), digest);
    digest[32] = '\0';
    return digest;
}

TEST_WITH(artifacts_older_than_projects_are_not_found_and_end, setup_disk, teardown)
{
    int64_t now_us = (int64_t)time(NULL) * 1000000;
    CLEANUP(free) char *folder = scratch_path(&files, "old");
    CLEANUP(free) char *young = old_artifact(report_digest(), VERSIONS_OLD_DAYS - 1);
    CLEANUP(free) char *old = old_artifact("00000000000000000000000000000000", VERSIONS_OLD_DAYS + 1);
    scratch_write(&files, "old/11111111111111111111111111111111/other", "not ours");
    scratch_write(&files, "old/notes/name", "not ours either");
    struct versions *a = versions_on_disk(folder, "/home/me/a");
    expect_none(a, "report.csv", VERSIONS_NEWEST, "artifact not found: report.csv");
    assert_int_equal(save(a, "report.csv", "new", NULL), 0);
    versions_remove_old(folder, now_us);
    assert_int_equal(access(young, F_OK), 0);
    assert_int_equal(access(old, F_OK), -1);
    assert_true(scratch_exists(&files, "old/11111111111111111111111111111111/other"));
    assert_true(scratch_exists(&files, "old/notes/name"));
    versions_remove_old(folder, now_us + INT64_C(2) * 86400000000);
    assert_int_equal(access(young, F_OK), -1);
    expect(a, "report.csv", 0, "new", "application/octet-stream");
    versions_free(a);
}

TEST_WITH(disk_outlives_the_program, setup_disk, teardown)
{
    CLEANUP(free) char *folder = scratch_path(&files, "kept");
    struct versions *first = versions_on_disk(folder, "/p");
    save(first, "a", "x", "t/x");
    versions_free(first);
    struct versions *second = versions_on_disk(folder, "/p");
    expect(second, "a", VERSIONS_NEWEST, "x", "t/x");
    assert_int_equal(save(second, "a", "y", NULL), 1);
    versions_free(second);
}
