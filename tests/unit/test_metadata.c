/* metadata.json: unknown fields are kept, errors are reported, and no file can block the program. */

#include "base/beneath.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "support/test.h"
#include "workspace/layout.h"
#include "workspace/metadata.h"
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static struct scratch files;
static struct beneath *root;
static struct fake_clock fake;

static int setup(void **state)
{
    (void)state;
    scratch_init(&files);
    fake_clock_init(&fake);
    root = beneath_open(files.path, NULL);
    return root ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    beneath_close(root);
    scratch_release(&files);
    return 0;
}

static const char full[] =
    "{\"version\":1,\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-02T00:00:00.5Z\","
    "\"last_access\":\"2026-01-03T00:00:00Z\",\"skills\":{\"p\\\"df\":{\"name\":\"p\\\"df\",\"rel_path\":\"skills/"
    "pdf\","
    "\"digest\":\"ab\",\"mounted\":true,\"staged_at\":\"2026-01-01T00:00:00Z\",\"source\":\"/s\"}},"
    "\"inputs\":[{\"from\":\"artifact://a@0\",\"to\":\"work/a\",\"resolved\":\"a\",\"version\":0,\"mode\":\"copy\","
    "\"ts\":\"2026-01-01T00:00:00Z\"}],\"outputs\":[{\"globs\":[\"out/*\"],\"saved_as\":[\"x\"],\"versions\":[3],"
    "\"limits_hit\":true,\"ts\":\"2026-01-01T00:00:00Z\"}],\"prepared\":{\"k\":[1,2.50,\"ü\"]},\"backend\":\"i-1\"}\n";

TEST_WITH(metadata_is_written_and_read_back, setup, teardown)
{
    CLEANUP(metadata) struct metadata md;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    assert_int_equal(metadata_parse(&md, full, strlen(full), &err), 0);
    assert_int_equal(md.inputs[0].version, 0);
    assert_string_equal(metadata_find_skill(&md, "p\"df")->source, "/s");
    metadata_write(&md, &out);
    assert_string_equal(out.buf, full);
}

TEST_WITH(corrupt_metadata_is_refused, setup, teardown)
{
    static const char *const bad[][2] = {
        {"", "byte"},
        {"[]", "it is not an object"},
        {"{\"version\":\"1\"}", "version is not a whole number"},
        {"{\"version\":1.5}", "version is not a whole number"},
        {"{\"skills\":[]}", "skills is not an object"},
        {"{\"skills\":{\"a\":1}}", "skills is not an object of objects"},
        {"{\"inputs\":{}}", "inputs is not a list"},
        {"{\"inputs\":[{\"from\":1}]}", "from is not a text"},
        {"{\"outputs\":[{\"globs\":[1]}]}", "globs is not a list of texts"},
        {"{\"outputs\":[{\"limits_hit\":\"no\"}]}", "limits_hit is not true or false"},
        {"{\"created_at\":5}", "created_at is not a text"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(metadata) struct metadata md;
        struct err err = ERR_INIT;
        scratch_write(&files, LAYOUT_METADATA, bad[i][0]);
        assert_int_equal(metadata_load(root, &fake.base, &md, &err), -1);
        assert_int_equal(err.code, METADATA_CORRUPT);
        if (!strstr(err.text, "metadata.json is corrupt") || !strstr(err.text, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err.text);
        assert_int_equal(md.version, METADATA_VERSION); /* the defaults are usable */
    }
}

TEST_WITH(creation_and_change_times_are_kept, setup, teardown)
{
    struct err err = ERR_INIT;
    CLEANUP(metadata) struct metadata md, back;
    metadata_init(&md, &fake.base);
    fake_clock_advance(&fake, 1500000);
    assert_int_equal(metadata_save(root, &fake.base, &md, &err), 0);
    assert_int_equal(metadata_load(root, &fake.base, &back, &err), 0);
    assert_string_equal(back.created_at, "2026-01-01T00:00:00.000000Z");
    assert_string_equal(back.updated_at, "2026-01-01T00:00:01.500000Z");
    assert_int_equal(scratch_mode(&files, LAYOUT_METADATA), 0600);
}

TEST_WITH(a_skill_is_stored_once, setup, teardown)
{
    CLEANUP(metadata) struct metadata md;
    struct metadata_skill skill = {.name = "a", .rel_path = "skills/a", .digest = "1", .staged_at = "t"};
    metadata_init(&md, &fake.base);
    metadata_put_skill(&md, &skill);
    skill.digest = "2";
    metadata_put_skill(&md, &skill);
    assert_int_equal(md.skill_count, 1);
    assert_string_equal(metadata_find_skill(&md, "a")->digest, "2");
    assert_null(metadata_find_skill(&md, "b"));
}

TEST_WITH(temporary_files_are_removed, setup, teardown)
{
    static const char *const temps[] = {".metadata.tmp", ".metadata.1.2.3.0123456789abcdef.tmp",
                                        ".metadata.001.18446744073709551615.9.norand.tmp"};
    static const char *const others[] = {"",
                                         ".metadata.1.2.3.0123456789ABCDEF.tmp",
                                         ".metadata.1.2.3.0123456789abcdef0.tmp",
                                         ".metadata.1.2.norand.tmp",
                                         ".metadata.1.2.3.4.norand.tmp",
                                         ".metadata.1.0.3.norand.tmp",
                                         ".metadata.1.18446744073709551616.3.norand.tmp",
                                         ".metadata.+1.2.3.norand.tmp",
                                         "out/.metadata.tmp",
                                         ".metadata.1.2.3.norand"};
    for (size_t i = 0; i < COUNT_OF(temps); i++)
        assert_true(metadata_is_temp(temps[i]));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(metadata_is_temp(others[i]));
}

static void nothing(struct metadata *md, void *user)
{
    (void)md;
    (void)user;
}

/* A program in the workspace takes the lock and keeps it. */
TEST_WITH(a_lock_of_another_process_is_respected, setup, teardown)
{
    struct err err = ERR_INIT;
    int fd = open(files.path, O_RDONLY | O_DIRECTORY); /* as another program would have it: opened separately */
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(metadata_update(root, &fake.base, nothing, NULL, &err), -1);
    assert_non_null(strstr(err.text, "a program locked the workspace"));
    close(fd);
    assert_int_equal(metadata_update(root, &fake.base, nothing, NULL, &err), 0);
}

TEST_WITH(strange_files, setup, teardown)
{
    CLEANUP(metadata) struct metadata md;
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&files, LAYOUT_METADATA);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(metadata_load(root, &fake.base, &md, &err), -1);
    metadata_release(&md);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
    assert_int_equal(metadata_load(root, &fake.base, &md, &err), -1);
    assert_int_equal(err.code, METADATA_CORRUPT);
    assert_int_equal(metadata_update(root, &fake.base, nothing, NULL, &err), 0); /* a new file */
    CLEANUP(free) char *text = scratch_read(&files, LAYOUT_METADATA, NULL);
    assert_memory_equal(text, "{\"version\":1,", 13);
}
