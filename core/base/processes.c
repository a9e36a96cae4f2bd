/* Lists processes from /proc and marks those that belong to a given one. */

#include "processes.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool make_room(struct processes *all)
{
    if (all->count < all->room)
        return true;
    size_t room = all->room ? 2 * all->room : 64;
    struct process_entry *more = realloc(all->items, room * sizeof(*more));
    if (!more)
        return false;
    all->items = more;
    all->room = room;
    return true;
}

/* Reads its parent and name; false if it has ended or is dead. */
static bool read_process(const char *pid, struct process_entry *process)
{
    char path[300], text[512], state;
    long threads = 1;
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (len <= 0)
        return false;
    text[len] = '\0';
    const char *begins = strchr(text, '('), *ends = strrchr(text, ')');
    *process = (struct process_entry){.pid = (int)strtol(pid, NULL, 10)};
    if (!begins || !ends ||
        sscanf(ends + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state,
               &process->parent, &threads) < 2)
        return false;
    /* The first thread may have ended before the others. */
    if ((state == 'Z' && threads < 2) || state == 'X')
        return false;
    process->stopped = state == 'T' || state == 't';
    process->waits = state == 'D';
    snprintf(process->name, sizeof(process->name), "%.*s", (int)(ends - begins - 1), begins + 1);
    for (char *at = process->name; *at; at++)
        if (!isgraph((unsigned char)*at))
            *at = '?';
    return true;
}

static int by_pid(const void *one, const void *other)
{
    int a = ((const struct process_entry *)one)->pid, b = ((const struct process_entry *)other)->pid;
    return (a > b) - (a < b);
}

void processes_read(struct processes *all)
{
    all->count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && make_room(all) && (entry = readdir(proc));)
        if (isdigit((unsigned char)entry->d_name[0]) && read_process(entry->d_name, &all->items[all->count]))
            all->count++;
    if (proc)
        closedir(proc);
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), by_pid);
}

static struct process_entry *find(const struct processes *all, int pid)
{
    struct process_entry key = {.pid = pid};
    return all->count ? bsearch(&key, all->items, all->count, sizeof(key), by_pid) : NULL;
}

void processes_mark_below(struct processes *all)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all->count; i++) {
            struct process_entry *process = &all->items[i];
            const struct process_entry *parent = process->ours ? NULL : find(all, process->parent);
            if (parent && parent->ours)
                more = process->ours = true;
        }
    }
}

void processes_keep_ours(struct processes *all)
{
    size_t ours = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].ours)
            all->items[ours++] = all->items[i];
    all->count = ours;
}

bool processes_have(const struct processes *all, int pid)
{
    return find(all, pid) != NULL;
}

void processes_release(struct processes *all)
{
    free(all->items);
    *all = (struct processes){0};
}
