/* Tests of a program's output in the answer of its call: how much is shown, counted and kept. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/scratch.h"
#include "support/test.h"
#include "tools/artifact.h"
#include "tools/output_limit.h"
#include "tools/spool.h"
#include "tools/tool.h"
#include <stdint.h>
#include <string.h>

#define ROOM 3500

static struct scratch scratch;
static struct fake_clock fake;
static struct artifact_store *store;
static struct tool_env env;
static struct tool_run run;
static struct spool spool;
static struct arena arena;
static const struct tool tool = {.spec = {.name = "workspace_exec"}};

static int begin(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    scratch_init(&scratch);
    fake_clock_init(&fake);
    CLEANUP(free) char *base = scratch_path(&scratch, "artifacts");
    store = artifact_store_open(base, &fake.base, &err);
    assert_non_null(store);
    env = (struct tool_env){.artifacts = store, .session = "s"};
    run = (struct tool_run){.env = &env, .tool = &tool};
    arena = (struct arena)ARENA_INIT;
    spool_init(&spool, &run);
    return 0;
}

static int end(void **state)
{
    (void)state;
    spool_release(&spool);
    arena_release(&arena);
    artifact_store_close(store);
    scratch_release(&scratch);
    return 0;
}

static void add_lines(size_t count)
{
    for (size_t i = 1; i <= count; i++) {
        CLEANUP(free) char *line = xasprintf("line %zu\n", i);
        spool_add(&spool, line, strlen(line));
    }
}

/* The answer. */
static const struct json *answer(void)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    spool_write(&spool, &w, "output", "x_", ROOM);
    json_close(&w, '}');
    return json_parse(&arena, arena_memdup0(&arena, out.buf, out.len), out.len, NULL);
}

static const char *member(const struct json *object, const char *key)
{
    return json_str(json_get(object, key), "");
}

static void read_kept(const struct json *object, struct strbuf *whole)
{
    const char *ref = member(object, "x_artifact");
    assert_int_equal(strncmp(ref, "artifact://", strlen("artifact://")), 0);
    assert_true(artifact_store_get(store, "s", ref + strlen("artifact://"), whole));
}

TEST_WITH(short_output_is_complete, begin, end)
{
    spool_add(&spool, "one\n", 4);
    spool_add(&spool, "two\n", 4);
    const struct json *object = answer();
    assert_string_equal(member(object, "output"), "one\ntwo\n");
    assert_null(json_get(object, "x_truncated"));
    assert_int_equal(artifact_store_count(store, NULL), 0);
}

/* Almost all of the space is used, for every length between what fits and what is no longer kept. */
TEST_WITH(all_space_is_used, begin, end)
{
    static const size_t lines[] = {400, 3000, 100000};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
        spool_release(&spool);
        spool_init(&spool, &run);
        add_lines(lines[i]);
        uint64_t total = spool.head.len + spool.beyond;
        const struct json *object = answer();
        const struct json *output = json_get(object, "output");
        CLEANUP(free) char *last = xasprintf("\nline %zu\n", lines[i]);
        assert_true(output_limit_cost(output->text, output->len) <= ROOM);
        assert_true(output_limit_cost(output->text, output->len) > ROOM - 10);
        assert_int_equal(strncmp(output->text, "line 1\nline 2\n", 14), 0);
        assert_string_equal(output->text + output->len - strlen(last), last);
        assert_true(json_bool(json_get(object, "x_truncated"), false));
        assert_int_equal(json_int(json_get(object, "x_total_bytes"), 0), total);
        read_kept(object, &whole);
        assert_int_equal(whole.len, total);
    }
}

/* For any pieces, the text shown first came first. */
TEST_WITH(the_first_bytes_are_kept, begin, end)
{
    CLEANUP(strbuf) struct strbuf much = STRBUF_INIT, whole = STRBUF_INIT;
    for (int i = 0; i < 100000; i++)
        strbuf_addf(&much, "%d\n", i);
    spool_add(&spool, "first\n", 6);
    spool_add(&spool, much.buf, much.len);
    spool_add(&spool, "last\n", 5);
    const struct json *object = answer();
    assert_int_equal(strncmp(member(object, "output"), "first\n0\n1\n2\n", 12), 0);
    assert_non_null(strstr(member(object, "output"), "\n99999\nlast\n"));
    read_kept(object, &whole);
    assert_int_equal(whole.len, much.len + 11);
    assert_int_equal(strncmp(whole.buf, "first\n0\n1\n2\n", 12), 0);
}

TEST_WITH(memory_is_bounded, begin, end)
{
    add_lines(1000000);
    assert_true(spool.head.room + spool.tail.room + spool.half.room < 8 * SPOOL_WINDOW);
}

TEST_WITH(kept_output_is_bounded, begin, end)
{
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    spool.max = 100000;
    add_lines(30000);
    CLEANUP(free)
    char *note = xasprintf("\n[%llu bytes more were printed; only the first 100000 are kept]\n",
                           (unsigned long long)(spool.head.len + spool.beyond - 100000));
    uint64_t total = spool.head.len + spool.beyond;
    const struct json *object = answer();
    assert_int_equal(json_int(json_get(object, "x_total_bytes"), 0), total);
    read_kept(object, &whole);
    assert_int_equal(whole.len, 100000 + strlen(note));
    assert_string_equal(whole.buf + 100000, note);
}

/* A read may end within a character; invalid bytes become text. */
TEST_WITH(kept_output_is_text, begin, end)
{
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    add_lines(20000);
    size_t before = spool.head.len + (size_t)spool.beyond;
    spool_add(&spool, "\xE2\x82", 2);
    spool_add(&spool, "\xAC\xFF\xF0\x9F", 4);
    read_kept(answer(), &whole);
    assert_string_equal(whole.buf + before, "\xE2\x82\xAC\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_WITH(without_a_store, begin, end)
{
    env.artifacts = NULL;
    add_lines(20000);
    const struct json *object = answer();
    assert_true(json_bool(json_get(object, "x_truncated"), false));
    assert_null(json_get(object, "x_artifact"));
}

TEST_WITH(a_released_spool_stores_no_artifact, begin, end)
{
    add_lines(20000);
    CLEANUP(free) char *folder = scratch_path(&scratch, "artifacts/s");
    spool_release(&spool);
    spool_init(&spool, &run);
    assert_int_equal(artifact_store_count(store, NULL), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing is in it */
}
