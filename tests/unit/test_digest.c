/* The digest of a folder, small and large: the same whether one thread or two make it, and never endless. */

#include "workspace/digest.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct scratch files;

static int setup(void **state)
{
    (void)state;
    scratch_init(&files);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_release(&files);
    return 0;
}

/* Files a, b, c … with sizes around the size of a piece, against the same stream hashed at once. */
static void test_any_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 262143, 262144, 262145, 600000};
    for (size_t count = 1; count <= 70; count += 23) {
        CLEANUP(strbuf) struct strbuf stream = STRBUF_INIT;
        char expected[HASH_SHA256_HEX], got[HASH_SHA256_HEX];
        struct err err = ERR_INIT;
        for (size_t i = 0; i < count; i++) {
            char name[16];
            size_t len = sizes[i % COUNT_OF(sizes)];
            snprintf(name, sizeof(name), "%c%02zu/file", 'a' + (int)(i % 3), i);
            CLEANUP(free) char *bytes = xmalloc(len + 1);
            memset(bytes, (int)i, len);
            scratch_write_bytes(&files, name, bytes, len);
        }
        for (int letter = 'a'; letter <= 'c'; letter++)
            for (size_t i = 0; i < count; i++)
                if ((int)(i % 3) == letter - 'a') {
                    size_t len = sizes[i % COUNT_OF(sizes)];
                    strbuf_addf(&stream, "%c%02zu/file", letter, i);
                    strbuf_addch(&stream, '\0');
                    strbuf_grow(&stream, len);
                    memset(stream.buf + stream.len, (int)i, len);
                    strbuf_set_len(&stream, stream.len + len);
                    strbuf_addch(&stream, '\0');
                }
        hash_sha256(stream.buf, stream.len, expected);
        assert_int_equal(digest_path(files.path, got, &err), 0);
        assert_string_equal(got, expected);
    }
}

static void test_links_to_files_are_read(void **state)
{
    (void)state;
    char linked[HASH_SHA256_HEX], plain[HASH_SHA256_HEX];
    struct err err = ERR_INIT;
    scratch_write(&files, "one/a", "x");
    scratch_write(&files, "two/a", "x");
    scratch_write(&files, "one/b", "x");
    CLEANUP(free) char *link = scratch_path(&files, "two/b"), *one = scratch_path(&files, "one");
    CLEANUP(free) char *two = scratch_path(&files, "two");
    assert_int_equal(symlink("a", link), 0);
    assert_int_equal(digest_path(one, plain, &err), 0);
    assert_int_equal(digest_path(two, linked, &err), 0);
    assert_string_equal(linked, plain);
}

static void test_what_is_no_file(void **state)
{
    (void)state;
    char out[HASH_SHA256_HEX];
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&files, "thing");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(digest_path(files.path, out, &err), -1);
    assert_non_null(strstr(err.text, "thing"));
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(digest_path(files.path, out, &err), -1);
    unlink(path);
    assert_int_equal(symlink(".", path), 0);
    assert_int_equal(digest_path(files.path, out, &err), -1);
    assert_int_equal(err.code, EISDIR);
}

static void test_limit(void **state)
{
    (void)state;
    char out[HASH_SHA256_HEX];
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&files, "huge");
    int fd = open(path, O_WRONLY | O_CREAT, 0600), folder = open(files.path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
    assert_int_equal(digest_folder(folder, false, 1 << 20, out, &err), -1);
    assert_int_equal(err.code, EFBIG);
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links_to_files_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
