/* Memory, process and processor limits for all processes of a program together: control groups, or systemd user
 * scopes where Keyturn may not create control groups.
 *
 * cgroup version 1 has a tree per controller, version 2 one tree for all; /proc/self/cgroup says where Keyturn is in
 * each. A group that cannot be created, or that lacks a limit, is left out. */

#include "limits.h"
#include "base/child.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "engines_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- control groups ---- */

#define TREES     3
#define PERIOD_US 100000u /* period of the processor quota */

enum { PIDS, MEMORY, CPU };

static const struct process_tree {
    const char *controller, *v1, *v2;
    const char *kills_v1, *kills_v2; /* the file that counts kills for lack of memory */
    const char *also_v1, *also_v2;   /* a second file that needs a value, if it exists: swap counts as memory */
    const char *also_value;          /* NULL: the same value */
} trees[TREES] = {
    [PIDS] = {"pids", "pids.max", "pids.max", NULL, NULL, NULL, NULL, NULL},
    [MEMORY] = {"memory", "memory.limit_in_bytes", "memory.max", "memory.oom_control", "memory.events",
                "memory.memsw.limit_in_bytes", "memory.swap.max", "0"},
    [CPU] = {"cpu", "cpu.cfs_quota_us", "cpu.max", NULL, NULL, NULL, NULL, NULL},
};

struct cgroup {
    char *folders[TREES];
    int join[TREES + 1];
    size_t count;
    char *kills; /* the file that counts the kills; NULL: memory is not limited */
    bool held[TREES];
};

/* Version 1 may have several controllers in one tree: "cpu,cpuacct". */
static bool is_among(const char *names, const char *controller)
{
    size_t len = strlen(controller);
    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, controller, len) == 0 && (at[len] == ',' || !at[len]))
            return true;
    return false;
}

/* The folder of Keyturn's own group in the tree of a controller; NULL: the controller has no tree. */
static char *own_folder(const char *controller, bool *v2)
{
    char line[512];
    char *found = NULL;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        *v2 = names[1] == '\0';
        CLEANUP(free)
        char *folder = *v2 ? xasprintf("/sys/fs/cgroup%s", path) : xasprintf("/sys/fs/cgroup/%s%s", controller, path);
        if ((*v2 || is_among(names + 1, controller)) && access(folder, W_OK) == 0)
            found = steal(&folder);
    }
    if (file)
        fclose(file);
    return found;
}

static bool write_limit(const char *folder, const char *name, const char *value)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", folder, name);
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
}

static char *limit_text(size_t tree, const struct cgroup_limits *limits, bool v2)
{
    if (tree == PIDS)
        return xasprintf("%u", limits->pids);
    if (tree == MEMORY)
        return xasprintf("%llu", (unsigned long long)limits->memory_mb << 20);
    unsigned quota = limits->cpu_percent * (PERIOD_US / 100);
    return v2 ? xasprintf("%u %u", quota, PERIOD_US) : xasprintf("%u", quota);
}

static bool put_limit(struct cgroup *group, size_t at, const struct cgroup_limits *limits, const char *folder, bool v2)
{
    const struct process_tree *tree = &trees[at];
    const char *also = v2 ? tree->also_v2 : tree->also_v1;
    CLEANUP(free) char *value = limit_text(at, limits, v2);
    if (!write_limit(folder, v2 ? tree->v2 : tree->v1, value))
        return false;
    if (also)
        write_limit(folder, also, v2 ? tree->also_value : value); /* not every kernel counts swap */
    if (tree->kills_v1)
        group->kills = xasprintf("%s/%s", folder, v2 ? tree->kills_v2 : tree->kills_v1);
    return group->held[at] = true;
}

/* Version 2: one group serves all controllers. */
static bool is_had(const struct cgroup *group, const char *folder)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->folders[i], folder) == 0)
            return true;
    return false;
}

/* Removes groups left by a Keyturn that was killed. A group that still has processes stays. */
static void sweep(const char *above)
{
    DIR *list = opendir(above);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        int pid = 0;
        CLEANUP(free) char *folder = xasprintf("%s/%s", above, entry->d_name);
        if (sscanf(entry->d_name, CGROUP_PROGRAM "%d-", &pid) == 1 && pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
            rmdir(folder);
    }
    if (list)
        closedir(list);
}

static void sweep_once(size_t at, const char *above)
{
    static bool swept[TREES];
    if (!swept[at])
        sweep(above);
    swept[at] = true;
}

static void add_tree(struct cgroup *group, size_t at, const char *name, const struct cgroup_limits *limits)
{
    bool v2 = false;
    CLEANUP(free) char *above = own_folder(trees[at].controller, &v2);
    CLEANUP(free)
    char *folder = above ? xasprintf("%s%s%s", above, above[strlen(above) - 1] == '/' ? "" : "/", name) : NULL;
    CLEANUP(free) char *procs = folder ? xasprintf("%s/cgroup.procs", folder) : NULL;
    int fd = -1;
    if (!folder)
        return;
    sweep_once(at, above);
    bool had = is_had(group, folder);
    /* An earlier process with our pid may have left a group of that name. It is as good as a new one. */
    if (!had && mkdir(folder, 0755) && errno != EEXIST)
        return;
    if (!put_limit(group, at, limits, folder, v2)) {
        if (!had)
            rmdir(folder);
        return;
    }
    if (had)
        return;
    if ((fd = open(procs, O_WRONLY | O_CLOEXEC)) < 0) {
        rmdir(folder);
        group->held[at] = false;
        return;
    }
    group->folders[group->count] = steal(&folder);
    group->join[group->count++] = fd;
    group->join[group->count] = -1;
}

struct cgroup *cgroup_new(const char *name, const struct cgroup_limits *limits)
{
    const bool wanted[TREES] = {[PIDS] = limits->pids, [MEMORY] = limits->memory_mb, [CPU] = limits->cpu_percent};
    struct cgroup *group = xcalloc(1, sizeof(*group));
    group->join[0] = -1;
    for (size_t i = 0; i < TREES; i++)
        if (wanted[i])
            add_tree(group, i, name, limits);
    if (group->count)
        return group;
    cgroup_free(group);
    return NULL;
}

bool cgroup_works(void)
{
    CLEANUP(free) char *name = xasprintf("keyturn-try-%d", (int)getpid());
    struct cgroup *group = cgroup_new(name, &(struct cgroup_limits){.memory_mb = 1024, .cpu_percent = 100});
    bool works = group && group->held[MEMORY] && group->held[CPU];
    cgroup_free(group);
    return works;
}

bool cgroup_holds_memory(const struct cgroup *group)
{
    return group && group->held[MEMORY];
}

bool cgroup_ran_out(const struct cgroup *group)
{
    char line[128];
    long kills = 0;
    FILE *file = group && group->kills ? fopen(group->kills, "re") : NULL;
    while (file && fgets(line, sizeof(line), file))
        sscanf(line, "oom_kill %ld", &kills);
    if (file)
        fclose(file);
    return kills > 0;
}

char *cgroup_procs(const struct cgroup *group)
{
    return group && group->count ? xasprintf("%s/cgroup.procs", group->folders[0]) : NULL;
}

const int *cgroup_join(const struct cgroup *group)
{
    return group ? group->join : NULL;
}

/* ---- the end ---- */

/* Groups of programs that are still dying. Used only on the thread that starts programs. */
static struct {
    char **folders;
    size_t count, room;
} later;

static void remove_later(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < later.count; i++)
        if (rmdir(later.folders[i]) && errno == EBUSY)
            later.folders[kept++] = later.folders[i];
        else
            free(later.folders[i]);
    later.count = kept;
    if (kept)
        return;
    free(later.folders);
    later.folders = NULL;
    later.room = 0;
}

static void remove_last(void)
{
    for (int i = 0; later.count && i < 50; i++) {
        remove_later();
        usleep(later.count ? 10000 : 0);
    }
}

void cgroup_free(struct cgroup *group)
{
    static bool registered;
    for (size_t i = 0; group && i < group->count; i++) {
        close(group->join[i]);
        GROW(later.folders, later.count, later.room);
        later.folders[later.count++] = group->folders[i];
    }
    if (group)
        free(group->kills);
    free(group);
    remove_later();
    if (later.count && !registered)
        registered = atexit(remove_last) == 0;
}

/* ---- systemd user scopes ---- */

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

/* Checks the limits that a command in a scope finds on itself. Newer versions of systemd-run may expand variables in
 * arguments. The last argument must arrive unchanged, else systemd-run would alter commands of programs. */
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
