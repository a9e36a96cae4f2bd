/* The place where a session's tools run programs, from the options and the config file. Nothing is made here, nor
 * anything run but a trial of systemd where one serves this user: later, the loop would wait for it. */

#include "base/beneath.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/engines_program.h"
#include "say.h"
#include "setup.h"
#include "tools/place.h"
#include "workspace/skills.h"
#include <string.h>
#include <sys/stat.h>

#define DISK_MB 2048 /* of a workspace, when nothing is said */
#define MIB     (INT64_C(1) << 20)

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

/* "~/x" is in the user's folder, "x" beside the config file. */
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

/* --engine, what the config file names, or the one that scripts have. */
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
    return say_file_error(STATUS_USAGE, config->path ? config->path : "config.json", &err);
}

/* The user's own; those of the project are found beneath it. */
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
        CLEANUP(free) char *text = xasprintf("\"%s\": there is no folder %s", key, path);
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

int setup_open_place(struct setup *setup, const struct setup_plan *plan)
{
    const struct config_workspace *said = &plan->config->workspace;
    const struct sandbox_engine *engine;
    int status = find_engine(setup, plan, &engine);
    if (status)
        return status;
    if (engine && engine->program)
        sandbox_program_holder(engine); /* it is kept */
    struct folders skills = {0}, inputs = {0};
    setup_check_folders(plan->config, log_wrong, NULL);
    setup_check_commands(plan->config, log_wrong, NULL);
    take_skills(&skills, plan->config);
    take_list(&inputs, plan->config, said->inputs);
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "workspaces");
    CLEANUP(free) char *kept = file_xdg_path(FILE_DATA, "workspaces");
    CLEANUP(free)
    char *artifacts = plan->temp ? xasprintf("%s/saved", plan->temp) : file_xdg_path(FILE_DATA, "artifacts");
    struct place_options options = {
        .loop = setup->loop,
        .id = setup->id,
        .engine = engine,
        .why_none = "there is no sandbox for programs on this machine (keyturn engines says what is missing)",
        .folder = folder,
        .kept = kept,
        .artifacts = artifacts,
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
    setup->harness.place = place_new(&options);
    setup->harness.programs = place_control(setup->harness.place);
    argv_free(skills.items);
    argv_free(inputs.items);
    return 0;
}
