/* Tests of the byte string. After every step the invariants of its header are checked. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static void check(const struct strbuf *sb)
{
    assert_non_null(sb->buf);
    assert_int_equal(sb->buf[sb->len], '\0');
    if (sb->room)
        assert_true(sb->len < sb->room);
    else
        assert_ptr_equal(sb->buf, strbuf_empty);
    assert_int_equal(strbuf_empty[0], '\0');
}

TEST(an_empty_buffer_is_an_empty_text)
{
    struct strbuf sb = STRBUF_INIT;
    check(&sb);
    strbuf_reset(&sb);
    strbuf_add(&sb, NULL, 0);
    strbuf_addstr(&sb, "");
    check(&sb);
    assert_int_equal(sb.room, 0);
    strbuf_release(&sb);
    check(&sb);
}

TEST(texts_are_appended)
{
    CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
    for (int i = 0; i < 2000; i++) {
        strbuf_addch(&sb, (char)('a' + i % 26));
        check(&sb);
    }
    assert_int_equal(sb.len, 2000);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(sb.buf[i], 'a' + i % 26);
    strbuf_reset(&sb);
    check(&sb);
    strbuf_add(&sb, "a\0b", 3);
    strbuf_addstr(&sb, "cd");
    check(&sb);
    assert_int_equal(sb.len, 5);
    assert_memory_equal(sb.buf, "a\0bcd", 6);
}

TEST(formatted_texts_are_appended)
{
    CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
    /* Shorter than, exactly, and longer than the room that is tried first. */
    for (int width = 0; width < 300; width++) {
        size_t before = sb.len;
        strbuf_addf(&sb, "%*d", width, 7);
        check(&sb);
        assert_int_equal(sb.len - before, width ? width : 1);
        assert_int_equal(sb.buf[sb.len - 1], '7');
    }
}

TEST(grow_and_set_len)
{
    CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
    strbuf_addstr(&sb, "ab");
    strbuf_grow(&sb, 1000);
    check(&sb);
    assert_true(sb.room > 1002);
    memset(sb.buf + sb.len, 'x', 1000);
    strbuf_set_len(&sb, 1002);
    check(&sb);
    assert_memory_equal(sb.buf, "abxx", 4);
    strbuf_set_len(&sb, 1);
    assert_string_equal(sb.buf, "a");
}

TEST(detach_gives_the_bytes_away)
{
    struct strbuf sb = STRBUF_INIT;
    size_t len = 9;
    char *bytes = strbuf_detach(&sb, &len);
    assert_int_equal(len, 0);
    assert_string_equal(bytes, "");
    assert_ptr_not_equal(bytes, strbuf_empty);
    free(bytes);
    strbuf_addstr(&sb, "mine");
    bytes = strbuf_detach(&sb, &len);
    check(&sb);
    assert_int_equal(len, 4);
    assert_string_equal(bytes, "mine");
    free(bytes);
    strbuf_addstr(&sb, "again");
    bytes = strbuf_detach(&sb, NULL);
    assert_string_equal(bytes, "again");
    free(bytes);
}

static int pipe_with(size_t len)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char bytes[4096];
    memset(bytes, 'q', sizeof(bytes));
    assert_true(len <= sizeof(bytes));
    assert_int_equal(write(ends[1], bytes, len), len);
    close(ends[1]);
    return ends[0];
}

TEST(a_descriptor_is_read_to_its_end)
{
    static const struct {
        size_t size, limit;
        int code;
    } cases[] = {{0, 0, 0}, {0, 5, 0}, {4096, 0, 0}, {100, 100, 0}, {101, 100, EFBIG}, {4096, 1, EFBIG}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
        strbuf_addstr(&sb, "before ");
        CLEANUP(fd) int fd = pipe_with(cases[i].size);
        int got = strbuf_read(&sb, fd, cases[i].limit);
        check(&sb);
        if (cases[i].code) {
            assert_int_equal(got, -1);
            assert_int_equal(errno, cases[i].code);
            assert_int_equal(sb.len, 7 + cases[i].limit);
        } else {
            assert_int_equal(got, 0);
            assert_int_equal(sb.len, 7 + cases[i].size);
        }
        assert_memory_equal(sb.buf, "before ", 7);
    }
    struct strbuf sb = STRBUF_INIT;
    assert_int_equal(strbuf_read(&sb, -1, 0), -1);
    assert_int_equal(errno, EBADF);
    check(&sb);
    strbuf_release(&sb);
}

TEST(growing_may_fail)
{
    CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
    strbuf_addstr(&sb, "kept");
    assert_false(strbuf_try_grow(&sb, SIZE_MAX));
    assert_string_equal(sb.buf, "kept");
    assert_true(strbuf_try_grow(&sb, 1000));
    const char *place = sb.buf;
    for (size_t i = 0; i < 1000; i++)
        strbuf_addch(&sb, 'x');
    assert_ptr_equal(sb.buf, place);
    assert_int_equal(sb.len, 1004);
}
