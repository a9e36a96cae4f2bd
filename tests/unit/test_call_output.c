/* The lines of a call's output: found in one walk over its texts, however many there are. */

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/words.h"
#include "panes/call_output.h"
#include "panes/call_row.h"
#include "support/test.h"
#include <string.h>
#include <time.h>

#define LINES 200000

struct told_rig {
    char *folder;
    struct journal_reader *reader;
    struct session session;
    struct view view;
};

/* A call that printed these texts, an event each. */
static void rig_open(struct told_rig *rig, const char *const *texts, size_t count)
{
    CLEANUP(strbuf) struct strbuf file = STRBUF_INIT;
    struct err err = ERR_INIT;
    strbuf_addstr(&file,
                  "{\"seq\":1,\"type\":\"session.started\",\"v\":1}\n"
                  "{\"seq\":2,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"print\"}\n"
                  "{\"seq\":3,\"turn\":1,\"type\":\"model.responded\",\"step\":1,\"tool_calls\":"
                  "[{\"id\":\"c1\",\"name\":\"workspace_exec\",\"arguments\":{}}]}\n"
                  "{\"seq\":4,\"turn\":1,\"type\":\"tool.started\",\"call\":\"c1\",\"tool\":\"workspace_exec\"}\n");
    for (size_t i = 0; i < count; i++) {
        struct json_writer w = json_begin(&file);
        json_open(&w, NULL, '{');
        json_add_int(&w, "seq", (int64_t)i + 5);
        json_add_int(&w, "turn", 1);
        json_add_str(&w, "type", "tool.output");
        json_add_str(&w, "call", "c1");
        json_add_str(&w, "stream", "stdout");
        json_add_str(&w, "text", texts[i]);
        json_close(&w, '}');
        strbuf_addch(&file, '\n');
    }
    rig->folder = file_make_temp_dir(NULL, "keyturn-output-", &err);
    CLEANUP(free) char *path = xasprintf("%s/output.jsonl", rig->folder);
    assert_int_equal(file_replace(path, file.buf, file.len, 0600, &err), 0);
    rig->reader = journal_open(path, &err);
    assert_non_null(rig->reader);
    session_init(&rig->session);
    for (size_t i = 0; i < journal_count(rig->reader); i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct event event;
        assert_int_equal(journal_event(rig->reader, i, &event, &arena, &err), 0);
        session_apply(&rig->session, &event);
    }
    rig->view = (struct view){.mode = VIEW_REPLAY,
                              .session = &rig->session,
                              .lines = rig->reader,
                              .cache = view_cache_new(),
                              .position = journal_count(rig->reader),
                              .count = journal_count(rig->reader)};
}

static void rig_close(struct told_rig *rig)
{
    struct err err = ERR_INIT;
    session_release(&rig->session);
    view_cache_free(rig->view.cache);
    journal_reader_free(rig->reader);
    assert_int_equal(file_remove_tree(rig->folder, &err), 0);
    free(rig->folder);
}

static void check_lines(const char *text, const char *const *want, size_t count)
{
    struct call_output told = {.text = text, .len = strlen(text)};
    size_t found = 0;
    for (struct call_output_lines lines = call_output_lines(&told); call_output_lines_next(&lines); found++) {
        assert_true(found < count);
        assert_int_equal(lines.len, strlen(want[found]));
        assert_memory_equal(lines.line, want[found], lines.len);
        /* A row remembers where its line begins: reading from there gives the same row. */
        struct call_output_lines again = call_output_lines(&told);
        again.next = lines.at;
        assert_true(call_output_lines_next(&again));
        assert_ptr_equal(again.line, lines.line);
        assert_int_equal(again.len, lines.len);
    }
    assert_int_equal(found, count);
}

TEST(lines_of_a_text)
{
    check_lines("", (const char *[]){""}, 1);
    check_lines("\n\n", (const char *[]){""}, 1);
    check_lines("one", (const char *[]){"one"}, 1);
    check_lines("one\ntwo\n", (const char *[]){"one", "two"}, 2);
    check_lines("one\r\n\r\ntwo\r\n\r\n", (const char *[]){"one", "", "two"}, 3);
    check_lines("\none", (const char *[]){"", "one"}, 2);
}

static void check_show(const char *line, const char *want)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    size_t len = strlen(line);
    call_output_show(&line, &len, &out);
    assert_int_equal(len, strlen(want));
    assert_memory_equal(line, want, len);
}

TEST(lines_as_a_terminal_shows_them)
{
    check_show("as it is", "as it is");
    check_show("", "");
    check_show("progress 1%\rprogress 2%\r", "progress 2%");
    check_show("100 %\rok", "ok0 %");
    check_show("100 %\r\033[Kok", "ok");
    check_show("abx\bc", "abc");
    check_show("\033[31mred\033[0m", "red");
}

TEST(rows_of_several_events)
{
    struct told_rig rig;
    rig_open(&rig, (const char *[]){"a\nb\n", "c"}, 2);
    struct call_output_rows rows = {0};
    call_output_rows_update(&rows, &rig.view);
    assert_int_equal(rows.count, 3);
    assert_int_equal(rows.rows[1].seq, 5);
    assert_int_equal(rows.rows[1].at, 2);
    assert_int_equal(rows.rows[2].seq, 6);
    assert_int_equal(rows.rows[2].at, 0);
    rows.call = rig.session.call_count; /* as after a recording moved back to before it */
    call_output_rows_update(&rows, &rig.view);
    assert_int_equal(rows.count, 0);
    call_output_rows_release(&rows);
    rig_close(&rig);
}

/* A multi-byte character is never cut in half, and a shortened row shows that there was more. */
TEST(long_lines_end_after_a_character)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf raised = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    for (int i = 0; i < 500; i++)
        strbuf_addstr(&text, "語");
    words_one_line(&got, text.buf);
    assert_int_equal(got.len, 3 * WORDS_LINE_CHARS);
    strbuf_addf(&raised, "Traceback (most recent call last):\n%s\n", text.buf);
    strbuf_reset(&got);
    words_one_line(&got, raised.buf);
    assert_int_equal(got.len, 3 * WORDS_LINE_CHARS);

    struct told_rig rig;
    struct call_output told;
    rig_open(&rig, (const char *[]){text.buf}, 1);
    strbuf_reset(&got);
    assert_true(call_row_newest(&got, &told, &rig.view, &rig.session.calls[0]));
    assert_int_equal(got.len, 3 * WORDS_LINE_CHARS);
    struct event_failure_info failure = {.error = text.buf};
    session_apply(&rig.session,
                  &(struct event){.seq = 6,
                                  .turn = 1,
                                  .type = EVENT_TOOL_FINISHED,
                                  .tool_finished = {.call = "c1", .outcome = "failure", .failure = &failure}});
    assert_int_equal(strlen(rig.session.calls[0].outcome), 3 * SESSION_TEXT + strlen("…"));
    rig_close(&rig);
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

/* Compares within one run: reading the event once is the minimum. Starting again for each line costs thousands of times
 * as much. */
TEST(many_lines_are_walked_once)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct told_rig rig;
    for (int i = 0; i < LINES; i++)
        strbuf_addstr(&text, "x\n");
    for (int i = 0; i < LINES; i++) /* the empty lines at the end are not read one by one either */
        strbuf_addch(&text, '\n');
    rig_open(&rig, (const char *[]){text.buf}, 1);
    double before = cpu_ms();
    assert_non_null(view_event(&rig.view, 5));
    double floor = cpu_ms() - before;
    struct call_output_rows rows = {0};
    before = cpu_ms();
    call_output_rows_update(&rows, &rig.view);
    double took = cpu_ms() - before;
    assert_true(rows.earlier && rows.count > 0);
    assert_int_equal(rows.rows[rows.count - 1].at, 2 * (LINES - 1));
    if (took > 50 * (floor + 1))
        fail_msg("%d lines took %.1f ms, reading them %.1f ms", LINES, took, floor);
    call_output_rows_release(&rows);
    rig_close(&rig);
}
