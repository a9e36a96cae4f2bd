/* The live screen: an engine and a user. `run`, the demo, the execution of a recording, and a fork differ only in
 * model, folder and journal.
 *
 * Panes read the session of the engine. They read long texts from the cache, which the engine's sink fills with each
 * event. Events that were dropped from the cache are read again from the journal file. No other path leads from an
 * event to the screen. */

#include "live.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "cli_error.h"
#include "demo.h"
#include "dialogs/dialog.h"
#include "mcp/mcp.h"
#include "model/scripted.h"
#include "sandbox/scratch_dirs.h"
#include "screen/text.h"
#include "tools/artifact.h"
#include "tools/runtime.h"
#include "turn/divergence.h"
#include <string.h>
#include <unistd.h>

/* ---- waiting for MCP servers ---- */

struct waiting {
    struct app *app;
    struct mcp *mcp;
    struct session session;
    struct journal_reader *lines; /* empty, so that every lookup finds no event */
    struct servers_wait shown;
    struct mcp_status *servers;
    int64_t since_us;
    bool left;
};

static void waiting_fill(struct app *app)
{
    struct waiting *waiting = app->own;
    for (size_t i = 0; i < waiting->shown.count; i++)
        waiting->servers[i] = mcp_status(waiting->mcp, i);
    waiting->shown.waited_s = (double)(loop_now_us(app->loop) - waiting->since_us) / 1e6;
    app->view = (struct view){.mode = VIEW_LIVE, .session = &waiting->session, .lines = waiting->lines, .title = ""};
    app_tick(app, true);
}

static int waiting_submit(struct app *app, const struct intent *intent, struct err *err)
{
    (void)app;
    (void)intent;
    return err_set(err, "no turn yet: MCP servers are starting");
}

static int waiting_replay(struct app *app, enum action action, const char *argument, struct err *err)
{
    (void)app;
    (void)action;
    (void)argument;
    return err_set(err, "nothing is open yet");
}

static void waiting_quit(struct app *app)
{
    struct waiting *waiting = app->own;
    waiting->left = true;
    app_leave(app);
}

static const struct screen_ops waiting_ops = {
    .fill = waiting_fill, .submit = waiting_submit, .replay = waiting_replay, .quit = waiting_quit};

static void stop_waiting(void *user)
{
    app_leave(((struct waiting *)user)->app);
}

static void on_waiting_server_changed(void *user, const struct mcp_status *status)
{
    (void)status;
    app_dirty(((struct waiting *)user)->app);
}

static void run_waiting(struct waiting *waiting)
{
    struct app *app = waiting->app;
    ui_open_dialog(app->ui, dialog_servers_new(&waiting->shown));
    mcp_watch(waiting->mcp, on_waiting_server_changed, waiting);
    mcp_await(waiting->mcp, waiting->shown.limit_s, stop_waiting, waiting);
    app_run(app);
    mcp_await_stop(waiting->mcp);
    mcp_watch(waiting->mcp, NULL, NULL);
}

static int wait_for_servers(void *user, struct mcp *mcp, struct loop *loop, double limit_s)
{
    static const char nothing[] = "{\"type\":\"session.started\",\"v\":1}\n";
    struct app *app = user;
    struct err err = ERR_INIT;
    if (mcp_settled(mcp) || limit_s <= 0)
        return 0;
    bool came_from_start = app->term != NULL;
    char *notice = steal(&app->notice); /* kept for the next screen */
    struct waiting waiting = {.app = app,
                              .mcp = mcp,
                              .lines = journal_open_bytes(nothing, sizeof(nothing) - 1, &err),
                              .servers = xcalloc(mcp_count(mcp) + 1, sizeof(*waiting.servers)),
                              .since_us = loop_now_us(loop)};
    if (!waiting.lines)
        BUG("%s", err.text);
    waiting.shown = (struct servers_wait){.servers = waiting.servers,
                                          .count = mcp_count(mcp),
                                          .limit_s = limit_s,
                                          .leave = came_from_start ? "back" : "leave",
                                          .go_on = stop_waiting,
                                          .user = &waiting};
    session_init(&waiting.session);
    int status = app_begin(app, loop, &waiting_ops, &waiting);
    if (!status)
        run_waiting(&waiting);
    app_end(app);
    session_release(&waiting.session);
    journal_reader_free(waiting.lines);
    free(waiting.servers);
    app->notice = notice;
    if (!waiting.left)
        return status;
    app->status = STATUS_INTERRUPTED;
    if (came_from_start && !app->stopped)
        app->next = (struct screen){.kind = SCREEN_START};
    return STATUS_INTERRUPTED;
}

#define PATIENCE_US   (2 * 1000000)
#define LEAVE_POLL_US 5000

#define LIVE_OF(runtime, member) ((struct live *)((char *)(runtime)-offsetof(struct live, member)))

/* ---- events ---- */

/* The run reached the event that --until names: it holds at the next gate, as if the user had pressed pause there. */
static void stop_here(struct live *live)
{
    struct err err = ERR_INIT;
    live->stopped = true;
    if (engine_submit(live->setup.engine, &(struct intent){.type = INTENT_PAUSE}, &err))
        log_warn("pause: %s", err.text);
    ui_message(live->app->ui, LOOK_TEXT, "Paused at event %lld of the recording. %s steps, %s continues to the end.",
               (long long)live->app->options->until, keymap_key(live->app->keymap, ACTION_STEP),
               keymap_key(live->app->keymap, ACTION_CONTINUE));
}

/* Adds the names of a list, each after `sign`. Adds nothing for an empty list. */
static void add_names(struct strbuf *out, const struct event_strs *names, char sign)
{
    for (size_t i = 0; i < names->count; i++)
        strbuf_addf(out, "%s%c%s", out->len ? " " : "", sign, names->items[i] ? names->items[i] : "");
}

static void tools_changed(struct live *live, const struct event_tools_changed *event)
{
    CLEANUP(strbuf) struct strbuf names = STRBUF_INIT;
    add_names(&names, &event->added, '+');
    add_names(&names, &event->changed, '~');
    add_names(&names, &event->removed, '-');
    ui_message(live->app->ui, LOOK_TEXT, "The tools changed: %s", names.buf);
}

static void heard(struct sink *sink, const struct event *event, const struct session *session)
{
    struct live *live = LIVE_OF(sink, sink);
    view_cache_put(live->cache, event, session);
    if (live->setup.loop)
        live->t_base = loop_now_us(live->setup.loop) - event->t;
    if (live->divergences && !live->compared)
        divergences_see(live->divergences, event);
    if (live->divergences && !live->stopped && divergences_reached(live->divergences))
        stop_here(live);
    if (event->type == EVENT_TURN_FINISHED) {
        free(live->ended);
        live->ended = xstrdup(event->turn_finished.status ? event->turn_finished.status : "");
        if (!live->quit_us)
            live->app->status = exit_status_of_turn(live->ended);
    }
    if (event->type == EVENT_TOOLS_CHANGED)
        tools_changed(live, &event->tools_changed);
    if (live->running)
        app_dirty(live->app);
}

static void start_turn(struct live *live, const char *prompt)
{
    struct err err = ERR_INIT;
    struct intent intent = {.type = INTENT_START, .start = {prompt}};
    if (engine_submit(live->setup.engine, &intent, &err))
        ui_message(live->app->ui, LOOK_ERROR, "cannot start the turn: %s", err.text);
}

/* Starts the next recorded turn. After the last one, the user enters the next prompt. */
static void advance(struct loop_task *task)
{
    struct live *live = LIVE_OF(task, advance);
    if (live->quit_us || engine_turn_running(live->setup.engine))
        return;
    if (engine_turn_left(live->setup.engine) && live->kind == SCREEN_RESUME) {
        /* Continuing asks the model, which costs money: the user decides. */
        if (live->prompt)
            start_turn(live, steal(&live->prompt));
        else
            ui_message(live->app->ui, LOOK_WARN,
                       "The last turn was cut off. %s continues it, %s types the next prompt.",
                       keymap_key(live->app->keymap, ACTION_CONTINUE), keymap_key(live->app->keymap, ACTION_PROMPT));
    } else if (engine_turn_left(live->setup.engine)) {
        struct err err = ERR_INIT;
        if (engine_submit(live->setup.engine, &(struct intent){.type = INTENT_RESUME_TURN}, &err))
            ui_message(live->app->ui, LOOK_ERROR, "cannot resume the turn: %s", err.text);
    } else if (live->prompt) {
        start_turn(live, steal(&live->prompt));
    } else if (live->next < live->turns && !(live->ended && strcmp(live->ended, "cancelled") == 0)) {
        scripted_turn(live->setup.engine_config.provider, recording_turn_number(live->recording, live->next));
        start_turn(live, recording_prompt(live->recording, live->next++));
    } else if (live->divergences && !live->compared && live->next == live->turns) {
        live->compared = true;
        divergences_end(live->divergences);
        size_t count = divergences_count(live->divergences);
        if (count) {
            live->app->status = STATUS_DIVERGED;
            ui_message(live->app->ui, LOOK_WARN,
                       "Diverged from the recording in %zu place%s (:divergences lists them).", count,
                       count == 1 ? "" : "s");
        } else {
            const char *notice = divergences_notice(live->divergences, 0);
            ui_message(live->app->ui, notice ? LOOK_WARN : LOOK_GOOD, "No divergence from the recording%s%s.",
                       notice ? ", but " : "", notice ? notice : "");
        }
    }
    app_dirty(live->app);
}

static void turn_ended(void *data)
{
    struct live *live = data;
    loop_post(live->setup.loop, &live->advance, advance);
}

static void question_revised(void *data)
{
    struct app *app = ((struct live *)data)->app;
    ui_message_revised(app->ui);
    app_dirty(app);
}

/* ---- leaving ---- */

static void leave_when_idle(struct loop_timer *timer)
{
    struct live *live = LIVE_OF(timer, leave_poll);
    struct loop *loop = live->setup.loop;
    struct err err = ERR_INIT;
    bool idle = engine_idle(live->setup.engine);
    if (!idle && loop_now_us(loop) - live->quit_us < PATIENCE_US) {
        loop_timer_start(loop, timer, loop_now_us(loop) + LEAVE_POLL_US, leave_when_idle);
        return;
    }
    if (!engine_turn_running(live->setup.engine) &&
        engine_submit(live->setup.engine, &(struct intent){.type = INTENT_END}, &err))
        log_warn("end: %s", err.text);
    app_leave(live->app);
}

static void live_quit(struct app *app)
{
    struct live *live = app->own;
    struct err err = ERR_INIT;
    if (live->quit_us)
        return;
    live->quit_us = loop_now_us(app->loop) + 1;
    if (engine_turn_running(live->setup.engine)) {
        app->status = STATUS_INTERRUPTED;
        if (engine_submit(live->setup.engine, &(struct intent){.type = INTENT_CANCEL}, &err))
            log_debug("cancel: %s", err.text);
    }
    loop_timer_start(app->loop, &live->leave_poll, loop_now_us(app->loop), leave_when_idle);
}

/* ---- the view ---- */

static void show_hint(struct live *live)
{
    CLEANUP(strbuf) struct strbuf hint = STRBUF_INIT;
    demo_hint(&hint, &live->app->view, live->app->keymap, ui_hunks_kept(live->app->ui, &live->app->view));
    if (live->hint.len == hint.len && strcmp(live->hint.buf, hint.buf) == 0)
        return;
    strbuf_reset(&live->hint);
    strbuf_add(&live->hint, hint.buf, hint.len);
    ui_hint(live->app->ui, hint.len ? hint.buf : NULL);
}

/* Sets the engine of the programs. A recording has only the engine of the scripts. */
static void fill_program_engine(struct view *view, struct live *live)
{
    const struct setup *setup = &live->setup;
    const struct sandbox_engine *engine =
        setup->engine_config.runtime ? runtime_said(setup->engine_config.runtime)->engine : NULL;
    live->limits.engine = engine;
    view->limits = engine ? &live->limits : NULL;
    if (!engine || strcmp(engine->name, session_name(view->session, view->session->engine)) == 0)
        return;
    view->program_engine = engine->name;
    view->program_unsafe = engine->unsafe;
}

static void live_fill(struct app *app)
{
    struct live *live = app->own;
    const struct engine *engine = live->setup.engine;
    const struct question *open = engine_question(engine);
    journal_refresh(live->lines);
    bool running = engine_turn_running(engine);
    struct view *view = &app->view;
    *view = (struct view){
        .mode = live->kind == SCREEN_EXECUTE ? VIEW_EXECUTE : VIEW_LIVE,
        .session = engine_session(engine),
        .lines = live->lines,
        .cache = live->cache,
        .title = live->folder,
        .now_t = loop_now_us(app->loop) - live->t_base,
        .engine = engine,
        .gates = engine_gates(engine),
        .position = journal_count(live->lines),
        .count = journal_count(live->lines),
        .speed = 1,
        .divergences = live->divergences,
        .programs = live->setup.engine_config.programs,
        .models = live->models,
        .model_count = live->model_count,
        .rules = live->setup.engine_config.rules,
    };
    fill_program_engine(view, live);
    if (live->setup.engine_config.artifacts)
        view->artifacts = artifact_store_folder(live->setup.engine_config.artifacts);
    if (live->setup.engine_config.pool) {
        sandbox_view_fill(&live->sandbox, live->setup.engine_config.pool);
        view->sandbox = &live->sandbox;
    }
    view->held = engine_held(engine, &view->gate);
    if (open && live->setup.engine_config.ask_timeout_ms)
        view->question_due_t = open->due_us - live->t_base;
    view->ticking = running && !open && !view->held;
    app_tick(app, running && !live->quit_us);
    if (live->kind == SCREEN_DEMO)
        show_hint(live);
    if (engine_failed(engine))
        ui_message(app->ui, LOOK_ERROR, "%s (turn ended: actions that cannot be recorded are not done)",
                   engine_failed(engine));
}

static void live_look(struct app *app)
{
    app->view.held = engine_held(((struct live *)app->own)->setup.engine, &app->view.gate);
}

static int live_replay(struct app *app, enum action action, const char *argument, struct err *err)
{
    struct live *live = app->own;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (action != ACTION_COMMAND || !argument || strncmp(argument, "save ", 5) != 0)
        return err_set(err, "a live turn has no replay (O opens a recording)");
    if (access(argument + 5, F_OK) == 0)
        return err_set(err, "%.200s: file exists", argument + 5);
    if (file_read(live->setup.journal, &text, 0, err))
        return -1;
    return file_replace(argument + 5, text.buf, text.len, 0600, err);
}

static const struct screen_ops ops = {.fill = live_fill, .look = live_look, .replay = live_replay, .quit = live_quit};

/* ---- setting up ---- */

static void boxes_changed(void *user)
{
    app_dirty(((struct live *)user)->app);
}

/* ---- MCP servers ---- */

static void server_changed(void *user, const struct mcp_status *status)
{
    struct live *live = user;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    bool good = status->state == MCP_READY;
    if (status->state == MCP_STARTING || !live->running)
        return;
    mcp_status_write(&line, status);
    ui_message(live->app->ui, good ? LOOK_GOOD : LOOK_WARN, "%s", line.buf);
    app_dirty(live->app);
}

/* Shows which MCP servers started, or which are missing. */
static void tell_servers(struct live *live)
{
    CLEANUP(strbuf) struct strbuf ready = STRBUF_INIT;
    struct mcp *mcp = live->setup.mcp;
    for (size_t i = 0; mcp && i < mcp_count(mcp); i++) {
        struct mcp_status status = mcp_status(mcp, i);
        if (status.state == MCP_READY)
            strbuf_addf(&ready, "%s%s (%zu)", ready.len ? ", " : "Tool servers: ", status.name, status.tool_count);
        else if (status.state != MCP_OFF) {
            server_changed(live, &status);
            return;
        }
    }
    if (ready.len)
        ui_message(live->app->ui, LOOK_TEXT, "%s", ready.buf);
}

static int open_live(struct live *live, const struct screen *screen)
{
    struct app *app = live->app;
    struct err err = ERR_INIT;
    struct setup_plan plan = {.options = app->options,
                              .config = app->config,
                              .interactive = true,
                              .speed = 1,
                              .sinks = &live->sink,
                              .wait = wait_for_servers,
                              .waiter = app};
    int status = live_plan(live, screen, &plan);
    if (status)
        return status;
    plan.workspace = live->workspace;
    status = setup_open(&live->setup, &plan);
    if (status)
        return status;
    if (live->setup.engine_config.pool)
        pool_watch(live->setup.engine_config.pool, boxes_changed, live);
    live->lines = journal_open(live->setup.journal, &err);
    if (!live->lines)
        return cli_file_error(STATUS_FAILED, live->setup.journal, &err);
    if (live->resumed)
        live->t_base = loop_now_us(live->setup.loop) - engine_session(live->setup.engine)->last_t;
    live->folder = live_folder_name(live, screen);
    return 0;
}

/* ---- what is printed after the workbench ---- */

#define FAREWELL_FILES 4

/* Adds the names of the changed files, each once: "a.c, b.c and 2 more". Returns their number. */
static size_t add_changed_files(struct strbuf *out, const struct session *session)
{
    struct hash_map seen = {0};
    size_t count = 0;
    for (uint32_t i = 0; i < session->ask_count; i++) {
        const struct session_question *ask = &session->asks[i];
        for (const char *at = ask->applied_seq && !ask->undone_seq ? ask->paths : ""; *at; at += strspn(at, ", ")) {
            size_t len = strcspn(at, ",");
            CLEANUP(free) char *path = xmemdup0(at, len);
            at += len;
            if (hash_map_has(&seen, path))
                continue;
            hash_map_put(&seen, path, 1);
            if (count++ >= FAREWELL_FILES)
                continue;
            strbuf_addstr(out, count > 1 ? ", " : "");
            text_show(out, path, len, 0);
        }
    }
    if (count > FAREWELL_FILES)
        strbuf_addf(out, " and %zu more", count - FAREWELL_FILES);
    hash_map_release(&seen);
    return count;
}

static bool is_here(const char *workspace)
{
    CLEANUP(free) char *here = getcwd(NULL, 0);
    return here && strcmp(here, workspace) == 0;
}

/* One line for the shell: the session, the changed files, how to resume. */
static void say_farewell(struct live *live)
{
    const struct session *session = engine_session(live->setup.engine);
    CLEANUP(strbuf) struct strbuf files = STRBUF_INIT;
    struct strbuf line = STRBUF_INIT;
    if (!live->setup.keep || live->kind == SCREEN_DEMO || !session->turn_count)
        return;
    strbuf_addstr(&line, "Session ");
    if (session->title) {
        const char *title = session_name(session, session->title);
        text_show(&line, title, strlen(title), 0);
        strbuf_addf(&line, " (%s)", live->setup.id);
    } else {
        strbuf_addstr(&line, live->setup.id);
    }
    size_t count = add_changed_files(&files, session);
    strbuf_addstr(&line, ": ");
    if (count)
        text_plural(&line, (int64_t)count, "file changed", "files changed");
    else
        strbuf_addstr(&line, "no file changed");
    if (count)
        strbuf_addf(&line, ": %s", files.buf);
    strbuf_addf(&line, ". Resume: keyturn %s%s",
                is_here(session_name(session, session->workspace)) ? "-c, or keyturn resume " : "resume ",
                live->setup.id);
    free(live->app->farewell);
    live->app->farewell = strbuf_detach(&line, NULL);
}

/* ---- taking down ---- */

static void close_live(struct live *live)
{
    journal_reader_free(live->lines);
    journal_reader_free(live->resumed);
    divergences_free(live->divergences);
    if (live->setup.engine && !engine_idle(live->setup.engine))
        live->app->leaked = true;
    else if (live->setup.loop) {
        setup_close(&live->setup);
        journal_reader_free(live->script);
        free(live->rest);
        recording_free(live->recording);
    }
    scratch_dirs_close(live->scratch);
    free(live->workspace);
    free(live->journal);
    free(live->ended);
    free(live->folder);
    if (!live->app->leaked)
        view_cache_free(live->cache);
    free(live->models);
    strbuf_release(&live->hint);
}

static void list_models(struct live *live, const struct config *config)
{
    live->models = xcalloc(config->model_count + 1, sizeof(*live->models));
    for (size_t i = 0; i < config->model_count; i++) {
        const struct config_model *model = &config->models[i];
        live->models[live->model_count++] = (struct view_model){model->name, model->provider,
                                                                model->model  ? model->model
                                                                : model->file ? model->file
                                                                              : "?"};
    }
}

int app_screen_live(struct app *app, const struct screen *screen)
{
    if (screen->kind == SCREEN_RESUME && journal_held(screen->file))
        return app_screen_replay(app, screen); /* open elsewhere: watch it */
    /* On the heap, because a thread that is still running may use it after this function returns. */
    struct live *live = xcalloc(1, sizeof(*live));
    live->app = app;
    live->kind = screen->kind;
    live->sink.event = heard;
    live->cache = view_cache_new();
    strbuf_init(&live->hint);
    app->status = -1;
    int status = open_live(live, screen);
    if (app->next.kind == SCREEN_START &&
        screen->prompt) { /* the user left while servers started: the prompt was not used yet */
        free(app->wanted);
        app->wanted = xstrdup(screen->prompt);
    }
    if (live->setup.engine_config.models)
        list_models(live, app->config);
    if (!status)
        status = app_begin(app, live->setup.loop, &ops, live);
    if (!status) {
        app->status = STATUS_DONE;
        live->running = true;
        if (live->setup.mcp)
            mcp_watch(live->setup.mcp, server_changed, live);
        tell_servers(live);
        app->host.engine = live->setup.engine;
        engine_on_turn_end(live->setup.engine, turn_ended, live);
        engine_on_revised(live->setup.engine, question_revised, live);
        turn_ended(live);
        app_run(app);
        app->host.engine = NULL;
        live->running = false;
        loop_timer_stop(live->setup.loop, &live->leave_poll);
        loop_unpost(live->setup.loop, &live->advance);
        status = app->status;
        if (engine_failed(live->setup.engine))
            status = STATUS_FAILED;
        setup_list_session(&live->setup);
        say_farewell(live);
    }
    app_end(app);
    close_live(live);
    if (!app->leaked)
        free(live);
    return status;
}
