/* Tests of the fold, which makes a session of its events.
 *
 * Every case under cases/ folds to the state in the file beside it (UPDATE_GOLDEN=1 updates it; read the diff). Every
 * prefix of a case, and of a file in fixtures/, folds too, and folding in two parts gives the same state as folding at
 * once. An invalid order of events leaves faults and does nothing else. */

#include "base/file.h"
#include "base/mem.h"
#include "event/journal.h"
#include "event/session.h"
#include "support/session_dump.h"
#include "support/test.h"
#include <glob.h>
#include <string.h>

/* More places to split a file at than this are sampled. */
#define SPLITS_MAX 120

/* Applies lines [from, to). Each event and its text are freed before the next one: the fold must keep no pointer to
 * them. */
static void apply(struct session *session, const struct journal_reader *reader, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct event event, kept;
        struct err err = ERR_INIT;
        if (journal_event(reader, i, &kept, &arena, &err) < 0)
            fail_msg("line %ld: %s", err.line, err.text);
        CLEANUP(free) char *copy = xmemdup0(kept.raw, kept.raw_len);
        if (event_decode(&event, &arena, copy, kept.raw_len, &err) < 0)
            fail_msg("line %ld: %s", err.line, err.text);
        event.seq = kept.seq;
        event.t = kept.t;
        session_apply(session, &event);
    }
}

static char *dump_of(const struct session *session)
{
    struct strbuf sb = STRBUF_INIT;
    session_dump(&sb, session);
    return strbuf_detach(&sb, NULL);
}

static char *fold_of(const struct journal_reader *reader, size_t count)
{
    CLEANUP(session) struct session session;
    session_init(&session);
    apply(&session, reader, 0, count);
    return dump_of(&session);
}

static struct journal_reader *must_open(const char *path)
{
    struct err err = ERR_INIT;
    struct journal_reader *reader = journal_open(path, &err);
    if (!reader)
        fail_msg("%s:%ld: %s", path, err.line, err.text);
    return reader;
}

static size_t each_file(const char *pattern, void (*check)(const char *path))
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    size_t count = found.gl_pathc;
    for (size_t i = 0; i < count; i++)
        check(found.gl_pathv[i]);
    globfree(&found);
    return count;
}

static void check_golden(const char *path)
{
    CLEANUP(free) char *golden = xasprintf("%.*s.state", (int)(strlen(path) - strlen(".jsonl")), path);
    struct journal_reader *reader = must_open(path);
    CLEANUP(free) char *got = fold_of(reader, journal_count(reader));
    journal_reader_free(reader);
    struct err err = ERR_INIT;
    if (getenv("UPDATE_GOLDEN")) {
        if (file_replace(golden, got, strlen(got), 0644, &err) < 0)
            fail_msg("%s", err.text);
        return;
    }
    CLEANUP(strbuf) struct strbuf want = STRBUF_INIT;
    if (file_read(golden, &want, 0, &err) < 0)
        fail_msg("%s: %s (UPDATE_GOLDEN=1 writes it)", golden, err.text);
    if (strcmp(want.buf, got) != 0)
        fail_msg("%s: not what %s says\n%s", path, golden, got);
}

TEST(cases_fold_to_their_state)
{
    assert_true(each_file(SOURCE_DIR "/tests/fold/cases/*.jsonl", check_golden) > 0);
}

static void check_splits(const char *path)
{
    struct journal_reader *reader = must_open(path);
    size_t count = journal_count(reader), step = count / SPLITS_MAX + 1;
    CLEANUP(free) char *whole = fold_of(reader, count);
    CLEANUP(session) struct session walking;
    session_init(&walking);
    for (size_t split = 0; split <= count; split += step) {
        /* Reading a state must not change it, so the incremental state is dumped on the way. */
        apply(&walking, reader, walking.event_count, split);
        CLEANUP(free) char *so_far = dump_of(&walking);
        CLEANUP(free) char *prefix = fold_of(reader, split);
        assert_string_equal(so_far, prefix);
        CLEANUP(session) struct session parts;
        session_init(&parts);
        apply(&parts, reader, 0, split);
        apply(&parts, reader, split, count);
        CLEANUP(free) char *joined = dump_of(&parts);
        assert_string_equal(joined, whole);
        assert_int_equal(walking.event_count, split);
    }
    journal_reader_free(reader);
}

TEST(every_prefix_folds)
{
    each_file(SOURCE_DIR "/tests/fold/cases/*.jsonl", check_splits);
    each_file(SOURCE_DIR "/fixtures/*.jsonl", check_splits);
}

/* The engine recorded the fixtures and keeps the promises about order, so they have no faults. */
static void check_no_faults(const char *path)
{
    struct journal_reader *reader = must_open(path);
    CLEANUP(session) struct session session;
    session_init(&session);
    apply(&session, reader, 0, journal_count(reader));
    if (session.fault_count)
        fail_msg("%s: seq %u: %s", path, session.faults[0].seq, session.faults[0].text);
    journal_reader_free(reader);
}

TEST(fixtures_have_no_faults)
{
    each_file(SOURCE_DIR "/fixtures/*.jsonl", check_no_faults);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Invariants of the rows, for any fold. */
static void assert_sound(const struct session *session)
{
    uint32_t calls = 0, steps = 0, waves = 0;
    for (uint32_t i = 0; i < session->turn_count; i++) {
        const struct session_turn *turn = &session->turns[i];
        assert_int_equal(turn->first_call, calls);
        assert_int_equal(turn->first_step, steps);
        assert_int_equal(turn->first_wave, waves);
        calls += turn->call_count;
        steps += turn->step_count;
        waves += turn->wave_count;
        for (uint32_t k = turn->first_call; k < calls; k++)
            assert_int_equal(session->calls[k].turn, i);
    }
    assert_int_equal(calls, session->call_count);
    assert_int_equal(steps, session->step_count);
    assert_int_equal(waves, session->wave_count);
    for (uint32_t i = 0; i < session->wave_count; i++) {
        const struct session_wave *wave = &session->waves[i];
        assert_true(wave->call_count > 0 && wave->first_call + wave->call_count <= session->call_count);
        assert_int_equal(session->calls[wave->first_call].wave, i);
    }
    for (uint32_t i = 0; i < session->call_count; i++) {
        const struct session_call *call = &session->calls[i];
        assert_true(call->step < session->step_count);
        assert_true(call->wave == SESSION_NONE || call->wave < session->wave_count);
        assert_true(call->ask == SESSION_NONE || call->ask < session->ask_count);
        assert_true((call->finished_seq != 0) == (call->state >= CALL_DONE));
        uint32_t newest = session_find_call(session, session_name(session, call->id));
        assert_true(!call->id || (newest != SESSION_NONE && newest >= i));
    }
    assert_true(session->open_question == SESSION_NONE || session->open_question < session->ask_count);
    for (uint32_t i = 0; i < session->program_count; i++) {
        const struct session_program *program = &session->programs[i];
        assert_true(program->call == SESSION_NONE || program->call < session->call_count);
        assert_true(program->newest == SESSION_NONE || program->newest < session->piece_count);
    }
    for (uint32_t i = 0; i < session->piece_count; i++)
        assert_true(session->pieces[i].before == SESSION_NONE || session->pieces[i].before < i);
    assert_true(session->newest_workspace == SESSION_NONE || session->newest_workspace < session->workspace_count);
}

static void check_disorder(const char *path)
{
    struct journal_reader *reader = must_open(path);
    size_t count = journal_count(reader);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event *events = arena_calloc(&arena, count, sizeof(*events));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(journal_event(reader, i, &events[i], &arena, NULL), 0);
    uint32_t seed = 20261116;
    for (int round = 0; round < 300; round++) {
        CLEANUP(session) struct session session;
        session_init(&session);
        for (size_t i = 0; i < 2 * count; i++) {
            struct event event = events[next_random(&seed) % count];
            if (round % 3 == 0)
                event.seq = (int64_t)i + 1;
            if (round % 3 == 1)
                event.turn = next_random(&seed) % 4;
            session_apply(&session, &event);
        }
        assert_sound(&session);
        CLEANUP(free) char *text = dump_of(&session);
        assert_true(strlen(text) > 0);
    }
    journal_reader_free(reader);
}

TEST(events_in_any_order_fold)
{
    each_file(SOURCE_DIR "/tests/fold/cases/*.jsonl", check_disorder);
}

TEST(an_empty_session_can_be_read)
{
    CLEANUP(session) struct session session;
    session_init(&session);
    assert_null(session_turn(&session));
    assert_false(session_turn_running(&session));
    assert_string_equal(session_name(&session, 0), "");
    assert_string_equal(session_name(&session, 99), "");
    assert_int_equal(session_find_call(&session, "c1"), SESSION_NONE);
    assert_int_equal(session_find_ask(&session, NULL), SESSION_NONE);
    assert_int_equal(budget_key_from_name("nothing"), -1);
    for (int key = 0; key < BUDGET_KEY_COUNT; key++)
        assert_int_equal(budget_key_from_name(budget_key_name((enum budget_key)key)), key);
    assert_string_equal(call_state_name(CALL_TIMED_OUT), "timed out");
}

/* With a scan per look-up this would take minutes. */
TEST(look_ups_are_fast_with_many_calls)
{
    enum { CALLS = 200000, PER_STEP = 100 };
    CLEANUP(session) struct session session;
    session_init(&session);
    struct event event = {.seq = 1, .type = EVENT_SESSION_STARTED};
    session_apply(&session, &event);
    event = (struct event){.seq = 2, .turn = 1, .type = EVENT_TURN_STARTED};
    session_apply(&session, &event);
    char id[32];
    for (int i = 0; i < CALLS; i += PER_STEP) {
        char ids[PER_STEP][32];
        struct event_tool_request calls[PER_STEP] = {0};
        for (int k = 0; k < PER_STEP; k++) {
            snprintf(ids[k], sizeof(ids[k]), "call_%d", i + k);
            calls[k] = (struct event_tool_request){.id = ids[k], .name = "grep"};
        }
        event = (struct event){.seq = session.last_seq + 1, .turn = 1, .type = EVENT_MODEL_RESPONDED};
        event.model_responded.step = i / PER_STEP + 1;
        event.model_responded.tool_calls = (struct event_tool_request_list){calls, PER_STEP};
        session_apply(&session, &event);
    }
    for (int i = 0; i < CALLS; i++) {
        snprintf(id, sizeof(id), "call_%d", i);
        event = (struct event){.seq = session.last_seq + 1, .turn = 1, .type = EVENT_TOOL_STARTED};
        event.tool_started.call = id;
        session_apply(&session, &event);
        event = (struct event){.seq = session.last_seq + 1, .turn = 1, .type = EVENT_TOOL_FINISHED};
        event.tool_finished.call = id;
        event.tool_finished.outcome = "result";
        session_apply(&session, &event);
    }
    assert_int_equal(session.call_count, CALLS);
    assert_int_equal(session.fault_count, 0);
    assert_int_equal(session_find_call(&session, "call_199999"), CALLS - 1);
    assert_int_equal(session.calls[12345].state, CALL_DONE);
}
