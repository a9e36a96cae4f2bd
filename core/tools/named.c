/* Looks for protected places in the arguments of a call.
 *
 * A server may tidy a path, follow links, or take a file: address with %XX in it. The same is done here before a text
 * is compared. A text that is longer than PATH_MAX after tidying is content: no system call takes it as a path. Texts
 * above TEXT_BYTES are not tidied, but for slashes in a row. They are content if there is white space in them; if not,
 * they count as beyond the bound. A short text of one line is also looked at in pieces, between commas, colons, equals
 * signs and quotes: "file=.git/config", "a,.git/config". */

#include "named.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "protected.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#define TEXTS_MAX   4096
#define TEXT_BYTES  ((size_t)64 << 10)
#define ALL_BYTES   ((size_t)4 << 20)
#define DECODINGS   3   /* of %XX, for a server that decodes what was decoded */
#define SHOWN_BYTES 300 /* of a path, from its end: that is where the protected part is */
#define WHITE       " \t\r\n\v\f"
#define BETWEEN     ",:;=\"'`" /* separate the pieces of a text */
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

/* Collecting */

/* Slashes in a row are one. */
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
        return; /* content, or an encoding of it */
    if (len > TEXT_BYTES)
        named->beyond = "a text in its arguments is longer than 64 KiB and may be a path";
    else if (named->count == TEXTS_MAX)
        named->beyond = "its arguments hold more than 4096 texts";
    else if (named->texts.len + len > ALL_BYTES)
        named->beyond = "its arguments hold more than 4 MiB of text";
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

/* Looking */

static char *say(const char *path, const struct guarded *place)
{
    size_t len = strlen(path);
    const char *from = len > SHOWN_BYTES ? path + len - SHOWN_BYTES : path;
    while (from > path && ((unsigned char)*from & 0xC0) == 0x80)
        from++; /* a character stays whole */
    return xasprintf("names a protected place: %s%s (%s)", from > path ? "…" : "", from, place->why);
}

/* Where the path leads, as seen from the root; NULL: not into the project. */
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

/* One spelling, as a path. */
static char *look_at(const struct guards *guards, const char *path)
{
    CLEANUP(free) char *tidy = beneath_tidy(path); /* NULL: it climbs above where it starts */
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

/* The path of a file: address, with or without a host; NULL: it is none. */
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

/* Decodes %XX in place; false: there was none. */
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
    return found || !named->beyond ? found : xasprintf("may name a protected place (%s)", named->beyond);
}
