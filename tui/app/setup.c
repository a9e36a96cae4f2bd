/* Sets up a run and takes it down: options, config file, secrets, files, sandbox, servers and engine.
 *
 * Setup does only what the run needs. It opens the store before a run only if the run uses its memory, and the web only
 * if an endpoint is configured. */

#include "setup.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/project.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli_error.h"
#include "event/journal_summary.h"
#include "event/store.h"
#include "model/answer.h"
#include "model/http.h"
#include "screen/theme.h"
#include "tools/artifact.h"
#include "tools/checkpoint.h"
#include "tools/runtime.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_TRIES 64

/* ---- secrets ---- */

/* `where` is how the user named the secret. */
static void declare(const char *where, const char *name)
{
    const char *value = getenv(name);
    if (value && *value && !redact_add(name, value))
        cli_notice("%s%s: the value has fewer than %d characters, so it is not redacted", where, name, REDACT_LEAST);
}

/* The variable that holds a model's key; NULL: none. */
static const char *key_variable(const struct config_model *model)
{
    const struct dialect *dialect = model->provider ? dialect_find(model->provider) : NULL;
    if (model->key_env)
        return model->key_env;
    return dialect && !model->key_command && !model->base_url ? dialect->usual_env : NULL;
}

void secrets_declare(const struct options *options, const struct config *config)
{
    for (size_t i = 0; i < options->secrets.count; i++) {
        const char *name = options->secrets.items[i];
        if (config && !getenv(name))
            cli_notice("--secret %s: no such environment variable", name);
        declare("--secret ", name);
    }
    for (size_t i = 0; config && i < config->secret_count; i++)
        declare("config: secrets: ", config->secrets[i]);
    for (size_t i = 0; config && i < config->model_count; i++)
        if (key_variable(&config->models[i]))
            declare("key of a model: ", key_variable(&config->models[i]));
}

/* ---- options and config file ---- */

int setup_check(const struct options *options)
{
    struct err err = ERR_INIT;
    struct theme theme;
    struct sandbox_choice sandbox;
    if (options->theme && theme_load(&theme, options->theme, &err))
        return cli_error(STATUS_USAGE, "--theme %s: %s", options->theme, err.text);
    int status = options->engine || options->tools ? sandbox_choice_open(&sandbox, options) : 0;
    if (options->engine || options->tools)
        sandbox_choice_close(&sandbox);
    return status;
}

struct config *setup_config(const struct options *options)
{
    struct err err = ERR_INIT;
    struct theme theme;
    CLEANUP(free) char *usual = config_default_path();
    const char *path = options->config ? options->config : usual;
    if (setup_check(options))
        return NULL;
    struct config *config = config_load(options->config, &err);
    if (!config) {
        cli_file_error(STATUS_USAGE, path, &err);
    } else if (config->theme && !options->theme && theme_load(&theme, config->theme, &err)) {
        err.line = config->theme_line;
        cli_file_error(STATUS_USAGE, path, &err);
        config_free(config);
        return NULL;
    }
    for (size_t i = 0; config && i < options->mcp.count; i++)
        if (config_add_mcp(config, options->mcp.items[i], &err)) {
            cli_file_error(STATUS_USAGE, options->mcp.items[i], &err);
            config_free(config);
            return NULL;
        }
    if (config)
        secrets_declare(options, config);
    return config;
}

struct keymap *setup_keymap(const struct config *config)
{
    struct err err = ERR_INIT;
    struct keymap *keymap = keymap_new();
    for (size_t i = 0; i < config->binding_count; i++) {
        const struct config_binding *binding = &config->bindings[i];
        if (keymap_bind(keymap, binding->action, binding->keys, &err)) {
            err.line = binding->line;
            cli_file_error(STATUS_USAGE, config->path ? config->path : "config.json", &err);
            keymap_free(keymap);
            return NULL;
        }
    }
    return keymap;
}

/* ---- settings ---- */

static void use_config(struct engine_config *h, const struct config *config)
{
    h->limits = config->limits;
    if (config->web >= 0)
        h->web = (enum web_mode)config->web;
    if (config->thinking >= 0)
        h->thinking = (enum thinking_level)config->thinking;
    if (config->reflect_on_tool_error >= 0)
        h->reflect_on_tool_error = config->reflect_on_tool_error;
    if (config->reflect_every >= 0)
        h->reflect_every = config->reflect_every;
    if (config->parallel >= 0)
        h->parallel = config->parallel;
    if (config->select_tools >= 0)
        h->select_tools = config->select_tools;
    if (config->citations >= 0)
        h->show_citations = config->citations;
    h->system_prompt = config->system_prompt;
    if (config->compact >= 0)
        h->compact = config->compact;
    if (config->project_instructions >= 0)
        h->project_instructions = config->project_instructions;
    h->web_endpoint = config->web_endpoint;
    if (config->memory >= 0)
        h->memory = (enum memory_scope)config->memory;
}

/* Check them before anything is created, so that a misspelled one leaves no empty session behind. */
static int check_breaks(const struct options *options)
{
    struct err err = ERR_INIT;
    struct gates gates;
    int status = 0;
    gates_init(&gates);
    for (size_t i = 0; i < options->breaks.count && !status; i++)
        if (gates_break(&gates, options->breaks.items[i], &err) < 0)
            status = cli_error(STATUS_USAGE, "--break %s: %s", options->breaks.items[i], err.text);
    gates_release(&gates);
    return status;
}

static int use_options(struct engine_config *h, const struct setup_plan *plan)
{
    const struct options *options = plan->options;
    struct err err = ERR_INIT;
    /* A run that repeats a recording uses the recorded budget and thinking, whatever this user configured. */
    if (!plan->recording) {
        struct budget_limits defaults = budget_defaults_for(plan->interactive);
        budget_limits_fill(&h->limits, &defaults);
    } else {
        h->limits = budget_defaults();
        recording_limits(plan->recording, &h->limits);
        h->thinking = recording_thinking(plan->recording);
        h->compact = recording_compacted(plan->recording);
    }
    for (size_t i = 0; i < options->budgets.count; i++)
        if (budget_limits_set(&h->limits, options->budgets.items[i], &err))
            return cli_error(STATUS_USAGE, "--budget %s: %s", options->budgets.items[i], err.text);
    if (check_breaks(options))
        return STATUS_USAGE;
    if (options->web)
        h->web = (enum web_mode)web_mode_from_name(options->web);
    if (options->serial)
        h->parallel = false;
    if (options->no_instructions)
        h->project_instructions = false;
    h->engine_name = options->engine;
    h->interactive = plan->interactive;
    h->ask_timeout_ms = isnan(options->ask_timeout) ? 0 : (int64_t)(options->ask_timeout * 1000);
    return 0;
}

#define SYSTEM_BYTES_MAX (256u << 10)

/* Reads the system prompt of this run from a file, because prompts that users try out are too long for an argument. A
 * run that repeats a recording sends the recorded system prompt. */
static int read_system(struct setup *setup, const struct setup_plan *plan)
{
    const struct options *options = plan->options;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    bool instructions;
    if (plan->recording && (setup->system_prompt = recording_reported(plan->recording, &instructions))) {
        setup->engine_config.system_prompt = setup->system_prompt;
        setup->engine_config.project_instructions = instructions;
        return 0;
    }
    if (!options->system)
        return 0;
    if (file_read(options->system, &text, SYSTEM_BYTES_MAX, &err))
        return cli_file_error(STATUS_USAGE, options->system, &err);
    if (!utf8_valid(text.buf, text.len) || memchr(text.buf, '\0', text.len))
        return cli_error(STATUS_USAGE, "--system %s: not a text file (name a file in UTF-8)", options->system);
    if (strspn(text.buf, " \t\r\n") == text.len)
        return cli_error(STATUS_USAGE, "--system %s: the file is empty (write the system prompt into it)",
                         options->system);
    setup->system_prompt = strbuf_detach(&text, NULL);
    setup->engine_config.system_prompt = setup->system_prompt;
    return 0;
}

static int open_rules(struct setup *setup, const struct setup_plan *plan)
{
    struct err err = ERR_INIT;
    int mode = RULES_ASK;
    if (plan->options->approve)
        mode = rule_mode_from_name(plan->options->approve);
    else if (plan->config->approve >= 0 && !plan->recording)
        mode = plan->config->approve;
    setup->engine_config.rules = rules_new((enum rule_mode)mode, plan->interactive);
    if (plan->recording && !plan->options->approve && !plan->user_decides &&
        recording_decisions(plan->recording, setup->engine_config.rules, &err))
        return cli_error(STATUS_USAGE, "cannot use the recorded decisions: %s", err.text);
    return 0;
}

/* ---- files ---- */

/* A fork has the name of its file. */
static char *id_of(const char *journal)
{
    const char *slash = strrchr(journal, '/');
    const char *name = slash ? slash + 1 : journal;
    return xmemdup0(name, strlen(name) - (setup_is_recording(name) ? 6 : 0));
}

/* Two sessions that start in the same second may draw the same number. */
static bool id_taken(const char *id)
{
    CLEANUP(free) char *name = xasprintf("sessions/%s.jsonl", id);
    CLEANUP(free) char *kept = xasprintf("checkpoints/%s", id);
    CLEANUP(free) char *recording = file_xdg_path(FILE_DATA, name);
    CLEANUP(free) char *checkpoints = file_xdg_path(FILE_DATA, kept);
    return access(recording, F_OK) == 0 || access(checkpoints, F_OK) == 0;
}

static void make_id(struct setup *setup, const struct setup_plan *plan)
{
    char stamp[CLOCK_STAMP_MAX];
    struct clock *clock = loop_clock(setup->loop);
    setup->created_us = clock->wall_us(clock);
    if (plan->session) {
        setup->id = xstrdup(plan->session);
        return;
    }
    if (plan->resume) {
        setup->id = id_of(plan->journal);
        return;
    }
    clock_stamp(setup->created_us, stamp);
    for (int i = 0; i < ID_TRIES; i++) {
        uint16_t random = 0;
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
            random = (uint16_t)(getpid() + i);
        /* 2026-11-16T12:39:42Z → 20261116-123942-7f3a: sorts by time and needs no quotes in a shell. */
        free(setup->id);
        setup->id = xasprintf("%.4s%.2s%.2s-%.2s%.2s%.2s-%04x", stamp, stamp + 5, stamp + 8, stamp + 11, stamp + 14,
                              stamp + 17, random);
        if (!id_taken(setup->id))
            return;
    }
}

/* "<temp>/<name>", or `name` in the user's data folder, created if missing. NULL after printing the error. */
static char *own_folder(const struct setup_plan *plan, const char *name)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = plan->temp ? xasprintf("%s/%s", plan->temp, name) : file_xdg_path(FILE_DATA, name);
    if (file_mkdirs(path, 0700, &err) == 0 && access(path, W_OK | X_OK) == 0)
        return steal(&path);
    if (err.text[0])
        cli_error(STATUS_USAGE, "%s (make it writable, or set XDG_DATA_HOME)", err.text);
    else
        cli_error(STATUS_USAGE, "cannot write in %s (make it writable, or set XDG_DATA_HOME)", path);
    return NULL;
}

static char *absolute(const char *path)
{
    CLEANUP(free) char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    return here ? xasprintf("%s/%s", here, path) : xstrdup(path);
}

/* Refuses an existing --record file before any slow step, so that the user does not wait for that error. */
static int check_record(const struct setup_plan *plan)
{
    const char *record = plan->options->record;
    if (!record || plan->journal || plan->resume || access(record, F_OK) != 0)
        return 0;
    return cli_error(STATUS_USAGE, "%s: file exists (name another; recordings are never overwritten)", record);
}

static struct journal *open_journal(struct setup *setup, const struct setup_plan *plan)
{
    struct err err = ERR_INIT;
    if (plan->journal) {
        setup->journal = absolute(plan->journal);
    } else if (plan->options->record) {
        setup->journal = absolute(plan->options->record);
    } else if (plan->keep) {
        CLEANUP(free) char *folder = own_folder(&(struct setup_plan){0}, "sessions");
        if (!folder)
            return NULL;
        setup->journal = xasprintf("%s/%s.jsonl", folder, setup->id);
    }
    const char *shown = plan->options->record && !plan->journal ? plan->options->record : setup->journal;
    if (plan->resume) {
        struct journal *resumed = journal_resume(setup->journal, loop_clock(setup->loop), &err);
        if (!resumed)
            cli_file_error(STATUS_USAGE, shown, &err);
        return resumed;
    }
    struct journal *journal = journal_create(setup->journal, loop_clock(setup->loop), &err);
    if (!journal)
        cli_file_error(STATUS_USAGE, shown ? shown : "journal", &err);
    return journal;
}

/* How many scripts may run at once, and how many sandboxes are kept ready after the first one was needed. */
#define BOXES_WARM 1
#define BOXES_MORE 3

/* Scripts run in real time and in their own processes, so a run that repeats a recording in virtual time has none. */
static int open_sandbox(struct setup *setup, const struct setup_plan *plan)
{
    struct engine_config *h = &setup->engine_config;
    if (!registry_find(h->registry, "run_script") || plan->virtual_time)
        return 0;
    int status = sandbox_choice_open(&setup->sandbox, plan->options);
    if (status)
        return status;
    h->pool = sandbox_choice_pool(&setup->sandbox, setup->loop, BOXES_WARM, BOXES_MORE);
    if (h->pool)
        h->engine_name = setup->sandbox.spec.engine->name;
    return setup_open_runtime(setup, plan);
}

#define SERVERS_QUIET_S 2.0 /* no message for a shorter wait */

/* Tool servers have their own clocks and files, so a run that repeats a recording starts none. */
static void wait_quietly(struct mcp *mcp, double wait_s)
{
    double quiet_s = wait_s < SERVERS_QUIET_S ? wait_s : SERVERS_QUIET_S;
    if (!mcp_wait(mcp, quiet_s) && wait_s > quiet_s) {
        cli_notice("waiting for MCP servers, at most %.0f s", wait_s);
        mcp_wait(mcp, wait_s - quiet_s);
    }
}

static int open_servers(struct setup *setup, const struct setup_plan *plan)
{
    const struct config *config = plan->config;
    struct engine_config *h = &setup->engine_config;
    int status = 0;
    if (!config->mcp.count || plan->recording || plan->virtual_time)
        return 0;
    setup->mcp = mcp_open(setup->loop, &config->mcp, beneath_path(h->root));
    double wait_s = config->mcp_wait_s >= 0 ? config->mcp_wait_s : MCP_WAIT_S;
    if (plan->wait)
        status = plan->wait(plan->waiter, setup->mcp, setup->loop, wait_s);
    else
        wait_quietly(setup->mcp, wait_s);
    if (status)
        return status;
    mcp_register(setup->mcp, h->registry);
    h->tools = mcp_source(setup->mcp);
    for (size_t i = 0; i < mcp_count(setup->mcp); i++) {
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        struct mcp_status server = mcp_status(setup->mcp, i);
        mcp_status_write(&line, &server);
        if (server.state == MCP_STARTING)
            strbuf_addstr(&line, ": its tools will be available in the next turn (\"mcp_wait_s\" waits longer)");
        if (server.state != MCP_READY && server.state != MCP_OFF && !plan->wait)
            cli_notice("%s", line.buf);
        if (server.state == MCP_STARTING)
            log_warn("%s", line.buf);
    }
    return 0;
}

static int open_tools(struct setup *setup, const struct setup_plan *plan)
{
    struct engine_config *h = &setup->engine_config;
    struct err err = ERR_INIT;
    h->root = beneath_open(plan->workspace, &err);
    if (!h->root)
        return cli_file_error(STATUS_USAGE, plan->workspace, &err);
    h->registry = registry_new();
    if (registry_add_builtin(h->registry, &err) ||
        (plan->recording && recorded_tools_add(plan->recording, h->registry, plan->virtual_time, &err)))
        return cli_error(STATUS_USAGE, "cannot set up the tools: %s", err.text);
    if (plan->recording)
        h->tools = recording_tools(plan->recording);
    if (plan->recording && !plan->user_decides)
        h->undos = recording_undos(plan->recording);
    if (open_sandbox(setup, plan))
        return STATUS_USAGE;
    if (h->web_endpoint && h->web != WEB_OFF && !plan->virtual_time && !(h->http = http_new(setup->loop, &err)))
        return cli_error(STATUS_USAGE, "cannot search the web: %s", err.text);

    CLEANUP(free) char *name = plan->temp ? xstrdup("checkpoints") : xasprintf("checkpoints/%s", setup->id);
    setup->checkpoints = own_folder(plan, name);
    if (!setup->checkpoints)
        return STATUS_USAGE;
    h->checkpoints = checkpoints_open(setup->checkpoints, &err);
    if (!h->checkpoints)
        return cli_file_error(STATUS_USAGE, setup->checkpoints, &err);
    CLEANUP(free) char *artifacts = plan->temp ? xasprintf("%s/artifacts", plan->temp) : NULL;
    h->artifacts = artifact_store_open(artifacts, loop_clock(setup->loop), &err);
    if (!h->artifacts)
        log_warn("artifacts: %s", err.text); /* long outputs are cut then, and marked as cut */
    return 0;
}

static void open_store(struct setup *setup)
{
    struct err err = ERR_INIT;
    if (setup->engine_config.store || setup->store_failed)
        return;
    CLEANUP(free) char *path = file_xdg_path(FILE_DATA, "keyturn.db");
    setup->engine_config.store = store_open(path, &err);
    if (!setup->engine_config.store) {
        setup->store_failed = true;
        cli_notice("no memory and no session list: %s%s%s", strstr(err.text, path) ? "" : path,
                   strstr(err.text, path) ? "" : ": ", err.text);
    }
}

static int set_gates(struct setup *setup, const struct setup_plan *plan)
{
    const struct options *options = plan->options;
    const struct config *config = plan->config;
    struct err err = ERR_INIT;
    int result = 0;
    for (size_t i = 0; i < options->breaks.count && !result; i++)
        result = engine_submit(setup->engine,
                               &(struct intent){.type = INTENT_BREAK, .breakpoint = {options->breaks.items[i]}}, &err);
    /* A run that repeats a recording ignores this user's breakpoints. */
    for (size_t i = 0; i < config->breakpoint_count && !plan->recording && !result; i++)
        result = engine_submit(setup->engine,
                               &(struct intent){.type = INTENT_BREAK, .breakpoint = {config->breakpoints[i]}}, &err);
    if (options->step && !result)
        result = engine_submit(setup->engine, &(struct intent){.type = INTENT_STEP}, &err);
    return result ? cli_error(STATUS_FAILED, "%s", err.text) : 0;
}

int setup_open(struct setup *setup, const struct setup_plan *plan)
{
    struct err err = ERR_INIT;
    *setup = (struct setup){.keep = plan->keep, .foreign = plan->session != NULL};
    CLEANUP(free) char *log = file_xdg_path(FILE_STATE, "log");
    if (log_open(log, LOG_INFO, &err)) {
        /* Without a log file the run continues; keyturn doctor reports the problem. */
    }
    fake_clock_init(&setup->fake);
    setup->loop = loop_new(plan->virtual_time ? &setup->fake.base : clock_system());
    setup->engine_config = engine_config_defaults();
    setup->engine_config.loop = setup->loop;
    make_id(setup, plan);
    setup->engine_config.session = setup->id;
    setup->engine_config.project = setup->project = project_root(plan->workspace);
    setup->engine_config.same_session = plan->session != NULL;
    use_config(&setup->engine_config, plan->config);
    int status = use_options(&setup->engine_config, plan);
    if (!status)
        status = read_system(setup, plan);
    if (!status)
        status = setup_open_model(setup, plan);
    if (!status)
        status = open_rules(setup, plan);
    if (!status)
        status = open_tools(setup, plan);
    if (status)
        return status;
    if (plan->memory)
        open_store(setup);
    status = check_record(plan);
    if (!status)
        status = open_servers(setup, plan); /* last, because it may be slow and the user may leave meanwhile */
    if (status)
        return status;
    setup->engine_config.hooks = finalize_store_hooks(plan->memory ? setup->engine_config.store : NULL,
                                                      setup->engine_config.memory != MEMORY_OFF);
    struct journal *journal = open_journal(setup, plan);
    if (!journal)
        return STATUS_USAGE;
    setup->foreign = false;
    setup->engine = plan->resume ? engine_resume(&setup->engine_config, journal, plan->resume, plan->sinks, &err)
                                 : engine_new(&setup->engine_config, journal, plan->sinks, &err);
    if (!setup->engine)
        return cli_file_error(STATUS_FAILED, setup->journal ? setup->journal : "journal", &err);
    return set_gates(setup, plan);
}

static void count_decisions(const struct session *session, struct store_session *entry)
{
    for (uint32_t i = 0; i < session->ask_count; i++) {
        const struct session_question *ask = &session->asks[i];
        enum event_decided_as decided = event_decided_as(session_name(session, ask->decision), ask->by);
        entry->approved += decided == DECIDED_APPROVED;
        entry->denied += decided == DECIDED_DENIED;
    }
}

static const char *how_it_ended(const struct session *session)
{
    const struct session_turn *turn = session_turn(session);
    return !turn ? "no turn" : turn->finished_seq ? session_name(session, turn->status) : "cut off";
}

void setup_list_session(struct setup *setup)
{
    struct err err = ERR_INIT;
    CLEANUP(journal_summary) struct journal_summary summary = {0};
    if (!setup->keep || !setup->journal)
        return;
    open_store(setup);
    if (!setup->engine_config.store)
        return;
    struct clock *clock = loop_clock(setup->loop);
    const struct session *session = engine_session(setup->engine);
    struct session_writes writes = session_count_writes(session);
    if (journal_summary_read(&summary, setup->journal, &err)) /* reads the prompt, also of a resumed session */
        log_warn("%s: %s", setup->journal, err.text);
    struct store_session entry = {
        .id = setup->id,
        .path = setup->journal,
        .workspace = (char *)session_name(session, session->workspace),
        .title = session->title   ? (char *)session_name(session, session->title)
                 : summary.prompt ? summary.prompt
                                  : (char *)"",
        .status = (char *)how_it_ended(session),
        .model = (char *)session_name(session, session->model),
        .created_us = setup->created_us,
        .updated_us = clock->wall_us(clock),
        .turns = (int64_t)session->turn_count,
        .writes = writes.applied,
        .undone = writes.undone,
    };
    count_decisions(session, &entry);
    if (store_session_put(setup->engine_config.store, &entry, &err))
        log_warn("store: %s", err.text);
}

void setup_close(struct setup *setup)
{
    struct engine_config *h = &setup->engine_config;
    engine_free(setup->engine);
    runtime_free(h->runtime);
    pool_free(h->pool);
    mcp_close(setup->mcp);
    provider_free(h->provider);
    http_free(setup->model_http);
    http_free(h->http);
    registry_free(h->registry);
    beneath_close(h->root);
    rules_free(h->rules);
    artifact_store_close(h->artifacts);
    checkpoints_close(h->checkpoints);
    if (setup->checkpoints && !setup->foreign)
        rmdir(setup->checkpoints); /* removes the folder only if it is empty: most sessions write nothing */
    store_close(h->store);
    journal_reader_free(setup->script);
    for (size_t i = 0; i < setup->script_count; i++)
        journal_reader_free(setup->scripts[i]);
    free(setup->scripts);
    free(setup->system_prompt);
    free(setup->project);
    free(setup->id);
    free(setup->journal);
    free(setup->checkpoints);
    loop_free(setup->loop);
    sandbox_choice_close(&setup->sandbox);
    log_close();
}
