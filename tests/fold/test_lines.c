/* Compares the encoder's output, and the words that lists show for it, byte for byte.
 *
 * Lines are decoded and encoded again from their fields: those of the fixtures and the fold cases, every_field.jsonl
 * (each type with each of its fields) and odd_fields.jsonl (fields that are missing, null, or written in unusual ways).
 * The engine recorded the fixtures, so their lines are those of real sessions. */

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/event_lines.h"
#include "support/test.h"
#include <glob.h>
#include <stdio.h>
#include <string.h>

static void read_source(struct strbuf *text, const char *path)
{
    struct err err = ERR_INIT;
    if (file_read(path, text, 0, &err) < 0)
        fail_msg("%s: %s", path, err.text);
}

/* One golden per file: PREFIX and the name of the file. */
static void check_file(const char *prefix, const char *path)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const char *base = strrchr(path, '/') + 1;
    CLEANUP(free) char *name = xasprintf("%s%.*s", prefix, (int)(strlen(base) - strlen(".jsonl")), base);
    read_source(&text, path);
    event_lines_check(name, text.buf, text.len);
}

static void check_files(const char *prefix, const char *pattern)
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(prefix, found.gl_pathv[i]);
    globfree(&found);
}

TEST(fixtures_are_encoded_like_the_golden)
{
    check_files("fixture_", SOURCE_DIR "/fixtures/*.jsonl");
}

TEST(fold_cases_are_encoded_like_the_golden)
{
    check_files("case_", SOURCE_DIR "/tests/fold/cases/*.jsonl");
}

TEST(every_field_is_encoded_like_the_golden)
{
    check_file("", SOURCE_DIR "/tests/fold/every_field.jsonl");
}

TEST(odd_fields_are_encoded_like_the_golden)
{
    check_file("", SOURCE_DIR "/tests/fold/odd_fields.jsonl");
}

struct seen {
    bool types[EVENT_TYPE_COUNT];
};

/* The first line of a type has all of its fields. */
static void note_fields(const struct event *event, void *data)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct seen *seen = data;
    struct event_layout layout = event_layout(event->type);
    const struct event_field *fields = layout.fields;
    const struct json *line = json_parse(&arena, event->raw, event->raw_len, NULL);
    for (size_t i = 0; !seen->types[event->type] && i < layout.count; i++) {
        const struct json *value = json_get(line, fields[i].name);
        if (!value || value->type == JSON_NULL)
            fail_msg("every_field.jsonl has no %s.%s", event->type_name, fields[i].name);
    }
    seen->types[event->type] = true;
}

TEST(every_type_and_field_has_a_line)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct seen seen = {0};
    read_source(&text, SOURCE_DIR "/tests/fold/every_field.jsonl");
    event_lines_each("every_field", text.buf, text.len, note_fields, &seen);
    for (int type = EVENT_OTHER + 1; type < EVENT_TYPE_COUNT; type++)
        if (!seen.types[type])
            fail_msg("every_field.jsonl has no %s", event_type_name((enum event_type)type));
}
