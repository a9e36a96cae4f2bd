/* Tests of the sentences that a model reads when its arguments do not fit the schema. */

#include "base/arena.h"
#include "base/json.h"
#include "support/test.h"
#include "tools/schema.h"
#include <stdint.h>
#include <string.h>

/* "" when the value fits, else the error. */
static const char *check(const char *schema_text, const char *value_text)
{
    static char text[512];
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct json *schema = json_parse(&arena, schema_text, strlen(schema_text), NULL);
    const struct json *value = json_parse(&arena, value_text, strlen(value_text), NULL);
    assert_non_null(schema);
    assert_non_null(value);
    int refused = schema_check(schema, &err);
    assert_int_equal(refused, 0);
    int rc = schema_validate(schema, value, &err);
    assert_int_equal(rc, err.text[0] ? -1 : 0);
    snprintf(text, sizeof(text), "%s", err.text);
    arena_release(&arena);
    return text;
}

#define FITS(schema, value)           assert_string_equal(check(schema, value), "")
#define SAYS(schema, value, sentence) assert_string_equal(check(schema, value), sentence)

static const char file[] = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"minLength\":1},"
                           "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}},"
                           "\"required\":[\"path\"],\"additionalProperties\":false}";

TEST(fields_are_checked_by_type)
{
    FITS(file, "{\"path\":\"a\"}");
    FITS(file, "{\"path\":\"a\",\"limit\":3}");
    SAYS(file, "{}", "path: missing");
    SAYS(file, "{\"path\":1}", "path: must be a string, is 1");
    SAYS(file, "{\"path\":null}", "path: must be a string, is null");
    SAYS(file, "{\"path\":\"a\",\"limit\":\"3\"}", "limit: must be an integer, is a string");
    SAYS(file, "{\"path\":\"a\",\"limit\":2.5}", "limit: must be an integer, is 2.5");
    SAYS(file, "{\"path\":\"a\",\"limit\":0}", "limit: must be at least 1, is 0");
    SAYS(file, "{\"path\":\"a\",\"limit\":101}", "limit: must be at most 100, is 101");
    SAYS(file, "{\"path\":\"\"}", "path: must not be empty");
    SAYS(file, "[]", "arguments: must be an object, is an array");
}

TEST(integers_may_look_like_floats)
{
    FITS(file, "{\"path\":\"a\",\"limit\":3.0}");
    FITS(file, "{\"path\":\"a\",\"limit\":1e1}");
    FITS("{\"type\":\"integer\"}", "123456789012345678901234567890");
    SAYS("{\"type\":\"integer\"}", "1e-1", "arguments: must be an integer, is 1e-1");
    FITS("{\"type\":\"number\"}", "3");
}

TEST(unknown_names_come_with_the_nearest)
{
    SAYS(file, "{\"paht\":\"a\"}", "paht: unknown, did you mean \"path\"?");
    SAYS(file, "{\"path\":\"a\",\"Limit\":3}", "Limit: unknown, did you mean \"limit\"?");
    SAYS(file, "{\"path\":\"a\",\"recursive\":true}", "recursive: unknown");
    FITS("{\"type\":\"object\",\"properties\":{\"a\":{}}}", "{\"b\":1}");
    SAYS("{\"additionalProperties\":{\"type\":\"string\"}}", "{\"b\":1}", "b: must be a string, is 1");
}

TEST(paths_lead_to_the_place)
{
    const char *edits =
        "{\"type\":\"object\",\"properties\":{\"edits\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,"
        "\"items\":{\"type\":\"object\",\"required\":[\"old\"],\"properties\":{\"old\":{\"type\":\"string\"}}}}}}";
    SAYS(edits, "{\"edits\":[{\"old\":\"a\"},{\"old\":\"b\"},{}]}", "edits[2].old: missing");
    SAYS(edits, "{\"edits\":[{\"old\":\"a\"},{\"old\":[]}]}", "edits[1].old: must be a string, is an array");
    SAYS(edits, "{\"edits\":[]}", "edits: must have at least 1 items, has 0");
    SAYS(edits, "{\"edits\":[{\"old\":\"\"},{\"old\":\"\"},{\"old\":\"\"},{\"old\":\"\"}]}",
         "edits: must have at most 3 items, has 4");
    SAYS("{\"items\":{\"type\":\"string\"}}", "[\"a\",1]", "arguments[1]: must be a string, is 1");
}

TEST(lists_of_types_and_choices)
{
    const char *either = "{\"type\":[\"string\",\"null\"]}";
    FITS(either, "\"a\"");
    FITS(either, "null");
    SAYS(either, "true", "arguments: must be a string or null, is a boolean");
    const char *mode = "{\"enum\":[\"plan\",\"run\",3,{\"a\":1}]}";
    FITS(mode, "\"run\"");
    FITS(mode, "3.0");
    FITS(mode, "{\"a\": 1}");
    SAYS(mode, "\"walk\"", "arguments: must be one of \"plan\", \"run\", 3, {\"a\":1}, is \"walk\"");
}

TEST(lengths_are_counted_in_characters)
{
    const char *three = "{\"type\":\"string\",\"maxLength\":3}";
    FITS(three, "\"äöü\"");
    SAYS(three, "\"äöüß\"", "arguments: must have at most 3 characters, has 4");
}

TEST(unknown_keywords_and_boolean_schemas)
{
    FITS("{\"format\":\"uri\",\"$schema\":\"x\",\"default\":3}", "1");
    FITS("true", "1");
    SAYS("{\"properties\":{\"a\":false}}", "{\"a\":1}", "a: not allowed");
}

TEST(a_huge_value_makes_a_short_sentence)
{
    static char value[20000];
    memset(value, 'x', sizeof(value) - 1);
    value[0] = value[sizeof(value) - 2] = '"';
    assert_true(strlen(check("{\"enum\":[\"a\"]}", value)) < 200);
}

static const char *schema_error(const char *text)
{
    static char said[512];
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct json *schema = json_parse(&arena, text, strlen(text), NULL);
    assert_non_null(schema);
    assert_int_equal(schema_check(schema, &err), -1);
    snprintf(said, sizeof(said), "%s", err.text);
    arena_release(&arena);
    return said;
}

TEST(schemas_that_mean_nothing_are_refused)
{
    assert_string_equal(schema_error("3"), "arguments: a schema must be an object, is a number");
    assert_string_equal(schema_error("{\"type\":\"text\"}"), "arguments: unknown type \"text\"");
    assert_string_equal(schema_error("{\"type\":[]}"), "arguments: type must be a name or a list of names");
    assert_string_equal(schema_error("{\"properties\":{\"a\":{\"type\":\"int\"}}}"), "a: unknown type \"int\"");
    assert_string_equal(schema_error("{\"properties\":[]}"), "arguments: properties must be an object");
    assert_string_equal(schema_error("{\"required\":\"a\"}"), "arguments: required must be a list of names");
    assert_string_equal(schema_error("{\"required\":[1]}"), "arguments: required must be a list of names");
    assert_string_equal(schema_error("{\"enum\":[]}"), "arguments: enum must be a list of choices");
    assert_string_equal(schema_error("{\"items\":[{}]}"), "[]: a schema must be an object, is an array");
    assert_string_equal(schema_error("{\"minimum\":\"1\"}"), "arguments: minimum must be a number");
    assert_string_equal(schema_error("{\"maxLength\":-1}"), "arguments: maxLength must be a whole number from 0");
    assert_string_equal(schema_error("{\"additionalProperties\":\"no\"}"),
                        "*: a schema must be an object, is a string");
}
