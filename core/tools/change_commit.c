/* Writing a change set: all of it or nothing, and never over somebody else's bytes.
 *
 * Three rounds. `prepare` writes every new content to a temporary beside its target and fsyncs it, so a full disk or a
 * missing permission shows before anything has changed. `place` puts them in position with renames only. `settle`
 * fsyncs the folders. A failure anywhere runs the placed ones backwards.
 *
 * An existing file is not overwritten but exchanged with its temporary (RENAME_EXCHANGE). Afterwards the temporary *is*
 * the old file, and that buys two things. The bytes that went out can be compared with what the user saw after the
 * fact, so there is no moment between "still the same" and the rename in which an edit could be lost: if they differ
 * they are exchanged back. And rolling back is a rename, which needs no space and keeps owner and times. A new file is
 * renamed with RENAME_NOREPLACE, a deleted one is first renamed aside and then looked at, for the same reason. File
 * systems without exchange get a check just before a plain rename, and a roll-back that writes the old bytes again.
 *
 * Folders on the way to a new file are made, and go again when the commit fails or the write is undone, if nothing else
 * is in them by then.
 *
 * A kill never leaves a half-written target. A temporary that is being written is called `.keyturn-<16 hex>.tmp`; a
 * later commit in that folder removes it when it is ours and an hour old. Before a temporary is exchanged with a file,
 * and where a file is renamed aside, the name is `NAME.keyturn-kept-<16 hex>`, which nothing of ours ever removes:
 * after a kill or a roll-back that fails it may be the only copy of that file. When a roll-back fails, the error says
 * so.
 *
 * The folder of a change is opened once, without following links, and must be the one that the proposal looked at. All
 * work is done on that descriptor. */

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
    char *temp;  /* NULL while there is none */
    size_t made; /* length of the first prefix of the path that had to be made; 0: all folders were there */
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
        why = "the disk quota is used up";
        break;
    case EROFS:
        why = "the file system is read-only";
        break;
    case EACCES:
    case EPERM:
        why = "permission denied";
        break;
    case EFBIG:
        why = "it would be larger than files may be here";
        break;
    }
    /* Cut, so that the reason and what became of the rest still fit behind it. */
    if (!why)
        return err_set_errno(err, code, "cannot %s %.200s", verb, path);
    err_set(err, "cannot %s %.200s: %s", verb, path, why);
    if (err)
        err->code = code;
    return -1;
}

static int changed_meanwhile(struct err *err, const char *path)
{
    return err_set(err, "%.200s was changed by someone else meanwhile", path);
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

/* One that the sweep takes, and one that it leaves alone. */
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

/* Whether the question said that this line of `loses` goes. */
static bool was_said(const char *loses, const char *line, size_t len)
{
    size_t said;
    for (const char *at; (at = change_next_loss(&loses, &said));)
        if (said == len && strncmp(at, line, len) == 0)
            return true;
    return false;
}

/* What cannot be kept was in the question, or nothing is written. */
static int check_lost(const struct change *change, const char *lost, struct err *err)
{
    size_t len;
    for (const char *line; (line = change_next_loss(&lost, &len));)
        if (!was_said(change->loses, line, len))
            return err_set(err, "cannot write %.200s: it would lose its %.*s, which the question did not say",
                           change->path, len > 80 ? 80 : (int)len, line);
    return 0;
}

/* Opens the file whose attributes the new one gets; -1 with errno, ENOENT: it is a file of its own. */
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
    if (model < 0 && errno != ENOENT && errno != ELOOP && errno != ENXIO) /* what is no file will be noticed later */
        return cannot(err, errno, "write", change->path);
    if (model < 0 || fstat(model, &was) < 0 || !S_ISREG(was.st_mode)) {
        if (change->exact_mode && attributes_drop_list(fd) < 0)
            return cannot(err, errno, "write", change->path);
        return change->exact_mode && fchmod(fd, mode) < 0 && errno != EPERM && errno != EOPNOTSUPP
                   ? cannot(err, errno, "write", change->path)
                   : 0;
    }
    /* Bits that somebody set after the proposal stay, unless the change is about them. */
    if (change->old.exists && change->new.mode == change->old.mode)
        mode = was.st_mode & 0777;
    CLEANUP(strbuf) struct strbuf lost = STRBUF_INIT;
    if (attributes_copy(fd, model, mode, &lost) < 0)
        return cannot(err, errno, "write", change->path);
    return check_lost(change, lost.buf, err);
}

/* The content goes to a new temporary, durable, with the attributes of the file it is to replace. A file that is new
 * altogether is made with its permission bits, so that the umask or the folder's list counts as for any other. */
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

/* How much of `path` exists: the length of its first prefix that does not, 0 when only the last name may be missing. */
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

/* Takes away the folders this commit made, or the one that it undoes; one that is no longer empty stays. */
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
    /* A rename needs no permission on the file itself, but one that is write-protected is so for a reason. */
    if (change->old.exists && faccessat(p->folder, p->name, W_OK, AT_EACCESS) < 0 && errno != ENOENT)
        return cannot(err, errno, change->new.exists ? "write" : "delete", change->path);
    return change->new.exists ? write_temp(p, root, name_temp(), &change->new, err) : 0;
}

/* Whether `name` in the folder is the file the change began from. */
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

static int place_new(struct placing *p, struct err *err)
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
        return err_set(err, "%.200s was created by someone else meanwhile", path);
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
        return code == ENOENT ? err_set(err, "%.200s was deleted meanwhile", path) : cannot(err, code, "delete", path);
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
    return p->change->old.exists ? place_over(p, err) : place_new(p, err);
}

/* The folder's entries on the disk. Some file systems have no fsync for folders, and one we may not read has none. */
static int settle(const struct placing *p, struct err *err)
{
    if (p->folder >= 0 && fsync(p->folder) < 0 && errno != EINVAL && errno != EBADF)
        return cannot(err, errno, "write", p->change->path);
    return 0;
}

/* Back to before. False when the old file could not be put back. */
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
            drop_temp(p); /* half of it is no copy; the checkpoint has one */
            return false;
        }
        break;
    }
    case PLACED_EXCHANGED:
        /* Not a plain rename: what was exchanged out may be a folder by now, which no file can be replaced with. The
         * temporary is our own again afterwards, and goes. */
        return renameat2(p->folder, p->temp, p->folder, p->name, RENAME_EXCHANGE) == 0;
    case PLACED_REMOVED:
        break;
    }
    if (renameat(p->folder, p->temp, p->folder, p->name) < 0)
        return false;
    free(steal(&p->temp));
    return true;
}

/* Says which file could not be put back, and where its old content is (NULL: nowhere); cut where there is no room. */
static void say_lost(struct err *err, const char *path, const char *kept)
{
    size_t len = err ? strlen(err->text) : 0;
    if (err && kept)
        snprintf(err->text + len, sizeof(err->text) - len,
                 "; %.100s could not be put back, its old content is in %.255s", path, kept);
    else if (err)
        snprintf(err->text + len, sizeof(err->text) - len, "; %.120s could not be put back", path);
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
        } else if (p->placed != PLACED_NOT && settle(p, &ignored) < 0) {
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
        rc = settle(&items[i], err);
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
