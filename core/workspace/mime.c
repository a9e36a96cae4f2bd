/* Detects the type of a file by its first bytes.
 *
 * The table of signatures is the one of WHATWG "MIME Sniffing". The first match wins, so markup comes first and plain
 * text last. A row has the bytes and, where some do not matter, a mask of the same length: '*' for an exact byte, '.'
 * for any. */

#include "mime.h"
#include "base/mem.h"
#include <string.h>
#include <strings.h>

#define TEXT_PLAIN "text/plain; charset=utf-8"
#define TEXT_HTML  "text/html; charset=utf-8"

enum {
    AFTER_BLANKS = 1, /* leading blanks allowed */
    TAG = 2,          /* letters of either case, and a blank or '>' must follow */
};

#define BYTES(text) text, sizeof(text) - 1
static const struct signature {
    const char *bytes;
    size_t len;
    const char *mask;
    unsigned flags;
    const char *mime;
} signatures[] = {
    {BYTES("<!DOCTYPE HTML"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<HTML"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<HEAD"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<SCRIPT"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<IFRAME"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<H1"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<DIV"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<FONT"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<TABLE"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<A"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<STYLE"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<TITLE"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<B"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<BODY"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<BR"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<P"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<!--"), NULL, AFTER_BLANKS | TAG, TEXT_HTML},
    {BYTES("<?xml"), NULL, AFTER_BLANKS, "text/xml; charset=utf-8"},
    {BYTES("%PDF-"), NULL, 0, "application/pdf"},
    {BYTES("%!PS-Adobe-"), NULL, 0, "application/postscript"},
    {BYTES("\xFE\xFF\0\0"), "**..", 0, "text/plain; charset=utf-16be"},
    {BYTES("\xFF\xFE\0\0"), "**..", 0, "text/plain; charset=utf-16le"},
    {BYTES("\xEF\xBB\xBF\0"), "***.", 0, TEXT_PLAIN},
    {BYTES("\0\0\1\0"), NULL, 0, "image/x-icon"},
    {BYTES("\0\0\2\0"), NULL, 0, "image/x-icon"},
    {BYTES("BM"), NULL, 0, "image/bmp"},
    {BYTES("GIF87a"), NULL, 0, "image/gif"},
    {BYTES("GIF89a"), NULL, 0, "image/gif"},
    {BYTES("RIFF....WEBPVP"), "****....******", 0, "image/webp"},
    {BYTES("\x89PNG\r\n\x1A\n"), NULL, 0, "image/png"},
    {BYTES("\xFF\xD8\xFF"), NULL, 0, "image/jpeg"},
    {BYTES("FORM....AIFF"), "****....****", 0, "audio/aiff"},
    {BYTES("ID3"), NULL, 0, "audio/mpeg"},
    {BYTES("OggS\0"), NULL, 0, "application/ogg"},
    {BYTES("MThd\0\0\0\6"), NULL, 0, "audio/midi"},
    {BYTES("RIFF....AVI "), "****....****", 0, "video/avi"},
    {BYTES("RIFF....WAVE"), "****....****", 0, "audio/wave"},
    {NULL, 0, NULL, 0, "video/mp4"}, /* is_mp4 */
    {BYTES("\x1A\x45\xDF\xA3"), NULL, 0, "video/webm"},
    {BYTES("..................................LP"), "..................................**", 0,
     "application/vnd.ms-fontobject"},
    {BYTES("\0\1\0\0"), NULL, 0, "font/ttf"},
    {BYTES("OTTO"), NULL, 0, "font/otf"},
    {BYTES("ttcf"), NULL, 0, "font/collection"},
    {BYTES("wOFF"), NULL, 0, "font/woff"},
    {BYTES("wOF2"), NULL, 0, "font/woff2"},
    {BYTES("\x1F\x8B\x08"), NULL, 0, "application/x-gzip"},
    {BYTES("PK\3\4"), NULL, 0, "application/zip"},
    {BYTES("Rar!\x1A\7\0"), NULL, 0, "application/x-rar-compressed"},
    {BYTES("Rar!\x1A\7\1\0"), NULL, 0, "application/x-rar-compressed"},
    {BYTES("\0asm"), NULL, 0, "application/wasm"},
};

static bool is_blank(unsigned char c)
{
    return c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == ' ';
}

/* A box "ftyp" that names a brand beginning with "mp4", somewhere but in the place of its version. */
static bool is_mp4(const unsigned char *at, size_t len)
{
    if (len < 12 || memcmp(at + 4, "ftyp", 4) != 0)
        return false;
    size_t box = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    if (box > len || box % 4 != 0)
        return false;
    for (size_t i = 8; i < box; i += 4)
        if (i != 12 && memcmp(at + i, "mp4", 3) == 0)
            return true;
    return false;
}

static bool fits(const struct signature *s, const unsigned char *at, size_t len)
{
    if (!s->bytes)
        return is_mp4(at, len);
    if (len < s->len + (s->flags & TAG ? 1 : 0))
        return false;
    for (size_t i = 0; i < s->len; i++) {
        unsigned char want = (unsigned char)s->bytes[i], got = at[i];
        if (s->mask && s->mask[i] == '.')
            continue;
        if (s->flags & TAG && got >= 'a' && got <= 'z')
            got = (unsigned char)(got - 'a' + 'A');
        if (got != want)
            return false;
    }
    return !(s->flags & TAG) || at[s->len] == ' ' || at[s->len] == '>';
}

static bool is_plain(const unsigned char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] <= 0x08 || at[i] == 0x0B || (at[i] >= 0x0E && at[i] <= 0x1A) || (at[i] >= 0x1C && at[i] <= 0x1F))
            return false;
    return true;
}

const char *mime_sniff(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    if (len > MIME_SNIFF_BYTES)
        len = MIME_SNIFF_BYTES;
    size_t blanks = 0;
    while (blanks < len && is_blank(at[blanks]))
        blanks++;
    for (size_t i = 0; i < COUNT_OF(signatures); i++) {
        size_t from = signatures[i].flags & AFTER_BLANKS ? blanks : 0;
        if (fits(&signatures[i], at + from, len - from))
            return signatures[i].mime;
    }
    return is_plain(at, len) ? TEXT_PLAIN : MIME_BYTES;
}

/* ---- types ---- */

static bool is_token_char(char c)
{
    return (unsigned char)c > ' ' && (unsigned char)c < 0x7F && !strchr("()<>@,;:\\\"/[]?=", c);
}

static const char *skip_token(const char *at)
{
    while (is_token_char(*at))
        at++;
    return at;
}

static const char *skip_blanks(const char *at)
{
    while (is_blank((unsigned char)*at) || *at == '\v')
        at++;
    return at;
}

/* Returns the end of a parameter value (a token or a quoted text), or NULL. */
static const char *skip_value(const char *at)
{
    if (*at != '"') {
        const char *end = skip_token(at);
        return end > at ? end : NULL;
    }
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && !*++at)
            return NULL;
    return *at == '"' ? at + 1 : NULL;
}

/* Whether what follows the type is well-formed: nothing, or ";name=value" any number of times. */
static bool are_parameters(const char *at)
{
    while (*(at = skip_blanks(at))) {
        if (*at++ != ';')
            return false;
        const char *name = skip_blanks(at);
        if (!*name)
            return true; /* a trailing semicolon is allowed */
        at = skip_token(name);
        if (at == name || *at != '=' || !(at = skip_value(at + 1)))
            return false;
    }
    return true;
}

bool mime_is_text(const char *mime)
{
    mime = skip_blanks(mime);
    size_t len = strcspn(mime, ";");
    if (!are_parameters(mime + len))
        len = strlen(mime); /* unparsable: used verbatim */
    while (len > 0 && (is_blank((unsigned char)mime[len - 1]) || mime[len - 1] == '\v'))
        len--;
    static const char json[] = "application/json", text[] = "text/", suffix[] = "+json";
    if (len >= sizeof(text) - 1 && strncasecmp(mime, text, sizeof(text) - 1) == 0)
        return true;
    if (len == sizeof(json) - 1 && strncasecmp(mime, json, len) == 0)
        return true;
    return len >= sizeof(suffix) - 1 && strncasecmp(mime + len - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) == 0;
}
