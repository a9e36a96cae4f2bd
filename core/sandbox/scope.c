/* See scope.h. systemd listens on a socket of its own; whether its scopes limit anything depends on the version of
 * control groups and on what the system hands down to its users, so a command in a scope reads that. */

#include "scope.h"
#include "base/child.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "engines_inside.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TRIED_MB   64u
#define TRIED_PIDS 32u
#define SAID_MAX   256

const char *const scope_variables[] = {"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", NULL};

static bool systemd_listens(void)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = folder && *folder == '/'
                  ? snprintf(address.sun_path, sizeof(address.sun_path), "%s/systemd/private", folder)
                  : -1;
    CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return len > 0 && (size_t)len < sizeof(address.sun_path) && fd >= 0 &&
           connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

/* The limits that a command in a scope finds on itself. Newer versions of systemd-run may put variables into arguments:
 * the last one must come as it is, else commands of programs would be changed. */
static bool limits_hold(void)
{
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    struct process_end end;
    CLEANUP(free) char *program = child_find_program("systemd-run", NULL);
    if (!program || strchr(program, '\''))
        return false;
    CLEANUP(free)
    char *command = xasprintf("timeout -k 1 %d '%s' --user --scope --quiet --collect -p MemoryMax=%uM "
                              "-p MemorySwapMax=0 -p TasksMax=%u -- /bin/sh -c "
                              "'cd /sys/fs/cgroup/$(sed -n s/^0:://p /proc/self/cgroup) && "
                              "echo $(cat memory.max pids.max) $0' '${PATH}' 2>/dev/null",
                              SCOPE_TRIAL_S, program, TRIED_MB, TRIED_PIDS);
    CLEANUP(free) char *wanted = xasprintf("%u %u ${PATH}\n", TRIED_MB << 20, TRIED_PIDS);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    return process_read_in_terminal(&(struct process_spec){.argv = argv, .open = PROCESS_TERMINAL}, &said, SAID_MAX,
                                    &end, NULL) == 0 &&
           end.exit_code == 0 && strcmp(said.buf, wanted) == 0;
}

static enum scope_state state;

static void find_state(void)
{
    state = !systemd_listens() ? SCOPE_NO_SYSTEMD : limits_hold() ? SCOPE_WORKS : SCOPE_NO_LIMITS;
}

enum scope_state scope_state(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_state);
    return state;
}

static void push_property(struct vector *vector, char *take_property)
{
    vector_push(vector, xstrdup("-p"));
    vector_push(vector, take_property);
}

char **scope_argv(const struct cgroup_limits *limits, char **take_argv)
{
    static const char *const first[] = {"--user", "--scope", "--quiet", "--collect"};
    struct vector vector = {0};
    char *program = child_find_program("systemd-run", NULL);
    vector_push(&vector, program ? program : xstrdup("systemd-run"));
    for (size_t i = 0; i < COUNT_OF(first); i++)
        vector_push(&vector, xstrdup(first[i]));
    if (limits->memory_mb) {
        push_property(&vector, xasprintf("MemoryMax=%uM", limits->memory_mb));
        push_property(&vector, xstrdup("MemorySwapMax=0"));
    }
    if (limits->pids)
        push_property(&vector, xasprintf("TasksMax=%u", limits->pids));
    if (limits->cpu_percent)
        push_property(&vector, xasprintf("CPUQuota=%u%%", limits->cpu_percent));
    vector_push(&vector, xstrdup("--"));
    for (char **at = take_argv; *at; at++)
        vector_push(&vector, *at);
    free(take_argv);
    return vector.items;
}
