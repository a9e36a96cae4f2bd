/* Looking at JSON without making values of it: json_skip finds the end of a value as fast as it can, json_check takes
 * exactly what json_parse takes. Neither allocates, so text of any shape and size costs no memory. */

#include "json.h"
#include "json_scan.h"
#include "utf8.h"

/* The first character of a string, from `at` on, that must be looked at; NULL when the string breaks off before. */
static inline const char *skip_plain(const char *at, const char *end)
{
    while (end - at >= SCAN_BLOCK) {
        size_t run = plain_prefix(at, false);
        at += run;
        if (run < (size_t)SCAN_BLOCK)
            break;
    }
    while (at < end && is_plain(*at))
        at++;
    return at == end || (unsigned char)*at < 0x20 ? NULL : at;
}

/* Skipping */

/* What follows the string whose opening quote is at `at`, or NULL. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++;;) {
        if (!(at = skip_plain(at, end)))
            return NULL;
        if (*at == '"')
            return at + 1;
        if (*at == '\\' && end - at < 2)
            return NULL;
        at += *at == '\\' ? 2 : 1;
    }
}

static const char *skip_scalar(const char *at, const char *end)
{
    static const struct {
        const char *word;
        size_t len;
    } words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
    if (*at == '"')
        return skip_string(at, end);
    for (size_t i = 0; i < 3; i++)
        if (json_starts_with(at, end, words[i].word, words[i].len))
            return at + words[i].len;
    const char *broken;
    return json_scan_number(at, end, &broken);
}

size_t json_skip(const char *text, size_t len)
{
    const char *end = text + len;
    char closing[JSON_DEPTH_MAX];
    int depth = 0;
    for (const char *at = text; at < end;) {
        char c = *at;
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            at++;
            continue;
        }
        if (c == '{' || c == '[') {
            if (depth == JSON_DEPTH_MAX)
                return 0;
            closing[depth++] = c == '{' ? '}' : ']';
            at++;
            continue;
        }
        if (c == '}' || c == ']') {
            if (depth == 0 || closing[--depth] != c)
                return 0;
            at++;
        } else if (c == ',' || c == ':') {
            if (depth == 0)
                return 0;
            at++;
            continue;
        } else if (!(at = skip_scalar(at, end))) {
            return 0;
        }
        if (depth == 0)
            return (size_t)(at - text);
    }
    return 0;
}

/* Checking */

/* What follows the character above 0x7f at `at`, or NULL. */
static const char *check_character(const char *at, const char *end)
{
    size_t used;
    uint32_t cp = utf8_decode(at, (size_t)(end - at), &used);
    if (cp == UTF8_REPLACEMENT && !(used == 3 && (unsigned char)*at == 0xEF))
        return NULL;
    return at + used;
}

/* What follows the escape whose backslash is at `at`, or NULL. */
static const char *check_escape(const char *at, const char *end)
{
    if (end - at < 2)
        return NULL;
    if (at[1] == 'u')
        return json_hex4(at + 2, end) > 0 ? at + 6 : NULL;
    return memchr("\"\\/bfnrt", at[1], 8) ? at + 2 : NULL;
}

static const char *check_string(const char *at, const char *end)
{
    for (at++;;) {
        if (!(at = skip_plain(at, end)))
            return NULL;
        if (*at == '"')
            return at + 1;
        at = *at == '\\' ? check_escape(at, end) : check_character(at, end);
        if (!at)
            return NULL;
    }
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* The name of a member and its colon; gives where the value begins. */
static const char *check_name(const char *at, const char *end)
{
    if (at == end || *at != '"' || !(at = check_string(at, end)))
        return NULL;
    at = skip_space(at, end);
    return at < end && *at == ':' ? skip_space(at + 1, end) : NULL;
}

static const char *check_value(const char *at, const char *end, int depth)
{
    if (at == end)
        return NULL;
    if (*at == '"')
        return check_string(at, end);
    if (*at != '{' && *at != '[')
        return skip_scalar(at, end);
    if (depth == 0)
        return NULL;
    char closing = *at == '{' ? '}' : ']';
    at = skip_space(at + 1, end);
    if (at < end && *at == closing)
        return at + 1;
    for (;;) {
        if (closing == '}' && !(at = check_name(at, end)))
            return NULL;
        if (!(at = check_value(at, end, depth - 1)))
            return NULL;
        at = skip_space(at, end);
        if (at == end || (*at != ',' && *at != closing))
            return NULL;
        if (*at++ == closing)
            return at;
        at = skip_space(at, end);
    }
}

size_t json_check(const char *text, size_t len, int depth)
{
    const char *end = check_value(text, text + len, depth < JSON_DEPTH_MAX ? depth : JSON_DEPTH_MAX);
    return end ? (size_t)(end - text) : 0;
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
