#include "guard.h"
#include "base/child.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/engines_program.h"
#include <string.h>

static void ignore_line(void *data, const char *bytes, size_t len)
{
    (void)data;
    (void)bytes;
    (void)len;
}

static void ignore_end(void *data, int status, int signum)
{
    (void)data;
    (void)status;
    (void)signum;
}

/* keyturn-launch --guard -- STOP… */
static const char **make_argv(const char *launcher, char *const *stop)
{
    size_t count = 0;
    while (stop[count])
        count++;
    const char **argv = xcalloc(count + 4, sizeof(*argv));
    argv[0] = launcher;
    argv[1] = "--guard";
    argv[2] = "--";
    memcpy(argv + 3, stop, count * sizeof(*argv));
    return argv;
}

struct child *guard_start(struct loop *loop, const struct program_vector *vector)
{
    struct err err = ERR_INIT;
    char **stop = vector->engine->program->control ? NULL : sandbox_program_ask(vector, true);
    if (!stop)
        return NULL;
    char **env = sandbox_program_env(&(struct program_vector){.engine = vector->engine});
    CLEANUP(free) char *launcher = vector->launcher ? xstrdup(vector->launcher) : launcher_path();
    CLEANUP(free) const char **argv = make_argv(launcher, stop);
    struct child_options options = {
        .argv = argv, .env = (const char *const *)env, .on_control = ignore_line, .on_exit = ignore_end};
    struct child *guard = child_start(loop, &options, &err);
    if (!guard)
        log_warn("nobody guards %s: %s", vector->name, err.text);
    argv_free(stop);
    argv_free(env);
    return guard;
}

void guard_dismiss(struct child *guard)
{
    if (!guard)
        return;
    child_write_control(guard, &(char){LAUNCH_DONE}, 1);
    child_free(guard);
}
