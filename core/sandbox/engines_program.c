/* Vectors for programs. */

#include "engines_program.h"
#include "base/file.h"
#include "base/launch.h"
#include "base/mem.h"
#include "cgroup.h"
#include "engines_inside.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void sandbox_program_free(struct sandbox_program *program)
{
    if (!program)
        return;
    argv_free(program->argv);
    argv_free(program->network);
    argv_free(program->no_network);
    argv_free(program->visible);
    argv_free(program->lent);
    argv_free(program->cpu);
    argv_free(program->variable);
    argv_free(program->tty);
    argv_free(program->system);
    argv_free(program->user);
    argv_free(program->user_root);
    argv_free(program->ask);
    argv_free(program->stop);
    free(program->workspace);
    free(program);
}

int sandbox_program_check(const struct sandbox_engine *engine, struct err *err)
{
    if (engine->program)
        return 0;
    return err_set(err, "the engine %s cannot run programs%s", engine->name,
                   engine->remote ? ": the workspace is not on its machine (use bwrap, podman or docker)"
                                  : " (give it a \"program\" in engines.json)");
}

const struct sandbox_engine *sandbox_program_engine(const struct sandbox_engines *engines, const char *name,
                                                    struct err *err)
{
    CLEANUP(free) char *plain = xmemdup0(name, strcspn(name, ":")); /* "ssh:HOST" is ssh */
    const struct sandbox_engine *engine = sandbox_engines_find(engines, plain);
    if (!engine)
        err_set(err, "there is no sandbox %.60s (keyturn engines lists them)", name);
    return engine && sandbox_program_check(engine, err) == 0 ? engine : NULL;
}

const char *sandbox_program_root(const struct sandbox_engine *engine, const char *workspace)
{
    return engine->program->workspace ? engine->program->workspace : workspace;
}

/* An ordinary user's podman cannot limit anything with the first version of control groups, and goes on without. */
static bool leaves_limits_out(const struct sandbox_engine *engine)
{
    const char *program = engine->program->argv[0], *slash = strrchr(program, '/');
    return geteuid() != 0 && strcmp(slash ? slash + 1 : program, "podman") == 0 &&
           access("/sys/fs/cgroup/cgroup.controllers", F_OK) != 0;
}

/* Containers are groups by themselves. */
bool sandbox_program_bounds_whole(const struct sandbox_engine *engine)
{
    if (engine->program->cgroup)
        return cgroup_works();
    if (leaves_limits_out(engine))
        return false;
    for (char **at = engine->program->argv; *at; at++)
        if (strstr(*at, "{memory_mb}"))
            return true;
    return false;
}

/* ---- the command ---- */

static void push_number(struct vector *vector, const char *option, unsigned number)
{
    if (!number)
        return;
    vector_push(vector, xstrdup(option));
    vector_push(vector, xasprintf("%u", number));
}

/* What keyturn-launch gets. Texts of the program stand as they are: braces in them are no places. */
static void push_command(struct vector *vector, const struct program_vector *from)
{
    const char *root = sandbox_program_root(from->engine, from->workspace);
    if (from->engine->program->control)
        vector_push(vector, xstrdup("--control"));
    vector_push(vector, xstrdup("--mark"));
    push_number(vector, "--memory", from->memory_mb);
    push_number(vector, "--pids", from->pids);
    push_number(vector, "--cpu", from->cpu_s);
    push_number(vector, "--files", from->files_mb);
    vector_push(vector, xstrdup("--cwd"));
    vector_push(vector, xasprintf("%s/%s", root, from->cwd ? from->cwd : "."));
    vector_push(vector, xstrdup("--"));
    for (const char *const *at = from->argv; *at; at++)
        vector_push(vector, xstrdup(*at));
}

/* ---- lists ---- */

static int push_visible(struct vector *vector, const struct program_vector *from, struct filling filling,
                        struct err *err)
{
    for (const char *const *at = from->visible; at && *at; at++) {
        filling.path = *at;
        if (vector_push_all(vector, from->engine->program->visible, &filling, err))
            return -1;
    }
    return 0;
}

static int push_lent(struct vector *vector, const struct program_vector *from, struct filling filling, struct err *err)
{
    for (size_t i = 0; i < from->lent_count; i++) {
        filling.path = from->lent[i].path;
        filling.place = from->lent[i].place;
        if (vector_push_all(vector, from->engine->program->lent, &filling, err))
            return -1;
    }
    return 0;
}

static int push_variables(struct vector *vector, const struct program_vector *from, struct filling filling,
                          struct err *err)
{
    for (const char *const *at = from->env; at && *at; at++) {
        CLEANUP(free) char *name = xasprintf(LAUNCH_PREFIX "%.*s", (int)strcspn(*at, "="), *at);
        filling.variable = name;
        if (vector_push_all(vector, from->engine->program->variable, &filling, err))
            return -1;
    }
    return 0;
}

static int push_argument(struct vector *vector, const char *argument, const struct program_vector *from,
                         const struct filling *filling, struct err *err)
{
    const struct sandbox_program *program = from->engine->program;
    size_t name = strlen(BOX_IMAGE); /* and a tag */
    bool ours = !from->image ||
                (strncmp(from->image, BOX_IMAGE, name) == 0 && (!from->image[name] || from->image[name] == ':'));
    const struct {
        const char *list;
        char **arguments;
    } lists[] = {{"{network...}", from->network ? program->network : program->no_network},
                 {"{tty...}", from->tty ? program->tty : NULL},
                 {"{system...}", ours ? program->system : NULL},
                 {"{cpu...}", from->cpu_percent ? program->cpu : NULL},
                 {"{user...}", getuid() == 0 ? program->user_root : program->user}};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        if (strcmp(lists[i].list, argument) == 0)
            return vector_push_all(vector, lists[i].arguments, filling, err);
    if (strcmp(argument, "{visible...}") == 0)
        return push_visible(vector, from, *filling, err);
    if (strcmp(argument, "{lent...}") == 0)
        return push_lent(vector, from, *filling, err);
    if (strcmp(argument, "{variables...}") == 0)
        return push_variables(vector, from, *filling, err);
    if (strcmp(argument, "{command...}") != 0)
        return vector_push_filled(vector, argument, filling, err);
    push_command(vector, from);
    return 0;
}

/* ---- vectors ---- */

static char **make_vector(const struct program_vector *from, char *const *template, char *const *first, struct err *err)
{
    CLEANUP(vector) struct vector vector = {0};
    CLEANUP(free) char *launcher = from->launcher ? xstrdup(from->launcher) : launch_path();
    CLEANUP(free) char *user = xasprintf("%u:%u", (unsigned)getuid(), (unsigned)getgid());
    struct box_spec spec = {.engine = from->engine, .image = from->image, .workspace = from->workspace};
    struct filling filling = {.spec = &spec, .name = from->name, .launcher = launcher, .user = user};
    snprintf(filling.memory_mb, sizeof(filling.memory_mb), "%u", from->memory_mb ? from->memory_mb : PROGRAM_MEMORY_MB);
    snprintf(filling.pids, sizeof(filling.pids), "%u", from->pids ? from->pids : PROGRAM_PIDS);
    if (from->cpu_percent)
        snprintf(filling.cpus, sizeof(filling.cpus), "%u.%02u", from->cpu_percent / 100, from->cpu_percent % 100);
    if (push_argument(&vector, template[0], from, &filling, err) || vector_push_all(&vector, first, &filling, err))
        return NULL;
    for (template ++; *template; template ++)
        if (push_argument(&vector, *template, from, &filling, err))
            return NULL;
    return steal(&vector.items);
}

char **sandbox_program_argv(const struct program_vector *vector, bool again, struct err *err)
{
    return make_vector(vector, vector->engine->program->argv, again ? vector->engine->retry : NULL, err);
}

char **sandbox_program_ask(const struct program_vector *vector, bool kill)
{
    const struct sandbox_program *program = vector->engine->program;
    char *const *template = kill ? program->stop : program->ask;
    return template ? make_vector(vector, template, NULL, NULL) : NULL;
}

char **sandbox_program_env(const struct program_vector *vector)
{
    struct box_spec spec = {.engine = vector->engine};
    struct vector env = {.items = sandbox_engine_env(vector->engine, &spec)};
    while (env.items[env.count])
        env.count++;
    env.room = env.count + 1;
    for (const char *const *at = vector->env; at && *at; at++)
        vector_push(&env, xasprintf(LAUNCH_PREFIX "%s", *at));
    return env.items;
}
