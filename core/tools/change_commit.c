/* Writes a change set: all of it or nothing, and never over bytes that another program wrote meanwhile.
 *
 * Three rounds. `prepare` writes every new content to a temporary beside its target and fsyncs it, so a full disk or
 * a missing permission fails before anything has changed. `place` moves them into position with renames only.
 * `settle` fsyncs the folders. A failure in any round reverts the files placed so far.
 *
 * An existing file is not overwritten but exchanged with its temporary (RENAME_EXCHANGE). Afterwards the temporary
 * *is* the old file. This has two advantages. First, the old bytes can be compared with what the user saw after the
 * exchange, so no edit can be lost between the check and the rename: if they differ, they are exchanged back. Second,
 * a rollback is a rename, which needs no space and keeps owner and times. For the same reason a new file is renamed
 * with RENAME_NOREPLACE, and a deleted file is first renamed aside and then compared. On file systems without
 * exchange, the check comes just before a plain rename, and a rollback writes the old bytes again.
 *
 * Missing folders of a new file are created. They are removed if the commit fails or the write is undone, unless they
 * contain other files by then.
 *
 * A kill never leaves a half-written target. A temporary that is being written is called `.keyturn-<16 hex>.tmp`; a
 * later commit in that folder removes it if it is ours and an hour old. Before a temporary is exchanged with a file,
 * and when a file is renamed aside, the name is `NAME.keyturn-kept-<16 hex>`. Keyturn never removes such a file:
 * after a kill or a failed rollback it may be the only copy. If a rollback fails, the error says so.
 *
 * The folder of a change is opened once, without following links, and must be the one that the proposal looked at.
 * All work uses that descriptor. */

#include "attributes.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "change.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define TEMP_PREFIX ".keyturn-"
#define TEMP_SUFFIX ".tmp"
#define TEMP_HEX    16
#define LEFTOVER_S  3600
#define KEPT_INFIX  ".keyturn-kept-"
#define KEPT_STEM   200 /* bytes of a long name; the whole must fit into NAME_MAX */

enum placed {
    PLACED_NOT,
    PLACED_EXCHANGED,   /* the temporary is the old file */
    PLACED_OVERWRITTEN, /* the old file is gone; its bytes are in the change */
    PLACED_CREATED,
    PLACED_REMOVED, /* the temporary is the old file */
};

struct placing {
    const struct change *change;
    int folder; /* -1 until prepared */
    char *name;
    char *temp;  /* NULL: none */
    size_t made; /* length of the first prefix of the path that had to be created; 0: all folders existed */
    enum placed placed;
};

static int cannot(struct err *err, int code, const char *verb, const char *path)
{
    const char *why = NULL;
    switch (code) {
    case ENOSPC:
        why = "the disk is full";
        break;
    case EDQUOT:
        why = "the disk quota is exceeded";
        break;
    case EROFS:
        why = "the file system is read-only";
        break;
    case EACCES:
    case EPERM:
        why = "permission denied";
        break;
    case EFBIG:
        why = "it would exceed the file size limit";
        break;
    }
    /* Cut, so that the reason and the state of the other files still fit behind it. */
    if (!why)
        return err_set_errno(err, code, "cannot %s %.200s", verb, path);
    err_set(err, "cannot %s %.200s: %s", verb, path, why);
    if (err)
        err->code = code;
    return -1;
}

static int changed_meanwhile(struct err *err, const char *path)
{
    return err_set(err, "%.200s was changed by someone else since it was read", path);
}

static char *random_name(const char *stem, int stem_len, const char *before, const char *after)
{
    unsigned char random[TEMP_HEX / 2];
    char hex[TEMP_HEX + 1];
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        BUG("no random bytes");
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(hex + 2 * i, 3, "%02x", random[i]);
    return xasprintf("%.*s%s%s%s", stem_len, stem, before, hex, after);
}

/* Two kinds of names: one that the sweep removes, and one that it keeps. */
static char *name_temp(void)
{
    return random_name("", 0, TEMP_PREFIX, TEMP_SUFFIX);
}

static char *name_kept(const struct placing *p)
{
    return random_name(p->name, KEPT_STEM, KEPT_INFIX, "");
}

static bool is_temp_name(const char *name)
{
    size_t prefix = sizeof(TEMP_PREFIX) - 1;
    return strncmp(name, TEMP_PREFIX, prefix) == 0 && strspn(name + prefix, "0123456789abcdef") == TEMP_HEX &&
           strcmp(name + prefix + TEMP_HEX, TEMP_SUFFIX) == 0;
}

static void drop_temp(struct placing *p)
{
    if (p->temp)
        unlinkat(p->folder, p->temp, 0);
    free(steal(&p->temp));
}

/* Whether the question listed this line of `loses` as lost. */
static bool was_said(const char *loses, const char *line, size_t len)
{
    size_t said;
    for (const char *at; (at = change_next_loss(&loses, &said));)
        if (said == len && strncmp(at, line, len) == 0)
            return true;
    return false;
}

/* Refuses to write if an attribute would be lost that the question did not list. */
static int check_lost(const struct change *change, const char *lost, struct err *err)
{
    size_t len;
    for (const char *line; (line = change_next_loss(&lost, &len));)
        if (!was_said(change->loses, line, len))
            return err_set(err, "cannot write %.200s: it would lose its %.*s, which the question did not show",
                           change->path, len > 80 ? 80 : (int)len, line);
    return 0;
}

/* Opens the file whose attributes the new one gets. Returns -1 with errno; ENOENT: the file is new. */
static int open_model(const struct placing *p, struct beneath *root)
{
    const char *like = p->change->like;
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    if (!like)
        return openat(p->folder, p->name, flags);
    struct err why = ERR_INIT;
    CLEANUP(fd) int folder = beneath_folder(root, like, NULL, false, &why);
    const char *slash = strrchr(like, '/');
    if (folder < 0) {
        errno = why.code;
        return -1;
    }
    return openat(folder, slash ? slash + 1 : like, flags);
}

static int set_attributes(const struct placing *p, struct beneath *root, int fd, mode_t mode, struct err *err)
{
    const struct change *change = p->change;
    struct stat was;
    CLEANUP(fd) int model = open_model(p, root);
    if (model < 0 && errno != ENOENT && errno != ELOOP && errno != ENXIO) /* a later check finds what is not a file */
        return cannot(err, errno, "write", change->path);
    if (model < 0 || fstat(model, &was) < 0 || !S_ISREG(was.st_mode)) {
        if (change->exact_mode && attributes_drop_list(fd) < 0)
            return cannot(err, errno, "write", change->path);
        return change->exact_mode && fchmod(fd, mode) < 0 && errno != EPERM && errno != EOPNOTSUPP
                   ? cannot(err, errno, "write", change->path)
                   : 0;
    }
    /* Keeps mode bits that were set after the proposal, unless the change sets them. */
    if (change->old.exists && change->new.mode == change->old.mode)
        mode = was.st_mode & 0777;
    CLEANUP(strbuf) struct strbuf lost = STRBUF_INIT;
    if (attributes_copy(fd, model, mode, &lost) < 0)
        return cannot(err, errno, "write", change->path);
    return check_lost(change, lost.buf, err);
}

/* Writes the content to a new temporary and fsyncs it, with the attributes of the file it replaces. A new file is
 * created with its permission bits, so that the umask or the folder's ACL applies as for any other. */
static int write_temp(struct placing *p, struct beneath *root, char *take_name, const struct change_side *side,
                      struct err *err)
{
    const struct change *change = p->change;
    bool plain = !change->old.exists && !change->like && !change->exact_mode;
    p->temp = take_name;
    CLEANUP(fd)
    int fd = openat(p->folder, p->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    plain ? side->mode & 0777 : 0600);
    if (fd < 0) {
        int code = errno;
        free(steal(&p->temp));
        return cannot(err, code, "write", change->path);
    }
    if (!plain && set_attributes(p, root, fd, side->mode, err) < 0)
        return -1;
    if (file_write_all(fd, side->bytes, side->len) < 0 || fsync(fd) < 0)
        return cannot(err, errno, "write", change->path);
    return 0;
}

/* Returns the length of the first prefix of `path` that does not exist; 0 if at most the last name is missing. */
static size_t missing_from(struct beneath *root, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        CLEANUP(free) char *prefix = xmemdup0(path, (size_t)(slash - path));
        struct stat st;
        struct err why = ERR_INIT;
        if (beneath_lstat(root, prefix, &st, &why) < 0 && why.code == ENOENT)
            return (size_t)(slash - path);
    }
    return 0;
}

void change_set_note_folders(struct change_set *set, struct beneath *root)
{
    for (size_t i = 0; i < set->count; i++)
        set->items[i].made = set->items[i].new.exists ? missing_from(root, set->items[i].path) : 0;
}

/* Removes the folders that this commit created, or those of the commit it undoes, unless they are not empty. */
static void remove_made(struct beneath *root, const struct placing *p)
{
    CLEANUP(free) char *path = xstrdup(p->change->path);
    for (char *slash = strrchr(path, '/'); slash && p->made && (size_t)(slash - path) >= p->made;
         slash = strrchr(path, '/')) {
        *slash = '\0';
        struct err ignored = ERR_INIT;
        CLEANUP(fd) int above = beneath_folder(root, path, NULL, false, &ignored);
        const char *inner = strrchr(path, '/');
        if (above < 0 || unlinkat(above, inner ? inner + 1 : path, AT_REMOVEDIR) < 0)
            return;
    }
}

static bool changes_nothing(const struct change *change)
{
    return change->old.exists == change->new.exists &&
           change->old.mode == change->new.mode &&strcmp(change->old.digest, change->new.digest) == 0;
}

static int prepare(struct placing *p, struct beneath *root, struct err *err)
{
    const struct change *change = p->change;
    if (changes_nothing(change))
        return 0;
    p->made = change->new.exists ? missing_from(root, change->path) : change->made;
    struct err why = ERR_INIT;
    const char *slash = strrchr(change->path, '/');
    p->name = xstrdup(slash ? slash + 1 : change->path);
    p->folder = beneath_folder(root, change->path, &change->anchor, change->new.exists, &why);
    if (p->folder < 0)
        return why.code && why.code != ESTALE ? cannot(err, why.code, "write", change->path)
                                              : err_set(err, "%s", why.text);
    /* A rename needs no permission on the file itself, but a write-protected file must stay protected. */
    if (change->old.exists && faccessat(p->folder, p->name, W_OK, AT_EACCESS) < 0 && errno != ENOENT)
        return cannot(err, errno, change->new.exists ? "write" : "delete", change->path);
    return change->new.exists ? write_temp(p, root, name_temp(), &change->new, err) : 0;
}

/* Whether `name` in the folder is the file that the change started from. */
static bool is_old(const struct placing *p, const char *name)
{
    CLEANUP(fd) int fd = openat(p->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && change_side_matches(&p->change->old, fd) == 1;
}

static bool unsupported(int code)
{
    return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP;
}

static int place_over(struct placing *p, struct err *err)
{
    const char *path = p->change->path;
    char *kept = name_kept(p);
    if (renameat(p->folder, p->temp, p->folder, kept) < 0) {
        int code = errno;
        free(kept);
        return cannot(err, code, "write", path);
    }
    free(p->temp);
    p->temp = kept;
    if (renameat2(p->folder, p->temp, p->folder, p->name, RENAME_EXCHANGE) == 0) {
        p->placed = PLACED_EXCHANGED;
        return is_old(p, p->temp) ? 0 : changed_meanwhile(err, path);
    }
    if (errno == ENOENT)
        return changed_meanwhile(err, path);
    if (!unsupported(errno))
        return cannot(err, errno, "write", path);
    if (!is_old(p, p->name))
        return changed_meanwhile(err, path);
    if (renameat(p->folder, p->temp, p->folder, p->name) < 0)
        return cannot(err, errno, "write", path);
    free(steal(&p->temp));
    p->placed = PLACED_OVERWRITTEN;
    return 0;
}

static int runtime_new(struct placing *p, struct err *err)
{
    const char *path = p->change->path;
    int rc = renameat2(p->folder, p->temp, p->folder, p->name, RENAME_NOREPLACE);
    if (rc < 0 && unsupported(errno)) {
        if (faccessat(p->folder, p->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            errno = EEXIST;
        else
            rc = renameat(p->folder, p->temp, p->folder, p->name);
    }
    if (rc < 0 && errno == EEXIST)
        return err_set(err, "%.200s was created by someone else since it was read", path);
    if (rc < 0)
        return cannot(err, errno, "write", path);
    free(steal(&p->temp));
    p->placed = PLACED_CREATED;
    return 0;
}

static int place_nothing(struct placing *p, struct err *err)
{
    const char *path = p->change->path;
    p->temp = name_kept(p);
    if (renameat(p->folder, p->name, p->folder, p->temp) < 0) {
        int code = errno;
        free(steal(&p->temp));
        return code == ENOENT ? err_set(err, "%.200s was deleted since it was read", path)
                              : cannot(err, code, "delete", path);
    }
    p->placed = PLACED_REMOVED;
    return is_old(p, p->temp) ? 0 : changed_meanwhile(err, path);
}

static int place(struct placing *p, struct err *err)
{
    if (changes_nothing(p->change))
        return 0;
    if (!p->change->new.exists)
        return place_nothing(p, err);
    return p->change->old.exists ? place_over(p, err) : runtime_new(p, err);
}

/* Fsyncs the folder. Some file systems have no fsync for folders, and a folder without read permission cannot be
 * synced. */
static int settle_file(const struct placing *p, struct err *err)
{
    if (p->folder >= 0 && fsync(p->folder) < 0 && errno != EINVAL && errno != EBADF)
        return cannot(err, errno, "write", p->change->path);
    return 0;
}

/* Reverts a placed change. Returns false if the old file could not be restored. */
static bool put_back(struct placing *p, struct beneath *root)
{
    switch (p->placed) {
    case PLACED_NOT:
        return true;
    case PLACED_CREATED:
        return unlinkat(p->folder, p->name, 0) == 0 || errno == ENOENT;
    case PLACED_OVERWRITTEN: {
        struct err ignored = ERR_INIT;
        if (write_temp(p, root, name_kept(p), &p->change->old, &ignored) < 0) {
            drop_temp(p); /* delete the partial file; the checkpoint has the content */
            return false;
        }
        break;
    }
    case PLACED_EXCHANGED:
        /* No plain rename: the exchanged object may be a folder by now, and a file cannot replace it. Afterwards the
         * temporary is our own file again and is removed. */
        return renameat2(p->folder, p->temp, p->folder, p->name, RENAME_EXCHANGE) == 0;
    case PLACED_REMOVED:
        break;
    }
    if (renameat(p->folder, p->temp, p->folder, p->name) < 0)
        return false;
    free(steal(&p->temp));
    return true;
}

/* Adds the file that could not be restored, and where its old content is (NULL: lost). Cut if there is no room. */
static void say_lost(struct err *err, const char *path, const char *kept)
{
    size_t len = err ? strlen(err->text) : 0;
    if (err && kept)
        snprintf(err->text + len, sizeof(err->text) - len, "; cannot restore %.100s, its old content is in %.255s",
                 path, kept);
    else if (err)
        snprintf(err->text + len, sizeof(err->text) - len, "; cannot restore %.120s", path);
}

static void roll_back(struct placing *items, size_t count, struct beneath *root, struct err *err)
{
    bool lost = false;
    for (size_t i = count; i-- > 0;) {
        struct placing *p = &items[i];
        struct err ignored = ERR_INIT;
        if (!put_back(p, root)) {
            lost = true;
            CLEANUP(free) char *kept = steal(&p->temp);
            say_lost(err, p->change->path, kept);
        } else if (p->placed != PLACED_NOT && settle_file(p, &ignored) < 0) {
            lost = true;
            say_lost(err, p->change->path, NULL);
        }
        drop_temp(p);
        remove_made(root, p);
    }
    size_t len = err ? strlen(err->text) : 0;
    if (err && !lost)
        snprintf(err->text + len, sizeof(err->text) - len, "; nothing was changed");
}

static void sweep_leftovers(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return;
    }
    time_t now = time(NULL);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        struct stat st;
        if (is_temp_name(entry->d_name) && fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_uid == geteuid() && now - st.st_ctime > LEFTOVER_S)
            unlinkat(folder, entry->d_name, 0);
    }
    closedir(dir);
}

int change_set_commit(const struct change_set *set, struct beneath *root, struct err *err)
{
    if (change_set_check(set, root, err) < 0)
        return -1;
    struct placing *items = xcalloc(set->count, sizeof(*items));
    int rc = 0;
    for (size_t i = 0; i < set->count; i++)
        items[i] = (struct placing){.change = &set->items[i], .folder = -1};
    for (size_t i = 0; rc == 0 && i < set->count; i++)
        rc = prepare(&items[i], root, err);
    for (size_t i = 0; rc == 0 && i < set->count; i++)
        rc = place(&items[i], err);
    for (size_t i = 0; rc == 0 && i < set->count; i++)
        rc = settle_file(&items[i], err);
    if (rc < 0)
        roll_back(items, set->count, root, err);
    for (size_t i = 0; i < set->count; i++) {
        struct placing *p = &items[i];
        drop_temp(p);
        if (rc == 0 && p->folder >= 0)
            sweep_leftovers(p->folder);
        if (rc == 0 && !p->change->new.exists)
            remove_made(root, p);
        free(p->name);
        if (p->folder >= 0)
            close(p->folder);
    }
    free(items);
    return rc;
}
