/* Tests of the summary of a journal from its two ends: the prompt and the outcome, at a cost independent of its
 * length. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal_summary.h"
#include "support/scratch.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static struct journal_summary look(const char *text)
{
    struct err err = ERR_INIT;
    struct journal_summary summary;
    CLEANUP(free) char *path = scratch_path(&scratch, "j.jsonl");
    scratch_write(&scratch, "j.jsonl", text);
    if (journal_summary_read(&summary, path, &err))
        fail_msg("%s", err.text);
    return summary;
}

TEST(a_finished_session_is_summarized)
{
    CLEANUP(journal_summary) struct journal_summary summary = look(STARTED TURN PROPOSED DECIDED APPLIED FINISHED);
    assert_string_equal(summary.prompt, "Find it.");
    assert_string_equal(summary.workspace, "/home/you/lines");
    assert_string_equal(summary.model, "hand");
    assert_string_equal(summary.ended, "done");
    assert_int_equal(summary.turns, 1);
    assert_int_equal(summary.writes, 1);
    assert_int_equal(summary.approved, 1);
    assert_int_equal(summary.denied, 0);
    assert_true(summary.all);
    assert_false(summary.under_way || summary.waits || summary.broken);
}

#define SAVED  "{\"type\":\"checkpoint.saved\",\"turn\":0,\"checkpoint\":\"cp_2\",\"paths\":[]}\n"
#define UNDONE "{\"type\":\"write.undone\",\"turn\":0,\"checkpoint\":\"cp_1\",\"paths\":[]}\n"
#define REDONE "{\"type\":\"write.redone\",\"turn\":0,\"checkpoint\":\"cp_2\",\"paths\":[]}\n"
/* How older versions redid. */
#define REDONE_AS_UNDONE "{\"type\":\"write.undone\",\"turn\":0,\"checkpoint\":\"cp_2\",\"paths\":[]}\n"

TEST(an_undone_write_is_not_counted_as_one_that_stands)
{
    static const struct {
        const char *text;
        int undone;
    } rows[] = {{STARTED TURN APPLIED APPLIED FINISHED, 0},
                {STARTED TURN APPLIED APPLIED FINISHED SAVED UNDONE, 1},
                {STARTED TURN APPLIED APPLIED FINISHED SAVED UNDONE SAVED REDONE, 0},
                {STARTED TURN APPLIED APPLIED FINISHED SAVED UNDONE SAVED REDONE_AS_UNDONE, 0},
                {STARTED TURN APPLIED APPLIED FINISHED REDONE, 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(journal_summary) struct journal_summary summary = look(rows[i].text);
        assert_int_equal(summary.writes, 2);
        assert_int_equal(summary.undone, rows[i].undone);
    }
}

#define DECISION(kind, by) \
    "{\"type\":\"write.decided\",\"turn\":1,\"ask\":\"a1\",\"decision\":\"" kind "\",\"by\":\"" by "\"}\n"

TEST(decisions_are_counted_and_a_canceled_turn_decides_nothing)
{
    CLEANUP(journal_summary)
    struct journal_summary summary = look(STARTED TURN DECISION("partial", "key") DECISION("edited", "key") DECISION(
        "denied", "key") DECISION("expired", "timeout") DECISION("denied", "cancel") DECISION("approved", "policy"));
    assert_int_equal(summary.approved, 3);
    assert_int_equal(summary.denied, 2);
}

TEST(a_running_session_is_summarized)
{
    CLEANUP(journal_summary) struct journal_summary waits = look(STARTED TURN PROPOSED);
    CLEANUP(journal_summary) struct journal_summary decided = look(STARTED TURN PROPOSED DECIDED);
    CLEANUP(journal_summary) struct journal_summary none = look(STARTED);
    assert_true(waits.under_way && waits.waits);
    assert_true(decided.under_way && !decided.waits);
    assert_false(none.under_way);
    assert_string_equal(none.prompt, "");
}

/* A crash may cut the last line; any other that is no event is broken. */
/* A program may print after the turn that started it; the turn stays finished. */
TEST(program_outlives_its_turn)
{
    CLEANUP(journal_summary) struct journal_summary summary = look(STARTED TURN FINISHED PRINTED);
    assert_false(summary.under_way);
    assert_string_equal(summary.ended, "done");
}

TEST(a_bad_line_marks_the_journal_as_broken)
{
    CLEANUP(journal_summary) struct journal_summary cut = look(STARTED TURN "{\"type\":\"turn.fin");
    CLEANUP(journal_summary) struct journal_summary broken = look(STARTED TURN "nonsense\n" FINISHED);
    assert_false(cut.broken);
    assert_true(broken.broken);
}

TEST(other_files_are_refused)
{
    static const char *const texts[] = {"", "\n\n", "hello\n", TURN};
    CLEANUP(free) char *path = scratch_path(&scratch, "j.jsonl");
    struct journal_summary summary;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct err err = ERR_INIT;
        scratch_write(&scratch, "j.jsonl", texts[i]);
        assert_int_equal(journal_summary_read(&summary, path, &err), -1);
        assert_true(err.text[0]);
    }
    assert_int_equal(journal_summary_read(&summary, "/nowhere/j.jsonl", NULL), -1);
    assert_int_equal(journal_summary_read(&summary, "/", NULL), -1);
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
TEST(long_ones_of_every_length)
{
    for (size_t bytes = 1000; bytes < 400000; bytes += bytes < 100000 ? 777 : 33333) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        strbuf_addstr(&text, STARTED TURN PROPOSED DECIDED APPLIED);
        fill(&text, bytes);
        strbuf_addstr(&text, APPLIED FINISHED);
        CLEANUP(journal_summary) struct journal_summary summary = look(text.buf);
        assert_string_equal(summary.prompt, "Find it.");
        assert_string_equal(summary.ended, "done");
        assert_int_equal(summary.writes, 2);
        assert_false(summary.broken || summary.under_way);
    }
}

TEST(long_lines_at_either_end)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "{\"type\":\"session.started\",\"v\":1,\"app\":\"%0200000d\"}\n" TURN, 0);
    fill(&text, 1 << 20);
    strbuf_addf(&text, "{\"type\":\"turn.finished\",\"turn\":1,\"status\":\"failed\",\"text\":\"%0300000d\"}\n", 0);
    CLEANUP(journal_summary) struct journal_summary summary = look(text.buf);
    assert_string_equal(summary.prompt, "Find it.");
    assert_string_equal(summary.ended, "failed");
    assert_false(summary.all);
}

static double seconds_of_cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A gigabyte in between (of nothing, which takes no room on the disk) is not looked at. */
TEST(a_huge_journal_costs_no_more_than_a_small_one)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(free) char *path = scratch_path(&scratch, "huge.jsonl");
    struct journal_summary summary;
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
    assert_int_equal(journal_summary_read(&summary, path, NULL), 0);
    assert_true(seconds_of_cpu() - before < 0.2);
    assert_string_equal(summary.prompt, "Find it.");
    assert_string_equal(summary.ended, "done");
    assert_false(summary.all);
    journal_summary_release(&summary);
}

TEST_GROUP(begin, end)
