/* Tests of filters: their syntax, the matching lines of a journal, and rows that are found in pieces. */

#include "app/view.h"
#include "base/mem.h"
#include "panes/filter.h"
#include "support/test.h"
#include <string.h>

static bool fits(const char *typed, const char *line)
{
    struct session session;
    session_init(&session);
    struct view view = {.session = &session};
    struct filter filter;
    filter_init(&filter);
    filter_parse(&filter, &view, typed);
    bool yes = filter_line_fits(&filter, &view, line, strlen(line));
    filter_release(&filter);
    session_release(&session);
    return yes;
}

#define STARTED "{\"seq\":7,\"t\":12,\"turn\":1,\"type\":\"tool.started\",\"call\":\"c4\",\"tool\":\"edit_file\"}"
#define DELTA   "{\"seq\":8,\"t\":12,\"turn\":1,\"type\":\"model.delta\",\"text\":\"the call of c4 \\\"type\\\"\"}"
/* A hand-written line, in another order, with blanks. */
#define BY_HAND "{ \"tools\" : [ { \"type\" : \"object\" } ] , \"call\" : \"c9\" , \"type\" : \"tool.finished\" }"

TEST(kinds_are_names_and_beginnings_of_names)
{
    assert_true(fits("tool", STARTED));
    assert_true(fits("tool.*", STARTED));
    assert_true(fits("kind:tool.started", STARTED));
    assert_true(fits("*.started", STARTED));
    assert_false(fits("tool", DELTA));
    assert_false(fits("kind:too", STARTED)); /* a part of a name is a whole part */
    assert_true(fits("tool", BY_HAND));
    assert_false(fits("kind:object", BY_HAND));
}

TEST(calls_are_ids_and_not_texts)
{
    assert_true(fits("call:c4", STARTED));
    assert_false(fits("call:c", STARTED));
    assert_false(fits("call:c4", DELTA));
    assert_true(fits("call:c9", BY_HAND));
    assert_true(fits("call:c1", "{\"type\":\"waves.planned\",\"waves\":[{\"calls\":[\"c1\"]}]}"));
    assert_false(fits("call:c1", "{\"type\":\"waves.planned\",\"waves\":[{\"calls\":[\"c12\"]}]}"));
}

TEST(texts_are_looked_for_in_values_only)
{
    assert_true(fits("EDIT_file", "{\"type\":\"x\",\"a\":\"EDIT_file\"}"));
    assert_false(fits("EDIT_file", STARTED));
    assert_true(fits("edit_FILE", "{\"type\":\"x\",\"a\":\"edit_FILE\"}"));
    assert_true(fits("text:edit", STARTED));
    assert_false(fits("text:seq", STARTED)); /* a key */
    assert_true(fits("\"the call\"", DELTA));
    assert_true(fits("text:12", STARTED)); /* a number */
}

/* Journals escape invisible characters; those of older versions do not. */
TEST(invisible_characters_are_found)
{
    static const char old[] = "{\"type\":\"tool.started\",\"call\":\"c\xe2\x80\xae\",\"a\":\"x\xef\xb8\x8fy\"}";
    static const char today[] = "{\"type\":\"tool.started\",\"call\":\"c\\u202e\",\"a\":\"x\\ufe0fy\"}";
    assert_true(fits("text:x\xef\xb8\x8f", old));
    assert_true(fits("text:x\xef\xb8\x8f", today));
    assert_false(fits("text:x\xef\xb8\x8e", today));
    assert_true(fits("call:c\xe2\x80\xae", old));
    assert_true(fits("call:c\xe2\x80\xae", today));
    assert_false(fits("call:c", today));
    assert_true(fits("call:c\xe2\x80\xae", "{\"type\":\"waves.planned\",\"waves\":[{\"calls\":[\"c\\u202e\"]}]}"));
}

TEST(terms_come_together)
{
    assert_true(fits("kind:write kind:tool call:c4 edit", STARTED));
    assert_false(fits("kind:write call:c4", STARTED));
    assert_false(fits("tool !edit", STARTED));
    assert_true(fits("!model.delta", STARTED));
    assert_false(fits("!model.delta", DELTA));
    assert_true(fits("", STARTED));
    assert_true(fits("kind: call:", STARTED)); /* still being typed */
}

TEST(broken_lines_are_survived)
{
    static const char *const lines[] = {"",
                                        "{",
                                        "{\"",
                                        "{\"type",
                                        "{\"type\":",
                                        "{\"type\":\"",
                                        "{\"type\":\"a\\",
                                        "{\"a\":[",
                                        "[]",
                                        "{\"a\":1,,}",
                                        "{\"call\":\"",
                                        "{\"type\":\"write.decided\",\"ask\":\""};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        fits("kind:a call:b text:c", lines[i]);
        fits("text:a", lines[i]);
        fits("call:b", lines[i]);
    }
}

struct asked {
    size_t count;
};

static bool is_third(size_t row, void *data)
{
    ((struct asked *)data)->count++;
    return row % 3 == 0;
}

TEST(rows_are_found_a_piece_at_a_time)
{
    struct matches matches = {0};
    struct asked asked = {0};
    assert_true(matches_work(&matches, 100, 10, is_third, &asked));
    assert_int_equal(asked.count, 10);
    assert_int_equal(matches.count, 4); /* 0 3 6 9 */
    assert_false(matches_work(&matches, 100, 1000, is_third, &asked));
    assert_int_equal(matches.count, 34);
    assert_int_equal(asked.count, 100); /* none was requested twice */
    assert_int_equal(matches_find(&matches, 50), 17);
    /* A replay that goes back forgets what lies ahead, and finds it again. */
    assert_false(matches_work(&matches, 50, 0, is_third, &asked));
    assert_int_equal(matches.count, 17);
    assert_true(matches_work(&matches, 100, 0, is_third, &asked));
    assert_false(matches_work(&matches, 100, 50, is_third, &asked));
    assert_int_equal(matches.count, 34);
    matches_release(&matches);
}
