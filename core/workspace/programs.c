/* The programs of one engine: what they have in common, and the folders and environment of each before it starts
 * (program.h). */

#include "base/beneath.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "changes.h"
#include "layout.h"
#include "program_network.h"
#include "programs_internal.h"
#include "sandbox/engines_program.h"
#include "sandbox/user.h"
#include "stage.h"
#include "workspace.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES_MAX (128 << 10) /* Linux's MAX_ARG_STRLEN */

extern char **environ;

/* ---- common to all programs ---- */

struct programs *programs_new(const struct programs_options *options, struct err *err)
{
    if (sandbox_program_check(options->engine, err))
        return NULL;
    struct programs *programs = xcalloc(1, sizeof(*programs));
    *programs = (struct programs){.loop = options->loop,
                                  .started = options->numbered,
                                  .engine = options->engine,
                                  .image = options->image ? xstrdup(options->image) : NULL,
                                  .visible = argv_copy(options->visible),
                                  .network = network_rules_copy(&options->network),
                                  .emitter = options->emitter,
                                  .tidy_runs = options->tidy_runs,
                                  .host_env = options->host_env,
                                  .provider = options->provider,
                                  .engine_says = options->engine_says,
                                  .engine_user = options->engine_user,
                                  .limits = options->limits,
                                  .max_output = options->max_output ? options->max_output : PROGRAM_OUTPUT_MAX};
    if (options->prepare && sandbox_program_can_wait(programs->engine))
        programs->ready = ready_sandbox_new(programs);
    if (program_network_on(programs) &&
        sandbox_program_is_ours(programs->image)) { /* another image has its own certificates */
        argv_free(programs->visible);
        programs->visible = program_network_visible(options->visible);
    }
    return programs;
}

void programs_free(struct programs *programs)
{
    if (!programs)
        return;
    while (programs->running)
        program_free(programs->running);
    inline_drop_all(programs);
    ready_sandbox_free(programs->ready);
    argv_free(programs->visible);
    network_rules_release(&programs->network);
    free(programs->image);
    free(programs);
}

struct workspace_capabilities programs_capabilities(const struct programs *programs)
{
    return (struct workspace_capabilities){.isolation = programs->engine->unsafe ? "" : programs->engine->name,
                                           .network_allowed = programs->network.count || programs->engine->unsafe,
                                           .read_only_mount = programs->engine->program->bind_mounts != NULL,
                                           .whole_limits = sandbox_program_bounds_whole(programs->engine),
                                           .streaming = true,
                                           .clean_env = true};
}

const char *programs_root(const struct programs *programs, const char *path)
{
    return sandbox_program_root(programs->engine, path);
}

struct loop *programs_loop(const struct programs *programs)
{
    return programs->loop;
}

bool programs_run(const struct programs *programs)
{
    return programs && (programs->running || programs->inlines);
}

bool programs_stand_ready(const struct programs *programs, unsigned *used)
{
    if (used)
        *used = 0;
    return programs->ready && ready_sandbox_is_there(programs->ready, used);
}

/* ---- folders ---- */

/* Returns 0 if created, 1 if it existed, -1 on error. */
static int make_folder(const struct workspace *ws, const char *path, struct err *err)
{
    CLEANUP(free) char *name = NULL;
    CLEANUP(fd) int parent = stage_open_parent(ws, path, &name, err);
    if (parent < 0)
        return -1;
    if (mkdirat(parent, name, LAYOUT_DIR_MODE) < 0)
        return errno == EEXIST ? 1 : err_set_errno(err, errno, "cannot create the folder %s", path);
    CLEANUP(fd) int made = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made < 0 || !sandbox_user_give(parent, made))
        return err_set_errno(err, errno, "cannot give the folder %s to programs", path);
    return 0;
}

static char *make_cwd(const struct workspace *ws, const char *said, struct err *err)
{
    said = said ? said + strspn(said, "/ ") : "";
    CLEANUP(free) char *cwd = *said ? beneath_clean(ws->root, said, err) : xstrdup(".");
    if (!cwd || (strcmp(cwd, ".") != 0 && make_folder(ws, cwd, err) < 0))
        return NULL;
    CLEANUP(fd) int folder = beneath_openat(ws->root, cwd, O_RDONLY | O_DIRECTORY, 0, err);
    return folder < 0 ? NULL : steal(&cwd);
}

/* Creates "runs/run_20261116T190501.123". A number distinguishes runs of the same instant. */
static int make_run(const struct workspace *ws, struct run_folder *run, struct err *err)
{
    int64_t now = ws->clock->wall_us(ws->clock);
    time_t seconds = (time_t)(now / 1000000);
    struct tm tm;
    char stamp[32];
    gmtime_r(&seconds, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
    run->watch = -1;
    for (unsigned i = 0;; i++) {
        CLEANUP(free)
        char *path = xasprintf("%s/run_%s.%03d", layout_rows[LAYOUT_RUNS].name, stamp, (int)(now / 1000 % 1000));
        CLEANUP(free) char *numbered = xasprintf("%s_%u", path, i);
        char **chosen = i ? &numbered : &path;
        int made = make_folder(ws, *chosen, err);
        if (made < 0)
            return -1;
        if (made)
            continue;
        run->path = steal(chosen);
        break;
    }
    CLEANUP(fd) int folder = beneath_openat(ws->root, run->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, NULL);
    if (ws->changes && folder >= 0)
        run->watch = changes_made(ws->changes, strrchr(run->path, '/') + 1, folder);
    return 0;
}

void run_folder_end(struct run_folder *run, const struct programs *programs, struct workspace *ws)
{
    if (!run->path)
        return;
    const char *name = strrchr(run->path, '/') + 1;
    CLEANUP(fd)
    int runs = beneath_openat(ws->root, layout_rows[LAYOUT_RUNS].name, O_PATH | O_DIRECTORY, 0, NULL);
    bool removed = programs->tidy_runs && runs >= 0 && unlinkat(runs, name, AT_REMOVEDIR) == 0;
    if (ws->changes && removed)
        changes_removed(ws->changes, name, run->watch);
    else if (ws->changes)
        changes_note(ws->changes);
    free(steal(&run->path));
}

/* ---- the environment ---- */

/* True for locale, terminal and time zone, and for PATH if programs are those of this machine. Any other variable may
 * be a secret. */
static bool is_harmless(const char *entry, bool path)
{
    static const char *const kept[] = {"LANG=", "LC_", "TERM=", "TZ="};
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (strncmp(entry, kept[i], strlen(kept[i])) == 0)
            return true;
    return path && strncmp(entry, "PATH=", 5) == 0;
}

/* A home, a language, and our harmless variables. On a terminal of its own, TERM names the
 * one that tui/screen/program_screen.c shows, whatever ours is. Free it with argv_free. */
static char **bare_env(const struct programs *programs, const char *root, bool tty)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **env = xcalloc(count + 4, sizeof(*env));
    env[0] = xasprintf("HOME=%s", root);
    env[1] = xstrdup("LANG=C.UTF-8");
    count = 2;
    for (char **at = environ; *at; at++)
        if (is_harmless(*at, programs->engine->unsafe) && !(tty && strncmp(*at, "TERM=", 5) == 0))
            env[count++] = xstrdup(*at);
    if (tty)
        env[count++] = xstrdup("TERM=xterm-256color");
    return env;
}

/* The kernel rejects a longer string, and its error only says that the list is too long. */
static int check_texts(const char *const *texts, const char *what, struct err *err)
{
    for (; texts && *texts; texts++)
        if (strlen(*texts) >= TEXT_BYTES_MAX)
            return err_set(err, "%s of %zu KB is too long: the limit is %d KB; put it into a file", what,
                           strlen(*texts) >> 10, TEXT_BYTES_MAX >> 10);
    return 0;
}

int program_room_make(struct program_room *room, struct programs *programs, struct workspace *ws,
                      const struct program_spec *spec, struct err *err)
{
    bool isolates = !programs->engine->unsafe;
    if (ws->policy.isolated && !isolates)
        return err_set(err, "the workspace requires isolation, and the engine %s does not isolate",
                       programs->engine->name);
    if (check_texts(spec->args, "a command or argument", err))
        return -1;
    CLEANUP(free)
    char *cwd = workspace_mend(ws, err) == 0 ? make_cwd(ws, spec->cwd, err) : NULL;
    if (!cwd || make_run(ws, &room->run, err))
        return -1;
    const char *root = sandbox_program_root(programs->engine, ws->path);
    char **bare = bare_env(programs, root, spec->tty);
    struct env_layers layers = {.below = (const char *const *)(isolates || !programs->host_env ? bare : environ),
                                .clean = spec->clean_env,
                                .root = root,
                                .run = room->run.path,
                                .call = spec->env};
    if (programs->provider.variables)
        layers.provider = programs->provider.variables(programs->provider.user);
    room->env = env_merge(&layers, err);
    argv_free(bare);
    if (!room->env || check_texts((const char *const *)room->env, "a variable", err))
        return -1;
    room->cwd = steal(&cwd);
    return 0;
}

void program_room_release(struct program_room *room)
{
    free(room->cwd);
    argv_free(room->env);
}

/* ---- results ---- */

void program_result_release(struct program_result *result)
{
    strbuf_release(&result->out);
    strbuf_release(&result->err);
    free(result->why);
}

void program_answer_end(struct json_writer *w, int signum, const struct left_process *left, size_t left_count)
{
    const char *name = signum ? sigabbrev_np(signum) : NULL;
    CLEANUP(free) char *full = name ? xasprintf("SIG%s", name) : NULL;
    if (signum)
        json_add_int(w, "signal", signum);
    if (full)
        json_add_str(w, "signal_name", full);
    if (!left_count)
        return;
    json_open(w, "left_behind", '[');
    for (size_t i = 0; i < left_count; i++) {
        CLEANUP(free)
        char *text = xasprintf("%d %s%s", left[i].pid, left[i].name, left[i].survived ? " (kill failed)" : "");
        json_add_str(w, NULL, text);
    }
    json_close(w, ']');
}
