/* Sets up the sandbox and the runtime of a session, from the options and the config file.
 *
 * sandbox_choice_* finds the engine for scripts: the one that --engine names, or the best that is installed.
 * setup_open_runtime prepares the runtime in which tools run programs. It starts nothing, with one exception: it tests
 * systemd if systemd could limit programs, because a later test would block the loop. */

#include "base/beneath.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "cli_error.h"
#include "sandbox/engines_program.h"
#include "setup.h"
#include "tools/runtime.h"
#include "workspace/skills.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define DISK_MB 2048 /* default size limit of a workspace */
#define MIB     (INT64_C(1) << 20)

/* ---- the sandbox ---- */

static int choose_named_engine(struct sandbox_choice *sandbox, const char *text)
{
    size_t len = strcspn(text, ":");
    sandbox->name = xmemdup0(text, len);
    if (text[len])
        sandbox->host = xstrdup(text + len + 1);
    sandbox->spec.host = sandbox->host && *sandbox->host ? sandbox->host : NULL;
    sandbox->spec.engine = sandbox_engines_find(&sandbox->engines, sandbox->name);
    const struct sandbox_engine *engine = sandbox->spec.engine;
    if (engine && text[len] && !sandbox_engine_uses(engine, "host") && !sandbox_engine_uses(engine, "host..."))
        return cli_error(STATUS_USAGE, "sandbox '%s': %s runs on this machine only (leave out '%s')", text,
                         engine->name, text + len);
    if (engine)
        return 0;
    struct nearest near = nearest_to(sandbox->name);
    for (size_t i = 0; i < sandbox->engines.count; i++)
        nearest_offer(&near, sandbox->engines.items[i].name);
    if (near.best)
        return cli_error(STATUS_USAGE, "unknown engine '%s' (did you mean %s?)", text, near.best);
    return cli_error(STATUS_USAGE, "unknown engine '%s' (keyturn engines lists them)", text);
}

/* A path on another machine cannot be checked from this one. */
static int find_tools(struct sandbox_choice *sandbox, const char *folder)
{
    struct stat st;
    const struct sandbox_engine *engine = sandbox->spec.engine;
    if (engine && engine->remote) {
        sandbox->tools = xstrdup(folder);
    } else {
        if (stat(folder, &st))
            return cli_error(STATUS_USAGE, "--tools %s: %s (name a folder)", folder, strerror(errno));
        if (!S_ISDIR(st.st_mode))
            return cli_error(STATUS_USAGE, "--tools %s: not a folder (name a folder)", folder);
        sandbox->tools = realpath(folder, NULL);
    }
    sandbox->spec.tools = sandbox->tools;
    return 0;
}

int sandbox_choice_open(struct sandbox_choice *sandbox, const struct options *options)
{
    *sandbox = (struct sandbox_choice){0};
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = sandbox_engines_default_path();
    if (sandbox_engines_load(&sandbox->engines, path, &err))
        return cli_file_error(STATUS_USAGE, path, &err);
    int status = options->engine ? choose_named_engine(sandbox, options->engine) : 0;
    if (!options->engine)
        sandbox->spec.engine = sandbox_engines_choose(&sandbox->engines);
    if (!status && options->tools)
        status = find_tools(sandbox, options->tools);
    sandbox->secrets = xcalloc(options->secrets.count + 1, sizeof(*sandbox->secrets));
    for (size_t i = 0; i < options->secrets.count; i++)
        sandbox->secrets[i] = xstrdup(options->secrets.items[i]);
    sandbox->spec.secrets = (const char *const *)sandbox->secrets;
    return status;
}

void sandbox_choice_close(struct sandbox_choice *sandbox)
{
    sandbox_engines_release(&sandbox->engines);
    argv_free(sandbox->secrets);
    free(sandbox->name);
    free(sandbox->host);
    free(sandbox->tools);
}

struct pool *sandbox_choice_pool(const struct sandbox_choice *sandbox, struct loop *loop, size_t size, size_t overflow)
{
    if (!sandbox->spec.engine)
        return NULL;
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "boxes");
    struct pool_options options = {
        .loop = loop, .spec = &sandbox->spec, .size = size, .overflow = overflow, .lazy = true, .folder = folder};
    return pool_new(&options, NULL);
}

/* ---- the runtime: workspace and programs ---- */

struct folders {
    char **items; /* NULL-terminated */
    size_t count, room;
};

static void take_folder(struct folders *folders, char *take_path)
{
    GROW(folders->items, folders->count + 1, folders->room);
    folders->items[folders->count++] = take_path;
    folders->items[folders->count] = NULL;
}

/* Resolves a path: "~/x" is in the user's home folder, "x" beside the config file. */
static char *meant(const struct config *config, const char *path)
{
    const char *home = getenv("HOME"), *slash = config->path ? strrchr(config->path, '/') : NULL;
    if (strncmp(path, "~/", 2) == 0 && home && *home)
        return xasprintf("%s/%s", home, path + 2);
    if (path[0] != '/' && slash)
        return xasprintf("%.*s/%s", (int)(slash - config->path), config->path, path);
    return xstrdup(path);
}

static void take_list(struct folders *folders, const struct config *config, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        take_folder(folders, meant(config, list[i]));
}

/* The engine from --engine or from the config file, else the engine of the scripts. */
static int find_engine(const struct setup *setup, const struct setup_plan *plan, const struct sandbox_engine **engine)
{
    const struct config *config = plan->config;
    const char *name = plan->options->engine ? NULL : config->workspace.engine;
    struct err err = ERR_INIT;
    *engine = name ? sandbox_program_engine(&setup->sandbox.engines, name, &err) : setup->sandbox.spec.engine;
    if (!name || *engine)
        return 0;
    err_prefix(&err, "\"workspace.engine\"");
    err.line = config->workspace.engine_line;
    return cli_file_error(STATUS_USAGE, config->path ? config->path : "config.json", &err);
}

/* The user's own folders of skills. Those of the project are found below the workspace. */
static void take_skills(struct folders *skills, const struct config *config)
{
    take_folder(skills, file_xdg_path(FILE_CONFIG, "skills"));
    take_list(skills, config, config->skills);
}

static void check_list(const struct config *config, const char *key, const char *const *list,
                       void (*warn)(void *user, const char *text), void *user)
{
    struct stat st;
    for (size_t i = 0; list && list[i]; i++) {
        CLEANUP(free) char *path = meant(config, list[i]);
        CLEANUP(free) char *text = xasprintf("\"%s\": no folder %s", key, path);
        if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            warn(user, text);
    }
}

void setup_check_folders(const struct config *config, void (*warn)(void *user, const char *text), void *user)
{
    check_list(config, "workspace.inputs", config->workspace.inputs, warn, user);
    check_list(config, "skills", config->skills, warn, user);
}

static void check_names(const struct config *config, const char *key, const char *const *list, const long *lines,
                        void (*warn)(void *user, const char *text), void *user)
{
    for (size_t i = 0; list && list[i]; i++) {
        struct err err = ERR_INIT;
        if (!command_policy_check_entry(list[i], list == config->workspace.allow, &err))
            continue;
        CLEANUP(free)
        char *text =
            xasprintf("%s:%ld: \"%s\": %s", config->path ? config->path : "config.json", lines[i], key, err.text);
        warn(user, text);
    }
}

void setup_check_commands(const struct config *config, void (*warn)(void *user, const char *text), void *user)
{
    const struct config_workspace *said = &config->workspace;
    check_names(config, "workspace.allow", said->allow, said->allow_lines, warn, user);
    check_names(config, "workspace.deny", said->deny, said->deny_lines, warn, user);
}

void setup_check_skills(const struct config *config, const char *workspace, void (*warn)(void *user, const char *text),
                        void *user)
{
    struct folders folders = {0};
    struct skills skills = {0};
    take_skills(&folders, config);
    skills_list_all(&skills, workspace, (const char *const *)folders.items);
    for (size_t i = 0; i < skills.left_count; i++)
        warn(user, skills.left[i].text);
    skills_release(&skills);
    argv_free(folders.items);
}

struct program_limits setup_program_limits(const struct config_workspace *said)
{
    return (struct program_limits){.cpu_percent = (unsigned)said->cpu_percent,
                                   .memory_mb = (unsigned)said->memory_mb,
                                   .pids = (unsigned)said->pids};
}

static void log_wrong(void *user, const char *text)
{
    (void)user;
    log_warn("config: %s", text);
}

int setup_open_runtime(struct setup *setup, const struct setup_plan *plan)
{
    const struct config_workspace *said = &plan->config->workspace;
    const struct sandbox_engine *engine;
    int status = find_engine(setup, plan, &engine);
    if (status)
        return status;
    if (engine && engine->program)
        sandbox_program_holder(engine); /* the result is cached for later calls */
    struct folders skills = {0}, inputs = {0};
    setup_check_folders(plan->config, log_wrong, NULL);
    setup_check_commands(plan->config, log_wrong, NULL);
    take_skills(&skills, plan->config);
    take_list(&inputs, plan->config, said->inputs);
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "workspaces");
    CLEANUP(free) char *kept = file_xdg_path(FILE_DATA, "workspaces");
    CLEANUP(free)
    char *artifacts = plan->temp ? xasprintf("%s/saved", plan->temp) : file_xdg_path(FILE_DATA, "artifacts");
    struct runtime_options options = {
        .loop = setup->loop,
        .id = setup->id,
        .engine = engine,
        .why_none = "no sandbox for programs on this machine (run keyturn engines)",
        .folder = folder,
        .kept = kept,
        .artifacts = artifacts,
        .artifact_project = setup->project,
        .project = plan->workspace,
        .skills = (const char *const *)skills.items,
        .host = (const char *const *)inputs.items,
        .policy = {.isolated = engine && !engine->unsafe,
                   .persist = said->persist,
                   .max_disk_bytes = (said->max_disk_mb ? said->max_disk_mb : DISK_MB) * MIB},
        .network = said->network,
        .limits = setup_program_limits(said),
        .commands = {.allow = said->allow, .deny = said->deny},
        .env = said->env,
        .env_missing = said->env_missing,
        .timeout_ms = said->timeout_s * 1000,
        .programs_max = (size_t)said->programs,
    };
    setup->engine_config.runtime = runtime_new(&options);
    setup->engine_config.programs = runtime_control(setup->engine_config.runtime);
    argv_free(skills.items);
    argv_free(inputs.items);
    return 0;
}
