/* One look at /proc finds all of them; what they start meanwhile is met in the next round. */

#include "program_rest.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/processes.h"
#include "sandbox/cgroup.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#define ROUNDS      50
#define ENVIRON_MAX ((size_t)4 << 20)

/* Up to so many bytes of a file of a process; NULL: it is gone, or is none of ours. */
static char *read_of(int pid, const char *file, size_t max, size_t *len)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/%s", pid, file);
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct strbuf text = STRBUF_INIT;
    char bytes[4096];
    ssize_t got = -1;
    while (fd >= 0 && text.len < max && (got = read(fd, bytes, sizeof(bytes))) > 0)
        strbuf_add(&text, bytes, (size_t)got);
    *len = text.len;
    return strbuf_detach(&text, NULL);
}

static bool has_name(int pid, const char *variable)
{
    size_t len, wanted = strlen(variable) + 1;
    CLEANUP(free) char *text = read_of(pid, "environ", ENVIRON_MAX, &len);
    for (const char *at = text; at < text + len; at += strlen(at) + 1)
        if (strncmp(at, variable, wanted) == 0)
            return true;
    return false;
}

static bool is_among(const int *pids, size_t count, int pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static void find(struct processes *all, const struct program_rest *rest, const char *variable)
{
    CLEANUP(free) int *grouped = NULL;
    size_t in_group = cgroup_processes(rest->cgroup, &grouped);
    processes_read(all);
    for (size_t i = 0; i < all->count; i++) {
        int pid = all->items[i].pid;
        all->items[i].ours = pid > 1 && pid != getpid() &&
                             (pid == rest->launcher || is_among(grouped, in_group, pid) || has_name(pid, variable));
    }
    processes_mark_below(all);
    processes_keep_ours(all);
}

static size_t note(const struct processes *all, const struct program_rest *rest, struct program_left *left)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count && count < PROGRAM_LEFT_MAX; i++)
        if (all->items[i].pid != rest->launcher) {
            left[count] = (struct program_left){.pid = all->items[i].pid, .survived = true};
            memcpy(left[count++].name, all->items[i].name, sizeof(left->name));
        }
    return count;
}

static size_t kill_rest(const struct program_rest *rest, struct program_left *left)
{
    struct processes all = {0};
    CLEANUP(free) char *variable = xasprintf("%s=%s", PROGRAM_NAME, rest->name);
    find(&all, rest, variable);
    size_t noted = note(&all, rest, left);
    for (int i = 0; all.count && i < ROUNDS; i++) {
        for (size_t j = 0; j < all.count; j++)
            kill(all.items[j].pid, SIGKILL);
        poll(NULL, 0, 1);
        find(&all, rest, variable);
    }
    for (size_t i = 0; i < noted; i++)
        left[i].survived = processes_have(&all, left[i].pid);
    processes_release(&all);
    return noted;
}

struct rest_hunt {
    struct loop_work work;
    struct loop *loop;
    struct program_rest rest;
    char *name;
    struct cgroup *cgroup; /* ours to free; NULL: it is not */
    struct program_left left[PROGRAM_LEFT_MAX];
    size_t count;
    void (*killed)(void *user, const struct program_left *left, size_t count); /* NULL: nobody waits any more */
    void *user;
};

static void run_hunt(struct loop_work *work)
{
    struct rest_hunt *hunt = CONTAINER_OF(work, struct rest_hunt, work);
    hunt->count = kill_rest(&hunt->rest, hunt->left);
}

static void hunt_done(struct loop_work *work)
{
    struct rest_hunt *hunt = CONTAINER_OF(work, struct rest_hunt, work);
    if (hunt->killed)
        hunt->killed(hunt->user, hunt->left, hunt->count);
    cgroup_free(hunt->cgroup);
    free(hunt->name);
    free(hunt);
}

struct rest_hunt *rest_hunt_start(struct loop *loop, const struct program_rest *rest,
                                  void (*killed)(void *user, const struct program_left *left, size_t count), void *user)
{
    struct rest_hunt *hunt = xcalloc(1, sizeof(*hunt));
    hunt->loop = loop;
    hunt->name = xstrdup(rest->name);
    hunt->rest = (struct program_rest){rest->launcher, hunt->name, rest->cgroup};
    hunt->killed = killed;
    hunt->user = user;
    loop_work_start(loop, &hunt->work, run_hunt, hunt_done);
    return hunt;
}

void rest_hunt_leave(struct rest_hunt *hunt, struct cgroup *take_cgroup)
{
    if (!hunt) {
        cgroup_free(take_cgroup);
        return;
    }
    hunt->killed = NULL;
    hunt->cgroup = take_cgroup;
    loop_work_disown(hunt->loop, &hunt->work);
}
