/* One look at /proc finds all of them; what they start meanwhile is met in the next round. */

#include "program_rest.h"
#include "base/mem.h"
#include "sandbox/cgroup.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS      50
#define ENVIRON_MAX ((size_t)4 << 20)

struct process {
    int pid, parent;
    char name[17];
    bool ours;
};

struct processes {
    struct process *items;
    size_t count, room;
};

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

static bool read_process(int pid, struct process *process)
{
    size_t len;
    char state;
    CLEANUP(free) char *text = read_of(pid, "stat", 4096, &len);
    const char *begins = strchr(text, '('), *ends = strrchr(text, ')');
    *process = (struct process){.pid = pid};
    if (!begins || !ends || sscanf(ends + 1, " %c %d", &state, &process->parent) != 2 || state == 'Z' || state == 'X')
        return false;
    snprintf(process->name, sizeof(process->name), "%.*s", (int)(ends - begins - 1), begins + 1);
    for (char *at = process->name; *at; at++)
        if (!isgraph((unsigned char)*at))
            *at = '?';
    return true;
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

static int by_pid(const void *one, const void *other)
{
    int a = ((const struct process *)one)->pid, b = ((const struct process *)other)->pid;
    return (a > b) - (a < b);
}

/* Whatever hangs from one of them is one of them. */
static void mark_below(struct processes *all)
{
    qsort(all->items, all->count, sizeof(*all->items), by_pid);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all->count; i++) {
            struct process key = {.pid = all->items[i].parent}, *at = &all->items[i];
            const struct process *parent = at->ours ? NULL : bsearch(&key, all->items, all->count, sizeof(key), by_pid);
            if (parent && parent->ours)
                more = at->ours = true;
        }
    }
}

static bool is_among(const int *pids, size_t count, int pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static size_t find(struct processes *all, const struct program_rest *rest, const char *variable)
{
    CLEANUP(free) int *grouped = NULL;
    size_t ours = 0, in_group = cgroup_processes(rest->cgroup, &grouped);
    DIR *proc = opendir("/proc");
    all->count = 0;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        struct process process;
        int pid = (int)strtol(entry->d_name, NULL, 10);
        if (pid <= 1 || pid == getpid() || !read_process(pid, &process))
            continue;
        process.ours = pid == rest->launcher || is_among(grouped, in_group, pid) || has_name(pid, variable);
        GROW(all->items, all->count, all->room);
        all->items[all->count++] = process;
    }
    if (proc)
        closedir(proc);
    if (all->count)
        mark_below(all);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].ours)
            all->items[ours++] = all->items[i];
    return all->count = ours;
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

size_t program_rest_kill(const struct program_rest *rest, struct program_left *left)
{
    struct processes all = {0};
    CLEANUP(free) char *variable = xasprintf("%s=%s", PROGRAM_NAME, rest->name);
    size_t found = find(&all, rest, variable), noted = note(&all, rest, left);
    for (int i = 0; found && i < ROUNDS; i++) {
        for (size_t j = 0; j < found; j++)
            kill(all.items[j].pid, SIGKILL);
        poll(NULL, 0, 1);
        found = find(&all, rest, variable);
    }
    for (size_t i = 0; i < noted; i++) {
        struct process key = {.pid = left[i].pid};
        left[i].survived = found && bsearch(&key, all.items, found, sizeof(key), by_pid);
    }
    free(all.items);
    return noted;
}
