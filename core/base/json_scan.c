/* Scans JSON text without building values, for the event codec, the journal, scripts and filters.
 *
 * Reading a journal is mostly this file: a million lines go through it before a session is on the screen. A tree of
 * each line would be freed at once, so the scanner returns members as slices and only checks what is nested in them.
 *
 * It checks all of it: RFC 8259, valid UTF-8, no control characters in strings, no \u0000, at most JSON_DEPTH_MAX deep.
 * tests/fuzz/fuzz_event.c compares it with json_parse.
 *
 * Speed comes from strings: eight bytes at a time until a quote, a backslash or a control character. UTF-8 is checked
 * only in strings that hold a byte above 0x7f, after they have ended. */

#include "json_scan.h"
#include "json.h"
#include "utf8.h"

/* The end of the text reads as NUL, which is right nowhere in JSON. */
static inline char summary(const struct json_members *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool fail(struct json_members *scan, const char *wrong)
{
    scan->wrong = scan->at < scan->end ? wrong : "the line ends too early";
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Our own lines hold none, so the common case is one comparison. */
static inline bool skip_space(struct json_members *scan)
{
    if (scan->at<scan->end && * scan->at> ' ')
        return false;
    const char *from = scan->at;
    while (scan->at < scan->end && is_space(*scan->at))
        scan->at++;
    return scan->at != from;
}

#define NEAR 16

/* The character for each escape letter after a backslash; 0: none. */
static const char escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};

static bool scan_escape(struct json_members *scan)
{
    scan->at++;
    char c = summary(scan);
    if (c == 'u') {
        if (scan->end - scan->at < 5) {
            scan->at = scan->end;
            return fail(scan, "");
        }
        int unit = json_hex4(scan->at + 1, scan->end);
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

/* Skips a string, including both quotes. */
static bool scan_string(struct json_members *scan, bool *escaped)
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
            uint64_t quote = word ^ JSON_EACH_BYTE('"'), slash = word ^ JSON_EACH_BYTE('\\');
            uint64_t flags = ((word - JSON_EACH_BYTE(0x20)) & ~word) | ((quote - JSON_EACH_BYTE(1)) & ~quote) |
                             ((slash - JSON_EACH_BYTE(1)) & ~slash);
            flags &= JSON_EACH_BYTE(0x80);
            high |= word; /* may include bytes after the quote; that only costs a second check */
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
        char c = summary(scan);
        if (c == '"')
            break;
        if (c != '\\')
            return fail(scan, "a control character in a string");
        *escaped = true;
        if (!scan_escape(scan))
            return false;
    }
    if ((high & JSON_EACH_BYTE(0x80)) && !utf8_valid(from, (size_t)(scan->at - from))) {
        scan->at = from;
        return fail(scan, "a string that is not UTF-8");
    }
    scan->at++;
    return true;
}

static bool scan_number(struct json_members *scan)
{
    const char *broken, *end = json_scan_number(scan->at, scan->end, &broken);
    scan->at = end ? end : broken;
    return end || fail(scan, "a number without a digit");
}

static bool scan_word(struct json_members *scan, const char *word, size_t len)
{
    if (!json_starts_with(scan->at, scan->end, word, len))
        return fail(scan, "not a value");
    scan->at += len;
    return true;
}

static bool scan_scalar(struct json_members *scan, bool *escaped)
{
    switch (summary(scan)) {
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
static bool scan_name(struct json_members *scan, bool *escaped, bool *spaced)
{
    if (summary(scan) != '"')
        return fail(scan, "a name in quotes is missing");
    if (!scan_string(scan, escaped))
        return false;
    *spaced |= skip_space(scan);
    if (summary(scan) != ':')
        return fail(scan, "a colon is missing");
    scan->at++;
    *spaced |= skip_space(scan);
    return true;
}

/* An array or object with all that is in it. The stack holds the bracket that each open container waits for. */
static bool scan_container(struct json_members *scan, bool *spaced)
{
    char closers[JSON_DEPTH_MAX];
    int depth = 0;
    bool escaped = false; /* of no interest in here */
    for (;;) {
        char c = summary(scan);
        bool empty = false;
        if (c == '{' || c == '[') {
            if (depth == scan->depth)
                return fail(scan, "nested too deep");
            closers[depth++] = c == '{' ? '}' : ']';
            scan->at++;
            *spaced |= skip_space(scan);
            empty = summary(scan) == closers[depth - 1];
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
            if (summary(scan) != closers[depth - 1])
                break;
            scan->at++;
            if (--depth == 0)
                return true;
        }
        if (summary(scan) != ',')
            return fail(scan, "a comma is missing");
        scan->at++;
        *spaced |= skip_space(scan);
        if (closers[depth - 1] == '}' && !scan_name(scan, &escaped, spaced))
            return false;
    }
}

static bool scan_value(struct json_members *scan, bool *escaped, bool *spaced)
{
    char c = summary(scan);
    return c == '{' || c == '[' ? scan_container(scan, spaced) : scan_scalar(scan, escaped);
}

size_t json_check(const char *text, size_t len, int depth)
{
    struct json_members scan = {
        .at = text, .end = text + len, .depth = depth < JSON_DEPTH_MAX ? depth : JSON_DEPTH_MAX};
    bool escaped = false, spaced = false;
    return scan_value(&scan, &escaped, &spaced) ? (size_t)(scan.at - text) : 0;
}

void json_members_begin(struct json_members *scan, const char *text, size_t len)
{
    /* The container that is walked is one level itself. */
    *scan = (struct json_members){.start = text, .at = text, .end = text + len, .depth = JSON_DEPTH_MAX - 1};
}

void json_items_begin(struct json_members *scan, const char *text, size_t len)
{
    json_members_begin(scan, text, len);
    skip_space(scan);
    if (summary(scan) == '[') {
        scan->closer = ']';
        scan->at++;
    }
}

/* Nothing may follow the closing bracket. */
static int scan_finish(struct json_members *scan)
{
    scan->at++;
    skip_space(scan);
    if (scan->at == scan->end)
        return 0;
    fail(scan, scan->closer == ']' ? "something follows the list" : "something follows the object");
    return -1;
}

static bool scan_key(struct json_members *scan, struct json_member *member)
{
    const char *from = scan->at;
    if (summary(scan) != '"' || !scan_string(scan, &member->key_escaped)) {
        if (scan->at == from)
            fail(scan, "a name in quotes is missing");
        return false;
    }
    member->key = from + 1;
    member->key_len = (size_t)(scan->at - member->key) - 1;
    skip_space(scan);
    if (summary(scan) != ':')
        return fail(scan, "a colon is missing");
    scan->at++;
    skip_space(scan);
    return true;
}

int json_members_next(struct json_members *scan, struct json_member *member)
{
    skip_space(scan);
    if (!scan->closer) {
        if (summary(scan) != '{') {
            fail(scan, "an object is missing");
            return -1;
        }
        scan->closer = '}';
        scan->at++;
        skip_space(scan);
    }
    if (summary(scan) == scan->closer)
        return scan_finish(scan);
    if (scan->began) {
        if (summary(scan) != ',') {
            fail(scan, "a comma is missing");
            return -1;
        }
        scan->at++;
        skip_space(scan);
    }
    scan->began = true;
    *member = (struct json_member){0};
    if (scan->closer == '}' && !scan_key(scan, member))
        return -1;
    member->value = scan->at;
    if (!scan_value(scan, &member->escaped, &member->spaced))
        return -1;
    member->len = (size_t)(scan->at - member->value);
    return 1;
}

size_t json_unescape(char *out, const char *text, size_t len)
{
    const char *end = text + len;
    char *to = out;
    while (text < end) {
        /* Escapes may be close together. Then a call of memcpy for each piece would cost more than the copy. */
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
        uint32_t cp = (uint32_t)json_hex4(text, end);
        text += 4;
        if (cp >= 0xD800 && cp < 0xDC00 && end - text >= 6 && text[0] == '\\' && text[1] == 'u') {
            uint32_t low = (uint32_t)json_hex4(text + 2, end);
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

size_t json_squeeze(char *out, const char *value, size_t len)
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

size_t json_count_values(const char *text, size_t len)
{
    size_t count = 1;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == ',' || text[i] == '[' || text[i] == '{'))
            count++;
    }
    return count;
}
