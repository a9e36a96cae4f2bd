/* The scanner below event_decode.
 *
 * Reading a journal is mostly this file: a million lines go through it before a session is on the screen. A tree of the
 * line would be thrown away at once, since the decoder wants a handful of members and keeps nested values as text. So
 * the scanner hands out the top-level members as slices and only checks what is nested in them.
 *
 * It checks all of it, though. A slice becomes a JSON field that other modules hand to json_parse, write into requests
 * and compare, so whatever passes here must pass there: RFC 8259, valid UTF-8, no control characters in strings, no
 * \u0000, no more than JSON_DEPTH_MAX deep. tests/fuzz/fuzz_event.c holds the two against each other.
 *
 * Speed comes from strings: eight bytes at a time until a quote, a backslash or a control character; UTF-8 is looked at
 * only in strings that hold a byte above 0x7f, once they have ended. */

#include "event_scan.h"
#include "base/json.h"
#include "base/utf8.h"
#include <string.h>

#define EACH_BYTE(b) (0x0101010101010101u * (uint64_t)(b))

/* The end of the text reads as NUL, which is right nowhere in JSON. */
static inline char peek(const struct event_scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool fail(struct event_scan *scan, const char *wrong)
{
    scan->wrong = scan->at < scan->end ? wrong : "the line ends too early";
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Our own lines hold none, so the common case is one comparison. */
static inline bool skip_space(struct event_scan *scan)
{
    if (scan->at<scan->end && * scan->at> ' ')
        return false;
    const char *from = scan->at;
    while (scan->at < scan->end && is_space(*scan->at))
        scan->at++;
    return scan->at != from;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits; -1 when they are not. */
static int32_t hex_quad(const char *at)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

#define NEAR 16

/* What stands for what behind a backslash; 0: nothing does. */
static const char escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};

static bool scan_escape(struct event_scan *scan)
{
    scan->at++;
    char c = peek(scan);
    if (c == 'u') {
        if (scan->end - scan->at < 5) {
            scan->at = scan->end;
            return fail(scan, "");
        }
        int32_t unit = hex_quad(scan->at + 1);
        if (unit < 0)
            return fail(scan, "\\u without four hexadecimal digits");
        if (unit == 0)
            return fail(scan, "\\u0000 in a string");
        scan->at += 5;
        return true;
    }
    if (!escapes[(unsigned char)c])
        return fail(scan, "an unknown escape in a string");
    scan->at++;
    return true;
}

/* From the opening quote to behind the closing one. */
static bool scan_string(struct event_scan *scan, bool *escaped)
{
    const char *from = ++scan->at;
    uint64_t high = 0;
    for (;;) {
        const char *at = scan->at;
        while (scan->end - at >= 8) {
            uint64_t word;
            memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            word = __builtin_bswap64(word);
#endif
            /* The classic test for a zero byte, three times. The lowest flag is always true; those above may be
             * carries. */
            uint64_t quote = word ^ EACH_BYTE('"'), slash = word ^ EACH_BYTE('\\');
            uint64_t flags = ((word - EACH_BYTE(0x20)) & ~word) | ((quote - EACH_BYTE(1)) & ~quote) |
                             ((slash - EACH_BYTE(1)) & ~slash);
            flags &= EACH_BYTE(0x80);
            high |= word; /* bytes behind the quote too: at worst a needless look at the string */
            if (flags) {
                at += __builtin_ctzll(flags) / 8;
                goto special;
            }
            at += 8;
        }
        while (at < scan->end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
            high |= (unsigned char)*at++;
    special:
        scan->at = at;
        char c = peek(scan);
        if (c == '"')
            break;
        if (c != '\\')
            return fail(scan, "a control character in a string");
        *escaped = true;
        if (!scan_escape(scan))
            return false;
    }
    if ((high & EACH_BYTE(0x80)) && !utf8_valid(from, (size_t)(scan->at - from))) {
        scan->at = from;
        return fail(scan, "a string that is not UTF-8");
    }
    scan->at++;
    return true;
}

static bool scan_digits(struct event_scan *scan)
{
    const char *from = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at != from || fail(scan, "a number without a digit");
}

static bool scan_number(struct event_scan *scan)
{
    if (*scan->at == '-')
        scan->at++;
    if (peek(scan) == '0')
        scan->at++;
    else if (!scan_digits(scan))
        return false;
    if (peek(scan) == '.') {
        scan->at++;
        if (!scan_digits(scan))
            return false;
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        scan->at++;
        if (peek(scan) == '+' || peek(scan) == '-')
            scan->at++;
        return scan_digits(scan);
    }
    return true;
}

static bool scan_word(struct event_scan *scan, const char *word, size_t len)
{
    if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, word, len) != 0)
        return fail(scan, "not a value");
    scan->at += len;
    return true;
}

static bool scan_scalar(struct event_scan *scan, bool *escaped)
{
    switch (peek(scan)) {
    case '"':
        return scan_string(scan, escaped);
    case 't':
        return scan_word(scan, "true", 4);
    case 'f':
        return scan_word(scan, "false", 5);
    case 'n':
        return scan_word(scan, "null", 4);
    case '-':
    case '0' ... '9':
        return scan_number(scan);
    default:
        return fail(scan, "not a value");
    }
}

/* A name and its colon, up to where the value begins. */
static bool scan_name(struct event_scan *scan, bool *escaped, bool *spaced)
{
    if (peek(scan) != '"')
        return fail(scan, "a name in quotes is missing");
    if (!scan_string(scan, escaped))
        return false;
    *spaced |= skip_space(scan);
    if (peek(scan) != ':')
        return fail(scan, "a colon is missing");
    scan->at++;
    *spaced |= skip_space(scan);
    return true;
}

/* An array or object with all that is in it. The stack holds the bracket that each open container waits for. */
static bool scan_container(struct event_scan *scan, bool *spaced)
{
    char closers[JSON_DEPTH_MAX];
    size_t depth = 0;
    bool escaped = false; /* of no interest in here */
    for (;;) {
        char c = peek(scan);
        bool empty = false;
        if (c == '{' || c == '[') {
            if (depth + 1 >= JSON_DEPTH_MAX) /* the line's own object is one level */
                return fail(scan, "nested too deep");
            closers[depth++] = c == '{' ? '}' : ']';
            scan->at++;
            *spaced |= skip_space(scan);
            empty = peek(scan) == closers[depth - 1];
            if (!empty) {
                if (c == '{' && !scan_name(scan, &escaped, spaced))
                    return false;
                continue;
            }
        } else if (!scan_scalar(scan, &escaped)) {
            return false;
        }
        /* A value has ended, or an empty container is about to: close what closes, up to the next comma. */
        for (;;) {
            if (!empty)
                *spaced |= skip_space(scan);
            empty = false;
            if (peek(scan) != closers[depth - 1])
                break;
            scan->at++;
            if (--depth == 0)
                return true;
        }
        if (peek(scan) != ',')
            return fail(scan, "a comma is missing");
        scan->at++;
        *spaced |= skip_space(scan);
        if (closers[depth - 1] == '}' && !scan_name(scan, &escaped, spaced))
            return false;
    }
}

void event_scan_begin(struct event_scan *scan, const char *line, size_t len)
{
    *scan = (struct event_scan){.start = line, .at = line, .end = line + len};
}

/* Behind the closing brace: nothing may follow. */
static int scan_finish(struct event_scan *scan)
{
    scan->at++;
    skip_space(scan);
    if (scan->at == scan->end)
        return 0;
    fail(scan, "something follows the object");
    return -1;
}

int event_scan_next(struct event_scan *scan, struct event_member *member)
{
    skip_space(scan);
    if (!scan->open) {
        if (peek(scan) != '{') {
            fail(scan, "no object begins here");
            return -1;
        }
        scan->open = true;
        scan->at++;
        skip_space(scan);
        if (peek(scan) == '}')
            return scan_finish(scan);
    } else {
        if (peek(scan) == '}')
            return scan_finish(scan);
        if (peek(scan) != ',') {
            fail(scan, "a comma is missing");
            return -1;
        }
        scan->at++;
        skip_space(scan);
    }
    *member = (struct event_member){.key = scan->at + 1};
    bool between = false;
    const char *from = scan->at;
    if (peek(scan) != '"' || !scan_string(scan, &member->key_escaped)) {
        if (scan->at == from)
            fail(scan, "a name in quotes is missing");
        return -1;
    }
    member->key_len = (size_t)(scan->at - member->key) - 1;
    skip_space(scan);
    if (peek(scan) != ':') {
        fail(scan, "a colon is missing");
        return -1;
    }
    scan->at++;
    skip_space(scan);
    member->value = scan->at;
    char c = peek(scan);
    bool good = c == '{' || c == '[' ? scan_container(scan, &between) : scan_scalar(scan, &member->escaped);
    if (!good)
        return -1;
    member->len = (size_t)(scan->at - member->value);
    member->spaced = between;
    return 1;
}

size_t event_scan_unescape(char *out, const char *text, size_t len)
{
    const char *end = text + len;
    char *to = out;
    while (text < end) {
        /* Escapes stand close together, or far apart: a call for each of the former would cost more than the copy. */
        const char *near = end - text > NEAR ? text + NEAR : end;
        while (text < near && *text != '\\')
            *to++ = *text++;
        const char *slash = text < near ? text : memchr(text, '\\', (size_t)(end - text));
        size_t plain = (size_t)((slash ? slash : end) - text);
        memcpy(to, text, plain);
        to += plain;
        if (!slash)
            break;
        text = slash + 2;
        if (slash[1] != 'u') {
            *to++ = escapes[(unsigned char)slash[1]];
            continue;
        }
        uint32_t cp = (uint32_t)hex_quad(text);
        text += 4;
        if (cp >= 0xD800 && cp < 0xDC00 && end - text >= 6 && text[0] == '\\' && text[1] == 'u') {
            uint32_t low = (uint32_t)hex_quad(text + 2);
            if (low >= 0xDC00 && low < 0xE000) {
                cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
                text += 6;
            }
        }
        if (cp >= 0xD800 && cp < 0xE000)
            cp = UTF8_REPLACEMENT;
        to += utf8_encode(cp, to);
    }
    return (size_t)(to - out);
}

size_t event_scan_squeeze(char *out, const char *value, size_t len)
{
    char *to = out;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        char c = value[i];
        if (!quoted && is_space(c))
            continue;
        *to++ = c;
        if (c == '"')
            quoted = !quoted;
        else if (c == '\\' && quoted && i + 1 < len)
            *to++ = value[++i];
    }
    return (size_t)(to - out);
}
