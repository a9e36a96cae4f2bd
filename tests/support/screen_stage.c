/* The session that a screen shows in a test, recorded or live. */

#include "screen_stage.h"
#include "app/app_internal.h"
#include "app/start.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/scripted.h"
#include "sandbox/engines_program.h"
#include "tools/artifact.h"
#include "tools/checkpoint.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

const char *screen_source = ".";

/* ---- the plan ---- */

static void add_text(char ***items, size_t *count, size_t *room, const char *text)
{
    GROW(*items, *count, *room);
    (*items)[(*count)++] = xstrdup(text);
}

bool screen_plan_line(struct screen_plan *plan, const char *folder, const char *verb, const char *rest)
{
    static const char *const verbs[] = {"fixture", "transcript", "start",    "session", "live",    "execute", "step",
                                        "break",   "budget",     "parallel", "due",     "sandbox", "servers"};
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        known |= strcmp(verb, verbs[i]) == 0;
    if (!plan || !known)
        return known;
    if (strcmp(verb, "fixture") == 0)
        plan->file = xasprintf("%s/fixtures/%s.jsonl", screen_source, rest);
    else if (strcmp(verb, "transcript") == 0)
        plan->file = xasprintf("%s/%s", folder, rest);
    else if (strcmp(verb, "session") == 0)
        add_text(&plan->sessions, &plan->session_count, &plan->session_room, rest);
    else if (strcmp(verb, "break") == 0)
        add_text(&plan->breaks, &plan->break_count, &plan->break_room, rest);
    else if (strcmp(verb, "budget") == 0)
        add_text(&plan->budgets, &plan->budget_count, &plan->budget_room, rest);
    else if (strcmp(verb, "sandbox") == 0)
        plan->sandbox = xstrdup(rest);
    else if (strcmp(verb, "due") == 0)
        plan->due_us = (int64_t)(strtod(rest, NULL) * 1e6);
    plan->start |= strcmp(verb, "start") == 0;
    plan->servers |= strcmp(verb, "servers") == 0;
    plan->live |= strcmp(verb, "live") == 0 || strcmp(verb, "execute") == 0;
    plan->execute |= strcmp(verb, "execute") == 0;
    plan->idle |= strcmp(verb, "live") == 0 && strcmp(rest, "idle") == 0;
    plan->step |= strcmp(verb, "step") == 0;
    plan->parallel |= strcmp(verb, "parallel") == 0;
    return true;
}

static void free_texts(char **items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(items[i]);
    free(items);
}

void screen_plan_release(struct screen_plan *plan)
{
    free(plan->file);
    free(plan->sandbox);
    free_texts(plan->breaks, plan->break_count);
    free_texts(plan->budgets, plan->budget_count);
    free_texts(plan->sessions, plan->session_count);
}

/* ---- the live engine ---- */

static void heard(struct sink *sink, const struct event *event, const struct session *session)
{
    struct screen_stage *stage = (struct screen_stage *)((char *)sink - offsetof(struct screen_stage, sink));
    view_cache_put(stage->cache, event, session);
    if (stage->divergences)
        divergences_see(stage->divergences, event);
}

static void must(int result, const struct err *err)
{
    if (result)
        BUG("%s", err->text);
}

static void open_engine(struct screen_stage *stage)
{
    const struct screen_plan *plan = stage->plan;
    struct engine_config *h = &stage->engine_config;
    struct err err = ERR_INIT;
    CLEANUP(free) char *work = scratch_path(&stage->scratch, stage->title);
    CLEANUP(free) char *artifacts = scratch_path(&stage->scratch, "artifacts");
    CLEANUP(free) char *checkpoints = scratch_path(&stage->scratch, "checkpoints");
    CLEANUP(free) char *path = scratch_path(&stage->scratch, "journal.jsonl");
    fake_clock_init(&stage->clock);
    stage->loop = loop_new(&stage->clock.base);
    stage->recording = recording_open(plan->file, &err);
    if (!stage->recording)
        BUG("%s: %s", plan->file, err.text);
    const char *files = recording_files(stage->recording);
    must(files ? file_copy_tree(files, work, &err) : file_mkdirs(work, 0700, &err), &err);
    *h = engine_config_defaults();
    h->loop = stage->loop;
    h->session = "screen";
    h->interactive = true;
    stage->programs = screen_programs;
    h->programs = &stage->programs;
    h->parallel = plan->parallel;
    recording_limits(stage->recording, &h->limits);
    for (size_t i = 0; i < plan->budget_count; i++)
        must(budget_limits_set(&h->limits, plan->budgets[i], &err), &err);
    h->thinking = recording_thinking(stage->recording);
    h->provider = scripted_new(stage->loop, recording_reader(stage->recording), 1);
    h->registry = registry_new();
    h->rules = rules_new(RULES_ASK, true);
    must(registry_add_builtin(h->registry, &err), &err);
    must(recorded_tools_add(stage->recording, h->registry, true, &err), &err);
    h->tools = recording_tools(stage->recording);
    h->root = beneath_open(work, &err);
    h->artifacts = artifact_store_open(artifacts, &stage->clock.base, &err);
    h->checkpoints = checkpoints_open(checkpoints, &err);
    struct journal *journal = journal_create(path, &stage->clock.base, &err);
    if (!h->root || !h->artifacts || !h->checkpoints || !journal)
        BUG("%s", err.text);
    if (plan->execute)
        stage->divergences = divergences_new(stage->recording);
    stage->sink.event = heard;
    stage->engine = engine_new(h, journal, &stage->sink, &err);
    stage->lines = stage->engine ? journal_open(path, &err) : NULL;
    if (!stage->lines)
        BUG("%s", err.text);
}

static void close_engine(struct screen_stage *stage)
{
    struct err err = ERR_INIT;
    if (engine_turn_running(stage->engine))
        must(engine_submit(stage->engine, &(struct intent){.type = INTENT_CANCEL}, &err), &err);
    loop_run(stage->loop);
    engine_free(stage->engine);
    journal_reader_free(stage->lines);
    provider_free(stage->engine_config.provider);
    registry_free(stage->engine_config.registry);
    rules_free(stage->engine_config.rules);
    checkpoints_close(stage->engine_config.checkpoints);
    artifact_store_close(stage->engine_config.artifacts);
    beneath_close(stage->engine_config.root);
    divergences_free(stage->divergences);
    recording_free(stage->recording);
    loop_timer_stop(stage->loop, &stage->stop);
    loop_free(stage->loop);
}

/* Makes a home folder that is the same on every machine. */
static void make_home(struct screen_stage *stage)
{
    static const char *const shown[] = {"demo", "parallel-reads", "late-thread", "partial-approval"};
    struct err err = ERR_INIT;
    CLEANUP(free) char *data = scratch_path(&stage->scratch, "data");
    CLEANUP(free) char *fixtures = scratch_path(&stage->scratch, "fixtures");
    scratch_mkdir(&stage->scratch, "fixtures");
    scratch_mkdir(&stage->scratch, "data/keyturn/sessions");
    setenv("XDG_DATA_HOME", data, 1);
    setenv("XDG_CONFIG_HOME", data, 1);
    setenv("KEYTURN_FIXTURES", fixtures, 1);
    for (size_t i = 0; i < COUNT_OF(shown) + stage->plan->session_count; i++) {
        bool session = i >= COUNT_OF(shown);
        const char *name = session ? stage->plan->sessions[i - COUNT_OF(shown)] : shown[i];
        CLEANUP(free) char *from = xasprintf("%s/fixtures/%s.jsonl", screen_source, name);
        CLEANUP(free)
        char *to = xasprintf("%s/%s%s.jsonl", session ? data : fixtures, session ? "keyturn/sessions/" : "", name);
        CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
        must(file_read(from, &bytes, 0, &err), &err);
        must(file_replace(to, bytes.buf, bytes.len, 0644, &err), &err);
        /* Half a minute past a full one, so that a slow test does not reach the next minute. */
        long age = session ? 150 + 600 * (long)(i - COUNT_OF(shown)) : 0;
        struct timespec when[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
        if (utimensat(AT_FDCWD, to, when, 0))
            BUG("utimensat");
    }
}

void screen_stage_open(struct screen_stage *stage, const struct screen_plan *plan)
{
    struct err err = ERR_INIT;
    *stage = (struct screen_stage){.plan = plan, .speed = 1, .host = screen_host};
    strbuf_init(&stage->log);
    session_init(&stage->empty);
    stage->cache = view_cache_new();
    scratch_init(&stage->scratch);
    make_home(stage);
    const char *slash = plan->file ? strrchr(plan->file, '/') : NULL;
    const char *name = slash ? slash + 1 : "nothing.jsonl";
    stage->title = xmemdup0(name, strcspn(name, "."));
    if (plan->live) {
        open_engine(stage);
    } else if (plan->file) {
        stage->artifacts = xasprintf("%.*s/artifacts", (int)(slash - plan->file), plan->file);
        stage->player = player_open(plan->file, &err);
        if (!stage->player)
            BUG("%s: %s", plan->file, err.text);
        while (!player_scan(stage->player, 100000))
            ;
        screen_stage_seek(stage, player_count(stage->player));
    } else if (!plan->start && !plan->servers) {
        BUG("a case shows a fixture, a transcript or the start screen");
    }
}

static void go_on_without(void *user)
{
    strbuf_addstr(&((struct screen_stage *)user)->log, "go on without them\n");
}

/* Shows servers in every state, one of them hostile. */
static void wait_for_servers(struct screen_stage *stage)
{
    static const struct mcp_status servers[] = {
        {.name = "fs", .state = MCP_READY, .tool_count = 14},
        {.name = "one", .state = MCP_READY, .tool_count = 1},
        {.name = "git", .state = MCP_STARTING, .said = "fetching\nfetched 12 of 40"},
        {.name = "a-name-that-goes-on-and-on", .state = MCP_FAILED, .why = "cannot start no-such: it is not in PATH"},
        {.name = "db",
         .state = MCP_FAILED,
         .why =
             "it exited with status 3, last output: \x1b[31mcannot reach db.example.org:5432, gave up after 3 tries"},
        {.name = "web", .state = MCP_PAUSING, .why = "it exited with status 1"},
        {.name = "old", .state = MCP_OFF}};
    stage->waited = (struct servers_wait){.servers = servers,
                                          .count = COUNT_OF(servers),
                                          .waited_s = 3.2,
                                          .limit_s = 10,
                                          .leave = "leave",
                                          .go_on = go_on_without,
                                          .user = stage};
    ui_open_dialog(stage->ui, dialog_servers_new(&stage->waited));
}

static void say_revised(void *data)
{
    ui_message_revised(((struct screen_stage *)data)->ui);
}

void screen_stage_begin(struct screen_stage *stage, struct ui *ui)
{
    const struct screen_plan *plan = stage->plan;
    struct err err = ERR_INIT;
    stage->ui = ui;
    if (plan->start)
        ui_open_dialog(ui, start_new(&(struct start_info){.folder = "~/src/lines",
                                                          .config = "/home/you/.config/keyturn/config.json"}));
    if (plan->servers)
        wait_for_servers(stage);
    if (!stage->engine)
        return;
    engine_on_revised(stage->engine, say_revised, stage);
    for (size_t i = 0; i < plan->break_count; i++)
        must(
            engine_submit(stage->engine, &(struct intent){.type = INTENT_BREAK, .breakpoint = {plan->breaks[i]}}, &err),
            &err);
    if (plan->step)
        must(engine_submit(stage->engine, &(struct intent){.type = INTENT_STEP}, &err), &err);
    if (!plan->idle) {
        const char *prompt = recording_prompt(stage->recording, 0);
        must(engine_submit(stage->engine, &(struct intent){.type = INTENT_START, .start = {prompt}}, &err), &err);
    }
    screen_stage_settle(stage);
}

void screen_stage_close(struct screen_stage *stage)
{
    if (stage->engine)
        close_engine(stage);
    player_free(stage->player);
    session_release(&stage->empty);
    view_cache_free(stage->cache);
    scratch_release(&stage->scratch);
    strbuf_release(&stage->log);
    free(stage->title);
    free(stage->artifacts);
    free(stage->editor);
}

/* Shows fake boxes: real ones differ from run to run. */
static void fill_sandbox(struct screen_stage *stage, struct view *view)
{
    static const char layers[] = "{\"no_new_privs\":true,\"rlimits\":true,\"landlock\":7,\"seccomp\":true,"
                                 "\"workspace_mb\":16}",
                      fewer[] = "{\"no_new_privs\":true,\"rlimits\":true,\"landlock\":0,\"seccomp\":true}";
    struct sandbox_view *sandbox = &stage->sandbox;
    const char *state = stage->plan->sandbox;
    if (!state)
        return;
    *sandbox = (struct sandbox_view){.status = {.engine = "bwrap"}};
    if (strcmp(state, "warm") == 0)
        *sandbox = (struct sandbox_view){.status = {.engine = "bwrap", .layers = layers, .idle = 2, .served = 3},
                                         .boxes = {{1, "warm", 2, layers}, {2, "warm", 1, layers}},
                                         .count = 2};
    else if (strcmp(state, "busy") == 0)
        *sandbox = (struct sandbox_view){.status = {.engine = "bwrap",
                                                    .layers = fewer,
                                                    .starting = 2,
                                                    .idle = 1,
                                                    .busy = 1,
                                                    .waiting = 2,
                                                    .served = 81,
                                                    .retired = 2,
                                                    .failed = 1},
                                         .boxes = {{3, "busy", 49, layers},
                                                   {4, "warm", 0, fewer},
                                                   {5, "wiped", 12, layers},
                                                   {6, "starting", 0, NULL}},
                                         .count = 4};
    else if (strcmp(state, "complaints") == 0)
        *sandbox = (struct sandbox_view){
            .status = {.engine = "bwrap",
                       .layers = layers,
                       .complaints =
                           "tools: /tools/b.py: RuntimeError: no; Traceback (most recent call last):; File "
                           "\"/tools/b.py\", line 1, in <module>; raise RuntimeError(\"no\"); RuntimeError: no",
                       .idle = 1},
            .boxes = {{1, "warm", 0, layers}},
            .count = 1};
    else if (strcmp(state, "trouble") == 0)
        sandbox->status = (struct pool_status){
            .engine = "bwrap",
            .trouble = "bwrap ended with status 1 before it was ready: bwrap: No permissions to create new namespace, "
                       "likely because the kernel does not allow non-privileged user namespaces",
            .waiting = 1,
            .failed = 4};
    view->sandbox = sandbox;
    static struct program_limits_view watched;
    watched.words = sandbox_program_holder_words(HOLDER_WATCH);
    if (strcmp(state, "busy") == 0)
        view->limits = &watched;
    if (strcmp(state, "unheld") == 0) {
        sandbox->status.idle = 2;
        view->program_engine = "none";
        view->program_unsafe = true;
    }
}

static void fill_live(struct screen_stage *stage, struct view *view)
{
    static const struct view_model models[] = {
        {"claude", "anthropic", "claude-sonnet-4-5"}, {"local", "openai", "qwen3"}, {"played", "scripted", "demo"}};
    const struct question *open = engine_question(stage->engine);
    journal_refresh(stage->lines);
    view->mode = stage->plan->execute ? VIEW_EXECUTE : VIEW_LIVE;
    view->session = engine_session(stage->engine);
    view->lines = stage->lines;
    view->now_t = loop_now_us(stage->loop);
    view->ticking = engine_turn_running(stage->engine);
    view->engine = stage->engine;
    view->question_due_t = open && stage->plan->due_us ? open->since_us + stage->plan->due_us : 0;
    view->held = engine_held(stage->engine, &view->gate);
    view->gates = engine_gates(stage->engine);
    view->divergences = stage->divergences;
    view->programs = &stage->programs;
    view->models = models;
    view->model_count = COUNT_OF(models);
    view->rules = stage->engine_config.rules;
    view->count = view->position = journal_count(stage->lines);
    fill_sandbox(stage, view);
}

static void fill_replay(struct screen_stage *stage, struct view *view)
{
    view->mode = VIEW_REPLAY;
    view->session = player_session(stage->player);
    view->lines = player_lines(stage->player);
    view->now_t = view->session->last_t;
    view->position = player_position(stage->player);
    view->count = player_count(stage->player);
    view->artifacts = stage->artifacts;
}

const struct view *screen_stage_view(struct screen_stage *stage)
{
    struct view *view = &stage->view;
    *view =
        (struct view){.cache = stage->cache, .title = stage->title, .speed = stage->speed, .playing = stage->playing};
    if (stage->engine)
        fill_live(stage, view);
    else if (stage->player)
        fill_replay(stage, view);
    else
        view->session = &stage->empty;
    return view;
}

void screen_stage_settle(struct screen_stage *stage)
{
    if (stage->loop)
        loop_run(stage->loop);
}

static void stop_running(struct loop_timer *timer)
{
    loop_stop(((struct screen_stage *)((char *)timer - offsetof(struct screen_stage, stop)))->loop);
}

void screen_stage_wait(struct screen_stage *stage, int64_t us)
{
    if (!stage->loop) {
        stage->waited_us += us;
        return;
    }
    loop_timer_start(stage->loop, &stage->stop, loop_now_us(stage->loop) + us, stop_running);
    loop_run(stage->loop);
}

void screen_stage_no_undo(struct screen_stage *stage)
{
    scratch_remove(&stage->scratch, "checkpoints");
}

int64_t screen_stage_now(const struct screen_stage *stage)
{
    return stage->loop ? loop_now_us(stage->loop) : stage->waited_us;
}

void screen_stage_at(struct screen_stage *stage, const char *where)
{
    if (!stage->player)
        BUG("at: only a recording is gone through");
    screen_stage_seek(stage,
                      strcmp(where, "end") == 0 ? player_count(stage->player) : (size_t)strtoul(where, NULL, 10));
}

void screen_stage_file(struct screen_stage *stage, const char *path, const char *text)
{
    CLEANUP(free) char *name = xasprintf("%s/%s", stage->title, path);
    scratch_write(&stage->scratch, name, text);
}
