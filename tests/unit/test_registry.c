/* Tests of the registry: the tools of a session, by name. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/test.h"
#include "tools/registry.h"
#include <stdint.h>
#include <string.h>

static void no_work(struct tool_run *run, struct tool_reply *reply)
{
    (void)run;
    (void)reply;
}

static struct tool named(const char *name)
{
    return (struct tool){
        .spec = {.name = name,
                 .description = "says \"hello\"",
                 .effect = EFFECT_READ_ONLY,
                 .idempotent = true,
                 .parameters = "{ \"type\": \"object\",\n\"required\": [\"path\"] }"},
        .work = no_work,
    };
}

TEST(found_by_name_and_in_order)
{
    struct err err = ERR_INIT;
    struct registry *registry = registry_new();
    const struct tool b = named("b.tool"), a = named("a-tool_1");
    assert_int_equal(registry_add(registry, &b, &err), 0);
    assert_int_equal(registry_add(registry, &a, &err), 0);
    assert_int_equal(registry_count(registry), 2);
    assert_ptr_equal(registry_at(registry, 0), &b);
    assert_ptr_equal(registry_at(registry, 1), &a);
    assert_ptr_equal(registry_find(registry, "a-tool_1"), &a);
    assert_null(registry_find(registry, "A-tool_1"));
    assert_null(registry_find(registry, NULL));
    registry_free(registry);
    registry_free(NULL);
}

static void refuses(struct registry *registry, const struct tool *tool, const char *sentence)
{
    struct err err = ERR_INIT;
    size_t before = registry_count(registry);
    assert_int_equal(registry_add(registry, tool, &err), -1);
    assert_non_null(strstr(err.text, sentence));
    assert_int_equal(registry_count(registry), before);
}

TEST(bad_names_and_schemas_are_refused)
{
    struct err err = ERR_INIT;
    struct registry *registry = registry_new();
    struct tool tool = named("read_file");
    assert_int_equal(registry_add(registry, &tool, &err), 0);
    refuses(registry, &tool, "duplicate tool read_file");
    const char *const names[] = {
        "", "a b", "a/b", "naïve", NULL, "a123456789012345678901234567890123456789012345678901234567890123456789"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct tool bad = named(names[i]);
        refuses(registry, &bad, "invalid tool name");
    }
    struct tool broken = named("broken");
    broken.spec.parameters = "{\"type\":";
    refuses(registry, &broken, "parameters of the tool broken");
    broken.spec.parameters = "{\"type\":\"text\"}";
    refuses(registry, &broken, "unknown type \"text\"");
    registry_free(registry);
}

TEST(arguments_are_checked_by_the_tools_schema)
{
    struct err err = ERR_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct registry *registry = registry_new();
    struct tool strict = named("strict"), free_form = named("free");
    free_form.spec.parameters = NULL;
    assert_int_equal(registry_add(registry, &strict, &err), 0);
    assert_int_equal(registry_add(registry, &free_form, &err), 0);
    const struct json *none = json_parse(&arena, "{}", 2, NULL), *list = json_parse(&arena, "[]", 2, NULL);
    assert_int_equal(registry_validate(registry, &strict, none, &err), -1);
    assert_string_equal(err.text, "path: missing");
    assert_int_equal(registry_validate(registry, &free_form, none, &err), 0);
    assert_int_equal(registry_validate(registry, &free_form, list, &err), -1);
    struct tool stranger = named("stranger");
    assert_int_equal(registry_validate(registry, &stranger, none, &err), -1);
    registry_free(registry);
}

TEST(nearest_name)
{
    struct err err = ERR_INIT;
    struct registry *registry = registry_new();
    const struct tool tools[] = {named("read_file"), named("write_file"), named("list_dir")};
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        assert_int_equal(registry_add(registry, &tools[i], &err), 0);
    assert_string_equal(registry_nearest(registry, "raed_file"), "read_file");
    assert_string_equal(registry_nearest(registry, "ReadFile"), "read_file");
    assert_string_equal(registry_nearest(registry, "writefile"), "write_file");
    assert_string_equal(registry_nearest(registry, "ls_dir"), "list_dir");
    assert_null(registry_nearest(registry, "send_email"));
    assert_null(registry_nearest(registry, ""));
    registry_free(registry);
}

TEST(description_is_one_line_of_json)
{
    struct err err = ERR_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct registry *registry = registry_new();
    struct tool a = named("a"), b = named("b");
    b.spec.resource_keys = (const char *const[]){"file:{path}", "disk", NULL};
    b.spec.effect = EFFECT_LOCAL_WRITE;
    b.spec.idempotent = false;
    assert_int_equal(registry_add(registry, &a, &err), 0);
    assert_int_equal(registry_add(registry, &b, &err), 0);
    struct event event = {.type = EVENT_SESSION_STARTED,
                          .session_started = {.tools = registry_to_event(registry, &arena)}};
    assert_string_equal(
        event_json(&event, "tools"),
        "[{\"name\":\"a\",\"description\":\"says \\\"hello\\\"\",\"effect\":\"READ_ONLY\",\"idempotent\":true,"
        "\"resource_keys\":[\"a\"],\"parameters\":{\"type\":\"object\",\"required\":[\"path\"]}},"
        "{\"name\":\"b\",\"description\":\"says \\\"hello\\\"\",\"effect\":\"LOCAL_WRITE\",\"idempotent\":false,"
        "\"resource_keys\":[\"file:{path}\",\"disk\"],\"parameters\":{\"type\":\"object\",\"required\":[\"path\"]}}]");
    registry_free(registry);
}

TEST(builtin_tools_are_all_accepted)
{
    struct err err = ERR_INIT;
    struct registry *registry = registry_new();
    assert_int_equal(registry_add_builtin(registry, &err), 0);
    assert_ptr_equal(registry_find(registry, "web_search"), &tool_web_search);
    assert_ptr_equal(registry_find(registry, "read_file"), &tool_read_file);
    registry_free(registry);
}

TEST(removing_a_tool_keeps_the_others)
{
    static const char *const names[] = {"read_file", "list_dir", "web_search"};
    struct err err = ERR_INIT;
    struct registry *registry = registry_new();
    assert_int_equal(registry_add_builtin(registry, &err), 0);
    size_t count = registry_count(registry);
    assert_true(registry_remove(registry, names[1]));
    assert_false(registry_remove(registry, names[1]));
    assert_int_equal(registry_count(registry), count - 1);
    assert_null(registry_find(registry, names[1]));
    assert_ptr_equal(registry_find(registry, names[0]), &tool_read_file);
    assert_ptr_equal(registry_find(registry, names[2]), &tool_web_search);
    for (size_t i = 0; i < registry_count(registry); i++) {
        const struct tool *tool = registry_at(registry, i);
        assert_ptr_equal(registry_find(registry, tool->spec.name), tool);
    }
    registry_free(registry);
}

TEST(effect_names)
{
    assert_string_equal(effect_name(EFFECT_READ_ONLY), "READ_ONLY");
    assert_string_equal(effect_name((enum effect)77), "UNKNOWN");
    assert_int_equal(effect_from_name("local_write"), EFFECT_LOCAL_WRITE);
    assert_int_equal(effect_from_name("DESTRUCTIVE"), EFFECT_DESTRUCTIVE);
    assert_int_equal(effect_from_name("other"), EFFECT_UNKNOWN);
    assert_int_equal(effect_from_name(NULL), EFFECT_UNKNOWN);
}
