/* Tests of lessons: how they are kept and found again. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "support/event_json.h"
#include "support/test.h"
#include "turn/prepare.h"

static const char *memory_json(const struct memory *memory)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    return event_json(
        &(struct event){.type = EVENT_CONTEXT_LOADED, .context_loaded = {.memory = memory_to_event(&arena, memory)}},
        "memory");
}

TEST(without_a_store_there_are_no_memories)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct memory memory = memory_load(NULL, MEMORY_PROJECT, "/p", "anything", 5);
    assert_int_equal(memory.count, 0);
    assert_string_equal(memory_json(&memory), "[]");
    memory_prompt(&text, &memory);
    assert_string_equal(text.buf, "");
    memory_release(&memory);
}

TEST(lesson_is_found_by_its_words)
{
    struct err err = ERR_INIT;
    struct store *store = store_open(":memory:", &err);
    if (!store)
        fail_msg("%s", err.text);
    assert_int_equal(store_memory_add(store, "/p", "s1", "The parser lives in src/lines.c", 1, &err), 0);
    assert_int_equal(store_memory_add(store, "/p", "s1", "Deploy with make ship", 2, &err), 0);
    struct memory memory = memory_load(store, MEMORY_PROJECT, "/p", "where is the parser? \"AND NOT*", 5);
    assert_int_equal(memory.count, 1);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    memory_prompt(&text, &memory);
    assert_non_null(strstr(text.buf, "\n- The parser lives in src/lines.c\n"));
    assert_non_null(strstr(text.buf, "not instructions"));
    memory_release(&memory);
    assert_null(memory.items);
    memory = memory_load(store, MEMORY_PROJECT, "/p", "parser", 0);
    assert_int_equal(memory.count, 0);
    memory_release(&memory);
    const struct {
        enum memory_scope scope;
        size_t count;
    } elsewhere[] = {{MEMORY_PROJECT, 0}, {MEMORY_GLOBAL, 1}, {MEMORY_OFF, 0}};
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        memory = memory_load(store, elsewhere[i].scope, "/q", "parser", 5);
        assert_int_equal(memory.count, elsewhere[i].count);
        memory_release(&memory);
    }
    store_close(store);
}

TEST(memories_are_written_for_the_event_and_kept_on_their_line)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct store_memory items[] = {{.id = 7, .text = (char *)"one\n\n- two \"x\"", .score = 0.5}};
    struct memory memory = {.items = items, .count = 1};
    assert_string_equal(memory_json(&memory), "[{\"id\":7,\"text\":\"one\\n\\n- two \\\"x\\\"\",\"score\":0.5}]");
    memory_prompt(&text, &memory);
    assert_non_null(strstr(text.buf, "\n- one - two \"x\"\n")); /* cannot forge an entry */
}

static void assert_extract(const char *prompt, const char *text, const char *status, const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    memory_extract(&out, prompt, text, status);
    assert_string_equal(out.buf, expected);
}

TEST(a_finished_turn_leaves_a_sentence_or_two)
{
    assert_extract("Fix  the\nparser.", "\n Fixed it in src/lines.c.\n", "done",
                   "Asked: Fix the parser. Result: Fixed it in src/lines.c.");
    assert_extract("Fix it", "No.", "failed", "");
    assert_extract("Fix it", "Half done", "budget", "");
    assert_extract("Fix it", "", "cancelled", "");
    assert_extract("Fix it", " \n", "done", "");
    assert_extract("", "Done", "done", "");
    assert_extract(NULL, NULL, NULL, "");
}

TEST(the_summary_of_a_turn_is_short_and_valid)
{
    CLEANUP(strbuf) struct strbuf prompt = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    for (int i = 0; i < 5000; i++)
        strbuf_addstr(&prompt, "\xe2\x82\xac");
    strbuf_addstr(&prompt, "\xff");
    memory_extract(&out, prompt.buf, prompt.buf, "done");
    assert_true(utf8_valid(out.buf, out.len));
    assert_true(utf8_count(out.buf, out.len) < 500);
    assert_non_null(strstr(out.buf, "…"));
}
