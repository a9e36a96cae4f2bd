/* Tests of the records that a script sends to its harness. */

#include "base/mem.h"
#include "record.h"
#include "support/test.h"
#include <string.h>

TEST(records_of_each_kind)
{
    static const struct {
        const char *line;
        enum record_kind kind;
        const char *text, *more;
    } cases[] = {
        {"R{\"a\":1}", RECORD_RESULT, NULL, NULL},
        {"Rnull", RECORD_RESULT, NULL, NULL},
        {"I{\"label\":\"l\",\"data\":null}", RECORD_INTERMEDIATE, "l", NULL},
        {"L{\"message\":\"m\",\"level\":\"info\"}", RECORD_LOG, "m", "info"},
        {"Oa\\nb\\\\n", RECORD_STDOUT, "a\nb\\n", NULL},
        {"E", RECORD_STDERR, "", NULL},
        {"X{}", RECORD_END, NULL, NULL},
        {"X{\"message\":\"m\",\"traceback\":\"t\"}", RECORD_END, "m", "t"},
        {"T{\"a\":\"NETWORK\"}", RECORD_TOOLS, NULL, NULL},
        {"S{}", RECORD_SANDBOX, NULL, NULL},
        {"R\"a\\u0000\\\\u0000\"", RECORD_RESULT, NULL, NULL},
        {"", RECORD_BAD, "an empty line", NULL},
        {"{\"type\":\"script_done\"}", RECORD_BAD, "an unknown kind", NULL},
        {"R", RECORD_BAD, "not JSON: expected a value at byte 1", NULL},
        {"I{\"label\":1,\"data\":1}", RECORD_BAD, "an intermediate without label or data", NULL},
        {"I{\"label\":\"x\"}", RECORD_BAD, "an intermediate without label or data", NULL},
        {"L{\"message\":\"m\"}", RECORD_BAD, "a log without message or level", NULL},
        {"L1", RECORD_BAD, "a log without message or level", NULL},
        {"X{\"message\":\"m\"}", RECORD_BAD, "an end without message or traceback", NULL},
        {"X[]", RECORD_BAD, "an end without message or traceback", NULL},
        {"T[1]", RECORD_BAD, "tools that are not an object", NULL},
        {"T{\"a\":1}", RECORD_BAD, "a tool whose effect is not text", NULL},
        {"S[]", RECORD_BAD, "a sandbox that is not an object", NULL},
        {"O\\x", RECORD_BAD, "text with an unknown escape", NULL},
        {"O\\", RECORD_BAD, "text with an unknown escape", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct record record = record_parse(&arena, cases[i].line, strlen(cases[i].line));
        if (record.kind != cases[i].kind)
            fail_msg("%s is of kind %d", cases[i].line, record.kind);
        if (cases[i].text)
            assert_string_equal(record.text, cases[i].text);
        if (cases[i].more)
            assert_string_equal(record.more, cases[i].more);
    }
}

TEST(depth_is_bounded)
{
    for (size_t depth = RECORD_DEPTH_MAX - 1; depth <= RECORD_DEPTH_MAX + 1; depth++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        strbuf_addch(&line, 'R');
        for (size_t i = 0; i < depth; i++)
            strbuf_addch(&line, '[');
        for (size_t i = 0; i < depth; i++)
            strbuf_addch(&line, ']');
        assert_int_equal(record_parse(&arena, line.buf, line.len).kind,
                         depth <= RECORD_DEPTH_MAX ? RECORD_RESULT : RECORD_BAD);
    }
}

TEST(too_long_line_is_reported_and_the_next_is_read)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *chunk = xmalloc(1 << 20);
    struct record_reader reader;
    struct record record;
    memset(chunk, 'x', 1 << 20);
    record_reader_init(&reader);
    for (int i = 0; i < 12; i++) {
        record_reader_add(&reader, chunk, 1 << 20);
        assert_false(record_reader_next(&reader, &arena, &record));
        assert_true(reader.pending.len <= RECORD_MAX + (1 << 20));
    }
    record_reader_add(&reader, "\n\nR1\n", 5);
    assert_true(record_reader_next(&reader, &arena, &record));
    assert_int_equal(record.kind, RECORD_BAD);
    assert_true(record_reader_next(&reader, &arena, &record));
    assert_int_equal(record.kind, RECORD_RESULT);
    assert_false(record_reader_next(&reader, &arena, &record));
    record_reader_release(&reader);
}

TEST(text_round_trips)
{
    static const char bytes[] = "a\n\\\n\\n\\\\ \0\xff end";
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct record_reader reader;
    struct record record;
    record_write_text(&line, RECORD_STDERR, bytes, sizeof(bytes) - 1);
    record_reader_init(&reader);
    record_reader_add(&reader, line.buf, line.len);
    assert_true(record_reader_next(&reader, &arena, &record));
    assert_int_equal(record.kind, RECORD_STDERR);
    assert_int_equal(record.len, sizeof(bytes) - 1);
    assert_memory_equal(record.text, bytes, sizeof(bytes) - 1);
    record_reader_release(&reader);
}
