/* Scripts among arguments, and what calls tell. */

#include "base/json.h"
#include "base/mem.h"
#include "event/words.h"
#include "script.h"
#include "told.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void the_last_line_that_is_named_is_where_it_failed(void **state)
{
    (void)state;
    assert_int_equal(words_script_line(""), 0);
    assert_int_equal(words_script_line("ValueError: no"), 0);
    assert_int_equal(words_script_line("Traceback (most recent call last):\n"
                                       "  File \"<script>\", line 12, in <module>\n    f()\n"
                                       "  File \"<script>\", line 3, in f\n    1 / 0\n"
                                       "ZeroDivisionError: division by zero\n"),
                     3);
    /* Deeper in somebody else's file: the script's own line is the one to look at. */
    assert_int_equal(words_script_line("  File \"<script>\", line 7, in <module>\n"
                                       "  File \"/usr/lib/python3.11/json/decoder.py\", line 355, in raw_decode\n"),
                     7);
    assert_int_equal(words_script_line("SyntaxError: invalid syntax (<script>, line 4)"), 4);
    assert_int_equal(words_script_line("<script>, line nowhere, <script>\", line 0"), 0);
}

static void a_script_is_replaced_and_nothing_else(void **state)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    (void)state;
    assert_true(script_replace(&out, "{\"timeout\":2.50,\"script\":\"a\",\"secrets\":[\"KEY\"]}", "print(\"b\")\n"));
    assert_string_equal(out.buf, "{\"timeout\":2.50,\"script\":\"print(\\\"b\\\")\\n\",\"secrets\":[\"KEY\"]}");
    assert_false(script_replace(&out, "{\"path\":\"a\"}", "b"));
    assert_false(script_replace(&out, "{\"script\":3}", "b"));
    assert_false(script_replace(&out, "nothing", "b"));
    assert_true(script_within("{\"script\":\"a\"}"));
    assert_false(script_within(NULL));
}

static struct told read_told(const char *event, struct arena *arena, bool *said)
{
    struct told told;
    struct event line = {.type = EVENT_SCRIPT_EVENT, .script_event = {.call = (char *)"c1", .event = (char *)event}};
    *said = told_read(&told, &line, arena);
    return told;
}

static void every_kind_of_event_is_told_in_its_own_way(void **state)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    bool said;
    (void)state;
    struct told told = read_told("{\"type\":\"log\",\"level\":\"stderr\",\"message\":\"a\\nb\"}", &arena, &said);
    assert_true(said);
    assert_int_equal(told.kind, TOLD_PRINTED);
    assert_string_equal(told.label, "stderr");
    told = read_told("{\"type\":\"intermediate\",\"label\":\"table\",\"data\":[1, 2]}", &arena, &said);
    assert_true(said && told.kind == TOLD_INTERMEDIATE && told.data);
    assert_string_equal(told.label, "table");
    assert_memory_equal(told.text, "[1, 2]", told.len);
    told = read_told("{\"type\":\"final_result\",\"data\":\"yes\"}", &arena, &said);
    assert_true(said && told.kind == TOLD_RESULT);
    assert_string_equal(told.text, "yes");
    told = read_told("{\"type\":\"error\",\"message\":\"E: x\",\"traceback\":\"T\"}", &arena, &said);
    assert_true(said && told.kind == TOLD_ERROR);
    assert_string_equal(told.traceback, "T");
    read_told("{\"type\":\"script_done\"}", &arena, &said);
    assert_false(said);
    read_told("[]", &arena, &said);
    assert_false(said);
    told = read_told("{\"type\":\"log\"}", &arena, &said);
    assert_true(said && told.len == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_that_is_named_is_where_it_failed),
        cmocka_unit_test(a_script_is_replaced_and_nothing_else),
        cmocka_unit_test(every_kind_of_event_is_told_in_its_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
