/* The lines of the fixtures match docs/transcript.schema.json. The schema uses few keywords of JSON Schema; the test
 * fails on one it does not know, so that it skips no rule. */

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <dirent.h>
#include <string.h>

static const struct json *top;

static bool is_a(const struct json *value, const char *type)
{
    if (strcmp(type, "integer") == 0)
        return value->type == JSON_NUMBER && !strpbrk(value->text, ".eE");
    return strcmp(type, json_type_name(value->type)) == 0;
}

/* The rule that the value breaks; NULL: it keeps all of them. */
static const struct json *broken_by(const struct json *value, const struct json *schema)
{
    const struct json *broken = NULL;
    json_each (rule, schema) {
        bool keeps = true;
        if (strcmp(rule->key, "type") == 0) {
            keeps = rule->type == JSON_STRING && is_a(value, rule->text);
            json_each (type, rule->type == JSON_ARRAY ? rule : NULL)
                keeps |= is_a(value, type->text);
        } else if (strcmp(rule->key, "const") == 0) {
            keeps = strcmp(json_str(value, ""), rule->text) == 0;
        } else if (strcmp(rule->key, "required") == 0) {
            json_each (name, rule)
                keeps &= json_get(value, name->text) != NULL;
        } else if (strcmp(rule->key, "properties") == 0) {
            json_each (field, value->type == JSON_OBJECT ? value : NULL)
                broken = broken ? broken : broken_by(field, json_get(rule, field->key));
        } else if (strcmp(rule->key, "items") == 0) {
            json_each (item, value->type == JSON_ARRAY ? value : NULL)
                broken = broken ? broken : broken_by(item, rule);
        } else if (strcmp(rule->key, "$ref") == 0) {
            broken = broken_by(value, json_get(json_get(top, "$defs"), strrchr(rule->text, '/') + 1));
        } else if (strcmp(rule->key, "allOf") == 0) {
            json_each (part, rule)
                broken = broken ? broken : broken_by(value, part);
        } else if (strcmp(rule->key, "if") == 0) {
            broken = broken_by(value, rule) ? NULL : broken_by(value, json_get(schema, "then"));
        } else {
            static const char *const others[] = {"then", "description", "title", "$schema", "$defs"};
            size_t at = 0;
            while (at < COUNT_OF(others) && strcmp(others[at], rule->key) != 0)
                at++;
            if (at == COUNT_OF(others))
                fail_msg("the schema says %s: this test does not know that word", rule->key);
        }
        if (broken || !keeps)
            return broken ? broken : rule;
    }
    return NULL;
}

static size_t check_lines(const char *name)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *path = xasprintf(SOURCE_DIR "/fixtures/%s", name);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t count = 0;
    assert_int_equal(file_read(path, &text, 0, NULL), 0);
    for (char *line = text.buf, *end; *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        const struct json *value = json_parse(&arena, line, (size_t)(end - line), NULL);
        assert_non_null(value);
        const struct json *rule = broken_by(value, top);
        count++;
        if (rule)
            fail_msg("%s:%zu breaks \"%s\": %.*s of the schema", name, count, rule->key, (int)rule->src_len, rule->src);
    }
    return count;
}

TEST(the_fixtures_keep_to_the_published_schema)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t lines = 0;
    assert_int_equal(file_read(SOURCE_DIR "/docs/transcript.schema.json", &text, 0, NULL), 0);
    top = json_parse(&arena, text.buf, text.len, NULL);
    assert_non_null(top);
    const char wrong[] = "{\"type\":\"turn.finished\",\"usage\":{\"input\":\"many\"}}";
    assert_non_null(broken_by(json_parse(&arena, wrong, sizeof(wrong) - 1, NULL), top));
    DIR *dir = opendir(SOURCE_DIR "/fixtures");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strstr(entry->d_name, ".jsonl"))
            lines += check_lines(entry->d_name);
    closedir(dir);
    assert_true(lines > 100);
}
