/* Finds a path in the table of protected and dangerous places.
 *
 * File systems that ignore case take .GIT for .git, those that fold Unicode also ignore characters that show nothing,
 * and vfat drops dots and blanks at the end of a name. What could be the same name somewhere counts as the same here:
 * one question too many does no harm. */

#include "protected.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "change.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define GITFILE_BYTES (1 << 20) /* git reads no larger one */

static const struct guarded places[] = {
#define GUARD(level, pattern, why) {GUARD_##level, pattern, why},
#include "protected.def"
#undef GUARD
};

const char *guard_name(enum guard guard)
{
    return guard == GUARD_PROTECTED ? "protected" : "dangerous";
}

static void end_name(struct strbuf *out, size_t from)
{
    while (out->len > from && (out->buf[out->len - 1] == '.' || out->buf[out->len - 1] == ' '))
        strbuf_set_len(out, out->len - 1);
}

static uint32_t fold_letter(uint32_t cp)
{
    switch (cp) {
    case 0x212A: /* the sign for kelvin */
        return 'k';
    case 0x017F: /* the long s */
        return 's';
    default:
        return cp < 0x80 ? (uint32_t)tolower((int)cp) : cp;
    }
}

/* The path as the least careful file system sees it. */
static void fold(struct strbuf *out, const char *path)
{
    size_t len = strlen(path), name = 0, used;
    for (size_t at = 0; at < len; at += used) {
        char spelled[16], bytes[4];
        uint32_t cp = utf8_decode(path + at, len - at, &used);
        if (cp == '/') {
            end_name(out, name);
            strbuf_addch(out, '/');
            name = out->len;
        } else if (cp < 0x80 || !utf8_spell(cp, spelled)) {
            strbuf_add(out, bytes, utf8_encode(fold_letter(cp), bytes));
        }
    }
    end_name(out, name);
}

/* Whether the pattern fits from here on; `at` begins a name. */
static bool fits(const char *pattern, const char *at)
{
    size_t len = strlen(pattern);
    bool below = len > 3 && strcmp(pattern + len - 3, "/**") == 0;
    if (below)
        len -= 3;
    for (size_t i = 0; i < len; i++)
        if (at[i] != tolower((unsigned char)pattern[i]))
            return false;
    return at[len] == '\0' || (below && at[len] == '/');
}

const struct guarded *guarded_find(const char *path)
{
    CLEANUP(strbuf) struct strbuf folded = STRBUF_INIT;
    fold(&folded, path);
    for (size_t i = 0; i < COUNT_OF(places); i++)
        for (const char *at = folded.buf; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
            if (fits(places[i].pattern, at))
                return &places[i];
    return NULL;
}

const struct guarded *protected_find(const char *path)
{
    const struct guarded *place = guarded_find(path);
    return place && place->guard == GUARD_PROTECTED ? place : NULL;
}

bool change_protected(const struct change *change)
{
    return change->guard && change->guard->guard == GUARD_PROTECTED;
}

const struct change *protected_in(const struct change_set *set)
{
    for (size_t i = 0; set && i < set->count; i++)
        if (change_protected(&set->items[i]))
            return &set->items[i];
    return NULL;
}

/* Where the places really are */

/* What git calls `name` is at `target`. One that leaves the project cannot be written to, and needs no guard. */
static void add_home(struct guards *guards, const char *name, const char *target)
{
    struct err ignored = ERR_INIT;
    struct beneath_place place;
    if (guards->count == GUARDS_MAX || beneath_resolve(guards->root, target, &place, &ignored) < 0)
        return;
    if (strcmp(place.path, name) != 0) {
        guards->homes[guards->count].name = name;
        guards->homes[guards->count++].path = steal(&place.path);
    }
    beneath_place_release(&place);
}

/* The path that a small file of git holds after `key`, relative to `folder`; NULL: there is none. */
static char *read_path(const struct beneath *root, const char *path, const char *key, const char *folder)
{
    struct err ignored = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t skip = strlen(key);
    if (beneath_read(root, path, &text, GITFILE_BYTES, NULL, &ignored) < 0 || strncmp(text.buf, key, skip) != 0)
        return NULL;
    while (text.len > skip && strchr("\r\n", text.buf[text.len - 1]))
        strbuf_set_len(&text, text.len - 1);
    if (text.len == skip)
        return NULL;
    return text.buf[skip] == '/' ? xstrdup(text.buf + skip) : xasprintf("%s/%s", folder, text.buf + skip);
}

/* The value of a line "hooksPath = …" of git's configuration, without its quotes; NULL: the line is another one.
 * Comments behind a value and escapes in it are not read. */
static char *hooks_path(const char *line, size_t len)
{
    static const char key[] = "hookspath";
    size_t at = strspn(line, " \t");
    if (at + sizeof(key) - 1 >= len || strncasecmp(line + at, key, sizeof(key) - 1) != 0)
        return NULL;
    at += sizeof(key) - 1;
    at += strspn(line + at, " \t");
    if (at >= len || line[at++] != '=')
        return NULL;
    CLEANUP(strbuf) struct strbuf value = STRBUF_INIT;
    for (at += strspn(line + at, " \t"); at < len; at++)
        if (line[at] != '"')
            strbuf_addch(&value, line[at]);
    while (value.len && isspace((unsigned char)value.buf[value.len - 1]))
        strbuf_set_len(&value, value.len - 1);
    return value.len ? strbuf_detach(&value, NULL) : NULL;
}

/* Git runs hooks from the folder that its configuration names. Which section the line is in does not matter here: one
 * protected folder too many does no harm. What the file includes is not read. */
static void add_hooks(struct guards *guards, const char *config)
{
    struct err ignored = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (beneath_read(guards->root, config, &text, GITFILE_BYTES, NULL, &ignored) < 0)
        return;
    for (const char *line = text.buf; *line;) {
        size_t len = strcspn(line, "\n");
        const char *bracket = *line == '[' ? memchr(line, ']', len) : NULL; /* "[core] hooksPath = x" */
        const char *from = bracket ? bracket + 1 : line;
        CLEANUP(free) char *hooks = hooks_path(from, len - (size_t)(from - line));
        if (hooks)
            add_home(guards, ".git/hooks", hooks);
        line += len + (line[len] == '\n');
    }
}

void guards_init(struct guards *guards, const struct beneath *root)
{
    *guards = (struct guards){.root = root};
    if (!root)
        return;
    CLEANUP(free) char *named = read_path(root, ".git", "gitdir: ", ".");
    const char *git = named ? named : ".git";
    CLEANUP(free) char *common_file = xasprintf("%s/commondir", git);
    CLEANUP(free) char *common = read_path(root, common_file, "", git);
    const char *shared = common ? common : git;
    CLEANUP(free) char *hooks = xasprintf("%s/hooks", shared), *config = xasprintf("%s/config", shared);
    add_home(guards, ".keyturn", ".keyturn");
    add_home(guards, ".git/hooks", hooks);
    add_home(guards, ".git/config", config);
    add_home(guards, ".git", ".git"); /* a link to the file that names the folder */
    add_home(guards, ".git", git);
    add_home(guards, ".git", shared);
    CLEANUP(free) char *own = xasprintf("%s/config.worktree", git);
    add_hooks(guards, config);
    add_hooks(guards, own);
}

void guards_release(struct guards *guards)
{
    for (size_t i = 0; i < guards->count; i++)
        free(guards->homes[i].path);
    *guards = (struct guards){0};
}

/* The row for a path below a home, by what it is called there. */
static const struct guarded *find_at_home(const char *name, const char *home, const char *path)
{
    CLEANUP(strbuf) struct strbuf top = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf folded = STRBUF_INIT;
    fold(&top, home);
    fold(&folded, path);
    if (top.len &&
        (strncmp(folded.buf, top.buf, top.len) != 0 || (folded.buf[top.len] != '/' && folded.buf[top.len] != '\0')))
        return NULL;
    CLEANUP(free) char *called = xasprintf("%s/%s", name, folded.buf + top.len + (folded.buf[top.len] == '/'));
    return protected_find(called);
}

static bool is_there(const struct beneath *root, const char *folder, const char *name)
{
    struct stat st;
    struct err ignored = ERR_INIT;
    CLEANUP(free) char *path = xasprintf("%s/%s", folder, name);
    return beneath_lstat(root, path, &st, &ignored) == 0;
}

/* What git takes for a repository, whatever the folder is called: a bare one, or one that a .git file somewhere names.
 */
static bool is_repository(const struct beneath *root, const char *folder)
{
    return is_there(root, folder, "HEAD") && ((is_there(root, folder, "objects") && is_there(root, folder, "refs")) ||
                                              is_there(root, folder, "commondir"));
}

/* The row for a path in a repository that has another name than .git. */
static const struct guarded *find_in_repository(const struct beneath *root, const char *path)
{
    size_t len = strlen(path), at = 0;
    if (*path == '/' || len >= PATH_MAX)
        return NULL;
    for (;;) {
        CLEANUP(free) char *folder = at ? xmemdup0(path, at) : xstrdup(".");
        if (!is_there(root, folder, "."))
            return NULL;
        if (is_repository(root, folder)) {
            CLEANUP(free) char *called = xasprintf(".git/%s", path + at + (path[at] == '/'));
            return protected_find(called);
        }
        if (at == len)
            return NULL;
        at += path[at] == '/';
        at += strcspn(path + at, "/");
    }
}

const struct guarded *guards_find(const struct guards *guards, const char *path, const char *through)
{
    const struct guarded *found = protected_find(path);
    if (!found && through)
        found = protected_find(through);
    for (size_t i = 0; i < guards->count && !found; i++)
        found = find_at_home(guards->homes[i].name, guards->homes[i].path, path);
    if (!found && guards->root)
        found = find_in_repository(guards->root, path);
    if (!found && guards->root) {
        CLEANUP(free) char *whole = xasprintf("%s/%s", beneath_path(guards->root), path);
        found = protected_find(whole);
    }
    if (!found)
        found = guarded_find(path);
    return found || !through ? found : guarded_find(through);
}
