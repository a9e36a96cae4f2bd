/* Measures the cost of a frame: a million events against a thousand, a step back near the end, a filter over all
 * events, and drawing while 100,000 events arrive each second. */

#include "app/keymap.h"
#include "app/player.h"
#include "app/ui.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "bench.h"
#include "event/journal.h"
#include "screen/canvas.h"
#include <stdio.h>

#define MANY    1000000
#define FEW     1000
#define FRAMES  200
#define RATE    100000 /* events a second */
#define SECONDS 10
#define FPS     30

struct screen {
    struct ui *ui;
    struct keymap *keymap;
    struct canvas canvas;
    struct view view;
    struct view_cache *cache;
};

static int refuse(struct ui_host *host, const struct intent *intent, struct err *err)
{
    (void)host;
    (void)intent;
    return err_set(err, "nothing runs here");
}

static void nothing(struct ui_host *host)
{
    (void)host;
}

static struct ui_host host = {.submit = refuse, .suspend = nothing, .redraw = nothing, .quit = nothing};

static void screen_open(struct screen *screen)
{
    screen->cache = view_cache_new();
    screen->keymap = keymap_new();
    screen->ui = ui_new(&host, screen->keymap, "default");
    canvas_init(&screen->canvas);
    canvas_resize(&screen->canvas, 40, 120);
    ui_resize(screen->ui, 40, 120);
}

static void screen_close(struct screen *screen)
{
    ui_free(screen->ui);
    view_cache_free(screen->cache);
    keymap_free(screen->keymap);
    canvas_release(&screen->canvas);
}

static void press(struct screen *screen, const char *name)
{
    struct key key;
    if (key_parse(&key, name, NULL) < 0)
        abort();
    ui_key(screen->ui, &screen->view, &key);
}

static void frame(struct screen *screen)
{
    ui_render(screen->ui, &screen->view, &screen->canvas);
    ui_presented(screen->ui, &screen->view);
}

/* Seconds of CPU of one frame of scrolling through the events of a recording, cursor at its end. */
static double scroll(const char *path, double *step_back_s)
{
    struct player *player = player_open(path, NULL);
    struct screen screen = {0};
    double start, best = 1e9;
    if (!player)
        abort();
    player_seek(player, player_count(player), 0);
    start = bench_cpu_s();
    player_seek(player, player_count(player) - 1, 0);
    *step_back_s = bench_cpu_s() - start;
    screen_open(&screen);
    screen.view = (struct view){.mode = VIEW_REPLAY,
                                .session = player_session(player),
                                .lines = player_lines(player),
                                .cache = screen.cache,
                                .title = "bench",
                                .now_t = player_session(player)->last_t,
                                .position = player_position(player),
                                .count = player_count(player),
                                .speed = 1};
    frame(&screen);
    press(&screen, "2");
    for (int round = 0; round < 5; round++) {
        start = bench_cpu_s();
        for (int i = 0; i < FRAMES; i++) {
            press(&screen, i % 20 == 0 ? "PgUp" : "Up");
            frame(&screen);
        }
        if (bench_cpu_s() - start < best)
            best = bench_cpu_s() - start;
    }
    screen_close(&screen);
    player_free(player);
    return best / FRAMES;
}

static void decode_all(const struct journal_reader *lines)
{
    struct arena arena = ARENA_INIT;
    struct event event;
    for (size_t i = 0; i < journal_count(lines); i++) {
        if (journal_event_short(lines, i, &event, &arena, NULL) < 0)
            abort();
        arena_reset(&arena);
    }
    arena_release(&arena);
}

/* CPU seconds until a filter has checked every event, and of decoding them all. The filter searches the undecoded lines
 * because that is cheaper. */
static double filter(const char *path, double *decode_s)
{
    struct player *player = player_open(path, NULL);
    struct screen screen = {0};
    if (!player)
        abort();
    player_seek(player, player_count(player), 0);
    double start = bench_cpu_s();
    decode_all(player_lines(player));
    *decode_s = bench_cpu_s() - start;
    screen_open(&screen);
    screen.view = (struct view){.mode = VIEW_REPLAY,
                                .session = player_session(player),
                                .lines = player_lines(player),
                                .cache = screen.cache,
                                .title = "bench",
                                .position = player_position(player),
                                .count = player_count(player),
                                .speed = 1};
    frame(&screen);
    press(&screen, "2");
    press(&screen, "f");
    for (const char *at = "write.decided"; *at; at++)
        press(&screen, (char[]){*at, '\0'});
    start = bench_cpu_s();
    press(&screen, "Enter");
    while (ui_work(screen.ui, &screen.view))
        ;
    start = bench_cpu_s() - start;
    screen_close(&screen);
    player_free(player);
    return start;
}

/* Share of one core that drawing takes while recorded events arrive. */
static double flood(const char *path)
{
    struct journal *journal = journal_create(path, clock_system(), NULL);
    struct journal_reader *reader;
    struct screen screen = {0};
    struct session session;
    struct event event = {.type = EVENT_SESSION_STARTED, .type_name = "session.started", .session_started = {.v = 1}};
    double drawing = 0;
    session_init(&session);
    if (!journal || journal_append_all(journal, &event, 1, NULL) < 0 || !(reader = journal_open(path, NULL)))
        abort();
    session_apply(&session, &event);
    screen_open(&screen);
    for (int f = 0; f < SECONDS * FPS; f++) {
        for (int i = 0; i < RATE / FPS; i++) {
            event = (struct event){.turn = 1,
                                   .type = EVENT_TOOL_OUTPUT,
                                   .type_name = "tool.output",
                                   .tool_output = {.call = "c1", .stream = "stdout", .text = "a line of output"}};
            if (journal_append_all(journal, &event, 1, NULL) < 0)
                abort();
            session_apply(&session, &event);
            view_cache_put(screen.cache, &event, &session);
        }
        double start = bench_cpu_s();
        journal_refresh(reader);
        screen.view = (struct view){.mode = VIEW_LIVE,
                                    .session = &session,
                                    .lines = reader,
                                    .cache = screen.cache,
                                    .title = "bench",
                                    .now_t = session.last_t,
                                    .position = session.event_count,
                                    .count = session.event_count};
        ui_work(screen.ui, &screen.view);
        frame(&screen);
        drawing += bench_cpu_s() - start;
    }
    if (journal_count(reader) != (size_t)(1 + RATE / FPS * FPS * SECONDS) ||
        session.event_count != journal_count(reader))
        abort(); /* an event was lost */
    screen_close(&screen);
    session_release(&session);
    journal_reader_free(reader);
    journal_close(journal);
    return drawing / SECONDS * 100;
}

int main(void)
{
    char *dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    CLEANUP(free) char *few = xasprintf("%s/few.jsonl", dir);
    CLEANUP(free) char *many = xasprintf("%s/many.jsonl", dir);
    CLEANUP(free) char *live = xasprintf("%s/live.jsonl", dir);
    double step_s, decode_s;
    if (!dir)
        return 2;
    bench_write_journal(few, FEW);
    bench_write_journal(many, MANY);
    double few_s = scroll(few, &step_s);
    double many_s = scroll(many, &step_s);
    bench_report("frame-1m-events", many_s * 1e6, "us", few_s * 1e6, 1.5);
    bench_report_max("step-back-1m", step_s * 1e3, "ms", 50);
    double filter_s = filter(many, &decode_s);
    bench_report("filter-1m-events", filter_s * 1e3, "ms", decode_s * 1e3, 1);
    bench_report_max("draw-100k-events/s", flood(live), "%", 35);
    if (file_remove_tree(dir, NULL) < 0)
        return 2;
    free(dir);
    return bench_status();
}
