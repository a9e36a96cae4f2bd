/* Documents read and written with cJSON: its tree, our grammar, a line for each value and all digits of a number.
 *
 * cJSON is lenient and silent about positions, so parse works in three steps:
 * 1. blank_comments replaces `//` comments by blanks, so that every offset stays.
 * 2. json_check refuses what cJSON would take or cut: control characters in strings, malformed UTF-8, "01", \u0000,
 * deep nesting. The error then comes from json_parse_commented, which knows its line.
 * 3. cJSON builds the tree, and number_lines walks text and tree together. The line is kept in `valueint` and the
 * digits of a number in `valuestring`; neither has another use here, because cJSON's double is in `valuedouble`.
 *
 * cJSON does not parse members that the caller does not know: it reads a 0 in their place. Then they become raw nodes,
 * which cJSON prints unchanged. Whole numbers are written as raw nodes too, because a double has only 53 bits. */

#include "doc.h"
#include "arena.h"
#include "json.h"
#include "mem.h"
#include "strbuf.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* `struct doc` is cJSON's node under our own name. */
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

/* A position in text that is known to be JSON. */
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
        size_t len = strcspn(cursor->at, ",]} \t\r\n");
        if (cJSON_IsNumber(item))
            item->valuestring = xmemdup0(cursor->at, len);
        cursor->at += len;
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

static struct doc *parse(const char *text, size_t len, bool comments, struct err *err)
{
    CLEANUP(free) char *plain = xmemdup0(text, len);
    if (comments)
        blank_comments(plain, len);
    size_t begin = strspn(plain, " \t\r\n");
    size_t end = begin + json_check(plain + begin, len - begin, JSON_DEPTH_MAX);
    const char *stop = plain;
    bool strict = end > begin && end + strspn(plain + end, " \t\r\n") == len;
    cJSON *root = strict ? cJSON_ParseWithLengthOpts(plain, len, &stop, false) : NULL;
    if (!root) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        if (comments ? json_parse_commented(&arena, text, len, err) : json_parse(&arena, text, len, err)) {
            /* Only cJSON refuses this. */
            err_set(err, "lone surrogate in a string");
            if (err)
                for (err->line = 1; stop > plain; stop--)
                    err->line += stop[-1] == '\n';
        }
        return NULL;
    }
    number_lines(&(struct doc_cursor){plain, 1}, root);
    return (struct doc *)(void *)root;
}

struct doc *doc_parse(const char *text, size_t len, struct err *err)
{
    return parse(text, len, true, err);
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Turns a node into a raw node. */
static void keep(cJSON *item, const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    json_write(&text, value, JSON_COMPACT);
    free(item->valuestring);
    item->valuestring = xmemdup0(text.buf, text.len);
    item->type = cJSON_Raw;
}

struct doc *doc_parse_known(const char *text, size_t len, const char *const *known, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *top = json_parse(&arena, text, len, err);
    if (!top)
        return NULL;
    CLEANUP(free) char *copy = xmemdup0(text, len);
    bool object = top->type == JSON_OBJECT;
    json_each (member, object ? top : NULL) {
        char *at = copy + (member->src - text);
        if (is_listed(known, member->key))
            continue;
        for (size_t i = 0; i < member->src_len; i++)
            if (at[i] != '\n')
                at[i] = ' ';
        at[0] = '0';
    }
    struct doc *root = parse(copy, len, false, err);
    cJSON *item = root && object ? ((cJSON *)(void *)root)->child : NULL;
    for (const struct json *member = top->child; item; item = item->next, member = member->next)
        if (!is_listed(known, member->key))
            keep(item, member);
    return root;
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
    if (cJSON_IsRaw(item))
        return DOC_KEPT;
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

int64_t doc_int(const struct doc *value, int64_t otherwise)
{
    const cJSON *item = node(value);
    if (!cJSON_IsNumber(item))
        return otherwise;
    struct json number = {.type = JSON_NUMBER, .text = item->valuestring, .len = strlen(item->valuestring)};
    return json_int(&number, otherwise);
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

/* ---- writing ---- */

static struct doc *add(struct doc *to, const char *key, cJSON *item)
{
    cJSON *container = (cJSON *)(void *)to;
    if (!item || !(key ? cJSON_AddItemToObject(container, key, item) : cJSON_AddItemToArray(container, item)))
        BUG("out of memory");
    return (struct doc *)(void *)item;
}

struct doc *doc_new(void)
{
    cJSON *object = cJSON_CreateObject();
    if (!object)
        BUG("out of memory");
    return (struct doc *)(void *)object;
}

struct doc *doc_add_object(struct doc *to, const char *key)
{
    return add(to, key, cJSON_CreateObject());
}

struct doc *doc_add_list(struct doc *to, const char *key)
{
    return add(to, key, cJSON_CreateArray());
}

void doc_add_text(struct doc *to, const char *key, const char *text)
{
    add(to, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void doc_add_int(struct doc *to, const char *key, int64_t number)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%" PRId64, number);
    doc_add_json(to, key, digits);
}

void doc_add_bool(struct doc *to, const char *key, bool yes)
{
    add(to, key, cJSON_CreateBool(yes));
}

void doc_add_json(struct doc *to, const char *key, const char *json)
{
    add(to, key, cJSON_CreateRaw(json));
}

void doc_add_copy(struct doc *to, const struct doc *member)
{
    add(to, doc_key(member), cJSON_Duplicate(node(member), true));
}

void doc_write(const struct doc *root, struct strbuf *out)
{
    size_t begin = out->len;
    CLEANUP(free) char *text = cJSON_PrintUnformatted(node(root));
    if (!text)
        BUG("out of memory");
    strbuf_addstr(out, text);
    json_make_printable(out, begin);
}
