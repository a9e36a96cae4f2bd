/* The live stage: an engine with somebody in front of it. `run`, the demo, a recording that is executed, and a fork are
 * the same thing with another model, another folder and another journal.
 *
 * Panes read the session of the engine and the lines of its own journal file: there is no second way from what happens
 * to what is shown. */

#include "app_inside.h"
#include "base/file.h"
#include "base/log.h"
#include "demo.h"
#include "model/scripted.h"
#include "say.h"
#include "setup.h"
#include "turn/departure.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_US (2 * 1000000)
#define LOOK_US     5000

struct live {
    struct app *app;
    enum stage_kind kind;
    struct setup setup;
    struct sink sink;
    struct journal_reader *lines;
    int64_t t_base; /* time of the loop at which the session's began */

    struct recording *recording; /* of the demo, an execution, a fork */
    size_t turns, next;          /* recorded ones to be run: how many, which comes next */
    const char *prompt;          /* of the first turn, when there is no recording */
    struct departures *departures;
    bool compared; /* the run is over, what is missing counts */
    char *temp, *workspace, *journal, *rest;
    bool folder_gone; /* the recorded one */
    struct journal_reader *resumed, *script;

    struct app_question question, older;
    struct strbuf allowed, hint;
    char *title, *ended; /* prompt of the first turn; how the newest ended */
    char *folder;        /* shown in the first line */
    struct loop_task advance;
    struct loop_timer look;
    int64_t quit_us; /* when leaving began; 0: it has not */
    bool running;
};

#define LIVE_OF(place, member) ((struct live *)((char *)(place)-offsetof(struct live, member)))

/* ---- what happens ---- */

static int status_of(const char *turn_status)
{
    if (strcmp(turn_status, "done") == 0)
        return STATUS_DONE;
    return strcmp(turn_status, "cancelled") == 0 ? STATUS_INTERRUPTED : STATUS_FAILED;
}

static void heard(struct sink *sink, const struct event *event, const struct session *session)
{
    struct live *live = LIVE_OF(sink, sink);
    (void)session;
    if (live->setup.loop)
        live->t_base = loop_now_us(live->setup.loop) - event->t;
    if (live->departures && !live->compared)
        departures_see(live->departures, event);
    if (event->type == EVENT_TURN_STARTED && !live->title)
        live->title = xstrdup(event->turn_started.prompt ? event->turn_started.prompt : "");
    if (event->type == EVENT_TURN_FINISHED) {
        free(live->ended);
        live->ended = xstrdup(event->turn_finished.status ? event->turn_finished.status : "");
        if (!live->quit_us)
            live->app->status = status_of(live->ended);
    }
    if (live->running)
        app_dirty(live->app);
}

static void start_turn(struct live *live, const char *prompt)
{
    struct err err = ERR_INIT;
    struct intent intent = {.type = INTENT_START, .start = {prompt}};
    if (engine_submit(live->setup.engine, &intent, &err))
        ui_say(live->app->ui, LOOK_ERROR, "the turn cannot start: %s", err.text);
}

/* On to the next recorded turn, or to nothing: then the user says what comes. */
static void advance(struct loop_task *task)
{
    struct live *live = LIVE_OF(task, advance);
    if (live->quit_us || engine_turn_running(live->setup.engine))
        return;
    if (live->prompt) {
        start_turn(live, steal(&live->prompt));
    } else if (live->next < live->turns && !(live->ended && strcmp(live->ended, "cancelled") == 0)) {
        scripted_turn(live->setup.harness.provider, recording_turn_number(live->recording, live->next));
        start_turn(live, recording_prompt(live->recording, live->next++));
    } else if (live->departures && !live->compared && live->next == live->turns) {
        live->compared = true;
        departures_end(live->departures);
        size_t count = departures_count(live->departures);
        if (count) {
            live->app->status = STATUS_DEPARTED;
            ui_say(live->app->ui, LOOK_WARN, "departed from the recording in %zu place%s (:departures lists them)",
                   count, count == 1 ? "" : "s");
        } else {
            ui_say(live->app->ui, LOOK_GOOD, "it went as it was recorded");
        }
    }
    app_dirty(live->app);
}

static void turn_ended(void *data)
{
    struct live *live = data;
    loop_post(live->setup.loop, &live->advance, advance);
}

/* ---- leaving ---- */

static void look(struct loop_timer *timer)
{
    struct live *live = LIVE_OF(timer, look);
    struct loop *loop = live->setup.loop;
    struct err err = ERR_INIT;
    bool idle = engine_idle(live->setup.engine);
    if (!idle && loop_now_us(loop) - live->quit_us < PATIENCE_US) {
        loop_timer_start(loop, timer, loop_now_us(loop) + LOOK_US, look);
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
    loop_timer_start(app->loop, &live->look, loop_now_us(app->loop), look);
}

/* ---- the view ---- */

static void show_hint(struct live *live)
{
    CLEANUP(strbuf) struct strbuf hint = STRBUF_INIT;
    app_demo_hint(&hint, &live->app->view, live->app->keymap);
    if (live->hint.len == hint.len && strcmp(live->hint.buf, hint.buf) == 0)
        return;
    strbuf_reset(&live->hint);
    strbuf_add(&live->hint, hint.buf, hint.len);
    ui_hint(live->app->ui, hint.len ? hint.buf : NULL);
}

static void live_fill(struct app *app)
{
    struct live *live = app->own;
    const struct engine *engine = live->setup.engine;
    const struct question *open = engine_question(engine);
    journal_refresh(live->lines);
    app_question_show(&live->question, &live->older, open);
    bool running = engine_turn_running(engine);
    struct view *view = &app->view;
    *view = (struct view){
        .mode = live->kind == STAGE_EXECUTE ? VIEW_EXECUTE : VIEW_LIVE,
        .session = engine_session(engine),
        .lines = live->lines,
        .title = live->folder,
        .now_t = loop_now_us(app->loop) - live->t_base,
        .question = open ? &live->question.view : NULL,
        .question_diffs = open ? live->question.diffs : NULL,
        .held = engine_held(engine, &view->gate),
        .gates = engine_gates(engine),
        .position = journal_count(live->lines),
        .count = journal_count(live->lines),
        .speed = 1,
        .departures = live->departures,
        .allowed = live->allowed.len ? live->allowed.buf : NULL,
    };
    view->held = engine_held(engine, &view->gate);
    if (open && live->setup.harness.ask_timeout_ms)
        view->question_due_t = open->due_us - live->t_base;
    view->ticking = running && !open && !view->held;
    app_tick(app, running && !live->quit_us);
    if (live->kind == STAGE_DEMO)
        show_hint(live);
    if (engine_failed(engine))
        ui_say(app->ui, LOOK_ERROR, "%s (the turn was ended: what cannot be recorded is not done)",
               engine_failed(engine));
}

/* One permission per line, "tool path", as the dialog lists them. */
static void note_permission(struct live *live, const struct intent *intent)
{
    CLEANUP(free) char *line = xasprintf("%s %s\n", intent->allow.tool, intent->allow.path);
    char *at = strstr(live->allowed.buf, line);
    if (at && intent->allow.revoke) {
        size_t len = strlen(line), behind = strlen(at + len) + 1;
        memmove(at, at + len, behind);
        strbuf_set_len(&live->allowed, live->allowed.len - len);
    } else if (!at && !intent->allow.revoke) {
        strbuf_addstr(&live->allowed, line);
    }
}

static int live_submit(struct app *app, const struct intent *intent, struct err *err)
{
    struct live *live = app->own;
    if (engine_submit(live->setup.engine, intent, err))
        return -1;
    if (intent->type == INTENT_ALLOW)
        note_permission(live, intent);
    return 0;
}

static int live_replay(struct app *app, enum action action, const char *argument, struct err *err)
{
    struct live *live = app->own;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (action != ACTION_COMMAND || !argument || strncmp(argument, "save ", 5) != 0)
        return err_set(err, "this is live: there is nothing to wind (O opens a recording)");
    if (access(argument + 5, F_OK) == 0)
        return err_set(err, "%.200s: the file exists already", argument + 5);
    if (file_read(live->setup.journal, &text, 0, err))
        return -1;
    return file_replace(argument + 5, text.buf, text.len, 0600, err);
}

static const struct stage_ops ops = {
    .fill = live_fill, .submit = live_submit, .replay = live_replay, .quit = live_quit};

/* ---- setting up ---- */

static int make_temp(struct live *live)
{
    struct err err = ERR_INIT;
    live->temp = file_make_temp_dir(NULL, "keyturn-", &err);
    return live->temp ? 0 : say_error(STATUS_USAGE, "%s", err.text);
}

static int open_recording(struct live *live, const char *file)
{
    struct err err = ERR_INIT;
    live->recording = recording_open(file, &err);
    return live->recording ? 0 : say_file_error(STATUS_USAGE, file, &err);
}

static int copy_files(struct live *live, const char *files)
{
    struct err err = ERR_INIT;
    live->workspace = xasprintf("%s/workspace", live->temp);
    if (files ? file_copy_tree(files, live->workspace, &err) : file_mkdirs(live->workspace, 0700, &err))
        return say_error(STATUS_USAGE, "%s", err.text);
    return 0;
}

static int plan_demo(struct live *live, struct setup_plan *plan)
{
    CLEANUP(free) char *file = demo_find();
    int status = file ? open_recording(live, file) : STATUS_USAGE;
    if (!status)
        status = make_temp(live);
    if (!status)
        status = demo_workspace(live->app->options, live->recording, live->temp, &live->workspace);
    if (status)
        return status;
    live->turns = recording_turn_count(live->recording);
    plan->recording = live->recording;
    plan->temp = live->app->options->workspace ? NULL : live->temp;
    plan->user_decides = true;
    plan->keep = true;
    return 0;
}

static int plan_execution(struct live *live, const struct stage *stage, struct setup_plan *plan)
{
    int status = open_recording(live, stage->file);
    if (!status && recording_turn_count(live->recording) == 0)
        status = say_error(STATUS_USAGE, "%s: there is no turn to run in it (keyturn replay shows what there is)",
                           stage->file);
    if (!status)
        status = make_temp(live);
    const struct options *options = live->app->options;
    if (!status)
        status = copy_files(live, options->workspace ? options->workspace : recording_files(live->recording));
    if (status)
        return status;
    live->turns = recording_turn_count(live->recording);
    live->departures = departures_new(recording_reader(live->recording));
    live->journal = options->record ? NULL : xasprintf("%s/session.jsonl", live->temp);
    plan->recording = live->recording;
    plan->temp = live->temp;
    plan->journal = live->journal;
    if (!isnan(options->speed))
        plan->speed = options->speed;
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return path && *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Where a fork works: where it is told to, in a copy of the files that belong to the recording, in the folder that was
 * recorded, or, when that is gone, in an empty one. */
static int fork_workspace(struct live *live)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    const char *files = recording_files(live->recording);
    if (live->app->options->workspace) {
        live->workspace = xstrdup(live->app->options->workspace);
        return 0;
    }
    if (files)
        return copy_files(live, files);
    bool read = journal_event(recording_reader(live->recording), 0, &event, &arena, NULL) == 0;
    if (read && is_folder(event.session_started.workspace)) {
        live->workspace = xstrdup(event.session_started.workspace);
        return 0;
    }
    /* Never where the user happens to be: what the model remembers is about other files. */
    live->folder_gone = true;
    return copy_files(live, NULL);
}

static int plan_fork(struct live *live, const struct stage *stage, struct setup_plan *plan)
{
    struct err err = ERR_INIT;
    bool model = live->app->options->model || live->app->config->model;
    size_t len;
    int status = open_recording(live, stage->file);
    if (!status)
        status = make_temp(live);
    if (!status)
        status = fork_workspace(live);
    if (status)
        return status;
    live->journal = app_fork_journal(stage->file, stage->position, &err);
    live->resumed = live->journal ? journal_open(live->journal, &err) : NULL;
    if (!live->resumed)
        return say_file_error(STATUS_USAGE, live->journal ? live->journal : stage->file, &err);
    if (!model) {
        live->rest = app_fork_rest(stage->file, stage->position, &len, &err);
        live->script = live->rest ? journal_open_bytes(live->rest, len, &err) : NULL;
        if (!live->script)
            return say_file_error(STATUS_USAGE, stage->file, &err);
    }
    plan->resume = live->resumed;
    plan->script = live->script;
    plan->journal = live->journal;
    plan->keep = true;
    plan->memory = true;
    free(live->app->notice);
    live->app->notice =
        xasprintf("forked after event %zu into a new session%s%s: %s", stage->position,
                  live->folder_gone ? "; its folder is gone, so it begins in an empty one" : " in ",
                  live->folder_gone ? "" : live->workspace,
                  model ? "say what to do next" : "no model is configured, so the rest of the recording answers");
    return 0;
}

static int make_plan(struct live *live, const struct stage *stage, struct setup_plan *plan)
{
    switch (stage->kind) {
    case STAGE_DEMO:
        return plan_demo(live, plan);
    case STAGE_EXECUTE:
        return plan_execution(live, stage, plan);
    case STAGE_FORK:
        return plan_fork(live, stage, plan);
    default:
        break;
    }
    live->workspace = xstrdup(plan->options->workspace ? plan->options->workspace : ".");
    live->prompt = stage->prompt && strcmp(stage->prompt, "-") != 0 ? stage->prompt : NULL;
    plan->keep = plan->memory = true;
    return 0;
}

static char *folder_name(const struct live *live, const struct stage *stage)
{
    if (live->kind == STAGE_DEMO)
        return xstrdup("demo");
    CLEANUP(free) char *whole = stage->kind == STAGE_EXECUTE ? xstrdup(stage->file) : realpath(live->workspace, NULL);
    const char *slash = whole ? strrchr(whole, '/') : NULL;
    return xstrdup(slash && slash[1] ? slash + 1 : whole ? whole : "");
}

static int open_live(struct live *live, const struct stage *stage)
{
    struct app *app = live->app;
    struct err err = ERR_INIT;
    struct setup_plan plan = {
        .options = app->options, .config = app->config, .interactive = true, .speed = 1, .sinks = &live->sink};
    int status = make_plan(live, stage, &plan);
    if (status)
        return status;
    plan.workspace = live->workspace;
    status = setup_open(&live->setup, &plan);
    if (status)
        return status;
    live->lines = journal_open(live->setup.journal, &err);
    if (!live->lines)
        return say_file_error(STATUS_FAILED, live->setup.journal, &err);
    if (live->resumed)
        live->t_base = loop_now_us(live->setup.loop) - engine_session(live->setup.engine)->last_t;
    live->folder = folder_name(live, stage);
    return 0;
}

/* ---- taking down ---- */

static void close_live(struct live *live)
{
    struct err err = ERR_INIT;
    app_question_release(&live->question);
    app_question_release(&live->older);
    journal_reader_free(live->lines);
    journal_reader_free(live->resumed);
    departures_free(live->departures);
    if (live->setup.engine && !engine_idle(live->setup.engine))
        live->app->leaked = true;
    else if (live->setup.loop) {
        setup_close(&live->setup);
        journal_reader_free(live->script);
        free(live->rest);
        recording_free(live->recording);
    }
    if (live->temp && file_remove_tree(live->temp, &err))
        log_warn("%s", err.text);
    free(live->temp);
    free(live->workspace);
    free(live->journal);
    free(live->title);
    free(live->ended);
    free(live->folder);
    strbuf_release(&live->allowed);
    strbuf_release(&live->hint);
}

int app_stage_live(struct app *app, const struct stage *stage)
{
    /* On the heap: a thread that stays behind may still hold it when this is over. */
    struct live *live = xcalloc(1, sizeof(*live));
    live->app = app;
    live->kind = stage->kind;
    live->sink.event = heard;
    strbuf_init(&live->allowed);
    strbuf_init(&live->hint);
    app->status = -1;
    int status = open_live(live, stage);
    if (!status)
        status = app_begin(app, live->setup.loop, &ops, live);
    if (!status) {
        app->status = STATUS_DONE;
        live->running = true;
        engine_on_turn_end(live->setup.engine, turn_ended, live);
        turn_ended(live);
        app_run(app);
        live->running = false;
        loop_timer_stop(live->setup.loop, &live->look);
        loop_unpost(live->setup.loop, &live->advance);
        status = app->status;
        if (engine_failed(live->setup.engine))
            status = STATUS_FAILED;
        setup_list_session(&live->setup, live->title, live->ended ? live->ended : "",
                           (int64_t)engine_session(live->setup.engine)->turn_count);
    }
    app_end(app);
    close_live(live);
    if (!app->leaked)
        free(live);
    return status;
}
