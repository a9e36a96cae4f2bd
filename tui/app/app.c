/* The main loop of the workbench: draws frames, reads keys, handles signals, and switches between screens.
 *
 * Code that changes the state calls app_dirty. A frame is drawn at most every 33 ms, and only after app_dirty. Only
 * what a key changes is drawn at once, if the last frame was cheap. An idle program never wakes up. The only repeating
 * timer is the clock on the screen: once a second, while a turn runs. A message that expires and a new question each
 * use a one-shot timer.
 *
 * The loop reads keys when they arrive, and reads all pending keys again right before it draws a frame. The user
 * pressed those keys before the frame, so they apply to the state that was on the screen. They cannot answer a question
 * that this frame shows for the first time. */

#include "app_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli_error.h"
#include "demo.h"
#include "session_list.h"
#include "setup.h"
#include "start.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FRAME_US      33000
#define CHEAP_US      5000 /* a frame that takes less may follow each key */
#define WORK_US       10000
#define SECOND_US     1000000
#define AGAIN_US      (2 * SECOND_US) /* a second Ctrl-C within this time quits */
#define STRAY_MAX     4096
#define KEYS_AT_ONCE  4096
#define SUSPEND_WATCH 4 /* its index in signals[] */

#define APP_OF(place, member) ((struct app *)((char *)(place)-offsetof(struct app, member)))

void screen_release(struct screen *screen)
{
    free(screen->file);
    free(screen->prompt);
    free(screen->session);
    free(screen->find);
    *screen = (struct screen){0};
}

/* ---- frames ---- */

static void draw(struct loop_timer *timer);

void app_dirty(struct app *app)
{
    if (!app->term || app->leaving || loop_timer_armed(&app->frame))
        return;
    int64_t now = loop_now_us(app->loop), due = app->frame_us + FRAME_US;
    loop_timer_start(app->loop, &app->frame, due > now ? due : now, draw);
}

/* After a key: waiting for the next frame would be felt as a slow echo. */
static void app_dirty_at_once(struct app *app)
{
    if (app->term && !app->leaving && app->frame_cost_us < CHEAP_US)
        loop_timer_start(app->loop, &app->frame, loop_now_us(app->loop), draw);
    else
        app_dirty(app);
}

static void tick(struct loop_timer *timer)
{
    app_dirty(APP_OF(timer, tick));
}

void app_tick(struct app *app, bool wanted)
{
    if (!wanted)
        loop_timer_stop(app->loop, &app->tick);
    else if (!loop_timer_armed(&app->tick))
        loop_timer_start(app->loop, &app->tick, loop_now_us(app->loop) + SECOND_US, tick);
}

static void said(struct loop_timer *timer)
{
    app_dirty(APP_OF(timer, said));
}

/* Schedules a frame for changes that only time causes: a message expires, a question starts to wait. */
static void watch_due(struct app *app)
{
    int64_t due = ui_due(app->ui);
    if (due)
        loop_timer_start(app->loop, &app->said, due, said);
    else
        loop_timer_stop(app->loop, &app->said);
}

/* True for the second Ctrl-C within AGAIN_US: the program then quits, whatever it is doing. */
static bool quits(struct app *app, const struct key *key)
{
    int64_t now = loop_now_us(app->loop), before = app->interrupt_us;
    if (key->code != 'c' || !key->ctrl || key->alt)
        return false;
    app->interrupt_us = now;
    if (!before || now - before >= AGAIN_US)
        return false;
    app->status = STATUS_INTERRUPTED;
    app->ops->quit(app);
    return true;
}

/* Handles a request to exit from outside: cancels the turn, closes the journal, restores the terminal. */
static void stop(struct app *app, int status)
{
    app->stopped = status;
    screen_release(&app->next);
    app->ops->quit(app);
}

/* Reads pending keys, for at most the time one loop step may take. `more`: keys may be left. */
static size_t read_keys(struct app *app, bool *more)
{
    struct key key;
    size_t count = 0;
    int64_t began_us = clock_system()->now_us(clock_system());
    *more = false;
    while (!app->leaving && count < KEYS_AT_ONCE && term_key(app->term, &key)) {
        if (app->ops->look)
            app->ops->look(app);
        if (!quits(app, &key))
            ui_key(app->ui, &app->view, &key);
        count++;
        *more = clock_system()->now_us(clock_system()) - began_us > WORK_US;
        if (*more)
            break;
    }
    return count;
}

static void keys_ready(void *data)
{
    struct app *app = data;
    bool more; /* before the next frame */
    if (read_keys(app, &more) == 0 && term_gone(app->term)) {
        loop_watch_free(app->keys);
        app->keys = NULL;
        stop(app, STATUS_HUNG_UP);
        return;
    }
    app_dirty_at_once(app);
}

static void draw(struct loop_timer *timer)
{
    struct app *app = APP_OF(timer, frame);
    int rows, cols;
    bool more;
    read_keys(app, &more);
    if (app->leaving)
        return;
    if (more) { /* the user pressed these keys before this frame, so read them before it is drawn */
        app_dirty(app);
        return;
    }
    /* Slow work and painting are separate loop steps, because each may use the full time of one step. */
    int64_t began_us = clock_system()->now_us(clock_system());
    more = app->ops->work && (app->worked || app->ops->work(app));
    app->worked = !app->worked && clock_system()->now_us(clock_system()) - began_us > WORK_US;
    if (app->worked) {
        app_dirty(app);
        return;
    }
    began_us = clock_system()->now_us(clock_system());
    app->ops->fill(app);
    more |= ui_work(app->ui, &app->view);
    term_size(app->term, &rows, &cols);
    if (app->canvas.rows != rows || app->canvas.cols != cols) {
        canvas_resize(&app->canvas, rows, cols);
        ui_resize(app->ui, rows, cols);
    }
    canvas_clear(&app->canvas);
    ui_clock(app->ui, loop_now_us(app->loop));
    ui_render(app->ui, &app->view, &app->canvas);
    term_present(app->term, &app->canvas, ui_theme(app->ui));
    app->frame_us = loop_now_us(app->loop);
    app->frame_cost_us = clock_system()->now_us(clock_system()) - began_us;
    ui_presented(app->ui, &app->view);
    watch_due(app);
    if (more)
        app_dirty(app);
}

/* ---- signals, and what libraries write to fd 2 ---- */

static void resized(void *data)
{
    struct app *app = data;
    if (app->term)
        term_resized(app->term);
    app_dirty(app);
}

static void terminated(void *data)
{
    stop(data, STATUS_TERMINATED);
}

static void hung_up(void *data)
{
    stop(data, STATUS_HUNG_UP);
}

static void asked_to_suspend(void *data)
{
    app_suspend(data);
}

/* SIGINT from another process; Ctrl-C on the terminal arrives as a key. */
static void interrupted(void *data)
{
    struct app *app = data;
    struct key key = {.code = 'c', .ctrl = true};
    if (app->ops->look)
        app->ops->look(app);
    if (!quits(app, &key))
        ui_key(app->ui, &app->view, &key);
    app_dirty(app);
}

/* Moves what libraries wrote to fd 2 into the log. Returns the last line, which the caller frees; NULL if there is
 * none. */
static char *app_drain_stray(struct app *app)
{
    char bytes[1024];
    ssize_t got;
    char *last = NULL;
    while (app->term && (got = read(term_stray_fd(app->term), bytes, sizeof(bytes))) > 0) {
        strbuf_add(&app->stray_text, bytes, (size_t)got);
        char *newline;
        while ((newline = memchr(app->stray_text.buf, '\n', app->stray_text.len)) || app->stray_text.len > STRAY_MAX) {
            size_t len = newline ? (size_t)(newline - app->stray_text.buf) : app->stray_text.len;
            free(last);
            last = xmemdup0(app->stray_text.buf, len);
            log_warn("stderr: %s", last);
            size_t used = len + (newline != NULL);
            memmove(app->stray_text.buf, app->stray_text.buf + used, app->stray_text.len - used + 1);
            strbuf_set_len(&app->stray_text, app->stray_text.len - used);
        }
    }
    return last;
}

static void stray_ready(void *data)
{
    struct app *app = data;
    CLEANUP(free) char *line = app_drain_stray(app);
    /* Show the program's own messages to the user. Lines that a library prints go to the log. */
    if (line && strncmp(line, "keyturn: ", 9) == 0 && app->ui) {
        ui_message(app->ui, LOOK_WARN, "%s", line + 9);
        app_dirty(app);
    }
}

/* ---- screens ---- */

static void stop_later(struct loop_task *task)
{
    loop_stop(APP_OF(task, stop)->loop);
}

void app_leave(struct app *app)
{
    app->leaving = true;
    loop_post(app->loop, &app->stop, stop_later);
}

void app_go(struct app *app, struct screen screen)
{
    screen_release(&app->next);
    app->next = screen;
    app->ops->quit(app);
}

static void watch_signals(struct app *app)
{
    static const struct {
        int signum;
        void (*caught)(void *data);
    } table[] = {
        {SIGWINCH, resized},         {SIGTERM, terminated},       {SIGHUP, hung_up},           {SIGINT, interrupted},
        {SIGTSTP, asked_to_suspend}, {SIGTTIN, asked_to_suspend}, {SIGTTOU, asked_to_suspend},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        app->signals[i] = loop_watch_signal(app->loop, table[i].signum, table[i].caught, app);
}

static const char *wanted_theme(const struct app *app)
{
    return app->theme ? app->theme : app->options->theme ? app->options->theme : app->config->theme;
}

static int take_terminal(struct app *app)
{
    struct err err = ERR_INIT;
    if (app->term)
        return 0;
    app->term = term_start(&err);
    if (!app->term)
        return cli_error(STATUS_USAGE, "%s (--headless needs no terminal)", err.text);
    canvas_init(&app->canvas);
    app->canvas.ascii = !term_utf8(app->term);
    return 0;
}

int app_begin(struct app *app, struct loop *loop, const struct screen_ops *ops, void *own)
{
    app->loop = loop;
    app->ops = ops;
    app->own = own;
    app->leaving = false;
    app->frame_us = app->interrupt_us = 0;
    watch_signals(app); /* before ncurses installs its own handlers */
    int status = take_terminal(app);
    if (status)
        return status;
    /* term.c restored the default handler for this signal, to keep ncurses from using it: watch the signal again. */
    loop_watch_free(app->signals[SUSPEND_WATCH]);
    app->signals[SUSPEND_WATCH] = loop_watch_signal(loop, SIGTSTP, asked_to_suspend, app);
    app->keys = loop_watch_fd(loop, term_fd(app->term), keys_ready, app);
    loop_watch_keep(app->keys, true);
    app->stray = loop_watch_fd(loop, term_stray_fd(app->term), stray_ready, app);
    app->ui = ui_new(&app->host, app->keymap, wanted_theme(app));
    ui_grace(app->ui, app->config->question_grace_ms < 0 ? UI_GRACE_US : app->config->question_grace_ms * 1000);
    canvas_resize(&app->canvas, 0, 0);
    if (app->notice)
        ui_message(app->ui, LOOK_WARN, "%s", app->notice);
    free(steal(&app->notice));
    return 0;
}

void app_run(struct app *app)
{
    app->ops->fill(app); /* keys may arrive before the first frame */
    app_dirty(app);
    loop_run(app->loop);
}

void app_end(struct app *app)
{
    if (!app->loop)
        return;
    loop_timer_stop(app->loop, &app->frame);
    loop_timer_stop(app->loop, &app->tick);
    loop_timer_stop(app->loop, &app->said);
    loop_unpost(app->loop, &app->stop);
    for (size_t i = 0; i < COUNT_OF(app->signals); i++) {
        loop_watch_free(app->signals[i]);
        app->signals[i] = NULL;
    }
    loop_watch_free(app->keys);
    loop_watch_free(app->stray);
    app->keys = app->stray = NULL;
    if (app->ui) {
        free(app->theme);
        app->theme = xstrdup(ui_theme(app->ui)->name);
        ui_free(app->ui);
        app->ui = NULL;
    }
    app->loop = NULL;
    app->ops = NULL;
    app->view = (struct view){0};
}

/* ---- the start screen ---- */

struct start_screen {
    struct session session;
    struct journal_reader *lines; /* empty, so that every lookup finds no event */
};

static void start_fill(struct app *app)
{
    struct start_screen *start = app->own;
    app->view = (struct view){.mode = VIEW_LIVE, .session = &start->session, .lines = start->lines, .title = ""};
}

static int start_submit(struct app *app, const struct intent *intent, struct err *err)
{
    if (intent->type != INTENT_START)
        return err_set(err, "no turn is running; type a prompt, or choose a session");
    if (!app->options->model && !app->config->model)
        return err_set(err, "no model is configured (m on an empty prompt shows how; the demo needs none)");
    free(steal(&app->wanted));
    app_go(app, (struct screen){.kind = SCREEN_LIVE, .prompt = xstrdup(intent->start.prompt)});
    return 0;
}

static int start_replay(struct app *app, enum action action, const char *argument, struct err *err)
{
    (void)app, (void)action, (void)argument;
    return err_set(err, "no recording is open; choose a session first");
}

static const struct screen_ops start_screen_ops = {
    .fill = start_fill, .submit = start_submit, .replay = start_replay, .quit = app_leave};

static int app_screen_start(struct app *app, const struct screen *screen)
{
    static const char nothing[] = "{\"type\":\"session.started\",\"v\":1}\n";
    struct err err = ERR_INIT;
    struct start_screen start = {.lines = journal_open_bytes(nothing, sizeof(nothing) - 1, &err)};
    if (!start.lines)
        BUG("%s", err.text);
    session_init(&start.session);
    struct loop *loop = loop_new(clock_system());
    app->status = -1;
    int status = app_begin(app, loop, &start_screen_ops, &start);
    if (!status) {
        CLEANUP(free) char *here = getcwd(NULL, 0);
        CLEANUP(free) char *folder = sessions_folder(here ? here : ".");
        CLEANUP(free) char *fixtures = demo_folder();
        CLEANUP(free) char *config = config_default_path();
        app->status = 0;
        ui_open_dialog(app->ui, start_new(&(struct start_info){
                                    .folder = folder,
                                    .model = app->options->model ? app->options->model : app->config->model,
                                    .config = app->options->config ? app->options->config : config,
                                    .fixtures = fixtures,
                                    .prompt = app->wanted,
                                }));
        if (screen->find)
            ui_open_dialog(app->ui, dialog_sessions_new(screen->find));
        if (screen->set_up)
            ui_open_dialog(app->ui, dialog_model_setup_new(app->options->config ? app->options->config : config, NULL));
        app_run(app);
        status = app->status;
    }
    app_end(app);
    loop_free(loop);
    session_release(&start.session);
    journal_reader_free(start.lines);
    return status;
}

/* ---- switching screens ---- */

static int run_screen(struct app *app, const struct screen *screen)
{
    switch (screen->kind) {
    case SCREEN_LIVE:
    case SCREEN_DEMO:
    case SCREEN_EXECUTE:
    case SCREEN_FORK:
    case SCREEN_RESUME:
        return app_screen_live(app, screen);
    case SCREEN_REPLAY:
        return app_screen_replay(app, screen);
    case SCREEN_START:
    case SCREEN_NONE:
        break;
    }
    return app_screen_start(app, screen);
}

/* Reports an unknown theme before anything runs. */
static int check_theme(const struct app *app)
{
    struct err err = ERR_INIT;
    struct theme theme;
    const char *name = wanted_theme(app);
    return name && theme_load(&theme, name, &err) ? cli_error(STATUS_USAGE, "%s", err.text) : 0;
}

/* Runs one screen after the other. If a screen cannot be opened, the user returns to the previous screen and sees a
 * message. If the first screen cannot be opened, the program exits with the message, even if the terminal was already
 * taken. */
static int run_screens(struct app *app, struct screen first)
{
    int status = STATUS_DONE;
    app->next = first;
    while (app->next.kind != SCREEN_NONE) {
        struct screen screen = app->next;
        app->next = (struct screen){0};
        bool had_screen = app->term != NULL;
        status = run_screen(app, &screen);
        bool opened = app->status >= 0;
        if (!opened && app->term && screen.kind != SCREEN_START) {
            char *line = app_drain_stray(app);
            free(app->notice);
            app->notice = line && strncmp(line, "keyturn: ", 9) == 0 ? xstrdup(line + 9)
                          : screen.file                              ? xasprintf("cannot open '%s'", screen.file)
                                                                     : xstrdup("cannot open the session");
            free(line);
            if (had_screen)
                app->next = (struct screen){.kind = SCREEN_START};
        }
        screen_release(&screen);
    }
    return status;
}

static int app_main(const struct options *options, struct screen first)
{
    CLEANUP(config) struct config *config = setup_config(options);
    if (!config) {
        screen_release(&first);
        return STATUS_USAGE;
    }
    struct app app = {.options = options, .config = config};
    strbuf_init(&app.stray_text);
    app_host_init(&app);
    signal(SIGPIPE, SIG_IGN);
    app.keymap = setup_keymap(config);
    int status = app.keymap ? check_theme(&app) : STATUS_USAGE;
    /* Without a model no turn can run, so explain how to set one up. */
    if ((first.kind == SCREEN_LIVE || first.kind == SCREEN_RESUME) && !options->model && !config->model) {
        app.wanted = steal(&first.prompt);
        screen_release(&first);
        first = (struct screen){.kind = SCREEN_START, .set_up = true};
    }
    if (!status) {
        status = run_screens(&app, first);
        status = app.stopped ? app.stopped : status;
    } else {
        screen_release(&first);
    }
    if (app.term) {
        free(app_drain_stray(&app));
        term_stop(app.term);
        canvas_release(&app.canvas);
    }
    if (app.notice)
        cli_error(status, "%s", app.notice);
    if (app.farewell)
        printf("%s\n", app.farewell);
    if (app.leaked) {
        fflush(stdout);
        _exit(status); /* a thread still uses this memory: exit without freeing it */
    }
    keymap_free(app.keymap);
    strbuf_release(&app.stray_text);
    free(app.theme);
    free(app.notice);
    free(app.wanted);
    free(app.farewell);
    config = app.config; /* the user may have reloaded it */
    return status;
}

bool app_wanted(const struct options *options)
{
    const char *name = getenv("TERM");
    return !options->headless && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && name && *name &&
           strcmp(name, "dumb") != 0;
}

int app_live(const struct options *options, bool demo)
{
    return app_main(options, (struct screen){.kind = demo ? SCREEN_DEMO : SCREEN_LIVE,
                                             .prompt = options->operand ? xstrdup(options->operand) : NULL});
}

int app_resume(const struct options *options, const struct session_row *row)
{
    if (!row)
        return app_main(
            options, (struct screen){.kind = SCREEN_START, .find = xstrdup(options->operand ? options->operand : "")});
    return app_main(options,
                    (struct screen){.kind = SCREEN_RESUME,
                                    .file = xstrdup(row->path),
                                    .session = xstrdup(row->id),
                                    .prompt = options->newest && options->operand ? xstrdup(options->operand) : NULL});
}

int app_replay(const struct options *options)
{
    return app_main(options, (struct screen){.kind = options->execute ? SCREEN_EXECUTE : SCREEN_REPLAY,
                                             .file = sessions_find(options->operand)});
}

int app_start(const struct options *options)
{
    return app_main(options, (struct screen){.kind = SCREEN_START});
}
