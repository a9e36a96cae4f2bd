/* Finds a path in the table of protected and dangerous paths.
 *
 * File systems that ignore case treat .GIT as .git. Those that fold Unicode also ignore invisible characters, and
 * vfat drops dots and blanks at the end of a name. Names that are the same on any such file system count as the same
 * here: one question too many does no harm. */

#include "protected.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "change.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define GITFILE_BYTES (1 << 20) /* git reads no larger file */

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

/* The path as the most lenient file system sees it. */
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

/* Whether the pattern matches from here on; `at` is the start of a name. */
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

/* ---- the real locations of protected folders ---- */

/* Notes that `target` is the real path of `name`. A target outside of the project cannot be written to and needs no
 * guard. */
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

/* The path after `key` in a small file of git, relative to `folder`; NULL: none. */
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

/* The value of a line "hooksPath = …" of git's configuration, without its quotes; NULL: another line. Comments after
 * a value and escapes in it are not parsed. */
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

/* Git runs hooks from the folder that its configuration names. The section of the line is ignored: one protected
 * folder too many does no harm. Included files are not read. */
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

/* The row for a path below a real location, by its usual name. */
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

/* Whether git treats the folder as a repository, whatever its name: a bare one, or one that a .git file names. */
static bool is_repository(const struct beneath *root, const char *folder)
{
    return is_there(root, folder, "HEAD") && ((is_there(root, folder, "objects") && is_there(root, folder, "refs")) ||
                                              is_there(root, folder, "commondir"));
}

/* The row for a path in a repository with a name other than .git. */
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

/* ---- named ---- */

/* Looks for protected paths in the arguments of a call.
 *
 * A server may normalize a path, follow links, or accept a file: address with %XX in it. The same is done here before
 * a text is compared. A text that is longer than PATH_MAX after normalizing is content: no system call accepts it as
 * a path. Texts above TEXT_BYTES are not normalized, except for repeated slashes. They are content if they contain
 * white space; if not, they count as beyond the bound. A short text of one line is also checked in pieces, between
 * commas, colons, equals signs and quotes: "file=.git/config", "a,.git/config". */

#define TEXTS_MAX   4096
#define TEXT_BYTES  ((size_t)64 << 10)
#define ALL_BYTES   ((size_t)4 << 20)
#define DECODINGS   3   /* of %XX, for a server that decodes twice */
#define SHOWN_BYTES 300 /* of a path, from its end, where the protected part is */
#define WHITE       " \t\r\n\v\f"
#define BETWEEN     ",:;=\"'`" /* separators of the pieces of a text */
#define PIECES_MAX  64

void named_init(struct named *named)
{
    *named = (struct named){0};
    strbuf_init(&named->texts);
}

void named_release(struct named *named)
{
    strbuf_release(&named->texts);
}

/* ---- collecting ---- */

/* Joins repeated slashes. */
static void add_collapsed(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != '/' || !i || text[i - 1] != '/')
            strbuf_addch(out, text[i]);
}

static void add_text(struct named *named, const char *text, size_t len)
{
    CLEANUP(strbuf) struct strbuf collapsed = STRBUF_INIT;
    if (!len || named->beyond)
        return;
    if (len > TEXT_BYTES) {
        add_collapsed(&collapsed, text, len);
        text = collapsed.buf;
        len = collapsed.len;
    }
    if (len > TEXT_BYTES && (strcspn(text, WHITE) < len || !strpbrk(text, ".%")))
        return; /* content, or encoded content */
    if (len > TEXT_BYTES)
        named->beyond = "an argument is longer than 64 KB and may be a path";
    else if (named->count == TEXTS_MAX)
        named->beyond = "its arguments have more than 4096 strings";
    else if (named->texts.len + len > ALL_BYTES)
        named->beyond = "its arguments have more than 4 MB of text";
    if (named->beyond)
        return;
    strbuf_add(&named->texts, text, len);
    strbuf_addch(&named->texts, '\0');
    named->count++;
}

/* The parser bounds the depth. */
void named_collect(struct named *named, const struct json *arguments)
{
    if (!arguments || named->beyond)
        return;
    if (arguments->key)
        add_text(named, arguments->key, strlen(arguments->key));
    if (arguments->type == JSON_STRING)
        add_text(named, arguments->text, arguments->len);
    if (arguments->type == JSON_OBJECT || arguments->type == JSON_ARRAY)
        json_each (member, arguments)
            named_collect(named, member);
}

/* ---- looking ---- */

static char *say(const char *path, const struct guarded *place)
{
    size_t len = strlen(path);
    const char *from = len > SHOWN_BYTES ? path + len - SHOWN_BYTES : path;
    while (from > path && ((unsigned char)*from & 0xC0) == 0x80)
        from++; /* do not split a character */
    return xasprintf("names a protected path: %s%s (%s)", from > path ? "…" : "", from, place->why);
}

/* The target of the path, relative to the root; NULL: outside of the project. */
static char *resolve(const struct beneath *root, const char *path)
{
    struct err ignored = ERR_INIT;
    struct beneath_place place;
    CLEANUP(free)
    char *whole = *path == '/' ? xstrdup(path) : xasprintf("%s/%s", beneath_path(root), path);
    CLEANUP(free) char *tidy = beneath_tidy(whole);
    CLEANUP(free) char *absolute = tidy ? xasprintf("/%s", tidy) : NULL;
    if (!absolute || beneath_resolve(root, absolute, &place, &ignored) < 0)
        return NULL;
    char *found = steal(&place.path);
    beneath_place_release(&place);
    return found;
}

/* Checks one spelling as a path. */
static char *look_at(const struct guards *guards, const char *path)
{
    CLEANUP(free) char *tidy = beneath_tidy(path); /* NULL: it climbs above its start */
    if (tidy && strlen(tidy) >= PATH_MAX)
        return NULL;
    CLEANUP(free) char *found = guards->root ? resolve(guards->root, path) : NULL;
    const char *forms[] = {found, tidy, path};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        const struct guarded *place = forms[i] ? guards_find(guards, forms[i], NULL) : NULL;
        if (place && place->guard == GUARD_PROTECTED)
            return say(forms[i], place);
    }
    return NULL;
}

/* The path of a file: address, with or without a host; NULL: another text. */
static const char *address_path(const char *text)
{
    if (strncasecmp(text, "file:", 5) != 0)
        return NULL;
    text += 5;
    if (strncmp(text, "//", 2) != 0)
        return text;
    const char *slash = strchr(text + 2, '/');
    return slash ? slash : text + 2;
}

static int hex(char c)
{
    if (!isxdigit((unsigned char)c))
        return -1;
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decodes %XX in place; false: nothing to decode. */
static bool decode(char *text)
{
    char *to = text;
    bool any = false;
    for (const char *at = text; *at; at++) {
        bool coded = *at == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0;
        *to++ = coded ? (char)(hex(at[1]) * 16 + hex(at[2])) : *at;
        at += coded ? 2 : 0;
        any |= coded;
    }
    *to = '\0';
    return any;
}

static void strip(char *text)
{
    size_t from = strspn(text, WHITE), len = strlen(text + from);
    memmove(text, text + from, len + 1);
    while (len && strchr(WHITE, text[len - 1]))
        text[--len] = '\0';
}

static char *look_at_pieces(const struct guards *guards, const char *text)
{
    char *found = NULL;
    if (strlen(text) >= PATH_MAX || !text[strcspn(text, BETWEEN)] || strpbrk(text, "\r\n"))
        return NULL;
    size_t len;
    for (int count = 0; *text && count < PIECES_MAX && !found; count++, text += len + (text[len] != '\0')) {
        len = strcspn(text, BETWEEN);
        CLEANUP(free) char *piece = xmemdup0(text, len);
        strip(piece);
        if (*piece)
            found = look_at(guards, piece);
    }
    return found;
}

static char *look_at_text(const struct guards *guards, const char *given)
{
    CLEANUP(free) char *text = xstrdup(given);
    for (int i = 0; i <= DECODINGS; i++) {
        strip(text);
        const char *path = address_path(text);
        char *found = *text ? look_at(guards, text) : NULL;
        if (!found && path && *path)
            found = look_at(guards, path);
        if (!found)
            found = look_at_pieces(guards, text);
        if (found || !decode(text))
            return found;
    }
    return NULL;
}

char *named_find(const struct named *named, const struct beneath *root)
{
    struct guards guards;
    char *found = NULL;
    if (!named->count && !named->beyond)
        return NULL;
    guards_init(&guards, root);
    for (size_t at = 0; at < named->texts.len && !found; at += strlen(named->texts.buf + at) + 1)
        found = look_at_text(&guards, named->texts.buf + at);
    guards_release(&guards);
    return found || !named->beyond ? found : xasprintf("may touch a protected path (%s)", named->beyond);
}
