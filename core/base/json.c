/* Parses JSON text into values in an arena. json_read.c has the accessors, json_write.c the writers,
 * json_scan.c the scanner that builds no values.
 *
 * The parser makes one pass over the text. A value is one 64-byte node in the arena. Texts go to a pool that is
 * allocated at the start. A text with its NUL is never longer than its source with quotes or separator, so a pool as
 * large as the source needs no checks. Strings are scanned and copied in blocks; at a byte above 0x7f the parser checks
 * one character. JSON_DEPTH_MAX bounds the recursion.
 *
 * After a failure `why` and `where` say what was wrong first. The values made until then are freed with the arena. */

#include "json.h"
#include "arena.h"
#include "json_scan.h"
#include "utf8.h"

#define NODE_ALIGN _Alignof(max_align_t)
_Static_assert(sizeof(struct json) % NODE_ALIGN == 0, "nodes keep the arena aligned");

struct parser {
    struct arena *arena;
    const char *start, *at, *end;
    char *pool; /* where the next text goes */
    int depth;
    bool comments;
    const char *why;
    const char *where;
};

static struct json *parse_value(struct parser *ps);

static void *fail(struct parser *ps, const char *where, const char *why)
{
    if (!ps->why) {
        ps->why = why;
        ps->where = where;
    }
    return NULL;
}

static inline void skip_space(struct parser *ps)
{
    const char *at = ps->at;
    if (at < ps->end && (unsigned char)*at > '/')
        return;
    for (; at < ps->end; at++) {
        char c = *at;
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        if (c != '/' || !ps->comments || ps->end - at < 2 || at[1] != '/')
            break;
        at = memchr(at, '\n', (size_t)(ps->end - at));
        if (!at) {
            at = ps->end;
            break;
        }
    }
    ps->at = at;
}

/* ---- strings ---- */

static bool is_high_surrogate(int unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low_surrogate(int unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* The escape after the backslash at `at`. Writes its UTF-8 to *out and returns what follows it, or NULL. */
static const char *decode_escape(struct parser *ps, const char *at, const char *end, char **out)
{
    static const char plain[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};
    char c = plain[(unsigned char)at[1]];
    if (c) {
        *(*out)++ = c;
        return at + 2;
    }
    if (at[1] != 'u')
        return fail(ps, at, "unknown escape");
    int unit = json_hex4(at + 2, end);
    if (unit < 0)
        return fail(ps, at, "\\u without four hexadecimal digits");
    if (unit == 0)
        return fail(ps, at, "\\u0000 is not allowed");
    const char *next = at + 6;
    uint32_t cp = (uint32_t)unit;
    if (is_high_surrogate(unit) && end - next >= 6 && next[0] == '\\' && next[1] == 'u' &&
        is_low_surrogate(json_hex4(next + 2, end))) {
        cp = 0x10000 + ((cp - 0xD800) << 10) + (uint32_t)(json_hex4(next + 2, end) - 0xDC00);
        next += 6;
    } else if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
        cp = UTF8_REPLACEMENT;
    }
    *out += utf8_encode(cp, *out);
    return next;
}

/* One character above 0x7f. Returns what follows it, or NULL. */
static const char *copy_character(struct parser *ps, const char *at, const char *end, char **out)
{
    size_t used;
    uint32_t cp = utf8_decode(at, (size_t)(end - at), &used);
    if (cp == UTF8_REPLACEMENT && !(used == 3 && (unsigned char)*at == 0xEF))
        return fail(ps, at, "invalid UTF-8 in a string");
    for (size_t i = 0; i < used; i++)
        *(*out)++ = at[i];
    return at + used;
}

/* The string whose opening quote is at ps->at, copied to the pool. */
static const char *parse_string(struct parser *ps, size_t *len)
{
    const char *at = ps->at + 1;
    const char *end = ps->end;
    char *out = ps->pool;
    for (;;) {
        while (end - at >= JSON_BLOCK) {
            size_t run = json_plain_prefix(at, false);
            memcpy(out, at, JSON_BLOCK);
            at += run;
            out += run;
            if (run < (size_t)JSON_BLOCK)
                break;
        }
        /* Less than a block is left, or this byte is special. */
        while (at < end && json_is_plain(*at))
            *out++ = *at++;
        if (at == end || (*at == '\\' && end - at < 2))
            return fail(ps, end, "the text ends inside a string");
        if (*at == '"')
            break;
        if ((unsigned char)*at < 0x20)
            return fail(ps, at, "control character in a string");
        at = *at == '\\' ? decode_escape(ps, at, end, &out) : copy_character(ps, at, end, &out);
        if (!at)
            return NULL;
    }
    const char *text = ps->pool;
    *len = (size_t)(out - text);
    *out = '\0';
    ps->pool = out + 1;
    ps->at = at + 1;
    return text;
}

/* ---- values ---- */

static inline struct json *new_node(struct parser *ps, enum json_type type)
{
    /* arena_alloc without the call: after the pool the arena is aligned, and nodes keep it so. */
    struct arena *arena = ps->arena;
    struct json *node;
    if ((size_t)(arena->end - arena->next) >= sizeof(*node)) {
        node = (struct json *)(void *)arena->next;
        arena->next += sizeof(*node);
    } else {
        node = arena_alloc(arena, sizeof(*node));
    }
    *node = (struct json){.type = type, .src = ps->at};
    return node;
}

static struct json *parse_word(struct parser *ps, enum json_type type, const char *word, size_t len)
{
    if (!json_starts_with(ps->at, ps->end, word, len))
        return fail(ps, ps->at, "expected a value");
    struct json *node = new_node(ps, type);
    ps->at += len;
    return node;
}

static struct json *parse_number(struct parser *ps)
{
    const char *broken;
    const char *end = json_scan_number(ps->at, ps->end, &broken);
    if (!end)
        return fail(ps, broken, "expected a digit");
    struct json *node = new_node(ps, JSON_NUMBER);
    node->len = (size_t)(end - ps->at);
    /* Most are short; a fixed-size copy is inlined. */
    if (node->len <= 16 && ps->end - ps->at >= 16)
        memcpy(ps->pool, ps->at, 16);
    else
        memcpy(ps->pool, ps->at, node->len);
    node->text = ps->pool;
    ps->pool += node->len;
    *ps->pool++ = '\0';
    ps->at = end;
    return node;
}

/* The members or items after the opening bracket, up to and with the closing one. */
static bool parse_members(struct parser *ps, struct json *node, char closing)
{
    const struct json **link = &node->child;
    skip_space(ps);
    if (ps->at < ps->end && *ps->at == closing) {
        ps->at++;
        return true;
    }
    for (;;) {
        const char *key = NULL;
        if (closing == '}') {
            size_t len;
            if (ps->at == ps->end || *ps->at != '"')
                return fail(ps, ps->at, "expected a member name");
            if (!(key = parse_string(ps, &len)))
                return false;
            skip_space(ps);
            if (ps->at == ps->end || *ps->at != ':')
                return fail(ps, ps->at, "expected ':'");
            ps->at++;
            skip_space(ps);
        }
        struct json *item = parse_value(ps);
        if (!item)
            return false;
        item->key = key;
        *link = item;
        link = &item->next;
        node->count++;
        skip_space(ps);
        if (ps->at == ps->end || (*ps->at != ',' && *ps->at != closing))
            return fail(ps, ps->at, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
        if (*ps->at++ == closing)
            return true;
        skip_space(ps);
    }
}

static struct json *parse_container(struct parser *ps, enum json_type type, char closing)
{
    if (ps->depth == JSON_DEPTH_MAX)
        return fail(ps, ps->at, "nested too deeply");
    struct json *node = new_node(ps, type);
    ps->depth++;
    ps->at++;
    if (!parse_members(ps, node, closing))
        return NULL;
    ps->depth--;
    return node;
}

/* Expects no white space before the value. */
static struct json *parse_value(struct parser *ps)
{
    if (ps->at == ps->end)
        return fail(ps, ps->at, "expected a value");
    struct json *node;
    switch (*ps->at) {
    case '"':
        node = new_node(ps, JSON_STRING);
        if (!(node->text = parse_string(ps, &node->len)))
            return NULL;
        break;
    case '{':
        node = parse_container(ps, JSON_OBJECT, '}');
        break;
    case '[':
        node = parse_container(ps, JSON_ARRAY, ']');
        break;
    case 't':
        node = parse_word(ps, JSON_TRUE, "true", 4);
        break;
    case 'f':
        node = parse_word(ps, JSON_FALSE, "false", 5);
        break;
    case 'n':
        node = parse_word(ps, JSON_NULL, "null", 4);
        break;
    default:
        if (*ps->at != '-' && !json_is_digit(*ps->at))
            return fail(ps, ps->at, "expected a value");
        node = parse_number(ps);
    }
    if (node)
        node->src_len = (size_t)(ps->at - node->src);
    return node;
}

static const struct json *parse(struct parser *ps, struct err *err)
{
    /* One more, because a number alone has no separator that its NUL could replace. */
    size_t size = (size_t)(ps->end - ps->start) + 1;
    ps->pool = arena_alloc(ps->arena, (size + NODE_ALIGN - 1) & ~(NODE_ALIGN - 1));
    skip_space(ps);
    const struct json *value = parse_value(ps);
    if (value) {
        skip_space(ps);
        if (ps->at != ps->end)
            value = fail(ps, ps->at, "something follows the value");
    }
    if (value)
        return value;
    err_set(err, "%s at byte %zu", ps->why, (size_t)(ps->where - ps->start) + 1);
    if (err && ps->comments) {
        err->line = 1;
        for (const char *at = ps->start; at < ps->where; at++)
            err->line += *at == '\n';
    }
    return NULL;
}

const struct json *json_parse(struct arena *arena, const char *text, size_t len, struct err *err)
{
    struct parser ps = {.arena = arena, .start = text, .at = text, .end = text + len};
    return parse(&ps, err);
}

const struct json *json_parse_commented(struct arena *arena, const char *text, size_t len, struct err *err)
{
    struct parser ps = {.arena = arena, .start = text, .at = text, .end = text + len, .comments = true};
    /* Some editors put a byte order mark before the text. */
    if (json_starts_with(text, ps.end, "\xEF\xBB\xBF", 3))
        ps.at += 3;
    return parse(&ps, err);
}
