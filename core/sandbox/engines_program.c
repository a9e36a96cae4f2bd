/* Builds the command line and environment of an engine that runs a program (engines_program.h), makes the files of
 * /etc that the program sees, and explains what a failed engine wrote to stderr. */

#include "engines_program.h"
#include "base/file.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "engines_internal.h"
#include "limits.h"
#include "user.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void sandbox_program_free(struct sandbox_program *program)
{
    if (!program)
        return;
    argv_free(program->argv);
    argv_free(program->visible);
    argv_free(program->bind_mounts);
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
        err_set(err, "unknown engine %.60s; keyturn engines lists them", name);
    return engine && sandbox_program_check(engine, err) == 0 ? engine : NULL;
}

/* If a service of root starts the program, the argument vector names the user. */
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

/* Rootless podman cannot set limits with cgroup version 1, and continues without them. */
static bool leaves_limits_out(const struct sandbox_engine *engine)
{
    const char *program = engine->program->argv[0], *slash = strrchr(program, '/');
    return geteuid() != 0 && strcmp(slash ? slash + 1 : program, "podman") == 0 &&
           access("/sys/fs/cgroup/cgroup.controllers", F_OK) != 0;
}

/* A container already is a control group. */
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

/* Not every systemd delegates the processor controller to users. */
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

/* Adds the arguments of keyturn-launch. The program's own texts stay unchanged: braces in them are not placeholders. */
static void push_command(struct vector *vector, const struct program_vector *from)
{
    if (from->waits) {
        static const char *const waits[] = {"--control", "--wait", "--", "-"};
        for (size_t i = 0; i < COUNT_OF(waits); i++)
            vector_push(vector, xstrdup(waits[i]));
        return;
    }
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
    for (size_t i = 0; i < from->bind_mount_count; i++) {
        filling.path = from->bind_mounts[i].path;
        filling.place = from->bind_mounts[i].place;
        if (vector_push_all(vector, from->engine->program->bind_mounts, &filling, err))
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
    size_t name = strlen(BOX_IMAGE); /* a tag follows */
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

/* Files in memory count as memory of the program. Each file system gets at most half of it, so that a full /tmp is
 * an error that the program sees and not a reason to kill it. */
static void fill_sizes(struct filling *filling, unsigned memory_mb)
{
    unsigned half = memory_mb / 2;
    unsigned tmp = half < PROGRAM_TMP_MB ? half : PROGRAM_TMP_MB, shm = half < PROGRAM_SHM_MB ? half : PROGRAM_SHM_MB;
    snprintf(filling->tmp_bytes, sizeof(filling->tmp_bytes), "%llu", (unsigned long long)tmp << 20);
    snprintf(filling->shm_bytes, sizeof(filling->shm_bytes), "%llu", (unsigned long long)shm << 20);
}

/* The user who binds a path of this machine must be able to see it. */
static int push_program(struct vector *vector, const char *program, const struct program_vector *from,
                        const struct filling *filling, struct err *err)
{
    size_t count = 0, room = from->bind_mount_count + 2;
    for (const char *const *at = from->visible; at && *at; at++)
        room++;
    struct engine_shown *shown = xcalloc(room, sizeof(*shown));
    shown[count++] = (struct engine_shown){filling->launcher, false};
    shown[count++] = (struct engine_shown){from->workspace, false};
    for (const char *const *at = from->visible; at && *at; at++)
        shown[count++] = (struct engine_shown){*at, true};
    for (size_t i = 0; i < from->bind_mount_count; i++)
        shown[count++] = (struct engine_shown){from->bind_mounts[i].path, true};
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
    struct box_options spec = {.engine = from->engine, .image = from->image, .workspace = from->workspace};
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

char **sandbox_program_order(const struct program_vector *vector)
{
    struct program_vector own = *vector;
    struct vector order = {0};
    own.waits = false;
    vector_push(&order, xstrdup("keyturn-launch"));
    push_command(&order, &own);
    return order.items;
}

bool sandbox_program_can_wait(const struct sandbox_engine *engine)
{
    const struct sandbox_program *program = engine->program;
    return !engine->unsafe && program->control && program->cgroup && !program->ask && !program->stop &&
           !sandbox_program_filter_in_env(engine);
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
    struct box_options spec = {.engine = vector->engine};
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

/* ---- files of /etc ---- */

/* Creates the files in memory, so that no part of them reaches a disk and no other user can read one.
 *
 * The user in them is 65534, to which bwrap maps ours. Without nsswitch.conf the C library looks names up on the
 * network first, which is absent, and never reads hosts. */

static const char *const texts[ENGINES_ETC_FILES] = {
    "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n",
    "root:x:0:0:root:/root:/bin/sh\nsandbox:x:65534:65534:sandbox:/workspace:/bin/sh\n",
    "root:x:0:\nsandbox:x:65534:\n",
    "passwd: files\ngroup: files\nhosts: files dns\n",
};

int engines_etc_open(struct engines_etc *etc, const struct sandbox_engine *engine, struct err *err)
{
    size_t count = 0;
    etc->fds[0] = -1;
    for (; engine->program->etc && count < COUNT_OF(texts); count++) {
        size_t len = strlen(texts[count]);
        int fd = memfd_create("keyturn-etc", MFD_CLOEXEC);
        etc->fds[count] = fd;
        etc->fds[count + 1] = -1;
        if (fd >= 0 && write(fd, texts[count], len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0)
            continue;
        int code = errno;
        engines_etc_close(etc);
        return err_set_errno(err, code, "memory for the program's /etc");
    }
    return 0;
}

void engines_etc_close(struct engines_etc *etc)
{
    for (int *at = etc->fds; *at >= 0; at++)
        close(*at);
    etc->fds[0] = -1;
}

/* ---- what an engine wrote before it failed ---- */

#define SHOWN_MAX 300u

/* Returns where the shown part begins: at a whole complaint if possible, else at a word, at least at a character. */
static const char *whole_from(const char *tail)
{
    const char *complaint = strstr(tail, "; "), *word = strchr(tail, ' ');
    if (complaint && complaint[2])
        return complaint + 2;
    if (word && word[1])
        return word + 1;
    while (((unsigned char)*tail & 0xC0) == 0x80)
        tail++;
    return tail;
}

char *engine_stderr_line(const char *said, size_t len)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    bool gap = false;
    for (size_t i = 0; i < len; i++) {
        char c = said[i];
        if (c == '\n' || c == '\r') { /* ssh ends its lines with \r\n */
            gap = true;
            continue;
        }
        if (isspace((unsigned char)c) && (gap || !line.len))
            continue;
        if (gap && line.len)
            strbuf_addstr(&line, "; ");
        gap = false;
        strbuf_addch(&line, c ? c : ' ');
    }
    if (!line.len)
        return NULL;
    const char *end = line.buf + line.len;
    return line.len > SHOWN_MAX ? xasprintf("… %s", whole_from(end - SHOWN_MAX)) : strbuf_detach(&line, NULL);
}

char *engine_stderr_cause(const char *said, const char *image)
{
    static const char *const no_image[] = {"image not known", "No such image", "Unable to find image"};
    for (size_t i = 0; image && i < COUNT_OF(no_image); i++)
        if (strstr(said, no_image[i]))
            return xasprintf("image %s does not exist; ./dev image builds it", image);
    static const char *const no_namespace[] = {"No permissions to create new namespace",
                                               "Creating new namespace failed", "bwrap: setting up uid map"};
    for (size_t i = 0; i < COUNT_OF(no_namespace); i++)
        if (strstr(said, no_namespace[i]))
            return xasprintf("%s cannot create a user namespace on this machine (raise user.max_user_namespaces, set "
                             "kernel.unprivileged_userns_clone=1, allow bwrap in AppArmor, or use podman or docker)",
                             sandbox_user() ? "the sandbox's user" : "an ordinary user");
    if (strstr(said, "keyturn-harness: unknown option"))
        return xasprintf("its keyturn-harness has another version%s", image ? " (./dev image rebuilds the image)" : "");
    return NULL;
}
