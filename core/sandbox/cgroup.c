/* Version 1 has a tree per controller, version 2 one for all; /proc/self/cgroup says where we are in each. A group that
 * cannot be made, or that has no such limit, is left out. */

#include "cgroup.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TREES 2

static const struct limit {
    const char *controller, *v1, *v2;
} limits[TREES] = {{"pids", "pids.max", "pids.max"}, {"memory", "memory.limit_in_bytes", "memory.max"}};

struct cgroup {
    char *folders[TREES];
    int join[TREES + 1];
    size_t count;
};

/* Where we are in the tree of a controller; NULL: there is no such tree. */
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
        if ((*v2 || strcmp(names + 1, controller) == 0) && access(folder, W_OK) == 0)
            found = steal(&folder);
    }
    if (file)
        fclose(file);
    return found;
}

static bool write_limit(const char *folder, const char *name, unsigned long long value)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", folder, name);
    CLEANUP(free) char *text = xasprintf("%llu", value);
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static void add_tree(struct cgroup *group, const struct limit *limit, const char *name, unsigned long long value)
{
    bool v2 = false;
    CLEANUP(free) char *above = value ? own_folder(limit->controller, &v2) : NULL;
    CLEANUP(free)
    char *folder = above ? xasprintf("%s%s%s", above, above[strlen(above) - 1] == '/' ? "" : "/", name) : NULL;
    CLEANUP(free) char *procs = folder ? xasprintf("%s/cgroup.procs", folder) : NULL;
    bool fresh = folder && mkdir(folder, 0755) == 0;
    int fd = -1;
    if (!folder || !write_limit(folder, v2 ? limit->v2 : limit->v1, value)) {
        if (fresh)
            rmdir(folder);
        return;
    }
    if (!fresh) /* version 2: the same group has both */
        return;
    if ((fd = open(procs, O_WRONLY | O_CLOEXEC)) < 0) {
        rmdir(folder);
        return;
    }
    group->folders[group->count] = steal(&folder);
    group->join[group->count++] = fd;
    group->join[group->count] = -1;
}

struct cgroup *cgroup_new(const char *name, unsigned memory_mb, unsigned pids)
{
    if (geteuid() != 0 || (!memory_mb && !pids))
        return NULL;
    struct cgroup *group = xcalloc(1, sizeof(*group));
    const unsigned long long values[TREES] = {pids, (unsigned long long)memory_mb << 20};
    group->join[0] = -1;
    for (size_t i = 0; i < TREES; i++)
        add_tree(group, &limits[i], name, values[i]);
    if (group->count)
        return group;
    free(group);
    return NULL;
}

const int *cgroup_join(const struct cgroup *group)
{
    return group ? group->join : NULL;
}

/* ---- the end ---- */

/* Groups of programs that are still dying. On the one thread that starts programs. */
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
    free(group);
    remove_later();
    if (later.count && !registered)
        registered = atexit(remove_last) == 0;
}
