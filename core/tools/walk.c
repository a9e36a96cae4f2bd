#include "walk.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "listing.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 200

static bool walk_folder(struct walk *walk, const char *path, int take_folder, int depth);

static bool walk_below(struct walk *walk, const char *path, int depth)
{
    struct err ignored = ERR_INIT;
    int fd = -1;
    if (depth < DEPTH_MAX)
        fd = beneath_openat(walk->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &ignored);
    if (fd >= 0)
        return walk_folder(walk, path, fd, depth + 1);
    walk->unreadable++;
    return true;
}

static bool walk_folder(struct walk *walk, const char *path, int take_folder, int depth)
{
    CLEANUP(listing) struct listing names = {0};
    int rc = listing_read(&names, take_folder, LISTING_BY_PATH, walk->cancelled);
    bool on = true;
    close(take_folder);
    walk->unreadable += rc < 0;
    for (size_t i = 0; i < names.count && on; i++) {
        const struct listing_entry *entry = &names.items[i];
        if (strcmp(entry->name, ".git") == 0 || (entry->type != DT_REG && entry->type != DT_DIR))
            continue;
        CLEANUP(free)
        char *below = strcmp(path, ".") == 0 ? xstrdup(entry->name) : xasprintf("%s/%s", path, entry->name);
        on = !atomic_load_explicit((atomic_bool *)walk->cancelled, memory_order_relaxed) &&
             (entry->type == DT_REG ? walk->file(walk, below) : walk_below(walk, below, depth));
    }
    return on;
}

bool walk_files(struct walk *walk, const char *path, int take_folder)
{
    return walk_folder(walk, path, take_folder, 0);
}
