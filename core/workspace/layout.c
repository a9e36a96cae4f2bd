/* Creates and repairs the folders of a workspace (layout.h).
 *
 * Folders are created one by one beneath the descriptor of the root: a program may have replaced a folder by a link,
 * and nothing may be created where it points. */

#include "layout.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/walk.h"
#include "codeblock.h"
#include "metadata.h"
#include "sandbox/user.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int ensure_folder(const struct beneath *root, const char *name, struct err *err)
{
    bool made = mkdirat(beneath_fd(root), name, LAYOUT_DIR_MODE) == 0;
    if (!made && errno != EEXIST)
        return err_set_errno(err, errno, "cannot create the folder %s", name);
    CLEANUP(fd) int fd = beneath_openat(root, name, O_PATH | O_DIRECTORY, 0, err);
    if (fd < 0) {
        if (err && err->code == ENOTDIR)
            err_set(err, "%s exists and is not a folder", name);
        return -1;
    }
    if (made && !sandbox_user_give(beneath_fd(root), fd))
        return err_set_errno(err, errno, "cannot give the folder %s to programs", name);
    /* Set the mode explicitly: the umask or a program may have changed it. */
    if (!walk_unlock(fd, made ? LAYOUT_DIR_MODE : S_IRWXU) && made)
        return err_set_errno(err, errno, "cannot create the folder %s", name);
    return 0;
}

int layout_ensure_beneath(const struct beneath *root, struct clock *clock, struct err *err)
{
    walk_unlock(beneath_fd(root), S_IRWXU);
    for (size_t i = 0; i < LAYOUT_DIRS; i++)
        if (ensure_folder(root, layout_rows[i].name, err) < 0)
            return -1;
    return metadata_ensure(root, clock, err);
}

void layout_remove_links(const struct beneath *root)
{
    struct stat st;
    for (size_t i = 0; i < LAYOUT_DIRS; i++) {
        const char *name = layout_rows[i].name;
        if (fstatat(beneath_fd(root), name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode))
            continue;
        CLEANUP(fd) int fd = beneath_openat(root, name, O_PATH | O_DIRECTORY, 0, NULL);
        if (fd < 0)
            unlinkat(beneath_fd(root), name, 0);
    }
}

/* True if an entry blocks the place of a folder or of the metadata. A link is judged by its target. */
static bool is_in_the_way(const struct beneath *root, const char *name, bool folder)
{
    struct stat st;
    if (fstatat(beneath_fd(root), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    if (!folder || S_ISDIR(st.st_mode))
        return !folder && S_ISDIR(st.st_mode); /* new metadata replaces any other kind of entry */
    CLEANUP(fd) int fd = beneath_openat(root, name, O_PATH | O_DIRECTORY, 0, NULL);
    return fd < 0;
}

/* Renames the entry to NAME.1, or to the next free number. */
static void move_aside(int dir, const char *above, const char *name, struct strbuf *told)
{
    struct stat st;
    for (unsigned number = 1;; number++) {
        CLEANUP(free) char *aside = xasprintf("%s.%u", name, number);
        if (fstatat(dir, aside, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (errno == ENOENT && renameat(dir, name, dir, aside) == 0)
            strbuf_addf(told, "%s%s%s blocked a folder and was renamed to %s%s", told->len ? "; " : "", above, name,
                        above, aside);
        return;
    }
}

/* Moves folders aside that have the names of code files. */
static void clear_code(const struct beneath *root, struct strbuf *told)
{
    CLEANUP(fd) int shut = beneath_openat(root, CODE_FOLDER, O_PATH | O_DIRECTORY, 0, NULL);
    if (shut < 0 || !walk_unlock(shut, S_IRWXU))
        return;
    int folder = openat(shut, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = folder < 0 ? NULL : fdopendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        size_t len = strlen(CODE_FILE);
        struct stat st;
        const char *kind = strncmp(entry->d_name, CODE_FILE, len) == 0 ? strchr(entry->d_name, '.') : NULL;
        if (kind && !strchr(kind + 1, '.') && fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
            move_aside(folder, CODE_FOLDER "/", entry->d_name, told);
    }
    if (list)
        closedir(list);
    else if (folder >= 0)
        close(folder);
}

void layout_clear(const struct beneath *root, struct strbuf *told)
{
    int dir = beneath_fd(root);
    walk_unlock(dir, S_IRWXU);
    for (size_t i = 0; i < LAYOUT_DIRS; i++)
        if (is_in_the_way(root, layout_rows[i].name, true))
            move_aside(dir, "", layout_rows[i].name, told);
    if (is_in_the_way(root, CODE_FOLDER, true))
        move_aside(dir, "", CODE_FOLDER, told);
    else
        clear_code(root, told);
    if (is_in_the_way(root, LAYOUT_METADATA, false))
        move_aside(dir, "", LAYOUT_METADATA, told);
}
