/* Tests of long outputs: how they are stored and found again. */

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "support/test.h"
#include "tools/artifact.h"
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS(s) ((int64_t)(s)*1000000)

struct fixture {
    struct scratch scratch;
    struct fake_clock fake;
    char *base;
    struct artifact_store *store;
};

static void open_store(struct fixture *f)
{
    struct err err = ERR_INIT;
    f->store = artifact_store_open(f->base, &f->fake.base, &err);
    assert_string_equal(err.text, "");
    assert_non_null(f->store);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    scratch_init(&f->scratch);
    fake_clock_init(&f->fake);
    f->base = scratch_path(&f->scratch, "deep/base");
    open_store(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    artifact_store_close(f->store);
    scratch_release(&f->scratch);
    free(f->base);
    free(f);
    return 0;
}

static struct artifact *put(struct fixture *f, const char *session, const char *content)
{
    struct artifact *artifact = artifact_store_put(f->store, session, "tool", content, strlen(content));
    assert_non_null(artifact);
    return artifact;
}

static bool get(struct fixture *f, const char *session, const char *id, const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    strbuf_addstr(&out, "before ");
    bool found = artifact_store_get(f->store, session, id, &out);
    if (found)
        assert_string_equal(out.buf + 7, expected);
    else
        assert_string_equal(out.buf, "before ");
    return found;
}

TEST_WITH(path_id_and_summary, setup, teardown)
{
    struct fixture *f = *state;
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    strbuf_addstr(&content, "line1\nline2");
    while (content.len < 311)
        strbuf_addch(&content, 'x');
    struct artifact *artifact = put(f, "sess_abc", content.buf);
    assert_int_equal(strlen(artifact->id), 20);
    assert_int_equal(strspn(artifact->id + 4, "0123456789abcdef"), 16);
    CLEANUP(free) char *name = xasprintf("deep/base/sess_abc/%s.txt", artifact->id);
    CLEANUP(free) char *path = scratch_path(&f->scratch, name);
    CLEANUP(free) char *real = realpath(path, NULL);
    assert_string_equal(artifact->path, real);
    assert_string_equal(artifact->session, "sess_abc");
    assert_string_equal(artifact->tool, "tool");
    assert_int_equal(strlen(artifact->summary), 200);
    assert_memory_equal(artifact->summary, "line1 line2xxx", 14);
    assert_int_equal(artifact->size, 311);
    assert_int_equal(artifact->ttl_s, 3600);
    assert_int_equal(scratch_mode(&f->scratch, name), 0600);
    assert_int_equal(scratch_mode(&f->scratch, "deep/base/sess_abc"), 0700);
    assert_int_equal(scratch_mode(&f->scratch, "deep/base"), 0700);
    assert_true(get(f, artifact->session, artifact->id, content.buf));
    artifact_free(artifact);
}

TEST_WITH(expires_after_its_time, setup, teardown)
{
    struct fixture *f = *state;
    struct artifact *artifact = put(f, "s", "content");
    fake_clock_advance(&f->fake, SECONDS(3599));
    assert_true(get(f, artifact->session, artifact->id, "content"));
    fake_clock_advance(&f->fake, SECONDS(2));
    assert_false(get(f, artifact->session, artifact->id, ""));
    assert_null(artifact_store_find(f->store, artifact->session, artifact->id));
    assert_int_equal(artifact_store_count(f->store, NULL), 0);
    struct stat st;
    assert_int_not_equal(stat(artifact->path, &st), 0);
    artifact_free(artifact);
}

TEST_WITH(unknown_and_forged_ids, setup, teardown)
{
    struct fixture *f = *state;
    assert_false(get(f, "s", "art_0000000000000000", ""));
    assert_false(get(f, "s", "../../etc/passwd", ""));
    assert_false(get(f, "s", "", ""));
    assert_null(artifact_store_find(f->store, "s", NULL));
}

TEST_WITH(a_file_removed_behind_the_index, setup, teardown)
{
    struct fixture *f = *state;
    struct artifact *artifact = put(f, "s", "content");
    assert_int_equal(unlink(artifact->path), 0);
    assert_false(get(f, artifact->session, artifact->id, ""));
    assert_int_equal(artifact_store_count(f->store, NULL), 0);
    artifact_free(artifact);
}

TEST_WITH(cleanup_removes_one_session, setup, teardown)
{
    struct fixture *f = *state;
    artifact_free(put(f, "s1", "a"));
    artifact_free(put(f, "s1", "b"));
    artifact_free(put(f, "s2", "c"));
    assert_int_equal(artifact_store_count(f->store, "s1"), 2);
    assert_int_equal(artifact_store_cleanup(f->store, "s1"), 2);
    assert_int_equal(artifact_store_count(f->store, "s1"), 0);
    assert_int_equal(artifact_store_count(f->store, "s2"), 1);
    assert_false(scratch_exists(&f->scratch, "deep/base/s1"));
    assert_int_equal(artifact_store_cleanup(f->store, "s1"), 0);
}

TEST_WITH(session_ids_cannot_climb_out, setup, teardown)
{
    struct fixture *f = *state;
    static const char *const sessions[] = {"../../etc", "/abs", "..", ".", "", "a/b c\nd", "häh"};
    static const char *const folders[] = {"______etc", "_abs", "__", "_", "_", "a_b_c_d", "h__h"};
    for (size_t i = 0; i < COUNT_OF(sessions); i++) {
        struct artifact *artifact = put(f, sessions[i], "x");
        assert_string_equal(artifact->session, folders[i]);
        CLEANUP(free) char *name = xasprintf("deep/base/%s/%s.txt", folders[i], artifact->id);
        assert_true(scratch_exists(&f->scratch, name));
        assert_true(artifact_store_count(f->store, sessions[i]) >= 1);
        artifact_free(artifact);
    }
    CLEANUP(free) char *outside = scratch_list(&f->scratch, "deep");
    assert_string_equal(outside, "base");
}

#define THREADS 8
#define EACH    50

struct worker {
    pthread_t thread;
    struct fixture *f;
    char ids[EACH][32];
};

static void *store_many(void *data)
{
    struct worker *worker = data;
    for (int i = 0; i < EACH; i++) {
        struct artifact *artifact = artifact_store_put(worker->f->store, "s", "t", "content", 7);
        snprintf(worker->ids[i], sizeof(worker->ids[i]), "%s", artifact ? artifact->id : "failed");
        artifact_free(artifact);
    }
    return NULL;
}

TEST_WITH(eight_threads_at_once, setup, teardown)
{
    struct fixture *f = *state;
    struct worker *workers = xcalloc(THREADS, sizeof(*workers));
    struct hash_map seen = {0};
    for (int i = 0; i < THREADS; i++) {
        workers[i].f = f;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, store_many, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        for (int j = 0; j < EACH; j++)
            hash_map_put(&seen, workers[i].ids[j], 1);
    }
    assert_int_equal(seen.count, THREADS * EACH);
    assert_false(hash_map_has(&seen, "failed"));
    assert_int_equal(artifact_store_count(f->store, "s"), THREADS * EACH);
    hash_map_release(&seen);
    free(workers);
}

TEST_WITH(the_index_comes_back_from_disk, setup, teardown)
{
    struct fixture *f = *state;
    struct artifact *old = put(f, "s1", "old content\nsecond line");
    fake_clock_advance(&f->fake, SECONDS(3000));
    struct artifact *young = put(f, "s2", "young");
    scratch_write(&f->scratch, "deep/base/s2/notes.txt", "not ours");
    scratch_write(&f->scratch, "deep/base/s2/art_0123456789ABCDEF.txt", "nor this");
    scratch_mkdir(&f->scratch, "deep/base/empty");
    artifact_store_close(f->store);
    open_store(f);
    struct artifact *again = artifact_store_find(f->store, old->session, old->id);
    assert_non_null(again);
    assert_string_equal(again->summary, "old content second line");
    assert_string_equal(again->session, "s1");
    assert_string_equal(again->path, old->path);
    assert_string_equal(again->tool, "");
    assert_int_equal(again->size, old->size);
    assert_int_equal(again->created_us, old->created_us);
    artifact_free(again);
    assert_int_equal(artifact_store_count(f->store, NULL), 2);

    artifact_store_close(f->store);
    fake_clock_advance(&f->fake, SECONDS(700));
    open_store(f);
    assert_int_equal(artifact_store_count(f->store, NULL), 1);
    assert_true(get(f, young->session, young->id, "young"));
    assert_false(scratch_exists(&f->scratch, "deep/base/s1"));
    assert_true(scratch_exists(&f->scratch, "deep/base/empty"));
    assert_true(scratch_exists(&f->scratch, "deep/base/s2/notes.txt"));
    artifact_free(old);
    artifact_free(young);
}

TEST_WITH(links_are_neither_indexed_nor_followed, setup, teardown)
{
    struct fixture *f = *state;
    scratch_write(&f->scratch, "secret", "secret");
    struct artifact *artifact = put(f, "s", "content");
    CLEANUP(free) char *secret = scratch_path(&f->scratch, "secret");
    CLEANUP(free) char *link = scratch_path(&f->scratch, "deep/base/s/art_0123456789abcdef.txt");
    assert_int_equal(symlink(secret, link), 0);
    assert_int_equal(unlink(artifact->path), 0);
    assert_int_equal(symlink(secret, artifact->path), 0);
    assert_false(get(f, artifact->session, artifact->id, ""));
    artifact_store_close(f->store);
    open_store(f);
    assert_int_equal(artifact_store_count(f->store, NULL), 0);
    artifact_free(artifact);
}

static void refuses(struct fixture *f, const char *name, const char *sentence)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *base = scratch_path(&f->scratch, name);
    assert_null(artifact_store_open(base, &f->fake.base, &err));
    assert_non_null(strstr(err.text, sentence));
}

TEST_WITH(bases_that_others_could_reach_are_refused, setup, teardown)
{
    struct fixture *f = *state;
    CLEANUP(free) char *target = scratch_path(&f->scratch, "deep/base");
    CLEANUP(free) char *link = scratch_path(&f->scratch, "link");
    assert_int_equal(symlink(target, link), 0);
    refuses(f, "link", "is not a private folder");
    scratch_mkdir(&f->scratch, "shared");
    scratch_chmod(&f->scratch, "shared", 0777);
    refuses(f, "shared", "others can write");
    scratch_write(&f->scratch, "file", "");
    refuses(f, "file", "file");
    if (geteuid() == 0) {
        scratch_mkdir(&f->scratch, "theirs");
        CLEANUP(free) char *theirs = scratch_path(&f->scratch, "theirs");
        assert_int_equal(chown(theirs, 12345, 12345), 0);
        refuses(f, "theirs", "belongs to another user");
    }
}

TEST_WITH(storing_that_fails_gives_nothing, setup, teardown)
{
    struct fixture *f = *state;
    scratch_remove(&f->scratch, "deep/base");
    assert_null(artifact_store_put(f->store, "s", "t", "content", 7));
    assert_int_equal(artifact_store_count(f->store, NULL), 0);
}

/* Also when the store of another process has it, and whatever the other session is called. */
TEST_WITH(a_session_reads_only_its_own, setup, teardown)
{
    struct fixture *f = *state;
    struct artifact *artifact = put(f, "sess_abc", "content");
    const char *const others[] = {"sess_ab", "sess_abcd", "", NULL, "_", "other", "../sess_abc"};
    for (int reopened = 0; reopened <= 1; reopened++) {
        assert_true(get(f, "sess_abc", artifact->id, "content")); /* a resumed session has the same id */
        for (size_t i = 0; i < COUNT_OF(others); i++) {
            assert_false(get(f, others[i], artifact->id, ""));
            assert_null(artifact_store_find(f->store, others[i], artifact->id));
        }
        artifact_store_close(f->store);
        open_store(f);
    }
    artifact_free(artifact);
}

TEST_WITH(a_file_without_a_store, setup, teardown)
{
    struct fixture *f = *state;
    struct artifact *one = put(f, "one", "1"), *two = put(f, "two", "2");
    CLEANUP(free) char *found = artifact_file(f->base, two->id);
    CLEANUP(free) char *want = xasprintf("%s/two/%s.txt", f->base, two->id);
    assert_string_equal(found, want);
    assert_null(artifact_file(f->base, "art_0123456789abcdef"));
    assert_null(artifact_file(f->base, "../two"));
    assert_null(artifact_file(f->base, NULL));
    assert_int_equal(unlink(found), 0);
    assert_int_equal(symlink(one->path, found), 0); /* a link is not a file of the store */
    assert_null(artifact_file(f->base, two->id));
    artifact_free(one);
    artifact_free(two);
}
