/* Tests of the output limit, which must shorten an output the same way every time. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "support/test.h"
#include "tools/output_limit.h"
#include <stdint.h>

struct fixture {
    struct arena arena;
    struct strbuf text, out;
    const struct json *before, *after;
};

static void start(struct fixture *f)
{
    *f = (struct fixture){.arena = ARENA_INIT, .text = STRBUF_INIT, .out = STRBUF_INIT};
}

static void run(struct fixture *f)
{
    f->before = json_parse(&f->arena, f->text.buf, f->text.len, NULL);
    assert_non_null(f->before);
    output_limit_write(&f->out, f->before, JSON_COMPACT);
    f->after = json_parse(&f->arena, f->out.buf, f->out.len, NULL);
    assert_non_null(f->after);
}

static void stop(struct fixture *f)
{
    arena_release(&f->arena);
    strbuf_release(&f->text);
    strbuf_release(&f->out);
}

static void add_repeated(struct strbuf *out, const char *text, int times)
{
    for (int i = 0; i < times; i++)
        strbuf_addstr(out, text);
}

static void add_range(struct strbuf *out, int count)
{
    strbuf_addch(out, '[');
    for (int i = 0; i < count; i++)
        strbuf_addf(out, "%s%d", i ? "," : "", i);
    strbuf_addch(out, ']');
}

TEST(entries_are_cut_to_200_and_nothing_else_is_touched)
{
    struct fixture f;
    start(&f);
    strbuf_addstr(&f.text, "{\"total\":250,\"entries\":");
    add_range(&f.text, 250);
    strbuf_addstr(&f.text, ",\"note\":\"");
    add_repeated(&f.text, "x", 5000);
    strbuf_addstr(&f.text, "\"}");
    run(&f);
    const struct json *entries = json_get(f.after, "entries");
    assert_int_equal(entries->count, 200);
    assert_int_equal(json_int(json_at(entries, 0), -1), 0);
    assert_int_equal(json_int(json_at(entries, 199), -1), 199);
    assert_int_equal(json_int(json_get(f.after, "total"), 0), 250);
    assert_int_equal(json_get(f.after, "note")->len, 5000);
    stop(&f);
}

TEST(entries_of_exactly_200_stay)
{
    struct fixture f;
    start(&f);
    strbuf_addstr(&f.text, "{\"entries\":");
    add_range(&f.text, 200);
    strbuf_addstr(&f.text, "}");
    run(&f);
    assert_string_equal(f.out.buf, f.text.buf);
    stop(&f);
}

TEST(entries_that_are_no_list_go_the_other_way)
{
    struct fixture f;
    start(&f);
    strbuf_addstr(&f.text, "{\"entries\":\"");
    add_repeated(&f.text, "x", 5000);
    strbuf_addstr(&f.text, "\"}");
    run(&f);
    assert_int_equal(json_get(f.after, "entries")->len, 3000);
    stop(&f);
}

TEST(strings_are_cut_to_exactly_3000_characters_at_every_level)
{
    struct fixture f;
    start(&f);
    strbuf_addstr(&f.text, "{\"a\":{\"b\":[\"");
    add_repeated(&f.text, "é", 3001);
    strbuf_addstr(&f.text, "\"]},\"c\":\"");
    add_repeated(&f.text, "é", 3000);
    strbuf_addstr(&f.text, "\"}");
    run(&f);
    const struct json *cut = json_at(json_get(json_get(f.after, "a"), "b"), 0);
    assert_int_equal(utf8_count(cut->text, cut->len), 3000);
    assert_int_equal(cut->len, 6000);
    assert_int_equal(json_get(f.after, "c")->len, 6000);
    stop(&f);
}

TEST(lists_and_objects_are_limited_at_the_top_only)
{
    struct fixture f;
    start(&f);
    add_range(&f.text, 201);
    run(&f);
    assert_int_equal(f.after->count, 200);
    stop(&f);

    start(&f);
    strbuf_addch(&f.text, '{');
    for (int i = 0; i < 81; i++)
        strbuf_addf(&f.text, "%s\"k%02d\":%d", i ? "," : "", i, i);
    strbuf_addch(&f.text, '}');
    run(&f);
    assert_int_equal(f.after->count, 80);
    assert_non_null(json_get(f.after, "k79"));
    assert_null(json_get(f.after, "k80"));
    stop(&f);

    start(&f);
    strbuf_addstr(&f.text, "{\"inner\":");
    add_range(&f.text, 500);
    strbuf_addch(&f.text, '}');
    run(&f);
    assert_int_equal(json_get(f.after, "inner")->count, 500);
    stop(&f);
}

TEST(containers_below_level_4_become_a_short_text)
{
    struct fixture f;
    start(&f);
    strbuf_addstr(&f.text,
                  "{\"1\":{\"2\":{\"3\":{\"4\":{\"5\":{\"6\":1,\"7\":2,\"8\":3},\"l\":[1,2],\"s\":\"kept\"}}}}}");
    run(&f);
    assert_string_equal(f.out.buf,
                        "{\"1\":{\"2\":{\"3\":{\"4\":{\"5\":\"[object with 3 members]\",\"l\":\"[list of 2]\","
                        "\"s\":\"kept\"}}}}}");
    stop(&f);
}

TEST(small_values_stay_as_they_are)
{
    static const char *const values[] = {
        "{\"a\":{\"b\":{\"c\":1}}}",
        "{\"n\":9007199254740993,\"f\":1.50,\"b\":true,\"z\":null}",
        "\"x\"",
        "[]",
        "{}",
        "0",
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct fixture f;
        start(&f);
        strbuf_addstr(&f.text, values[i]);
        run(&f);
        assert_string_equal(f.out.buf, values[i]);
        stop(&f);
    }
}

TEST(length_is_that_of_python)
{
    struct fixture f;
    start(&f);
    strbuf_addstr(&f.text, "{\"a\":[1,2],\"b\":\"é\"}");
    run(&f);
    assert_int_equal(output_limit_length(f.before), strlen("{\"a\": [1, 2], \"b\": \"\\u00e9\"}"));
    stop(&f);
}

TEST(length_is_taken_after_compaction)
{
    struct fixture f;
    start(&f);
    strbuf_addstr(&f.text, "{\"text\":\"");
    add_repeated(&f.text, "x", 20000);
    strbuf_addstr(&f.text, "\"}");
    run(&f);
    assert_int_equal(output_limit_length(f.before), strlen("{\"text\": \"\"}") + 3000);
    stop(&f);
}
