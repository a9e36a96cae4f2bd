/* The replay screen: shows a recording at a position, and writes the journal of a fork that starts there. It executes
 * nothing.
 *
 * `target` is the position the user wants. Between two frames the player folds toward it in bounded pieces, so a jump
 * across a million events shows its progress and can be interrupted. Playing moves the target with the recorded time.
 * The time a user spent on a decision is shortened to WAIT_MAX_US.
 *
 * A session that another process writes is a recording that grows. A user at its end stays at its end. */

#include "app_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli_error.h"
#include "player.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <unistd.h>

#define FOLD_AT_ONCE 20000
#define SCAN_AT_ONCE 5000
#define FRAME_US     33000
#define WAIT_MAX_US  1500000 /* longest shown wait for an answer, or at a gate */
#define SPEED_MIN    0.25
#define SPEED_MAX    64.0

struct replay {
    struct app *app;
    struct player *player;
    struct view_cache *cache;
    char *file;
    const char *title;
    size_t target;
    double speed; /* 0: as fast as possible */
    bool playing;
    int64_t play_us, play_t; /* loop time and recording time when playing began */
    struct loop_timer timer;
    bool scanned, said;
    struct loop_watch *grows; /* watches the file while another process writes it; else NULL */
    int grows_fd;
};

#define REPLAY_OF(timer_) ((struct replay *)((char *)(timer_)-offsetof(struct replay, timer)))

static int64_t time_of(const struct replay *replay, size_t index)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    if (index >= player_count(replay->player) ||
        journal_event_short(player_lines(replay->player), index, &event, &arena, NULL))
        return -1;
    return event.t;
}

/* ---- playing ---- */

static void play_on(struct loop_timer *timer);

static int64_t playing_t(const struct replay *replay)
{
    return replay->play_t + (int64_t)((double)(loop_now_us(replay->app->loop) - replay->play_us) * replay->speed);
}

static void pause_play(struct replay *replay)
{
    replay->playing = false;
    loop_timer_stop(replay->app->loop, &replay->timer);
    app_tick(replay->app, false);
}

static void begin_play(struct replay *replay)
{
    replay->playing = true;
    replay->play_us = loop_now_us(replay->app->loop);
    replay->play_t = player_session(replay->player)->last_t;
    loop_timer_start(replay->app->loop, &replay->timer, replay->play_us, play_on);
}

/* Moves the target past every event that is due, then sets the timer for the next event. */
static void play_on(struct loop_timer *timer)
{
    struct replay *replay = REPLAY_OF(timer);
    struct loop *loop = replay->app->loop;
    int64_t now = loop_now_us(loop), due = now + FRAME_US;
    size_t count = player_count(replay->player), moved = 0;
    if (player_position(replay->player) == replay->target) {
        size_t at = replay->target;
        int64_t t = -1;
        while (at < count && moved < FOLD_AT_ONCE &&
               (replay->speed <= 0 || (t = time_of(replay, at)) <= playing_t(replay))) {
            at++;
            moved++;
        }
        if (moved)
            player_seek(replay->player, replay->target = at, FOLD_AT_ONCE);
        if (at >= count || player_fault(replay->player)) {
            pause_play(replay);
            app_dirty(replay->app);
            return;
        }
        if (replay->speed > 0 && moved < FOLD_AT_ONCE) {
            t = time_of(replay, at);
            double wait = (double)(t - playing_t(replay)) / replay->speed;
            const struct session *session = player_session(replay->player); /* the user may have to decide */
            if (wait > WAIT_MAX_US && (session->open_question != SESSION_NONE || session->held_gate)) {
                replay->play_us = now;
                replay->play_t = t - (int64_t)(WAIT_MAX_US * replay->speed);
                wait = WAIT_MAX_US;
            }
            if (wait > FRAME_US)
                due = now + (int64_t)(wait < 3.6e9 ? wait : 3.6e9);
        }
    }
    loop_timer_start(loop, timer, due, play_on);
    app_tick(replay->app, due > now + FRAME_US);
    app_dirty(replay->app);
}

static void go_to(struct replay *replay, size_t position)
{
    pause_play(replay);
    replay->target = position > player_count(replay->player) ? player_count(replay->player) : position;
    app_dirty(replay->app);
}

/* ---- actions of the user ---- */

static int jump(struct replay *replay, size_t position, const char *what, struct err *err)
{
    if (position == SIZE_MAX && !replay->scanned)
        return err_set(err, "no %s so far; the recording is still being read", what);
    if (position == SIZE_MAX)
        return err_set(err, "no %s", what);
    go_to(replay, position);
    return 0;
}

static int set_speed(struct replay *replay, double speed, struct err *err)
{
    if (!(speed >= SPEED_MIN && speed <= SPEED_MAX))
        return err_set(err, "the speed must be 0.25 to 64");
    bool playing = replay->playing;
    replay->speed = speed;
    if (playing)
        begin_play(replay);
    return 0;
}

static int change_speed(struct replay *replay, double factor)
{
    double speed = (replay->speed > 0 ? replay->speed : SPEED_MAX) * factor;
    struct err ignored = ERR_INIT;
    return set_speed(replay, speed < SPEED_MIN ? SPEED_MIN : speed > SPEED_MAX ? SPEED_MAX : speed, &ignored);
}

/* "58", "12.4s" */
static int go_to_place(struct replay *replay, const char *text, struct err *err)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || !(number >= 0) || number > 1e15)
        return err_set(err, "goto needs an event (goto 58) or a time (goto 12.4s)");
    size_t count = player_count(replay->player);
    bool beyond = number > (double)count;
    if (strcmp(end, "s") == 0) {
        beyond = count && number * 1e6 > (double)time_of(replay, count - 1);
        go_to(replay, beyond ? count : player_at_time(replay->player, (int64_t)(number * 1e6)));
    } else if (!*end) {
        go_to(replay, beyond ? count : (size_t)number);
    } else {
        return err_set(err, "goto needs an event (goto 58) or a time (goto 12.4s)");
    }
    if (beyond)
        ui_message(replay->app->ui, LOOK_WARN, "The recording ends earlier. This is its last event, %zu at %.3f s.",
                   count, (double)time_of(replay, count - 1) / 1e6);
    return 0;
}

static int save(const struct replay *replay, const char *path, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (access(path, F_OK) == 0)
        return err_set(err, "%.200s: file exists", path);
    if (file_read(replay->file, &text, 0, err))
        return -1;
    return file_replace(path, text.buf, text.len, 0600, err);
}

static int run_command(struct replay *replay, const char *text, struct err *err)
{
    if (strncmp(text, "goto ", 5) == 0)
        return go_to_place(replay, text + 5, err);
    if (strncmp(text, "speed ", 6) == 0)
        return set_speed(replay, strtod(text + 6, NULL), err);
    if (strncmp(text, "save ", 5) == 0)
        return save(replay, text + 5, err);
    return err_set(err, "%.40s does not work in a recording", text);
}

/* Jumps start at the target, because that is where the user expects to be. */
static int arrive(struct replay *replay, struct err *err)
{
    return player_seek(replay->player, replay->target, FOLD_AT_ONCE) ? 0 : err_set(err, "still seeking");
}

static int replay_act(struct app *app, enum action action, const char *argument, struct err *err)
{
    struct replay *replay = app->own;
    const struct player *player = replay->player;
    size_t at = replay->target;
    switch (action) {
    case ACTION_PLAY:
        if (replay->playing) {
            pause_play(replay);
            return 0;
        }
        if (at >= player_count(player))
            return err_set(err, "end of the recording (%s goes to the start)",
                           keymap_key(app->keymap, ACTION_REPLAY_HOME));
        begin_play(replay);
        return 0;
    case ACTION_EVENT_NEXT:
        return jump(replay, at < player_count(player) ? at + 1 : SIZE_MAX, "event after this one", err);
    case ACTION_EVENT_PREVIOUS:
        return jump(replay, at > 1 ? at - 1 : SIZE_MAX, "event before this one", err);
    case ACTION_STEP_NEXT:
        return arrive(replay, err) ? -1 : jump(replay, player_next_step(player, false), "step after this one", err);
    case ACTION_STEP_PREVIOUS:
        return arrive(replay, err) ? -1 : jump(replay, player_next_step(player, true), "step before this one", err);
    case ACTION_NEXT_WRITE:
        return arrive(replay, err) ? -1 : jump(replay, player_next_write(player, false), "write after this", err);
    case ACTION_NEXT_ERROR:
        return arrive(replay, err) ? -1 : jump(replay, player_next_error(player, false), "error after this", err);
    case ACTION_REPLAY_HOME:
        go_to(replay, 1);
        return 0;
    case ACTION_REPLAY_END:
        go_to(replay, player_count(player));
        return 0;
    case ACTION_FASTER:
        return change_speed(replay, 2);
    case ACTION_SLOWER:
        return change_speed(replay, 0.5);
    case ACTION_FORK:
        if (journal_held(replay->file))
            return err_set(err, "another keyturn is running this session in this folder (quit that one first)");
        if (arrive(replay, err))
            return -1;
        app_go(app, (struct screen){
                        .kind = SCREEN_FORK, .file = xstrdup(replay->file), .position = player_position(player)});
        return 0;
    case ACTION_COMMAND:
        return run_command(replay, argument ? argument : "", err);
    default:
        return err_set(err, "not available in a recording");
    }
}

static int replay_submit(struct app *app, const struct intent *intent, struct err *err)
{
    (void)intent;
    return err_set(err, "a recording is read only (%s forks a live session from here)",
                   keymap_key(app->keymap, ACTION_FORK));
}

/* ---- frames ---- */

static bool replay_work(struct app *app)
{
    struct replay *replay = app->own;
    bool there = player_seek(replay->player, replay->target, FOLD_AT_ONCE);
    ui_progress(app->ui, "seeking", there ? 0 : player_position(replay->player), there ? 0 : replay->target);
    if (there && !replay->scanned)
        replay->scanned = player_scan(replay->player, SCAN_AT_ONCE);
    if (player_fault(replay->player) && !replay->said) {
        replay->said = true;
        if (replay->target > player_count(replay->player))
            replay->target = player_count(replay->player);
        ui_message(app->ui, LOOK_ERROR, "%s; events after it are not shown", player_fault(replay->player));
    }
    return !there || !replay->scanned;
}

static void replay_fill(struct app *app)
{
    struct replay *replay = app->own;
    const struct session *session = player_session(replay->player);
    size_t at = player_position(replay->player);
    int64_t now = session->last_t;
    if (replay->playing && replay->speed > 0 && at < player_count(replay->player)) {
        int64_t t = playing_t(replay), next = time_of(replay, at);
        now = t > now ? (t < next ? t : next) : now;
    }
    struct view *view = &app->view;
    *view = (struct view){
        .mode = VIEW_REPLAY,
        .session = session,
        .lines = player_lines(replay->player),
        .cache = replay->cache,
        .title = replay->title,
        .now_t = now,
        .ticking = replay->playing,
        .position = at,
        .count = player_count(replay->player),
        .speed = replay->speed,
        .playing = replay->playing,
    };
    view->held = session->held_gate != 0;
}

static void replay_marks(struct app *app, size_t columns, unsigned char *out)
{
    player_marks(((struct replay *)app->own)->player, columns, out);
}

static const struct screen_ops ops = {
    .fill = replay_fill,
    .submit = replay_submit,
    .replay = replay_act,
    .marks = replay_marks,
    .quit = app_leave,
    .work = replay_work,
};

/* ---- following a running session ---- */

static void stop_following(struct replay *replay)
{
    loop_watch_free(replay->grows);
    replay->grows = NULL;
    if (replay->grows_fd >= 0)
        close(replay->grows_fd);
    replay->grows_fd = -1;
}

static void has_grown(void *data)
{
    struct replay *replay = data;
    char events[4096];
    while (read(replay->grows_fd, events, sizeof(events)) > 0)
        ;
    bool at_end = replay->target >= player_count(replay->player);
    if (player_refresh(replay->player)) {
        replay->scanned = false;
        if (at_end)
            replay->target = player_count(replay->player);
    }
    if (!journal_held(replay->file)) {
        stop_following(replay);
        ui_message(replay->app->ui, LOOK_TEXT, "The session has ended. %s forks a new one from here.",
                   keymap_key(replay->app->keymap, ACTION_FORK));
    }
    app_dirty(replay->app);
}

/* Without polling: the kernel reports when the file grows and when its writer exits. */
static void follow(struct replay *replay)
{
    if (!journal_held(replay->file))
        return;
    replay->grows_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (replay->grows_fd < 0 || inotify_add_watch(replay->grows_fd, replay->file, IN_MODIFY | IN_CLOSE_WRITE) < 0) {
        stop_following(replay);
        return;
    }
    replay->grows = loop_watch_fd(replay->app->loop, replay->grows_fd, has_grown, replay);
    player_refresh(replay->player);
    replay->target = player_count(replay->player);
    ui_message(replay->app->ui, LOOK_WARN,
               "Another keyturn is running this session. It is shown read only, as it grows.");
}

/* ---- life of the screen ---- */

/* The first interesting position: the prompt of the first turn, or the one given by --until. */
static size_t first_place(const struct replay *replay)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    size_t count = player_count(replay->player);
    int64_t until = replay->app->options->until;
    if (until >= 0)
        return (uint64_t)until < count ? (size_t)until : count;
    for (size_t i = 0; i < count && i < 20; i++)
        if (journal_event(player_lines(replay->player), i, &event, &arena, NULL) == 0 &&
            event.type == EVENT_TURN_STARTED)
            return i + 1;
    return 1;
}

int app_screen_replay(struct app *app, const struct screen *screen)
{
    struct err err = ERR_INIT;
    struct replay replay = {.app = app, .file = xstrdup(screen->file), .grows_fd = -1};
    app->status = -1;
    int status = 0;
    replay.player = player_open(screen->file, &err);
    if (!replay.player) {
        status = cli_file_error(STATUS_USAGE, screen->file, &err);
        free(replay.file);
        return status;
    }
    replay.cache = view_cache_new();
    const char *slash = strrchr(replay.file, '/');
    replay.title = slash ? slash + 1 : replay.file;
    replay.speed = !isnan(app->options->speed) ? app->options->speed : 1;
    replay.target = screen->position ? screen->position : first_place(&replay);
    struct loop *loop = loop_new(clock_system());
    status = app_begin(app, loop, &ops, &replay);
    if (!status) {
        app->status = 0;
        if (!screen->position && app->options->until < 0)
            follow(&replay);
        if (!isnan(app->options->speed)) {
            player_seek(replay.player, replay.target, 0);
            begin_play(&replay);
        }
        app_run(app);
        status = app->status;
        loop_timer_stop(loop, &replay.timer);
        stop_following(&replay);
    }
    app_end(app);
    loop_free(loop);
    view_cache_free(replay.cache);
    player_free(replay.player);
    free(replay.file);
    return status;
}

/* ---- a fork: a new journal that begins like a recording. Lines are copied and made printable; the recording is only
 * read. A turn that is unfinished at the fork point continues in the new session: the engine rebuilds it from the
 * lines. A turn that was about to end is ended in the new file ---- */

static void copy_lines(struct strbuf *out, const struct journal_reader *reader, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        size_t len;
        const char *line = journal_line(reader, i, &len);
        size_t begin = out->len;
        strbuf_add(out, line, len);
        json_make_printable(out, begin);
        strbuf_addch(out, '\n');
    }
}

/* After the write gate is closed, only the summary of the turn is missing. */
static void end_turn(struct strbuf *out, const struct session *session, size_t seq)
{
    const struct session_turn *turn = session_turn(session);
    if (!turn || !turn->writes_closed || turn->finished_seq)
        return;
    event_encode(out,
                 &(struct event){.seq = (int64_t)seq + 1,
                                 .t = session->last_t,
                                 .turn = turn->number,
                                 .type = EVENT_TURN_FINISHED,
                                 .type_name = event_type_name(EVENT_TURN_FINISHED),
                                 .turn_finished = {.status = "cancelled", .text = "[the session was forked here]"}});
    strbuf_addch(out, '\n');
}

/* Folds the copied lines. Returns -1 and sets err if a line cannot be read. */
static int fold(struct session *session, const struct journal_reader *reader, size_t position, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < position; i++) {
        struct event event;
        arena_reset(&arena);
        if (journal_event(reader, i, &event, &arena, err))
            return -1;
        session_apply(session, &event);
    }
    return 0;
}

static char *new_path(struct err *err)
{
    char stamp[CLOCK_STAMP_MAX];
    uint16_t random = 0;
    struct clock *clock = clock_system();
    clock_stamp(clock->wall_us(clock), stamp);
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = 0;
    CLEANUP(free) char *folder = file_xdg_path(FILE_DATA, "sessions");
    if (file_mkdirs(folder, 0700, err))
        return NULL;
    return xasprintf("%s/%.4s%.2s%.2s-%.2s%.2s%.2s-%04x.jsonl", folder, stamp, stamp + 5, stamp + 8, stamp + 11,
                     stamp + 14, stamp + 17, random);
}

char *app_fork_journal(const char *file, size_t position, bool *goes_on, struct err *err)
{
    struct journal_reader *reader = journal_open(file, err);
    if (!reader)
        return NULL;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(session) struct session session;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event last;
    session_init(&session);
    if (position > journal_count(reader))
        position = journal_count(reader);
    if (position < 1)
        position = 1;
    /* Leave out the end of the session, because the fork continues. */
    while (position > 1 && journal_event(reader, position - 1, &last, &arena, NULL) == 0 &&
           last.type == EVENT_SESSION_ENDED)
        position--;
    CLEANUP(free) char *path = fold(&session, reader, position, err) ? NULL : new_path(err);
    if (path) {
        copy_lines(&text, reader, 0, position);
        end_turn(&text, &session, position);
        *goes_on = session_turn_running(&session) && !session_turn(&session)->writes_closed;
        if (file_replace(path, text.buf, text.len, 0600, err))
            free(steal(&path));
    }
    journal_reader_free(reader);
    return steal(&path);
}

char *app_fork_rest(const char *file, size_t position, size_t *len, struct err *err)
{
    struct journal_reader *reader = journal_open(file, err);
    if (!reader)
        return NULL;
    struct strbuf text = STRBUF_INIT;
    copy_lines(&text, reader, 0, 1);
    copy_lines(&text, reader, position ? position : 1, journal_count(reader));
    journal_reader_free(reader);
    return strbuf_detach(&text, len);
}
