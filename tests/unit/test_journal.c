/* Tests of a session's file: appended lines are there, failed ones are not, and complete lines stay readable whatever
 * happened to the file. */

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/journal.h"
#include "support/test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1}\n"

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = file_make_temp_dir(NULL, "test_journal", NULL);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    int result = file_remove_tree(folder, NULL);
    free(folder);
    return result;
}

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", folder, name);
}

static void put_file(const char *path, const char *bytes, size_t len)
{
    struct err err = ERR_INIT;
    if (file_replace(path, bytes, len, 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static void append_raw(const char *path, const char *bytes)
{
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_APPEND);
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, bytes, strlen(bytes)), 0);
}

static char *content(const char *path)
{
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (file_read(path, &sb, 0, &err) < 0)
        fail_msg("%s", err.text);
    return strbuf_detach(&sb, NULL);
}

static void append(struct journal *journal, struct event event)
{
    struct err err = ERR_INIT;
    if (journal_append_all(journal, &event, 1, &err) < 0)
        fail_msg("%s", err.text);
}

static struct journal *must(struct journal *journal, const struct err *err)
{
    if (!journal)
        fail_msg("%s", err->text);
    return journal;
}

static struct journal_reader *must_open(const char *path)
{
    struct err err = ERR_INIT;
    struct journal_reader *reader = journal_open(path, &err);
    if (!reader)
        fail_msg("%s: %s", path, err.text);
    return reader;
}

static struct event started(void)
{
    return (struct event){.type = EVENT_SESSION_STARTED, .session_started = {.v = 1, .session = "s1"}};
}

TEST(appends_and_reads_back)
{
    CLEANUP(free) char *path = path_of("simple.jsonl");
    struct err err = ERR_INIT;
    struct fake_clock clock;
    fake_clock_init(&clock);
    fake_clock_advance(&clock, 5000000);
    struct journal *journal = must(journal_create(path, &clock.base, &err), &err);
    struct event event = started();
    assert_int_equal(journal_append_all(journal, &event, 1, &err), 0);
    assert_true(event.seq == 1 && event.t == 0);
    fake_clock_advance(&clock, 1500);
    append(journal, (struct event){.turn = 1, .type = EVENT_TURN_STARTED, .turn_started = {.prompt = "line\nbreak"}});
    append(journal, (struct event){.turn = 1, .type = EVENT_TURN_FINISHED, .turn_finished = {.status = "done"}});
    assert_int_equal(journal_sync(journal, &err), 0);
    /* The line is in the file before the journal is closed. */
    CLEANUP(free) char *text = content(path);
    assert_string_equal(text,
                        "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"s1\"}\n"
                        "{\"seq\":2,\"t\":1500,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"line\\nbreak\"}\n"
                        "{\"seq\":3,\"t\":1500,\"turn\":1,\"type\":\"turn.finished\",\"status\":\"done\",\"steps\":0,"
                        "\"tool_calls\":0,\"elapsed_ms\":0,\"waited_ms\":0}\n");
    journal_close(journal);

    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    struct journal_reader *reader = must_open(path);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    assert_int_equal(journal_count(reader), 3);
    assert_false(journal_was_cut(reader));
    assert_int_equal(journal_event(reader, 1, &event, &arena, &err), 0);
    assert_string_equal(event.turn_started.prompt, "line\nbreak");
    assert_true(event.seq == 2 && event.t == 1500 && event.turn == 1);
    journal_reader_free(reader);

    assert_null(journal_create(path, &clock.base, &err));
    assert_non_null(strstr(err.text, "exists already"));
}

TEST(memory_journals_only_number)
{
    struct err err = ERR_INIT;
    struct fake_clock clock;
    fake_clock_init(&clock);
    struct journal *journal = must(journal_create(NULL, &clock.base, &err), &err);
    for (int64_t i = 1; i <= 3; i++) {
        struct event event = {.type = EVENT_HELD};
        assert_int_equal(journal_append_all(journal, &event, 1, &err), 0);
        assert_true(event.seq == i);
    }
    assert_int_equal(journal_sync(journal, &err), 0);
    journal_close(journal);
    journal_close(NULL);
}

TEST(recorded_events_get_new_numbers)
{
    CLEANUP(free) char *path = path_of("again.jsonl");
    struct err err = ERR_INIT;
    struct fake_clock clock;
    fake_clock_init(&clock);
    struct journal *journal = must(journal_create(path, &clock.base, &err), &err);
    append(journal, started());
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    static const char old[] = "{\"t\":99,\"seq\":70,\"turn\":1,\"type\":\"held\",\"gate\":\"step\",\"mood\":\"calm\"}";
    struct event event;
    assert_int_equal(event_decode(&event, &arena, old, strlen(old), &err), 0);
    assert_int_equal(journal_append_all(journal, &event, 1, &err), 0);
    assert_true(event.seq == 2 && event.t == 0);
    event_encode(&line, &event);
    assert_string_equal(line.buf,
                        "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"held\",\"gate\":\"step\",\"mood\":\"calm\"}");
    journal_close(journal);
    CLEANUP(free) char *text = content(path);
    assert_non_null(strstr(text, line.buf));
}

TEST(resuming_continues_the_numbers)
{
    static const char *const ends[] = {
        "",         "{\"seq\":4,\"t\":2000,\"turn\":1,\"type\":\"model.del", /* a crash */
        "\n\n  \n", "{\"seq\":4",
        "\xe2\x82",
    };
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        CLEANUP(free) char *path = path_of("resume.jsonl");
        CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
        struct err err = ERR_INIT;
        struct fake_clock clock;
        fake_clock_init(&clock);
        fake_clock_advance(&clock, 700);
        strbuf_addstr(&sb, FIRST "{\"seq\":2,\"t\":50,\"turn\":1,\"type\":\"turn.started\"}\n"
                                 "{\"seq\":3,\"t\":1000,\"turn\":1,\"type\":\"model.requested\",\"step\":1}\n");
        size_t good = sb.len;
        strbuf_addstr(&sb, ends[i]);
        put_file(path, sb.buf, sb.len);
        struct journal *journal = must(journal_resume(path, &clock.base, &err), &err);
        fake_clock_advance(&clock, 25);
        struct event event = {.type = EVENT_HELD, .turn = 1};
        assert_int_equal(journal_append_all(journal, &event, 1, &err), 0);
        assert_true(event.seq == 4);
        assert_true(event.t == 1025);
        journal_close(journal);
        struct journal_reader *reader = must_open(path);
        assert_int_equal(journal_count(reader), 4);
        assert_false(journal_was_cut(reader));
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        assert_int_equal(journal_event(reader, 3, &event, &arena, &err), 0);
        assert_int_equal(event.type, EVENT_HELD);
        CLEANUP(free) char *text = content(path);
        assert_memory_equal(text, sb.buf, good);
        journal_reader_free(reader);
    }
}

TEST(resuming_takes_a_line_without_its_end)
{
    CLEANUP(free) char *path = path_of("unended.jsonl");
    static const char text[] = FIRST "{\"type\":\"turn.started\",\"turn\":1}";
    put_file(path, text, strlen(text));
    struct err err = ERR_INIT;
    struct fake_clock clock;
    fake_clock_init(&clock);
    struct journal *journal = must(journal_resume(path, &clock.base, &err), &err);
    struct event event = {.type = EVENT_HELD};
    assert_int_equal(journal_append_all(journal, &event, 1, &err), 0);
    assert_true(event.seq == 3);
    journal_close(journal);
    struct journal_reader *reader = must_open(path);
    assert_int_equal(journal_count(reader), 3);
    journal_reader_free(reader);
}

TEST(one_writer_at_a_time)
{
    CLEANUP(free) char *path = path_of("locked.jsonl");
    struct err err = ERR_INIT;
    struct journal *journal = must(journal_create(path, clock_system(), &err), &err);
    append(journal, started());
    assert_null(journal_resume(path, clock_system(), &err));
    assert_non_null(strstr(err.text, "another keyturn"));
    assert_true(journal_held(path));
    journal_close(journal);
    assert_false(journal_held(path));
    journal = must(journal_resume(path, clock_system(), &err), &err);
    journal_close(journal);
}

/* The lock's holder may be killed: no stale lock remains. */
TEST(a_lock_ends_with_its_process)
{
    CLEANUP(free) char *path = path_of("killed.jsonl");
    int pipe_fds[2];
    char ready;
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (child == 0) {
        struct journal *journal = journal_create(path, clock_system(), NULL);
        if (!journal || write(pipe_fds[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(pipe_fds[0], &ready, 1), 1);
    assert_true(journal_held(path));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(journal_held(path));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    assert_false(journal_held("/nowhere/at/all"));
}

/* Events appended together have separate numbers and keep their lines, and all or none are in the file. */
TEST(several_are_appended_at_once)
{
    CLEANUP(free) char *path = path_of("several.jsonl");
    struct err err = ERR_INIT;
    struct fake_clock clock;
    fake_clock_init(&clock);
    struct journal *journal = must(journal_create(path, &clock.base, &err), &err);
    append(journal, started());
    struct event events[3];
    for (int i = 0; i < 3; i++)
        events[i] = (struct event){.type = EVENT_SCRIPT_EVENT,
                                   .turn = 1,
                                   .script_event = {.call = "c1", .event = i == 1 ? "{\"n\":2}" : "{}"}};
    CLEANUP(free) char *before = content(path);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){strlen(before) + 100, old.rlim_max}; /* room for one and a half */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(journal_append_all(journal, events, 3, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    CLEANUP(free) char *after = content(path);
    assert_string_equal(before, after);

    fake_clock_advance(&clock, 7);
    assert_int_equal(journal_append_all(journal, events, 3, &err), 0);
    for (int i = 0; i < 3; i++) {
        CLEANUP(free) char *line = xmemdup0(events[i].raw, events[i].raw_len);
        CLEANUP(free)
        char *expected =
            xasprintf("{\"seq\":%d,\"t\":7,\"turn\":1,\"type\":\"script.event\",\"call\":\"c1\",\"event\":%s}", i + 2,
                      i == 1 ? "{\"n\":2}" : "{}");
        assert_string_equal(line, expected);
    }
    append(journal, (struct event){.turn = 1, .type = EVENT_TURN_FINISHED, .turn_finished = {.status = "done"}});
    journal_close(journal);
    struct journal_reader *reader = must_open(path);
    assert_int_equal(journal_count(reader), 5);
    journal_reader_free(reader);
}

/* RLIMIT_FSIZE is a disk that is full at a byte of our choosing. */
TEST(a_full_disk_leaves_the_file_whole)
{
    CLEANUP(free) char *path = path_of("full.jsonl");
    struct err err = ERR_INIT;
    struct fake_clock clock;
    fake_clock_init(&clock);
    struct journal *journal = must(journal_create(path, &clock.base, &err), &err);
    append(journal, started());
    CLEANUP(free) char *before = content(path);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t extra = 0; extra < 30; extra++) {
        small = (struct rlimit){strlen(before) + extra, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        struct event event = {.type = EVENT_TURN_STARTED, .turn = 1, .turn_started = {.prompt = "a prompt"}};
        int result = journal_append_all(journal, &event, 1, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(result, -1);
        assert_int_equal(err.code, EFBIG);
        assert_non_null(strstr(err.text, "cannot write the session file"));
        CLEANUP(free) char *after = content(path);
        assert_string_equal(before, after);
    }
    signal(SIGXFSZ, handler);

    struct event event = {.type = EVENT_TURN_STARTED, .turn = 1};
    assert_int_equal(journal_append_all(journal, &event, 1, &err), 0);
    assert_true(event.seq == 2);
    journal_close(journal);
    struct journal_reader *reader = must_open(path);
    assert_int_equal(journal_count(reader), 2);
    journal_reader_free(reader);
}

TEST(unfit_files_are_named)
{
    static const struct {
        const char *text, *why;
        size_t len;
        long line;
    } cases[] = {
        {"", "empty", 0, 0},
        {"\n \n", "empty", 0, 0},
        {"{\"type\":\"session.sta", "no complete line", 0, 0},
        {"\x7f"
         "ELF\0\0\0",
         "not a text file", 8, 0},
        {"hello\n", "not a Keyturn transcript: it does not begin with a JSON object", 0, 1},
        {"\n\n[1]\n", "not a Keyturn transcript: it does not begin with a JSON object", 0, 3},
        {"{\"type\":\"turn.started\"}\n", "must be session.started, not turn.started", 0, 1},
        {"{\"type\":\"session.started\",\"v\":2}\n", "version 2", 0, 1},
        {"{\"type\":\"session.started\"}\n", "\"v\":1", 0, 1},
        {"{\"type\":\"session.started\",\"v\":\"1\"}\n", "\"v\" must be an integer", 0, 1},
        {"{\"a\":1}\n", "\"type\" is missing", 0, 1},
    };
    CLEANUP(free) char *path = path_of("unfit.jsonl");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = ERR_INIT;
        put_file(path, cases[i].text, cases[i].len ? cases[i].len : strlen(cases[i].text));
        assert_null(journal_open(path, &err));
        if (!strstr(err.text, cases[i].why))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].why);
        assert_int_equal(err.line, cases[i].line);
        assert_null(journal_resume(path, clock_system(), NULL));
    }
    struct err err = ERR_INIT;
    assert_null(journal_open(folder, &err));
    assert_non_null(strstr(err.text, "folder"));
    assert_null(journal_open("/nowhere/at/all", &err));
    assert_int_equal(err.code, ENOENT);
    assert_null(journal_open("/dev/null", &err));
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_null(journal_create("/nowhere/at/all", clock_system(), &err));
    assert_null(journal_resume("/nowhere/at/all", clock_system(), &err));
}

TEST(reading_is_lazy)
{
    static const char text[] = "\xEF\xBB\xBF{\"type\":\"session.started\",\"v\":1}\r\n"
                               "\r\n"
                               "{\"type\":\"turn.started\",\"turn\":1,\"t\":40}\r\n"
                               "{this line is broken}\n"
                               "\t \n"
                               "{\"type\":\"held\",\"gate\":7}\n"
                               "{\"type\":\"released\",\"seq\":90}\n"
                               "{\"type\":\"held\"}";
    struct err err = ERR_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct journal_reader *reader = journal_open_bytes(text, strlen(text), &err);
    assert_non_null(reader);
    assert_int_equal(journal_count(reader), 6);
    assert_false(journal_was_cut(reader));
    static const long numbers[] = {1, 3, 4, 6, 7, 8};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(journal_line_number(reader, i), numbers[i]);
    size_t len;
    const char *line = journal_line(reader, 1, &len);
    assert_int_equal(len, strlen("{\"type\":\"turn.started\",\"turn\":1,\"t\":40}"));
    assert_memory_equal(line, "{\"type\":", 8);

    struct event event;
    assert_int_equal(journal_event(reader, 2, &event, &arena, &err), -1);
    assert_int_equal(err.line, 4);
    assert_int_equal(journal_event(reader, 3, &event, &arena, &err), -1);
    assert_int_equal(err.line, 6);
    assert_non_null(strstr(err.text, "\"gate\""));
    /* Times and numbers that are missing, from any direction. */
    assert_int_equal(journal_event(reader, 5, &event, &arena, &err), 0);
    assert_true(event.seq == 6 && event.t == 40);
    assert_int_equal(journal_event(reader, 4, &event, &arena, &err), 0);
    assert_true(event.seq == 90 && event.t == 40);
    assert_int_equal(journal_event(reader, 0, &event, &arena, &err), 0);
    assert_true(event.seq == 1 && event.t == 0);
    assert_int_equal(journal_refresh(reader), 0);
    journal_reader_free(reader);
    journal_reader_free(NULL);
}

/* Bytes after a line that cannot be an event cost nothing, and nothing is appended after them. */
TEST(junk_ends_the_index)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "{\"type\":\"session.started\",\"v\":1}\n{\"type\":\"held\"}\n");
    for (int i = 0; i < 1000; i++)
        strbuf_addstr(&text, "{}\n");
    struct err err = ERR_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    struct journal_reader *reader = journal_open_bytes(text.buf, text.len, &err);
    assert_non_null(reader);
    assert_int_equal(journal_count(reader), 3);
    assert_int_equal(journal_event(reader, 1, &event, &arena, &err), 0);
    assert_int_equal(journal_event(reader, 2, &event, &arena, &err), -1);
    assert_int_equal(err.line, 3);
    journal_reader_free(reader);

    CLEANUP(free) char *path = file_make_temp_dir(NULL, "keyturn-junk-", &err);
    CLEANUP(free) char *file = xasprintf("%s/j.jsonl", path);
    assert_int_equal(file_replace(file, text.buf, text.len, 0600, &err), 0);
    assert_null(journal_resume(file, clock_system(), &err));
    assert_int_equal(err.line, 3);
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    assert_int_equal(file_read(file, &after, 0, &err), 0);
    assert_int_equal(after.len, text.len);
    assert_int_equal(file_remove_tree(path, &err), 0);
}

TEST(cut_lines_are_left_out)
{
    static const char whole[] = FIRST "{\"type\":\"held\",\"gate\":\"\xc3\xa4\"}";
    for (size_t len = strlen(FIRST); len <= strlen(whole); len++) {
        struct err err = ERR_INIT;
        CLEANUP(free) char *bytes = xmemdup0(whole, len); /* of its exact length, so that reading past it is seen */
        struct journal_reader *reader = journal_open_bytes(bytes, len, &err);
        assert_non_null(reader);
        bool full = len == strlen(whole), none = len == strlen(FIRST);
        assert_int_equal(journal_count(reader), full ? 2 : 1);
        assert_int_equal(journal_was_cut(reader), !full && !none);
        journal_reader_free(reader);
    }
}

TEST(a_growing_file_is_followed)
{
    CLEANUP(free) char *path = path_of("growing.jsonl");
    put_file(path, FIRST, strlen(FIRST));
    struct journal_reader *reader = must_open(path);
    assert_int_equal(journal_refresh(reader), 0);
    append_raw(path, "{\"type\":\"held\"}\n{\"type\":\"rel");
    assert_int_equal(journal_refresh(reader), 1);
    assert_true(journal_was_cut(reader));
    append_raw(path, "eased\"}");
    assert_int_equal(journal_refresh(reader), 1);
    assert_false(journal_was_cut(reader));
    assert_int_equal(journal_count(reader), 3);
    append_raw(path, "\n\n{\"type\":\"held\",\"gate\":\"last\"}\n");
    assert_int_equal(journal_refresh(reader), 1);
    assert_int_equal(journal_count(reader), 4);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    struct err err = ERR_INIT;
    assert_int_equal(journal_event(reader, 2, &event, &arena, &err), 0);
    assert_int_equal(event.type, EVENT_RELEASED);
    assert_int_equal(journal_event(reader, 3, &event, &arena, &err), 0);
    assert_string_equal(event.held.gate, "last");
    assert_int_equal(journal_line_number(reader, 3), 5);
    /* Many lines at once: the mapping grows past its pages. */
    CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
    for (int i = 0; i < 5000; i++)
        strbuf_addf(&sb, "{\"type\":\"model.delta\",\"step\":1,\"text\":\"%d\"}\n", i);
    append_raw(path, sb.buf);
    assert_int_equal(journal_refresh(reader), 5000);
    assert_int_equal(journal_event(reader, 5003, &event, &arena, &err), 0);
    assert_string_equal(event.model_delta.text, "4999");
    journal_reader_free(reader);
}

TEST(huge_lines_are_lines)
{
    CLEANUP(free) char *path = path_of("huge.jsonl");
    const size_t size = (size_t)8 << 20;
    CLEANUP(free) char *text = xmalloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\0';
    memcpy(text + size / 2, "\"\n", 2);
    struct err err = ERR_INIT;
    struct fake_clock clock;
    fake_clock_init(&clock);
    struct journal *journal = must(journal_create(path, &clock.base, &err), &err);
    append(journal, started());
    append(journal, (struct event){.type = EVENT_TOOL_OUTPUT, .turn = 1, .tool_output = {.call = "c1", .text = text}});
    append(journal, (struct event){.type = EVENT_HELD});
    journal_close(journal);
    struct journal_reader *reader = must_open(path);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    assert_int_equal(journal_count(reader), 3);
    assert_int_equal(journal_event(reader, 1, &event, &arena, &err), 0);
    assert_string_equal(event.tool_output.text, text);
    assert_int_equal(journal_event(reader, 2, &event, &arena, &err), 0);
    assert_true(event.seq == 3);
    journal_reader_free(reader);
}

TEST_GROUP(make_folder, remove_folder)
