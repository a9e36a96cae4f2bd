/* Reading a folder. Types come with the names where the file system tells them, else from a stat each. */

#include "listing.h"
#include "base/mem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static int by_name(const void *a, const void *b)
{
    const struct listing_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* What strcmp would say with the slashes in place. */
static int by_path(const void *a, const void *b)
{
    const struct listing_entry *x = a, *y = b;
    size_t i = 0;
    while (x->name[i] && x->name[i] == y->name[i])
        i++;
    unsigned char cx = (unsigned char)x->name[i], cy = (unsigned char)y->name[i];
    if (!cx && x->type == DT_DIR)
        cx = '/';
    if (!cy && y->type == DT_DIR)
        cy = '/';
    return (cx > cy) - (cx < cy);
}

static unsigned char type_of(int folder, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(st.st_mode);
}

static int read_entries(struct listing *listing, DIR *dir, const atomic_bool *cancelled)
{
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry)
            return errno ? -1 : 0;
        if (cancelled && atomic_load_explicit((atomic_bool *)cancelled, memory_order_relaxed)) {
            errno = ECANCELED;
            return -1;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        GROW(listing->items, listing->count, listing->room);
        listing->items[listing->count++] =
            (struct listing_entry){.name = xstrdup(entry->d_name), .type = type_of(dirfd(dir), entry)};
    }
}

int listing_read(struct listing *listing, int folder, enum listing_order order, const atomic_bool *cancelled)
{
    /* closedir closes its descriptor, and a duplicate would share the place in the folder: open it anew. */
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        errno = code;
        return -1;
    }
    int rc = read_entries(listing, dir, cancelled);
    int code = errno;
    closedir(dir);
    if (listing->count)
        qsort(listing->items, listing->count, sizeof(*listing->items), order == LISTING_BY_PATH ? by_path : by_name);
    errno = code;
    return rc;
}

void listing_release(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->items[i].name);
    free(listing->items);
    *listing = (struct listing){0};
}
