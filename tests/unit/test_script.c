/* Tests of scripts among arguments, and of what calls report. */

#include "base/json.h"
#include "base/mem.h"
#include "dialogs/inspect_docs.h"
#include "event/words.h"
#include "panes/call_output.h"
#include "support/test.h"
#include <string.h>

TEST(the_last_line_that_is_named_is_where_it_failed)
{
    assert_int_equal(words_script_line(""), 0);
    assert_int_equal(words_script_line("ValueError: no"), 0);
    assert_int_equal(words_script_line("Traceback (most recent call last):\n"
                                       "  File \"<script>\", line 12, in <module>\n    f()\n"
                                       "  File \"<script>\", line 3, in f\n    1 / 0\n"
                                       "ZeroDivisionError: division by zero\n"),
                     3);
    /* Deeper in another file: the script's own line is the relevant one. */
    assert_int_equal(words_script_line("  File \"<script>\", line 7, in <module>\n"
                                       "  File \"/usr/lib/python3.11/json/decoder.py\", line 355, in raw_decode\n"),
                     7);
    assert_int_equal(words_script_line("SyntaxError: invalid syntax (<script>, line 4)"), 4);
    assert_int_equal(words_script_line("<script>, line nowhere, <script>\", line 0"), 0);
}

TEST(a_script_is_replaced_and_nothing_else)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    assert_true(script_replace(&out, "{\"timeout\":2.50,\"script\":\"a\",\"secrets\":[\"KEY\"]}", "print(\"b\")\n"));
    assert_string_equal(out.buf, "{\"timeout\":2.50,\"script\":\"print(\\\"b\\\")\\n\",\"secrets\":[\"KEY\"]}");
    assert_false(script_replace(&out, "{\"path\":\"a\"}", "b"));
    assert_false(script_replace(&out, "{\"script\":3}", "b"));
    assert_false(script_replace(&out, "nothing", "b"));
    assert_true(script_within("{\"script\":\"a\"}"));
    assert_false(script_within(NULL));
}

static struct call_output read_told(const char *event, struct arena *arena, bool *said)
{
    struct call_output told;
    struct event line = {.type = EVENT_SCRIPT_EVENT, .script_event = {.call = (char *)"c1", .event = (char *)event}};
    *said = call_output_read(&told, &line, arena);
    return told;
}

TEST(every_kind_of_event_has_its_line)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    bool said;
    struct call_output told = read_told("{\"type\":\"log\",\"level\":\"stderr\",\"message\":\"a\\nb\"}", &arena, &said);
    assert_true(said);
    assert_int_equal(told.kind, CALL_OUTPUT_PRINTED);
    assert_string_equal(told.label, "stderr");
    told = read_told("{\"type\":\"intermediate\",\"label\":\"table\",\"data\":[1, 2]}", &arena, &said);
    assert_true(said && told.kind == CALL_OUTPUT_INTERMEDIATE && told.data);
    assert_string_equal(told.label, "table");
    assert_memory_equal(told.text, "[1, 2]", told.len);
    told = read_told("{\"type\":\"final_result\",\"data\":\"yes\"}", &arena, &said);
    assert_true(said && told.kind == CALL_OUTPUT_RESULT);
    assert_string_equal(told.text, "yes");
    told = read_told("{\"type\":\"error\",\"message\":\"E: x\",\"traceback\":\"T\"}", &arena, &said);
    assert_true(said && told.kind == CALL_OUTPUT_ERROR);
    assert_string_equal(told.traceback, "T");
    read_told("{\"type\":\"script_done\"}", &arena, &said);
    assert_false(said);
    read_told("[]", &arena, &said);
    assert_false(said);
    told = read_told("{\"type\":\"log\"}", &arena, &said);
    assert_true(said && told.len == 0);
}
