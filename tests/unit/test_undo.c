/* Tests of undo.c without a turn: which write a key or a name means, and what the model reads about it. */

#include "base/mem.h"
#include "support/test.h"
#include "turn/undo.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct session session;
static struct undo_notes notes;
static int64_t seq;

static void apply(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void apply(const char *fmt, ...)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    char line[400];
    va_list args;
    struct event event;
    va_start(args, fmt);
    int head = snprintf(line, sizeof(line), "{\"seq\":%lld,\"t\":0,\"turn\":1,\"type\":", (long long)++seq);
    vsnprintf(line + head, sizeof(line) - (size_t)head, fmt, args);
    va_end(args);
    assert_int_equal(event_decode(&event, &arena, line, strlen(line), NULL), 0);
    session_apply(&session, &event);
    undo_notes_add(&notes, &session, &event);
}

/* A call wN that wrote fN, with the checkpoint cp_N. */
static void write_file(int n)
{
    apply("\"model.responded\",\"step\":%d,\"tool_calls\":[{\"id\":\"w%d\",\"name\":\"write_file\",\"arguments\":{}}]}",
          n, n);
    apply("\"tool.started\",\"call\":\"w%d\",\"tool\":\"write_file\",\"effect\":\"LOCAL_WRITE\"}", n);
    apply("\"write.proposed\",\"call\":\"w%d\",\"ask\":\"a%d\",\"files\":[{\"path\":\"f%d\"}]}", n, n, n);
    apply("\"write.decided\",\"ask\":\"a%d\",\"decision\":\"approved\",\"by\":\"key\"}", n);
    apply("\"checkpoint.saved\",\"checkpoint\":\"cp_%d\",\"call\":\"w%d\",\"paths\":[\"f%d\"]}", n, n, n);
    apply("\"write.applied\",\"call\":\"w%d\",\"files\":[{\"path\":\"f%d\"},{\"path\":\"g%d\"}]}", n, n, n);
}

static void restore(const char *did, int checkpoint, int kept)
{
    apply("\"checkpoint.saved\",\"checkpoint\":\"cp_%d\",\"paths\":[]}", kept);
    apply("\"write.%s\",\"checkpoint\":\"cp_%d\",\"paths\":[\"f\"]}", did, checkpoint);
}

static int begin(void **state)
{
    (void)state;
    seq = 0;
    session_init(&session);
    apply("\"session.started\",\"v\":1}");
    apply("\"turn.started\",\"prompt\":\"x\"}");
    write_file(1);
    write_file(2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    session_release(&session);
    undo_notes_release(&notes);
    return 0;
}

static void expect_last(uint32_t row, bool undone)
{
    assert_int_equal(session_last_write(&session), row);
    assert_int_equal(session.asks[row].undone_seq != 0, undone);
    assert_int_equal(session.calls[session.asks[row].call].undone, undone);
}

/* The key toggles what was written, undone or redone last, also an older write that was undone by its name. */
TEST_WITH(key_toggles_what_changed_last, begin, end)
{
    expect_last(1, false);
    restore("undone", 2, 3);
    expect_last(1, true);
    restore("redone", 3, 4);
    expect_last(1, false);
    restore("undone", 1, 5);
    expect_last(0, true);
    restore("redone", 5, 6);
    expect_last(0, false);
    restore("undone", 1, 7);
    write_file(8);
    expect_last(2, false);
    struct session_writes writes = session_count_writes(&session);
    assert_int_equal(writes.applied, 3);
    assert_int_equal(writes.undone, 1);
}

TEST_WITH(names_find_their_write, begin, end)
{
    static const struct {
        const char *what;
        uint32_t row;
    } rows[] = {{"#1", 0},
                {"1", 0},
                {"#2", 1},
                {"f1", 0},
                {"g1", 0},
                {"f2", 1},
                {"cp_1", 0},
                {NULL, 1},
                {"f", SESSION_NONE},
                {"1, g1", SESSION_NONE},
                {"#", SESSION_NONE},
                {"#3", SESSION_NONE},
                {"99999999999999999999", SESSION_NONE},
                {"cp_9", SESSION_NONE},
                {"", SESSION_NONE}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        assert_int_equal(undo_find(&session, rows[i].what, false, &err), rows[i].row);
        assert_int_equal(err.text[0] == '\0', rows[i].row != SESSION_NONE);
    }
}

TEST_WITH(an_undo_and_its_redo_leave_no_note_for_the_model, begin, end)
{
    struct message_list messages;
    message_list_init(&messages);
    restore("undone", 2, 3);
    restore("undone", 1, 4);
    restore("redone", 3, 5);
    assert_true(undo_notes_write(&notes, &messages));
    assert_string_equal(messages.items[0].text, "The user changed which of your writes stand:\n"
                                                "- undone: write_file of \"f\"; its change is gone\n"
                                                "Read these files again before you rely on their content.\n");
    restore("redone", 4, 6);
    assert_false(undo_notes_write(&notes, &messages));
    assert_int_equal(messages.count, 1);
    message_list_release(&messages);
}
