/* A journal seen from its two ends: the prompt, how it went, and that what lies between costs nothing. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "event/peek.h"
#include "support/scratch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define STARTED \
    "{\"type\":\"session.started\",\"v\":1,\"workspace\":\"/home/you/lines\",\"model\":{\"name\":\"hand\"}}\n"
#define TURN     "{\"type\":\"turn.started\",\"turn\":1,\"prompt\":\"Find it.\"}\n"
#define PROPOSED "{\"type\":\"write.proposed\",\"turn\":1,\"call\":\"c1\",\"ask\":\"a1\",\"files\":[]}\n"
#define DECIDED  "{\"type\":\"write.decided\",\"turn\":1,\"ask\":\"a1\",\"decision\":\"approved\",\"by\":\"key\"}\n"
#define APPLIED  "{\"type\":\"write.applied\",\"turn\":1,\"call\":\"c1\",\"files\":[]}\n"
#define FINISHED "{\"type\":\"turn.finished\",\"turn\":1,\"status\":\"done\"}\n"

#define PRINTED "{\"type\":\"program.output\",\"turn\":1,\"program\":\"p1\",\"text\":\"built\\n\"}\n"

static struct scratch scratch;

static int begin(void **state)
{
    (void)state;
    scratch_init(&scratch);
    return 0;
}

static int end(void **state)
{
    (void)state;
    scratch_release(&scratch);
    return 0;
}

static struct peek look(const char *text)
{
    struct err err = ERR_INIT;
    struct peek peek;
    CLEANUP(free) char *path = scratch_path(&scratch, "j.jsonl");
    scratch_write(&scratch, "j.jsonl", text);
    if (peek_read(&peek, path, &err))
        fail_msg("%s", err.text);
    return peek;
}

static void a_session_that_went_well(void **state)
{
    CLEANUP(peek) struct peek peek = look(STARTED TURN PROPOSED DECIDED APPLIED FINISHED);
    (void)state;
    assert_string_equal(peek.prompt, "Find it.");
    assert_string_equal(peek.workspace, "/home/you/lines");
    assert_string_equal(peek.model, "hand");
    assert_string_equal(peek.ended, "done");
    assert_int_equal(peek.turns, 1);
    assert_int_equal(peek.writes, 1);
    assert_true(peek.all);
    assert_false(peek.under_way || peek.waits || peek.broken);
}

static void one_that_is_under_way(void **state)
{
    CLEANUP(peek) struct peek waits = look(STARTED TURN PROPOSED);
    CLEANUP(peek) struct peek decided = look(STARTED TURN PROPOSED DECIDED);
    CLEANUP(peek) struct peek none = look(STARTED);
    (void)state;
    assert_true(waits.under_way && waits.waits);
    assert_true(decided.under_way && !decided.waits);
    assert_false(none.under_way);
    assert_string_equal(none.prompt, "");
}

/* A crash may cut the last line; any other that is no event is broken. */
/* A program may go on printing after the turn that started it: that does not make the turn go on. */
static void a_program_that_goes_on(void **state)
{
    CLEANUP(peek) struct peek peek = look(STARTED TURN FINISHED PRINTED);
    (void)state;
    assert_false(peek.under_way);
    assert_string_equal(peek.ended, "done");
}

static void lines_that_are_none(void **state)
{
    CLEANUP(peek) struct peek cut = look(STARTED TURN "{\"type\":\"turn.fin");
    CLEANUP(peek) struct peek broken = look(STARTED TURN "nonsense\n" FINISHED);
    (void)state;
    assert_false(cut.broken);
    assert_true(broken.broken);
}

static void what_is_no_journal(void **state)
{
    static const char *const texts[] = {"", "\n\n", "hello\n", TURN};
    CLEANUP(free) char *path = scratch_path(&scratch, "j.jsonl");
    struct peek peek;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct err err = ERR_INIT;
        scratch_write(&scratch, "j.jsonl", texts[i]);
        assert_int_equal(peek_read(&peek, path, &err), -1);
        assert_true(err.text[0]);
    }
    assert_int_equal(peek_read(&peek, "/nowhere/j.jsonl", NULL), -1);
    assert_int_equal(peek_read(&peek, "/", NULL), -1);
}

static void fill(struct strbuf *text, size_t bytes)
{
    while (bytes) {
        size_t piece = bytes < 1000 ? bytes : 1000;
        strbuf_addf(text, "{\"type\":\"tool.output\",\"turn\":1,\"call\":\"c1\",\"text\":\"%0*d\"}\n", (int)piece, 0);
        bytes -= piece;
    }
}

/* Windows that meet, overlap and leave a gap: never a line twice, never one left out that a window holds. */
static void long_ones_of_every_length(void **state)
{
    (void)state;
    for (size_t bytes = 1000; bytes < 400000; bytes += bytes < 100000 ? 777 : 33333) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        strbuf_addstr(&text, STARTED TURN PROPOSED DECIDED APPLIED);
        fill(&text, bytes);
        strbuf_addstr(&text, APPLIED FINISHED);
        CLEANUP(peek) struct peek peek = look(text.buf);
        assert_string_equal(peek.prompt, "Find it.");
        assert_string_equal(peek.ended, "done");
        assert_int_equal(peek.writes, 2);
        assert_false(peek.broken || peek.under_way);
    }
}

static void long_lines_at_either_end(void **state)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    (void)state;
    strbuf_addf(&text, "{\"type\":\"session.started\",\"v\":1,\"app\":\"%0200000d\"}\n" TURN, 0);
    fill(&text, 1 << 20);
    strbuf_addf(&text, "{\"type\":\"turn.finished\",\"turn\":1,\"status\":\"failed\",\"text\":\"%0300000d\"}\n", 0);
    CLEANUP(peek) struct peek peek = look(text.buf);
    assert_string_equal(peek.prompt, "Find it.");
    assert_string_equal(peek.ended, "failed");
    assert_false(peek.all);
}

static double seconds_of_cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A gigabyte in between (of nothing, which takes no room on the disk) is not looked at. */
static void a_huge_one_costs_what_a_small_one_costs(void **state)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(free) char *path = scratch_path(&scratch, "huge.jsonl");
    struct peek peek;
    (void)state;
    strbuf_addstr(&text, STARTED TURN);
    fill(&text, 100000);
    scratch_write(&scratch, "huge.jsonl", text.buf);
    assert_int_equal(truncate(path, 1 << 30), 0);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    strbuf_reset(&text);
    strbuf_addstr(&text, "\n");
    fill(&text, 100000);
    strbuf_addstr(&text, FINISHED);
    assert_int_equal(fwrite(text.buf, 1, text.len, file), text.len);
    assert_int_equal(fclose(file), 0);
    double before = seconds_of_cpu();
    assert_int_equal(peek_read(&peek, path, NULL), 0);
    assert_true(seconds_of_cpu() - before < 0.2);
    assert_string_equal(peek.prompt, "Find it.");
    assert_string_equal(peek.ended, "done");
    assert_false(peek.all);
    peek_release(&peek);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_went_well), cmocka_unit_test(one_that_is_under_way),
        cmocka_unit_test(a_program_that_goes_on),   cmocka_unit_test(lines_that_are_none),
        cmocka_unit_test(what_is_no_journal),       cmocka_unit_test(long_ones_of_every_length),
        cmocka_unit_test(long_lines_at_either_end), cmocka_unit_test(a_huge_one_costs_what_a_small_one_costs),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
