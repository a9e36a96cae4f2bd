/* Tests of the codec over its table: they cover every event that event.def lists without naming any. */

#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "event/event.h"
#include "event/words.h"
#include "support/test.h"
#include <string.h>

static void fill_body(struct arena *arena, struct event_layout layout, void *body, size_t turn);

/* Lists of no, one and two items. */
static void fill_list(struct arena *arena, const struct event_field *field, void *place, size_t turn)
{
    static const char *const texts[] = {"", "two \n lines"};
    static const int64_t numbers[] = {-1, INT64_MAX};
    struct event_layout layout = event_record_layout(field->record);
    struct event_strs list = {.items = EVENT_NONE, .count = turn % 3};
    if (field->kind == EVENT_KIND_STRS && list.count)
        list.items = texts;
    else if (field->kind == EVENT_KIND_INTS && list.count)
        list.items = (const void *)numbers;
    else if (field->kind == EVENT_KIND_RECS) {
        char *items = arena_calloc(arena, 3, layout.size);
        for (size_t i = 0; i < list.count; i++)
            fill_body(arena, layout, items + i * layout.size, turn + i);
        list.items = (const void *)items;
    }
    memcpy(place, &list, sizeof(list));
}

/* Values that are easy to get wrong, one of a kind chosen by `turn`. */
static void fill(struct arena *arena, const struct event_field *field, void *place, size_t turn)
{
    static const char *const texts[] = {
        "",
        "plain",
        "quote \" slash \\ / tab \t nl \n cr \r bell \x07 del \x7f",
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x91 end",
        "C:\\path\\u0041",
        "{\"not\":\"json\"}",
    };
    static const char *const values[] = {
        "{}",
        "[]",
        "[1,2.50,-3e+7,true,false,null]",
        "{\"a\":{\"b\":[\"x y\",\"\\u00e9\\\"\"]}}",
        "\"text\"",
        "9007199254740993",
    };
    static const char *const lists[] = {"[]", "[1,2.50,-3e+7,true,false,null]", "[{\"a\":[]},\"]\"]"};
    static const char *const objects[] = {"{}", "{\"a\":{\"b\":[\"x y\",\"\\u00e9\\\"\"]}}", "{\"}\":null}"};
    static const int64_t integers[] = {0, 1, -1, INT64_MAX, INT64_MIN + 1, 9007199254740993};
    static const double numbers[] = {0, 0.1, -2.5e-7, 1e300, 3, 12345.678};
    size_t at = turn % 6;
    switch (field->kind) {
    case EVENT_KIND_STR:
    case EVENT_KIND_NSTR:
        memcpy(place, &texts[at], sizeof(texts[at]));
        return;
    case EVENT_KIND_JSON:
        memcpy(place, &values[at], sizeof(values[at]));
        return;
    case EVENT_KIND_LIST:
        memcpy(place, &lists[at % 3], sizeof(lists[at]));
        return;
    case EVENT_KIND_OBJ:
        memcpy(place, &objects[at % 3], sizeof(objects[at]));
        return;
    case EVENT_KIND_INT:
    case EVENT_KIND_NINT:
    case EVENT_KIND_OINT:
        memcpy(place, &integers[at], sizeof(integers[at]));
        return;
    case EVENT_KIND_NUM:
    case EVENT_KIND_NNUM:
        memcpy(place, &numbers[at], sizeof(numbers[at]));
        return;
    case EVENT_KIND_BOOL:
    case EVENT_KIND_YES:
    case EVENT_KIND_FLAG:
        *(bool *)place = at % 2;
        return;
    case EVENT_KIND_STRS:
    case EVENT_KIND_INTS:
    case EVENT_KIND_RECS:
        fill_list(arena, field, place, turn);
        return;
    case EVENT_KIND_OREC: {
        struct event_layout layout = event_record_layout(field->record);
        void *record = arena_calloc(arena, 1, layout.size);
        fill_body(arena, layout, record, turn);
        memcpy(place, &record, sizeof(record));
        return;
    }
    }
}

static void fill_body(struct arena *arena, struct event_layout layout, void *body, size_t turn)
{
    for (size_t i = 0; i < layout.count; i++)
        fill(arena, &layout.fields[i], (char *)body + layout.fields[i].offset, turn + i);
}

/* A line holds the whole event, so two events are the same if their lines are. */
static void assert_same_event(const struct event *a, const struct event *b)
{
    CLEANUP(strbuf) struct strbuf left = STRBUF_INIT, right = STRBUF_INIT;
    struct event first = *a, second = *b;
    first.raw = second.raw = NULL;
    event_encode(&left, &first);
    event_encode(&right, &second);
    assert_string_equal(left.buf, right.buf);
}

static void decode(struct event *event, struct arena *arena, const char *line)
{
    struct err err = ERR_INIT;
    if (event_decode(event, arena, line, strlen(line), &err) < 0)
        fail_msg("%s: %s", line, err.text);
}

static void assert_refused(const char *line, const char *why)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    struct err err = ERR_INIT;
    if (event_decode(&event, &arena, line, strlen(line), &err) == 0)
        fail_msg("was taken: %s", line);
    if (!strstr(err.text, why))
        fail_msg("%s: \"%s\" does not say \"%s\"", line, err.text, why);
}

TEST(every_type_round_trips)
{
    for (int type = 1; type < EVENT_TYPE_COUNT; type++) {
        for (size_t round = 0; round < 6; round++) {
            CLEANUP(arena) struct arena arena = ARENA_INIT;
            CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
            struct event event = {.seq = 7, .t = 123456, .turn = 2, .type = (enum event_type)type}, back;
            fill_body(&arena, event_layout(event.type), event_body(&event), round);
            event_encode(&line, &event);
            assert_null(memchr(line.buf, '\n', line.len));
            decode(&back, &arena, line.buf);
            assert_same_event(&event, &back);
            assert_same_event(&event, event_copy(&arena, &event));
            assert_string_equal(back.type_name, event_type_name(event.type));
            assert_non_null(event_type_doc(event.type));
            assert_int_equal(event_type_from_name(back.type_name, strlen(back.type_name)), type);
        }
    }
}

TEST(absent_fields_have_their_zero)
{
    for (int type = 1; type < EVENT_TYPE_COUNT; type++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        struct event event, nulls;
        struct event_layout layout = event_layout((enum event_type)type);
        const struct event_field *fields = layout.fields;
        strbuf_addf(&line, "{\"type\":\"%s\"}", event_type_name((enum event_type)type));
        decode(&event, &arena, arena_strdup(&arena, line.buf));
        assert_true(event.seq == -1 && event.t == -1 && event.turn == 0);
        strbuf_reset(&line);
        strbuf_addf(&line, "{\"seq\":null,\"t\":null,\"turn\":null,\"type\":\"%s\"",
                    event_type_name((enum event_type)type));
        for (size_t i = 0; i < layout.count; i++)
            strbuf_addf(&line, ",\"%s\":null", fields[i].name);
        strbuf_addch(&line, '}');
        decode(&nulls, &arena, line.buf);
        assert_same_event(&event, &nulls);
        for (size_t i = 0; i < layout.count; i++) {
            void *place = (char *)event_body(&event) + fields[i].offset;
            if (fields[i].kind == EVENT_KIND_STR || fields[i].kind >= EVENT_KIND_STRS)
                assert_null(*(const char **)place);
            else if (fields[i].kind == EVENT_KIND_NINT)
                assert_true(*(int64_t *)place == EVENT_NULL_INT);
            else if (fields[i].kind == EVENT_KIND_NNUM)
                assert_true(isnan(*(double *)place));
        }
        /* The written line reads back the same. */
        strbuf_reset(&line);
        event.raw = NULL;
        event.seq = event.t = 1;
        event_encode(&line, &event);
        decode(&nulls, &arena, line.buf);
        assert_same_event(&event, &nulls);
    }
}

TEST(wrong_kinds_are_named)
{
    static const char *const wrong[] = {
        [EVENT_KIND_STR] = "1",   [EVENT_KIND_INT] = "\"1\"", [EVENT_KIND_NINT] = "1.5", [EVENT_KIND_NUM] = "true",
        [EVENT_KIND_NNUM] = "[]", [EVENT_KIND_BOOL] = "0",    [EVENT_KIND_LIST] = "{}",  [EVENT_KIND_OBJ] = "[]",
        [EVENT_KIND_STRS] = "{}", [EVENT_KIND_OREC] = "[]",   [EVENT_KIND_RECS] = "1",
    };
    for (int type = 1; type < EVENT_TYPE_COUNT; type++) {
        const char *name = event_type_name((enum event_type)type);
        struct event_layout layout = event_layout((enum event_type)type);
        const struct event_field *fields = layout.fields;
        for (size_t i = 0; i < layout.count; i++) {
            CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
            CLEANUP(strbuf) struct strbuf why = STRBUF_INIT;
            const char *value = fields[i].kind < COUNT_OF(wrong) ? wrong[fields[i].kind] : NULL;
            if (!value)
                continue;
            strbuf_addf(&line, "{\"type\":\"%s\",\"%s\":%s}", name, fields[i].name, value);
            strbuf_addf(&why, "%s: \"%s\" must be ", name, fields[i].name);
            assert_refused(line.buf, why.buf);
        }
    }
    assert_refused("{\"type\":\"held\",\"seq\":\"1\"}", "held: \"seq\" must be an integer, not text");
    assert_refused("{\"type\":\"model.requested\",\"step\":9223372036854775808}", "\"step\" must be an integer");
    assert_refused("{\"type\":\"model.responded\",\"tool_calls\":\"nope\"}",
                   "model.responded: \"tool_calls\" must be a list, not text");
    assert_refused("{\"type\":\"model.responded\",\"usage\":[]}", "\"usage\" must be an object, not a list");
    assert_refused("{\"type\":\"waves.planned\",\"waves\":{}}", "\"waves\" must be a list, not an object");
    assert_refused("{\"type\":\"write.proposed\",\"files\":1}", "\"files\" must be a list, not this number");
    assert_refused("{\"type\":7}", "\"type\" must be text");
    assert_refused("{\"seq\":1}", "\"type\" is missing");
    assert_refused("{}", "\"type\" is missing");
    assert_refused("{\"type\":null}", "\"type\" is missing");
}

TEST(wrong_kinds_inside_records_read_as_missing)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    decode(&event, &arena,
           "{\"type\":\"write.proposed\",\"files\":[{\"path\":7,\"added\":\"x\",\"loses\":{},\"diff\":\"d\"},5,"
           "{\"path\":\"a\"}]}");
    assert_int_equal(event.write_proposed.files.count, 3);
    assert_int_equal(event.loose, 4);
    assert_null(event.write_proposed.files.items[0].path);
    assert_string_equal(event.write_proposed.files.items[0].diff, "d");
    assert_null(event.write_proposed.files.items[1].path);
    assert_string_equal(event.write_proposed.files.items[2].path, "a");
    decode(&event, &arena, "{\"type\":\"tool.finished\",\"timeout\":{},\"failure\":{\"retryable\":false}}");
    assert_true(event.tool_finished.timeout->retryable); /* the default */
    assert_false(event.tool_finished.failure->retryable);
}

/* The memory for a foreign line is bounded. */
TEST(a_line_with_too_many_items_loses_the_list)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct event event;
    strbuf_addstr(&line, "{\"type\":\"model.responded\",\"text\":\"t\",\"tool_calls\":[{}");
    for (int i = 0; i < 100000; i++)
        strbuf_addstr(&line, ",{}");
    strbuf_addstr(&line, "],\"stop\":\"s\"}");
    decode(&event, &arena, line.buf);
    assert_int_equal(event.model_responded.tool_calls.count, 0);
    assert_string_equal(event.model_responded.stop, "s");
    assert_true(event.loose > 0);
}

TEST(unknown_fields_survive)
{
    static const char line[] =
        "{\"new\":{\"a\": [1]}, \"step\":2,\"seq\":5, \"type\":\"model.requested\",\"x\":\"\\u00e9\"}";
    static const char other[] = "{\"seq\":6,\"type\":\"dream.ended\",\"about\":[1, 2]}";
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct event event;
    decode(&event, &arena, line);
    assert_int_equal(event.type, EVENT_MODEL_REQUESTED);
    assert_int_equal(event.model_requested.step, 2);
    event_encode(&out, &event);
    assert_string_equal(out.buf, line);

    strbuf_reset(&out);
    event.seq = 50;
    event.t = 60;
    event_encode_numbered(&out, &event);
    assert_string_equal(out.buf, "{\"seq\":50,\"t\":60,\"new\":{\"a\":[1]},\"step\":2,\"type\":\"model.requested\","
                                 "\"x\":\"\\u00e9\"}");

    strbuf_reset(&out);
    decode(&event, &arena, other);
    assert_int_equal(event.type, EVENT_OTHER);
    assert_string_equal(event.type_name, "dream.ended");
    assert_null(event_type_name(event.type));
    event_encode(&out, &event);
    assert_string_equal(out.buf, other);
    strbuf_reset(&out);
    event_words(&out, WORDS_ROW, NULL, &event);
    assert_string_equal(out.buf, other);
}

/* A line of an older version holds them unescaped; our lines never do. The value is the same. */
TEST(lines_are_printable)
{
    static const char old[] = "{\"seq\":1,\"t\":2,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"\xc2\x9b"
                              "31m\xe2\x80\xae\"}";
    static const char safe[] =
        "{\"seq\":1,\"t\":2,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"\\u009b31m\\u202e\"}";
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct event event, again;
    decode(&event, &arena, old);
    assert_string_equal(event.turn_started.prompt, "\xc2\x9b"
                                                   "31m\xe2\x80\xae");
    event_encode(&out, &event);
    assert_string_equal(out.buf, safe);
    strbuf_reset(&out);
    event_encode_numbered(&out, &event);
    assert_string_equal(out.buf, safe);
    strbuf_reset(&out);
    event.raw = NULL;
    event_encode(&out, &event);
    assert_non_null(strstr(out.buf, "\"prompt\":\"\\u009b31m\\u202e\""));
    decode(&again, &arena, out.buf);
    assert_string_equal(again.turn_started.prompt, event.turn_started.prompt);
    /* JSON that is handed over as text is made printable too. */
    strbuf_reset(&out);
    event = (struct event){.type = EVENT_TOOL_STARTED, .seq = 1, .t = 1, .turn = 1};
    event.tool_started.arguments = "{\"a\":\"\xe2\x81\xa6\"}";
    event_encode(&out, &event);
    assert_non_null(strstr(out.buf, "{\"a\":\"\\u2066\"}"));
}

TEST(members_in_any_order)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct event event;
    decode(&event, &arena,
           " { \"text\" : \"a\\n\\ud83d\\udd11\\ud800 \" , \"st\\u0065p\" : 3 "
           ",\"t\":4,\"turn\":1,\"type\":\"reflection\"}\t");
    assert_int_equal(event.reflection.step, 3);
    assert_string_equal(event.reflection.text, "a\n\xf0\x9f\x94\x91\xef\xbf\xbd ");
    assert_true(event.t == 4 && event.turn == 1 && event.seq == -1);

    /* The last of equal names counts. */
    decode(&event, &arena, "{\"type\":\"held\",\"gate\":\"a\",\"type\":\"released\",\"gate\":\"b\"}");
    assert_int_equal(event.type, EVENT_RELEASED);
    assert_string_equal(event.released.gate, "b");

    /* More members than expected. */
    strbuf_addch(&line, '{');
    for (int i = 0; i < 500; i++)
        strbuf_addf(&line, "\"m%d\":%d,", i, i);
    strbuf_addstr(&line, "\"type\":\"held\",\"gate\":\"step\"}");
    decode(&event, &arena, line.buf);
    assert_string_equal(event.held.gate, "step");
}

TEST(json_fields_are_compact)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    decode(&event, &arena,
           "{\"type\":\"tool.started\",\"arguments\":{ \"a b\" : [ 1 ,\t\"x \\\" y\" ] ,\n\"c\":\"\\\\\" } }");
    assert_string_equal(event.tool_started.arguments, "{\"a b\":[1,\"x \\\" y\"],\"c\":\"\\\\\"}");
    decode(&event, &arena, "{\"type\":\"tool.started\",\"arguments\":[[],{},[{}],[[ ] ]]}");
    assert_string_equal(event.tool_started.arguments, "[[],{},[{}],[[]]]");
}

TEST(numbers_are_exact)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"3.0", 3},
                {"1e2", 100},
                {"-0", 0},
                {"-12", -12},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775807", -INT64_MAX},
                {"999999999999999999", 999999999999999999},
                {"1E+1", 10}};
    static const char *const bad[] = {"1.5", "1e400", "9223372036854775808", "1e-1"};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    char line[128];
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct event event;
        snprintf(line, sizeof(line), "{\"type\":\"model.requested\",\"step\":%s}", good[i].text);
        decode(&event, &arena, line);
        assert_true(event.model_requested.step == good[i].value);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(line, sizeof(line), "{\"type\":\"model.requested\",\"step\":%s}", bad[i]);
        assert_refused(line, "\"step\" must be an integer");
    }
    assert_refused("{\"type\":\"budget.warned\",\"used\":1e999}", "\"used\" must be a number");
}

TEST(malformed_lines_are_refused)
{
    static const char *const bad[] = {
        "",
        "x",
        "[]",
        "\"text\"",
        "1",
        "null",
        "{",
        "}",
        "{\"",
        "{\"type",
        "{\"type\"",
        "{\"type\":",
        "{\"type\":\"held\"",
        "{\"type\":\"held\",}",
        "{\"type\":\"held\"}}",
        "{\"type\":\"held\"} x",
        "{,}",
        "{\"type\" \"held\"}",
        "{\"type\":\"held\" \"a\":1}",
        "{type:1}",
        "{\"type\":\"held\",\"a\":01}",
        "{\"type\":\"held\",\"a\":1.}",
        "{\"type\":\"held\",\"a\":.5}",
        "{\"type\":\"held\",\"a\":+1}",
        "{\"type\":\"held\",\"a\":1e}",
        "{\"type\":\"held\",\"a\":-}",
        "{\"type\":\"held\",\"a\":tru}",
        "{\"type\":\"held\",\"a\":nulll}",
        "{\"type\":\"held\",\"a\":[1,]}",
        "{\"type\":\"held\",\"a\":[1 2]}",
        "{\"type\":\"held\",\"a\":[}",
        "{\"type\":\"held\",\"a\":{\"b\"}}",
        "{\"type\":\"held\",\"a\":{\"b\":1,}}",
        "{\"type\":\"held\",\"a\":{]}",
        "{\"type\":\"held\",\"a\":[1}",
        "{\"type\":\"held\",\"a\":\"\\x\"}",
        "{\"type\":\"held\",\"a\":\"\\u12\"}",
        "{\"type\":\"held\",\"a\":\"\\u12g4\"}",
        "{\"type\":\"held\",\"a\":\"\\u0000\"}",
        "{\"type\":\"held\",\"a\":\"\t\"}",
        "{\"type\":\"held\",\"a\":\"a long text with a\nline break in it\"}",
        "{\"type\":\"held\",\"a\":\"\xff\"}",
        "{\"type\":\"held\",\"a\":\"\xc0\x80\"}",
        "{\"type\":\"held\",\"a\":\"\xed\xa0\x80\"}",
        "{\"type\":\"held\",\"\xff\":1}",
        "{\"type\":\"held\",\"a\":[[\"\xe2\x82\"]]}",
        "{\"type\":\"held\",\"a\":NaN}",
        "{\"type\":\"held\",'a':1}",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_refused(bad[i], "this is not one JSON object: ");
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        const struct json *value = json_parse(&arena, bad[i], strlen(bad[i]), NULL);
        if (value && value->type == JSON_OBJECT)
            fail_msg("json_parse takes %s", bad[i]);
    }
    assert_refused("{\"type\":\"held\",\"a\":[1 2]}", "a comma is missing (byte 23)");
}

TEST(depth_has_a_limit)
{
    for (int depth = JSON_DEPTH_MAX - 3; depth < JSON_DEPTH_MAX + 3; depth++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        struct event event;
        strbuf_addstr(&line, "{\"type\":\"turn.prepared\",\"messages\":");
        for (int i = 0; i < depth; i++)
            strbuf_addch(&line, '[');
        for (int i = 0; i < depth; i++)
            strbuf_addch(&line, ']');
        strbuf_addch(&line, '}');
        bool taken = event_decode(&event, &arena, line.buf, line.len, NULL) == 0;
        assert_int_equal(taken, depth + 1 <= JSON_DEPTH_MAX);
        assert_int_equal(taken, json_parse(&arena, line.buf, line.len, NULL) != NULL);
    }
}

/* The scanner reads eight bytes at a time: every place of a special byte in a word, and every length. */
TEST(escapes_in_words_are_decoded_at_every_position)
{
    for (size_t len = 0; len < 40; len++) {
        for (size_t at = 0; at <= len; at++) {
            static const char *const special[] = {"\\\"", "\\\\", "\xc3\xa4", "\\n", "\\u0041", "{", "\x7f"};
            static const char *const meaning[] = {"\"", "\\", "\xc3\xa4", "\n", "A", "{", "\x7f"};
            for (size_t i = 0; i < COUNT_OF(special); i++) {
                CLEANUP(arena) struct arena arena = ARENA_INIT;
                CLEANUP(strbuf) struct strbuf line = STRBUF_INIT, want = STRBUF_INIT;
                struct event event;
                strbuf_addstr(&line, "{\"type\":\"held\",\"gate\":\"");
                for (size_t k = 0; k < len; k++) {
                    strbuf_addstr(&line, k == at ? special[i] : "x");
                    strbuf_addstr(&want, k == at ? meaning[i] : "x");
                }
                strbuf_addstr(&line, "\"}");
                /* In a block of exactly its size, so that a sanitizer sees a read past the end. */
                CLEANUP(free) char *exact = xmemdup0(line.buf, line.len);
                assert_int_equal(event_decode(&event, &arena, exact, line.len, NULL), 0);
                assert_string_equal(event.held.gate, want.buf);
            }
        }
    }
}

static void assert_summary(const char *line, const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct event event;
    decode(&event, &arena, line);
    event_words(&out, WORDS_ROW, NULL, &event);
    assert_string_equal(out.buf, want);
}

TEST(summaries_read_well)
{
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        for (size_t round = 0; round < 6; round++) {
            CLEANUP(arena) struct arena arena = ARENA_INIT;
            CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
            struct event event = {.type = (enum event_type)type};
            fill_body(&arena, event_layout(event.type), event_body(&event), round);
            event_words(&out, WORDS_ROW, NULL, &event);
            assert_null(strchr(out.buf, '\n'));
        }
    }
    /* A value of several lines must not look like one line with blanks; prose may. */
    assert_summary(
        "{\"type\":\"tool.started\",\"call\":\"c1\",\"tool\":\"run_script\",\"arguments\":{\"script\":\"a b\\n  "
        "c\\n\"}}",
        "c1 run_script a b\\n c\\n");
    assert_summary("{\"type\":\"turn.started\",\"prompt\":\"one\\ntwo\"}", "one two");
    assert_summary(
        "{\"type\":\"write.proposed\",\"call\":\"c4\",\"ask\":\"a1\",\"files\":[{\"path\":\"src/lines.c\",\"added\":4,"
        "\"removed\":1}]}",
        "c4 src/lines.c +4 -1");
    assert_summary("{\"type\":\"write.decided\",\"ask\":\"a1\",\"decision\":\"approved\",\"by\":\"key\"}",
                   "a1 approved by key");
    assert_summary("{\"type\":\"turn.started\",\"prompt\":\" fix\\n\\n  the   bug \"}", "fix the bug");
    assert_summary(
        "{\"type\":\"model.responded\",\"step\":1,\"text\":\"Let me look\",\"tool_calls\":[{\"id\":\"c1\",\"name\":"
        "\"read_file\",\"arguments\":{\"path\":\"x\"}},{\"id\":\"c2\",\"name\":\"grep\",\"arguments\":{}}]}",
        "step 1 read_file, grep Let me look");
    assert_summary("{\"type\":\"waves.planned\",\"step\":1,\"waves\":[{\"index\":1,\"mode\":\"parallel\",\"calls\":["
                   "\"c1\",\"c2\"]},"
                   "{\"index\":2,\"mode\":\"sequential\",\"calls\":[\"c3\"]}]}",
                   "step 1 c1, c2 | c3");
    assert_summary(
        "{\"type\":\"tool.finished\",\"call\":\"c1\",\"tool\":\"grep\",\"outcome\":\"failure\",\"elapsed_ms\":12,"
        "\"failure\":{\"error\":\"no such file\",\"retryable\":true}}",
        "c1 grep failed 12 ms no such file");
    assert_summary("{\"type\":\"budget.charged\",\"used\":{\"steps\":2,\"tool_calls\":3}}", "2 steps, 3 tool calls");
    assert_summary("{\"type\":\"budget.warned\",\"key\":\"steps\",\"used\":5,\"limit\":6}", "steps 5 of 6");
    assert_summary("{\"type\":\"writes.closed\"}", "");
    assert_summary("{\"type\":\"tool.started\",\"call\":\"c1\",\"tool\":\"sum\",\"arguments\":{\"a\":1,\"b\":[2,3]}}",
                   "c1 sum a=1 b=(2)");
    assert_summary("{\"type\":\"tool.started\",\"call\":\"c1\",\"tool\":\"read_file\",\"arguments\":{\"path\":\"src/"
                   "a.c\",\"limit\":5}}",
                   "c1 read_file src/a.c");
    assert_summary(
        "{\"type\":\"tool.started\",\"call\":\"c1\",\"tool\":\"grep\",\"arguments\":{\"pattern\":\"x y\",\"limit\":5}}",
        "c1 grep x y");
    assert_summary("{\"type\":\"session.started\",\"v\":1,\"session\":\"s1\",\"workspace\":\"/"
                   "w\",\"model\":{\"provider\":\"scripted\","
                   "\"name\":\"demo\"}}",
                   "s1 scripted/demo in /w");
    assert_summary("{\"type\":\"model.failed\",\"step\":1,\"attempt\":2,\"error\":\"overloaded\",\"retry_in_ms\":null}",
                   "step 1 attempt 2 overloaded");
}

/* A text of this many bytes in the file, made of this piece. */
static void check_short(const char *type, const char *piece, size_t count, bool cut)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event whole, shown;
    strbuf_addf(&line, "{\"type\":\"%s\",\"seq\":7,\"text\":\"", type);
    for (size_t i = 0; i < count; i++)
        strbuf_addstr(&line, piece);
    strbuf_addstr(&line, "\",\"tool_calls\":[1]}");
    assert_int_equal(event_decode(&whole, &arena, line.buf, line.len, NULL), 0);
    assert_int_equal(event_decode_short(&shown, &arena, line.buf, line.len, NULL), 0);
    assert_int_equal(shown.seq, 7);
    assert_int_equal(shown.model_responded.tool_calls.count, 1);
    const char *all = whole.model_responded.text, *part = shown.model_responded.text;
    const char *mark = strstr(part, "\xe2\x80\xa6 (more is in the file)");
    assert_int_equal(mark != NULL, cut);
    assert_true(utf8_valid(part, strlen(part)));
    if (cut)
        assert_memory_equal(all, part, (size_t)(mark - part));
    else
        assert_string_equal(all, part);
}

TEST(long_values_are_cut_for_display)
{
    check_short("model.responded", "abc", 1000, false);
    check_short("model.responded", "a", EVENT_SHORT, false);
    check_short("model.responded", "a", EVENT_SHORT + 1, true);
    for (size_t extra = 0; extra < 7; extra++) {
        check_short("model.responded", "\\n", EVENT_SHORT / 2 + extra + 1, true);
        check_short("model.responded", "x\\u00e9", EVENT_SHORT / 7 + extra + 1, true);
        check_short("model.responded", "\xe2\x82\xac", EVENT_SHORT / 3 + extra + 1, true);
    }
}
