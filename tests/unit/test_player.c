/* Tests of stepping through a recording: on every way to a position, the session there is the fold of the lines before
 * it. */

#include "app/player.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/session_dump.h"
#include "support/test.h"
#include <string.h>
#include <time.h>

#define DEMO SOURCE_DIR "/fixtures/demo.jsonl"

static struct player *open_player(const char *path)
{
    struct err err = ERR_INIT;
    struct player *player = player_open(path, &err);
    if (!player)
        fail_msg("%s: %s", path, err.text);
    return player;
}

static void check_session(const struct player *player, size_t position)
{
    struct session fresh;
    CLEANUP(strbuf) struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
    session_init(&fresh);
    for (size_t i = 0; i < position; i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct event event;
        assert_int_equal(journal_event(player_lines(player), i, &event, &arena, NULL), 0);
        session_apply(&fresh, &event);
    }
    session_dump(&want, &fresh);
    session_dump(&got, player_session(player));
    assert_int_equal(player_position(player), position);
    assert_string_equal(want.buf, got.buf);
    session_release(&fresh);
}

TEST(every_position_both_ways)
{
    struct player *player = open_player(DEMO);
    size_t count = player_count(player);
    assert_true(count > 40);
    for (size_t at = 0; at <= count; at++) {
        assert_true(player_seek(player, at, 0));
        check_session(player, at);
    }
    for (size_t at = count + 1; at-- > 0;) {
        assert_true(player_seek(player, at, 0));
        check_session(player, at);
    }
    player_free(player);
}

/* From every start, the session equals a fold from the beginning, and its texts exist already: the shared pool does not
 * grow. */
TEST(ten_thousand_leaps)
{
    struct player *player = open_player(DEMO);
    size_t count = player_count(player);
    char **want = xcalloc(count + 1, sizeof(*want));
    struct session fresh;
    session_init(&fresh);
    for (size_t at = 0; at <= count; at++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct strbuf dump = STRBUF_INIT;
        struct event event;
        session_dump(&dump, &fresh);
        want[at] = strbuf_detach(&dump, NULL);
        if (at < count) {
            assert_int_equal(journal_event(player_lines(player), at, &event, &arena, NULL), 0);
            session_apply(&fresh, &event);
        }
    }
    assert_true(player_seek(player, SIZE_MAX, 0));
    const struct text_pool *texts = player_session(player)->texts;
    size_t bytes = text_pool_bytes(texts);
    assert_true(bytes > 0);
    assert_int_equal(text_pool_bytes(fresh.texts), bytes);
    unsigned random = 7;
    for (int i = 0; i < 10000; i++) {
        random = random * 1103515245u + 12345u;
        size_t at = (random >> 8) % (count + 1);
        assert_true(player_seek(player, at, 0));
        CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
        session_dump(&got, player_session(player));
        assert_string_equal(want[at], got.buf);
        assert_ptr_equal(player_session(player)->texts, texts);
        assert_int_equal(text_pool_bytes(texts), bytes);
    }
    for (size_t at = 0; at <= count; at++)
        free(want[at]);
    free(want);
    session_release(&fresh);
    player_free(player);
}

TEST(a_budget_goes_piece_by_piece)
{
    struct player *player = open_player(DEMO);
    assert_false(player_seek(player, 30, 7));
    assert_int_equal(player_position(player), 7);
    int calls = 1;
    while (!player_seek(player, 30, 7))
        calls++;
    assert_int_equal(calls, 4);
    check_session(player, 30);
    player_free(player);
}

TEST(jumps_and_marks)
{
    struct player *player = open_player(DEMO);
    size_t steps = 0, at;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    while ((at = player_next_step(player, false)) != SIZE_MAX) {
        assert_true(at > player_position(player));
        player_seek(player, at, 0);
        assert_int_equal(journal_event(player_lines(player), at - 1, &event, &arena, NULL), 0);
        assert_int_equal(event.type, EVENT_MODEL_REQUESTED);
        steps++;
    }
    assert_int_equal(steps, player_session(player)->step_count);
    while ((at = player_next_step(player, true)) != SIZE_MAX) {
        assert_true(at < player_position(player));
        player_seek(player, at, 0);
        steps--;
    }
    assert_int_equal(steps, 1);
    player_seek(player, 0, 0);
    at = player_next_write(player, false);
    assert_int_equal(journal_event(player_lines(player), at - 1, &event, &arena, NULL), 0);
    assert_int_equal(event.type, EVENT_WRITE_PROPOSED);
    assert_int_equal(player_at_time(player, event.t - 1) < at, 1);
    assert_true(player_at_time(player, event.t) >= at);
    assert_int_equal(player_at_time(player, INT64_MAX), player_count(player));

    while (!player_scan(player, 10))
        ;
    unsigned char marks[80], all = 0;
    player_marks(player, sizeof(marks), marks);
    for (size_t i = 0; i < sizeof(marks); i++)
        all |= marks[i];
    assert_true(all & PLAYER_STEP && all & PLAYER_WRITE);
    player_free(player);
}

TEST(programs_that_end_badly_are_errors)
{
    struct player *player = open_player(SOURCE_DIR "/tests/screens/cases/program-ends/ends.jsonl");
    size_t found = 0;
    assert_true(player_seek(player, 1, 0));
    for (size_t at; (at = player_next_error(player, false)) != SIZE_MAX; found++)
        assert_true(player_seek(player, at, 0));
    assert_int_equal(found, 6); /* five that ran, one that could not */
    player_free(player);
}

TEST(a_bad_line_stops_it)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-player-", &err);
    CLEANUP(free) char *path = xasprintf("%s/bad.jsonl", folder);
    const char *text = "{\"type\":\"session.started\",\"v\":1}\n"
                       "{\"type\":\"turn.started\",\"turn\":1,\"prompt\":\"x\"}\n"
                       "{\"type\":\"model.responded\",\"turn\":1,\"step\":\"no number\"}\n"
                       "{\"type\":\"turn.finished\",\"turn\":1,\"status\":\"done\"}\n";
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
    struct player *player = open_player(path);
    assert_null(player_fault(player));
    assert_true(player_seek(player, 4, 0));
    assert_int_equal(player_position(player), 2);
    assert_non_null(strstr(player_fault(player), "line 3 is broken: "));
    assert_int_equal(player_count(player), 2); /* the recording ends there, from any position */
    assert_true(player_seek(player, 1, 0));
    assert_int_equal(player_next_error(player, false), SIZE_MAX);
    assert_non_null(player_fault(player));
    player_free(player);
    /* The player need not reach it: a search for marks finds it too. */
    player = open_player(path);
    assert_true(player_scan(player, 100));
    assert_non_null(strstr(player_fault(player), "line 3 is broken: "));
    assert_int_equal(player_count(player), 2);
    assert_true(player_seek(player, 4, 0));
    assert_int_equal(player_position(player), 2);
    player_free(player);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Not a limit in milliseconds, which would depend on the machine: of what folding all of it costs, a step back near the
 * end is a small part. */
TEST(a_step_back_is_cheap_in_a_long_one)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-player-", &err);
    CLEANUP(free) char *path = xasprintf("%s/long.jsonl", folder);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1}\n"
                         "{\"seq\":2,\"t\":1,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"x\"}\n");
    for (int i = 3; i <= 100000; i++)
        strbuf_addf(&text, "{\"seq\":%d,\"t\":%d,\"turn\":1,\"type\":\"budget.charged\",\"used\":{\"steps\":%d}}\n", i,
                    i, i);
    assert_int_equal(file_replace(path, text.buf, text.len, 0600, &err), 0);
    struct player *player = open_player(path);
    size_t count = player_count(player);
    double before = cpu_ms();
    player_seek(player, count, 0);
    double whole = cpu_ms() - before;
    before = cpu_ms();
    for (size_t i = 1; i <= 100; i++)
        player_seek(player, count - i, 0);
    double back = (cpu_ms() - before) / 100;
    if (back > whole / 20)
        fail_msg("a step back takes %.2f ms, all of it %.2f ms", back, whole);
    assert_int_equal(player_position(player), count - 100);
    player_free(player);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}
