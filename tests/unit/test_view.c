/* Tests of a view's cache of events: an event matches its line and stays valid until the frame ends. */

#include "app/view.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <string.h>

#define EVENTS    2000
#define KEPT_MOST 256

struct rig {
    struct strbuf file;
    struct journal_reader *reader;
    struct session session;
    struct view view;
};

/* Lines that contain their number; every seq is `stride` times that of its line. */
static void rig_open(struct rig *rig, int stride, size_t padding)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *more = xcalloc(padding + 1, 1);
    memset(more, 'x', padding);
    strbuf_init(&rig->file);
    strbuf_addstr(&rig->file, "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1}\n");
    for (int i = 2; i <= EVENTS; i++)
        strbuf_addf(&rig->file, "{\"seq\":%d,\"t\":0,\"turn\":0,\"type\":\"session.ended\",\"reason\":\"r%d%s\"}\n",
                    i * stride, i, more);
    rig->reader = journal_open_bytes(rig->file.buf, rig->file.len, &err);
    assert_non_null(rig->reader);
    session_init(&rig->session);
    rig->view = (struct view){.session = &rig->session, .lines = rig->reader, .cache = view_cache_new()};
}

static void rig_close(struct rig *rig)
{
    view_cache_free(rig->view.cache);
    session_release(&rig->session);
    journal_reader_free(rig->reader);
    strbuf_release(&rig->file);
}

static void check_reason(const struct event *event, int number)
{
    CLEANUP(free) char *want = xasprintf("r%d", number);
    assert_non_null(event);
    assert_string_equal(event->session_ended.reason, want);
}

TEST(events_of_a_frame_stay_until_it_ends)
{
    static const struct event *events[EVENTS + 1];
    struct rig rig;
    rig_open(&rig, 1, 0);
    for (int i = 2; i <= EVENTS; i++)
        events[i] = view_event(&rig.view, i);
    for (int i = 2; i <= EVENTS; i++) {
        check_reason(events[i], i);
        assert_ptr_equal(view_event(&rig.view, i), events[i]);
        assert_memory_equal(events[i]->raw, "{\"seq\":", 7);
    }
    assert_int_equal(view_cache_count(rig.view.cache), EVENTS - 1);
    view_frame_end(&rig.view);
    assert_int_equal(view_cache_count(rig.view.cache), KEPT_MOST);
    assert_ptr_equal(view_event(&rig.view, EVENTS), events[EVENTS]); /* the newest are the ones that stayed */
    check_reason(view_event(&rig.view, 2), 2);
    assert_null(view_event(&rig.view, 0));
    assert_null(view_event(&rig.view, EVENTS + 1));
    rig_close(&rig);
}

TEST(long_events_count_by_their_size)
{
    struct rig rig;
    rig_open(&rig, 1, 200000);
    for (int i = 2; i <= 200; i++) {
        assert_non_null(view_event(&rig.view, i));
        view_frame_end(&rig.view);
    }
    assert_true(view_cache_count(rig.view.cache) < 8u << 20 >> 17);
    assert_true(view_cache_count(rig.view.cache) > 8);
    rig_close(&rig);
}

static size_t kept_of_long_events(bool words)
{
    struct rig rig;
    rig_open(&rig, 1, 100000);
    for (size_t row = 1; row < 200; row++) {
        assert_non_null(words ? (const void *)view_row_words(&rig.view, row) : view_row(&rig.view, row));
        view_frame_end(&rig.view);
    }
    size_t kept = view_cache_count(rig.view.cache);
    rig_close(&rig);
    return kept;
}

TEST(words_count_as_well)
{
    assert_true(kept_of_long_events(true) < kept_of_long_events(false));
}

TEST(a_file_with_holes_is_searched)
{
    struct rig rig;
    rig_open(&rig, 3, 0);
    for (int i = 2; i <= EVENTS; i += 17) {
        check_reason(view_event(&rig.view, 3 * i), i);
        assert_null(view_event(&rig.view, 3 * i + 1));
        assert_int_equal(view_find_row(&rig.view, 3 * i), i - 1);
    }
    rig_close(&rig);
}

/* The event that was put is given, and it is shown with the line that it became. */
TEST(recorded_line_is_not_decoded_again)
{
    struct rig rig;
    rig_open(&rig, 1, 0);
    struct event event = {.seq = 3, .type = EVENT_SESSION_ENDED, .type_name = "session.ended"};
    event.session_ended.reason = "not what the line says";
    rig.session.event_count = 3;
    view_cache_put(rig.view.cache, &event, &rig.session);
    event.session_ended.reason = "";
    const struct event *got = view_event_of(&rig.view, 3, EVENT_SESSION_ENDED);
    assert_non_null(got);
    assert_string_equal(got->session_ended.reason, "not what the line says");
    assert_memory_equal(got->raw, "{\"seq\":3,", 9);
    assert_null(view_event_of(&rig.view, 3, EVENT_HELD));
    for (int i = 4; i < 1000; i++) { /* once it went, it is read */
        view_event(&rig.view, i);
        view_frame_end(&rig.view);
    }
    check_reason(view_event(&rig.view, 3), 3);
    rig_close(&rig);
}
