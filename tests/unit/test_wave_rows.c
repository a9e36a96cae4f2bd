/* Tests of the rows of the waves pane: moving forward and back in a session gives the same rows as building them from
 * scratch. */

#include "base/mem.h"
#include "event/journal.h"
#include "panes/wave_rows.h"
#include "support/test.h"
#include <glob.h>
#include <stdint.h>
#include <string.h>

static void fold(struct session *session, const struct journal_reader *reader, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct event event;
        if (journal_event(reader, i, &event, &arena, NULL) == 0)
            session_apply(session, &event);
    }
}

static void check_same(const struct wave_rows *rows, const struct session *session)
{
    struct wave_rows fresh = {0};
    wave_rows_update(&fresh, session);
    assert_int_equal(wave_rows_count(rows), wave_rows_count(&fresh));
    for (size_t i = 0; i < wave_rows_count(&fresh); i++) {
        struct waverow a = wave_rows_at(rows, session, i), b = wave_rows_at(&fresh, session, i);
        assert_int_equal(a.kind, b.kind);
        assert_int_equal(a.index, b.index);
        assert_int_equal(a.wave, b.wave);
        if (b.kind == WAVEROW_CALL) {
            struct wave_axis axis;
            assert_true(b.index < session->call_count);
            wave_axis_make(&axis, session, b.wave, session->last_t);
            const struct session_call *call = &session->calls[b.index];
            int64_t end = wave_call_end(session, call, session->last_t);
            if (call->started_seq)
                assert_true(wave_axis_at(&axis, call->started_t) <= wave_axis_at(&axis, end) &&
                            wave_axis_at(&axis, end) <= axis.span);
        }
    }
    wave_rows_release(&fresh);
}

static void check_recording(const char *path)
{
    struct err err = ERR_INIT;
    struct journal_reader *reader = journal_open(path, &err);
    struct wave_rows rows = {0};
    if (!reader)
        fail_msg("%s: %s", path, err.text);
    size_t count = journal_count(reader);
    CLEANUP(session) struct session session;
    session_init(&session);
    for (size_t i = 0; i < count; i++) {
        fold(&session, reader, i, i + 1);
        wave_rows_update(&rows, &session);
        check_same(&rows, &session);
    }
    for (size_t end = count; end-- > 0;) {
        CLEANUP(session) struct session before;
        session_init(&before);
        fold(&before, reader, 0, end);
        wave_rows_update(&rows, &before);
        check_same(&rows, &before);
    }
    wave_rows_release(&rows);
    journal_reader_free(reader);
}

TEST(rows_are_the_same_forward_and_back)
{
    static const char *patterns[] = {SOURCE_DIR "/fixtures/*.jsonl", SOURCE_DIR "/tests/screens/cases/waves*/*.jsonl"};
    for (size_t p = 0; p < COUNT_OF(patterns); p++) {
        glob_t found;
        assert_int_equal(glob(patterns[p], 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++)
            check_recording(found.gl_pathv[i]);
        globfree(&found);
    }
}

/* Time held at a question and idle time at a gate are not on the axis. */
TEST(axis_leaves_out_holds)
{
    struct err err = ERR_INIT;
    struct journal_reader *reader = journal_open(SOURCE_DIR "/tests/screens/cases/waves-turns/waves.jsonl", &err);
    assert_non_null(reader);
    CLEANUP(session) struct session session;
    session_init(&session);
    fold(&session, reader, 0, journal_count(reader));
    struct wave_axis axis;
    wave_axis_make(&axis, &session, 0, session.last_t);
    assert_int_equal(axis.cut_count, 2);
    assert_int_equal(wave_call_held(&session, &session.calls[2], session.last_t), 7000000);
    assert_int_equal(axis.span, 200000); /* 12.2 s, of which 7 s held and 5 s idle */
    assert_int_equal(wave_slowest(&session, 0), 1);
    assert_int_equal(wave_slowest(&session, 1), SESSION_NONE);
    journal_reader_free(reader);
}

/* A call with two questions was held twice: neither time counts as running. */
TEST(a_question_that_comes_again_counts_too)
{
    struct err err = ERR_INIT;
    struct journal_reader *reader = journal_open(SOURCE_DIR "/tests/screens/cases/waves-again/again.jsonl", &err);
    assert_non_null(reader);
    CLEANUP(session) struct session session;
    session_init(&session);
    fold(&session, reader, 0, journal_count(reader));
    struct wave_axis axis;
    wave_axis_make(&axis, &session, 0, session.last_t);
    assert_int_equal(wave_call_held(&session, &session.calls[0], session.last_t), 30000000);
    assert_int_equal(axis.cut_count, 2);
    assert_int_equal(axis.span, 300000);
    journal_reader_free(reader);
}
