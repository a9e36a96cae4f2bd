/* Vectors for programs. */

#include "engines_program.h"
#include "base/file.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "cgroup.h"
#include "engines_inside.h"
#include "scope.h"
#include "user.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void sandbox_program_free(struct sandbox_program *program)
{
    if (!program)
        return;
    argv_free(program->argv);
    argv_free(program->visible);
    argv_free(program->lent);
    argv_free(program->cpu);
    argv_free(program->variable);
    argv_free(program->tty);
    argv_free(program->filter);
    argv_free(program->etc);
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

/* Where a service of root's starts it, the vector names the user. */
bool sandbox_program_is_other_user(const struct sandbox_engine *engine)
{
    bool other = engine->as_user;
    for (char **at = engine->program ? engine->program->user_root : NULL; at && *at; at++)
        other |= strstr(*at, "{uid}") != NULL;
    return other && sandbox_user();
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
enum program_holder sandbox_program_holder(const struct sandbox_engine *engine)
{
    if (engine->program->cgroup)
        return cgroup_works() ? HOLDER_GROUP : scope_state() == SCOPE_WORKS ? HOLDER_SCOPE : HOLDER_WATCH;
    for (char **at = engine->program->argv; *at; at++)
        if (strstr(*at, "{memory_mb}") && !leaves_limits_out(engine))
            return HOLDER_CONTAINER;
    return HOLDER_WATCH;
}

const char *sandbox_program_holder_words(enum program_holder holder)
{
    static const char *const words[] = {
        [HOLDER_GROUP] = "a control group limits memory and processes",
        [HOLDER_CONTAINER] = "the container limits memory and processes",
        [HOLDER_SCOPE] = "a systemd scope limits memory and processes",
        [HOLDER_WATCH] = "no control group, memory is checked every 100 ms",
    };
    return words[holder];
}

/* Not every systemd hands the processor down to its users. */
bool sandbox_program_bounds_whole(const struct sandbox_engine *engine)
{
    enum program_holder holder = sandbox_program_holder(engine);
    return holder == HOLDER_GROUP || holder == HOLDER_CONTAINER;
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
    if (from->network)
        vector_push(vector, xstrdup("--network"));
    if (from->network_door) {
        vector_push(vector, xstrdup("--network-socket"));
        vector_push(vector, xstrdup(from->network_door));
    }
    push_number(vector, "--memory", from->memory_mb);
    if (from->watch_memory && from->memory_mb)
        vector_push(vector, xstrdup("--watch-memory"));
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

bool sandbox_program_is_ours(const char *image)
{
    size_t name = strlen(BOX_IMAGE); /* and a tag */
    return !image || (strncmp(image, BOX_IMAGE, name) == 0 && (!image[name] || image[name] == ':'));
}

static int push_argument(struct vector *vector, const char *argument, const struct program_vector *from,
                         const struct filling *filling, struct err *err)
{
    const struct sandbox_program *program = from->engine->program;
    const struct {
        const char *list;
        char **arguments;
    } lists[] = {{"{tty...}", from->tty ? program->tty : NULL},
                 {"{filter...}", from->filtered ? program->filter : NULL},
                 {"{etc...}", program->etc},
                 {"{system...}", sandbox_program_is_ours(from->image) ? program->system : NULL},
                 {"{cpu...}", from->cpu_percent ? program->cpu : NULL},
                 {"{user...}", sandbox_user() ? program->user_root : program->user}};
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

/* Files in memory are memory of the program. With at most half of it in each place, a full /tmp is an error that the
 * program sees and no reason to kill it. */
static void fill_sizes(struct filling *filling, unsigned memory_mb)
{
    unsigned half = memory_mb / 2;
    unsigned tmp = half < PROGRAM_TMP_MB ? half : PROGRAM_TMP_MB, shm = half < PROGRAM_SHM_MB ? half : PROGRAM_SHM_MB;
    snprintf(filling->tmp_bytes, sizeof(filling->tmp_bytes), "%llu", (unsigned long long)tmp << 20);
    snprintf(filling->shm_bytes, sizeof(filling->shm_bytes), "%llu", (unsigned long long)shm << 20);
}

/* Everything of this machine that it binds must be in sight of the user who binds it. */
static int push_program(struct vector *vector, const char *program, const struct program_vector *from,
                        const struct filling *filling, struct err *err)
{
    size_t count = 0, room = from->lent_count + 2;
    for (const char *const *at = from->visible; at && *at; at++)
        room++;
    struct shown *shown = xcalloc(room, sizeof(*shown));
    shown[count++] = (struct shown){filling->launcher, false};
    shown[count++] = (struct shown){from->workspace, false};
    for (const char *const *at = from->visible; at && *at; at++)
        shown[count++] = (struct shown){*at, true};
    for (size_t i = 0; i < from->lent_count; i++)
        shown[count++] = (struct shown){from->lent[i].path, true};
    int failed = vector_push_program(vector, program, filling, shown, count, err);
    free(shown);
    return failed;
}

static char **make_vector(const struct program_vector *from, char *const *template, char *const *first, struct err *err)
{
    CLEANUP(vector) struct vector vector = {0};
    CLEANUP(free) char *said = from->launcher ? xstrdup(from->launcher) : launcher_path();
    CLEANUP(free) char *launcher = sandbox_path_for(from->engine, said);
    CLEANUP(free) char *user = xasprintf("%u:%u", (unsigned)getuid(), (unsigned)getgid());
    struct box_spec spec = {.engine = from->engine, .image = from->image, .workspace = from->workspace};
    struct filling filling = {.spec = &spec, .name = from->name, .launcher = launcher, .user = user};
    unsigned memory_mb = from->memory_mb ? from->memory_mb : PROGRAM_MEMORY_MB;
    snprintf(filling.memory_mb, sizeof(filling.memory_mb), "%u", memory_mb);
    fill_sizes(&filling, memory_mb);
    snprintf(filling.pids, sizeof(filling.pids), "%u", from->pids ? from->pids : PROGRAM_PIDS);
    if (from->cpu_percent)
        snprintf(filling.cpus, sizeof(filling.cpus), "%u.%02u", from->cpu_percent / 100, from->cpu_percent % 100);
    filling_set_user(&filling);
    if (push_program(&vector, template[0], from, &filling, err) || vector_push_all(&vector, first, &filling, err))
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

bool sandbox_program_filter_in_env(const struct sandbox_engine *engine)
{
    for (char **at = engine->program->filter; at && *at; at++)
        if (strcmp(*at, "--filter-variable") == 0)
            return true;
    return false;
}

char **sandbox_program_env(const struct program_vector *vector)
{
    struct box_spec spec = {.engine = vector->engine};
    struct vector env = {.items = sandbox_engine_env(vector->engine, &spec)};
    while (env.items[env.count])
        env.count++;
    env.room = env.count + 1;
    for (const char *const *name = scope_variables; vector->scope && *name; name++)
        if (getenv(*name))
            vector_push(&env, xasprintf("%s=%s", *name, getenv(*name)));
    for (const char *const *at = vector->env; at && *at; at++)
        vector_push(&env, xasprintf(LAUNCH_PREFIX "%s", *at));
    if (vector->filter)
        vector_push(&env, xasprintf(LAUNCH_FILTER "=%s", vector->filter));
    return env.items;
}
