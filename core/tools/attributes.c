/* Copies owner, permission bits, access list and extended attributes from one file to another.
 *
 * The order matters. Extended attributes come first, while the new file is 0600, because the owner could not add some
 * of them to a read-only file. The owner comes before the bits, because the kernel clears bits when the owner
 * changes. With an access list the group bits of a mode are the list's mask. So only the list sets them: set earlier,
 * they would open the file to its group for a moment. */

#include "attributes.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define NAME_BYTES 4096 /* of an entry of the user database */

/* The kernel's form of an access list: a version, then entries, all little-endian. */
struct list_entry {
    uint16_t tag, perm;
    uint32_t id;
};
#define LIST_HEAD sizeof(uint32_t)
enum { TAG_OWNER = 0x01, TAG_USER = 0x02, TAG_GROUP_OWN = 0x04, TAG_GROUP = 0x08, TAG_MASK = 0x10, TAG_OTHER = 0x20 };

static void lose(struct strbuf *lost, const char *what, const char *name)
{
    size_t from = lost->len;
    strbuf_addf(lost, "%s%s", what, name);
    for (size_t i = from; i < lost->len; i++) /* a name may contain anything, and a newline ends a line */
        if ((unsigned char)lost->buf[i] < ' ' || lost->buf[i] == 0x7f)
            lost->buf[i] = '?';
    strbuf_addch(lost, '\n');
}

/* ---- extended attributes ---- */

/* The value, or NULL with errno. The caller frees it. */
static char *read_value(int fd, const char *name, size_t *len)
{
    ssize_t size = fgetxattr(fd, name, NULL, 0);
    if (size < 0)
        return NULL;
    char *value = xmalloc((size_t)size + 1);
    size = fgetxattr(fd, name, value, (size_t)size);
    if (size < 0) {
        int code = errno;
        free(value);
        errno = code;
        return NULL;
    }
    *len = (size_t)size;
    return value;
}

/* The names, one after the other, each with its NUL. */
static char *read_names(int fd, size_t *len)
{
    *len = 0;
    ssize_t size = flistxattr(fd, NULL, 0);
    char *names = xmalloc(size > 0 ? (size_t)size : 1);
    if (size > 0)
        size = flistxattr(fd, names, (size_t)size);
    *len = size > 0 ? (size_t)size : 0;
    return names;
}

static bool keep_value(int to, int from, const char *name)
{
    size_t len, have_len;
    CLEANUP(free) char *value = read_value(from, name, &len);
    if (!value)
        return errno == ENODATA; /* removed meanwhile */
    CLEANUP(free) char *have = read_value(to, name, &have_len);
    if (have && have_len == len && memcmp(have, value, len) == 0)
        return true;
    return fsetxattr(to, name, value, len, 0) == 0;
}

/* `to` is -1 if it cannot be tried; then only attributes that are never copied count as lost. */
static void keep_named(int to, int from, struct strbuf *lost)
{
    size_t len;
    CLEANUP(free) char *names = read_names(from, &len);
    for (const char *name = names; name < names + len; name += strlen(name) + 1) {
        if (strcmp(name, ATTRIBUTES_LIST) == 0)
            continue;
        if (strcmp(name, "security.capability") == 0)
            lose(lost, "file capabilities", "");
        else if (strcmp(name, "security.ima") == 0 || strcmp(name, "security.evm") == 0)
            lose(lost, "signature ", name);
        else if (to >= 0 && !keep_value(to, from, name))
            lose(lost, "attribute ", name);
    }
}

/* ---- owner and group ---- */

static void lose_owner(struct strbuf *lost, uid_t uid)
{
    char buf[NAME_BYTES], number[24];
    struct passwd entry, *found = NULL;
    snprintf(number, sizeof(number), "%u", (unsigned)uid);
    bool known = getpwuid_r(uid, &entry, buf, sizeof(buf), &found) == 0 && found;
    lose(lost, "owner ", known ? found->pw_name : number);
}

static void lose_group(struct strbuf *lost, gid_t gid)
{
    char buf[NAME_BYTES], number[24];
    struct group entry, *found = NULL;
    snprintf(number, sizeof(number), "%u", (unsigned)gid);
    bool known = getgrgid_r(gid, &entry, buf, sizeof(buf), &found) == 0 && found;
    lose(lost, "group ", known ? found->gr_name : number);
}

struct owners {
    bool owner, group; /* the same as before */
};

/* Only root can change the owner; members of a group can keep the group. */
static struct owners keep_owners(int to, const struct stat *was, const struct stat *is, struct strbuf *lost)
{
    struct owners same = {was->st_uid == is->st_uid, was->st_gid == is->st_gid};
    if ((same.owner && same.group) || fchown(to, was->st_uid, was->st_gid) == 0)
        return (struct owners){true, true};
    if (!same.owner)
        lose_owner(lost, was->st_uid);
    same.group = same.group || fchown(to, (uid_t)-1, was->st_gid) == 0;
    if (!same.group)
        lose_group(lost, was->st_gid);
    return same;
}

/* ---- permission bits and access list ---- */

static struct list_entry entry_at(const char *list, size_t offset)
{
    struct list_entry entry;
    memcpy(&entry, list + offset, sizeof(entry));
    return (struct list_entry){le16toh(entry.tag), le16toh(entry.perm), le32toh(entry.id)};
}

static void set_perm(char *list, size_t offset, unsigned perm)
{
    uint16_t value = htole16((uint16_t)perm);
    memcpy(list + offset + offsetof(struct list_entry, perm), &value, sizeof(value));
}

/* The bits of a file that lost its list. No user may gain access by that: users named in the list now fall under
 * group or others. So group and others get no more than the least of the named entries. */
static mode_t bits_without(const char *list, size_t len, mode_t mode)
{
    unsigned named = 7, group = 7, mask = 7;
    for (size_t at = LIST_HEAD; at + sizeof(struct list_entry) <= len; at += sizeof(struct list_entry)) {
        struct list_entry entry = entry_at(list, at);
        if (entry.tag == TAG_USER || entry.tag == TAG_GROUP)
            named &= entry.perm;
        else if (entry.tag == TAG_GROUP_OWN)
            group = entry.perm;
        else if (entry.tag == TAG_MASK)
            mask = entry.perm;
    }
    named &= mask;
    return (mode & 0700) | (mode & ((group & named) << 3)) | (mode & named);
}

/* With another group, members of the new group were "others" before, and members of the old one are now. With another
 * owner, the old one is now in the group or in "others". So group and others get no more than both had. */
static mode_t bits_for_new(struct owners same, mode_t mode)
{
    mode_t owner = mode >> 6 & 7, group = mode >> 3 & 7, other = mode & 7;
    if (!same.group)
        group = other = group & other;
    if (!same.owner) {
        group &= owner;
        other &= owner;
    }
    return (mode & 0700) | group << 3 | other;
}

/* The same for a list, where the mask bounds everyone except the owner and others. */
static void list_for_new(struct owners same, char *list, size_t len)
{
    unsigned owner = 7, group = 7, mask = 7, other = 7;
    for (size_t at = LIST_HEAD; at + sizeof(struct list_entry) <= len; at += sizeof(struct list_entry)) {
        struct list_entry entry = entry_at(list, at);
        if (entry.tag == TAG_OWNER)
            owner = entry.perm;
        else if (entry.tag == TAG_GROUP_OWN)
            group = entry.perm;
        else if (entry.tag == TAG_MASK)
            mask = entry.perm;
        else if (entry.tag == TAG_OTHER)
            other = entry.perm;
    }
    unsigned both = group & mask & other, most = same.owner ? 7 : owner;
    for (size_t at = LIST_HEAD; at + sizeof(struct list_entry) <= len; at += sizeof(struct list_entry)) {
        uint16_t tag = entry_at(list, at).tag;
        if (tag == TAG_GROUP_OWN)
            set_perm(list, at, (same.group ? group : both) & most);
        else if (tag == TAG_OTHER)
            set_perm(list, at, (same.group ? other : both) & most);
        else if (tag == TAG_MASK)
            set_perm(list, at, mask & most);
    }
}

/* The file is ours, so EPERM means a file system without permission bits. */
static int set_bits(int to, mode_t mode)
{
    return fchmod(to, mode) < 0 && errno != EPERM && errno != EOPNOTSUPP ? -1 : 0;
}

int attributes_drop_list(int to)
{
    return fremovexattr(to, ATTRIBUTES_LIST) < 0 && errno != ENODATA && errno != EOPNOTSUPP ? -1 : 0;
}

static int keep_bits(int to, int from, const struct stat *was, mode_t mode, struct owners same, struct strbuf *lost)
{
    size_t len = 0;
    CLEANUP(free) char *list = read_value(from, ATTRIBUTES_LIST, &len);
    if (!list && errno != ENODATA && errno != EOPNOTSUPP)
        return -1;
    if (attributes_drop_list(to) < 0)
        return -1;
    if (!list)
        return set_bits(to, bits_for_new(same, mode));
    list_for_new(same, list, len);
    if (set_bits(to, mode & 0700) < 0)
        return -1;
    if (fsetxattr(to, ATTRIBUTES_LIST, list, len, 0) == 0)
        return mode == (was->st_mode & 0777) ? 0 : set_bits(to, bits_for_new(same, mode));
    lose(lost, "access list", "");
    mode = bits_without(list, len, mode);
    return set_bits(to, bits_for_new(same, mode));
}

static void lose_special(const struct stat *was, struct strbuf *lost)
{
    static const struct {
        mode_t bit;
        const char *name;
    } special[] = {{S_ISUID, "setuid"}, {S_ISGID, "setgid"}, {S_ISVTX, "sticky bit"}};
    for (size_t i = 0; i < COUNT_OF(special); i++)
        if (was->st_mode & special[i].bit)
            lose(lost, special[i].name, "");
}

int attributes_copy(int to, int from, mode_t mode, struct strbuf *lost)
{
    struct stat was, is;
    if (fstat(from, &was) < 0 || fstat(to, &is) < 0)
        return -1;
    lose_special(&was, lost);
    keep_named(to, from, lost);
    struct owners same = keep_owners(to, &was, &is, lost);
    return keep_bits(to, from, &was, mode & 0777, same, lost);
}

/* On file systems without nameless files: lists attributes that are never copied, and an owner that only root can set.
 */
static void guess(int from, const struct stat *was, struct strbuf *lost)
{
    lose_special(was, lost);
    keep_named(-1, from, lost);
    if (geteuid() != 0 && was->st_uid != geteuid())
        lose_owner(lost, was->st_uid);
}

char *attributes_lost(int folder, int from)
{
    struct stat was;
    if (fstat(from, &was) < 0)
        return NULL;
    bool named = flistxattr(from, NULL, 0) > 0;
    CLEANUP(strbuf) struct strbuf lost = STRBUF_INIT;
    if (named || was.st_mode & 07000 || was.st_uid != geteuid() || was.st_gid != getegid()) {
        CLEANUP(fd) int test = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        if (test < 0)
            guess(from, &was, &lost);
        else if (attributes_copy(test, from, was.st_mode & 0777, &lost) < 0)
            strbuf_reset(&lost); /* the write itself will fail with the reason */
    }
    if (was.st_nlink > 1)
        strbuf_addf(&lost, "hard links (%llu other %s the old content)\n", (unsigned long long)was.st_nlink - 1,
                    was.st_nlink == 2 ? "name keeps" : "names keep");
    return lost.len ? strbuf_detach(&lost, NULL) : NULL;
}

char *attributes_list(int folder, int fd)
{
    struct stat st, above;
    size_t len;
    if (fstat(fd, &st) < 0 || fstat(folder, &above) < 0)
        return NULL;
    gid_t group = above.st_mode & S_ISGID ? above.st_gid : getegid();
    CLEANUP(strbuf) struct strbuf list = STRBUF_INIT;
    CLEANUP(free) char *names = read_names(fd, &len);
    lose_special(&st, &list);
    if (st.st_uid != geteuid())
        lose_owner(&list, st.st_uid);
    if (st.st_gid != group)
        lose_group(&list, st.st_gid);
    for (const char *name = names; name < names + len; name += strlen(name) + 1) {
        if (strcmp(name, ATTRIBUTES_LIST) == 0)
            lose(&list, "access list", "");
        else if (strcmp(name, "security.selinux") != 0) /* the policy labels a new file */
            lose(&list, "attribute ", name);
    }
    return list.len ? strbuf_detach(&list, NULL) : NULL;
}
