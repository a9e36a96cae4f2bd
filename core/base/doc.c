/* Documents read with cJSON: its tree, our grammar, and a line for each value.
 *
 * cJSON is lenient and silent about positions, so doc_parse works in three steps:
 * 1. blank_comments replaces `//` comments by blanks, so that every offset stays.
 * 2. json_check refuses what cJSON would take or cut: control characters in strings, malformed UTF-8, "01", \u0000,
 * deep nesting. The error then comes from json_parse_commented, which knows its line.
 * 3. cJSON builds the tree, and number_lines walks text and tree together. The line is kept in `valueint`, which has no
 *    other use here: numbers are read from `valuedouble`. */

#include "doc.h"
#include "arena.h"
#include "json.h"
#include "mem.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* `struct doc` is cJSON's node under a name of ours. */
static const cJSON *node(const struct doc *value)
{
    return (const cJSON *)(const void *)value;
}

static const struct doc *value_of(const cJSON *item)
{
    return (const struct doc *)(const void *)item;
}

static void blank_comments(char *text, size_t len)
{
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && text[i] == '/' && i + 1 < len && text[i + 1] == '/')
            for (; i < len && text[i] != '\n'; i++)
                text[i] = ' ';
    }
}

/* A place in text that is known to be JSON. */
struct doc_cursor {
    const char *at;
    int line;
};

static void skip_blanks(struct doc_cursor *cursor)
{
    for (; *cursor->at && strchr(" \t\r\n", *cursor->at); cursor->at++)
        cursor->line += *cursor->at == '\n';
}

static void skip_string(struct doc_cursor *cursor)
{
    for (cursor->at++; *cursor->at != '"'; cursor->at++)
        cursor->at += *cursor->at == '\\';
    cursor->at++;
}

static void number_lines(struct doc_cursor *cursor, cJSON *item)
{
    skip_blanks(cursor);
    item->valueint = cursor->line;
    if (cJSON_IsString(item)) {
        skip_string(cursor);
        return;
    }
    if (!cJSON_IsObject(item) && !cJSON_IsArray(item)) {
        cursor->at += strcspn(cursor->at, ",]} \t\r\n");
        return;
    }
    cursor->at++;
    for (cJSON *child = item->child; child; child = child->next) {
        skip_blanks(cursor);
        if (cJSON_IsObject(item)) {
            skip_string(cursor);
            skip_blanks(cursor);
            cursor->at++; /* the colon */
        }
        number_lines(cursor, child);
        skip_blanks(cursor);
        cursor->at += *cursor->at == ',';
    }
    skip_blanks(cursor);
    cursor->at++;
}

struct doc *doc_parse(const char *text, size_t len, struct err *err)
{
    CLEANUP(free) char *plain = xmemdup0(text, len);
    blank_comments(plain, len);
    size_t begin = strspn(plain, " \t\r\n");
    size_t end = begin + json_check(plain + begin, len - begin, JSON_DEPTH_MAX);
    const char *stop = plain;
    bool strict = end > begin && end + strspn(plain + end, " \t\r\n") == len;
    cJSON *root = strict ? cJSON_ParseWithLengthOpts(plain, len, &stop, false) : NULL;
    if (!root) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        if (json_parse_commented(&arena, text, len, err)) { /* all that cJSON refuses alone */
            err_set(err, "half of a surrogate pair stands alone in a string");
            if (err)
                for (err->line = 1; stop > plain; stop--)
                    err->line += stop[-1] == '\n';
        }
        return NULL;
    }
    number_lines(&(struct doc_cursor){plain, 1}, root);
    return (struct doc *)(void *)root;
}

void doc_free(struct doc *root)
{
    cJSON_Delete((cJSON *)(void *)root);
}

enum doc_type doc_type(const struct doc *value)
{
    const cJSON *item = node(value);
    if (cJSON_IsString(item))
        return DOC_TEXT;
    if (cJSON_IsNumber(item))
        return DOC_NUMBER;
    if (cJSON_IsBool(item))
        return cJSON_IsTrue(item) ? DOC_TRUE : DOC_FALSE;
    if (cJSON_IsNull(item))
        return DOC_NULL;
    return cJSON_IsArray(item) ? DOC_LIST : DOC_OBJECT;
}

const char *doc_key(const struct doc *value)
{
    return node(value)->string;
}

const char *doc_text(const struct doc *value)
{
    return cJSON_GetStringValue(node(value));
}

double doc_number(const struct doc *value)
{
    return cJSON_GetNumberValue(node(value));
}

size_t doc_count(const struct doc *value)
{
    return (size_t)cJSON_GetArraySize(node(value));
}

long doc_line(const struct doc *value)
{
    return node(value)->valueint;
}

const struct doc *doc_get(const struct doc *object, const char *key)
{
    const struct doc *found = NULL;
    if (cJSON_IsObject(node(object)))
        doc_each (member, object)
            if (strcmp(doc_key(member), key) == 0)
                found = member;
    return found;
}

const struct doc *doc_first(const struct doc *container)
{
    return container ? value_of(node(container)->child) : NULL;
}

const struct doc *doc_next(const struct doc *value)
{
    return value_of(node(value)->next);
}
