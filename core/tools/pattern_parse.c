/* From the text of a regular expression to instructions, over a tree: a repetition {n,m} writes its operand several
 * times, so the operand must be known first. */

#include "base/mem.h"
#include "base/utf8.h"
#include "pattern_code.h"
#include <stdio.h>
#include <string.h>

#define TEXT_MAX   1000
#define DEPTH_MAX  100
#define REPEAT_MAX 1000
#define FOREVER    UINT32_MAX

enum node_type { NODE_EMPTY, NODE_ONE, NODE_THEN, NODE_OR, NODE_REPEAT };

struct node {
    enum node_type type;
    struct instruction one; /* of NODE_ONE */
    uint32_t left, right;   /* nodes; a repetition has its operand left */
    uint32_t least, most;
};

struct parser {
    struct code *code;
    const char *text, *at;
    struct node *nodes;
    size_t count, room;
    int depth;
    struct err *err;
};

/* Parsing functions give the number of a node, or NONE with the error set. */
#define NONE UINT32_MAX

static uint32_t parse_or(struct parser *p);

static uint32_t fail(struct parser *p, const char *why)
{
    err_set(p->err, "bad regular expression at character %zu: %s", utf8_count(p->text, (size_t)(p->at - p->text)) + 1,
            why);
    return NONE;
}

static uint32_t add_node(struct parser *p, struct node node)
{
    GROW(p->nodes, p->count, p->room);
    p->nodes[p->count] = node;
    return (uint32_t)p->count++;
}

static uint32_t add_one(struct parser *p, enum op op, uint32_t x)
{
    return add_node(p, (struct node){.type = NODE_ONE, .one = {.op = op, .x = x}});
}

static uint32_t next_char(struct parser *p)
{
    size_t used;
    uint32_t cp = utf8_decode(p->at, strlen(p->at), &used);
    p->at += used;
    return cp;
}

/* Sets */

static void add_range(struct char_set *set, uint32_t low, uint32_t high)
{
    GROW(set->ranges, set->count, set->room);
    set->ranges[set->count++] = (struct char_range){low, high};
}

static uint32_t add_set(struct parser *p, struct char_set set)
{
    struct code *code = p->code;
    GROW(code->sets, code->set_count, code->set_room);
    code->sets[code->set_count] = set;
    return add_one(p, OP_SET, (uint32_t)code->set_count++);
}

bool char_set_has(const struct char_set *set, uint32_t cp)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->ranges[i].low <= cp && cp <= set->ranges[i].high)
            return !set->negated;
    return set->negated;
}

bool char_is_word(uint32_t cp)
{
    return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z') || cp == '_';
}

/* Named classes, as pairs of bounds. */
static const struct {
    const char *name;
    char escape; /* the letter after a backslash that means the same, or 0 */
    const char *bounds;
} classes[] = {
    {"digit", 'd', "09"},     {"word", 'w', "09AZ__az"},        {"space", 's', "\t\r  "},
    {"alpha", 0, "AZaz"},     {"alnum", 0, "09AZaz"},           {"upper", 0, "AZ"},
    {"lower", 0, "az"},       {"blank", 0, "\t\t  "},           {"xdigit", 0, "09AFaf"},
    {"punct", 0, "!/:@[`{~"}, {"cntrl", 0, "\x01\x1f\x7f\x7f"}, {"graph", 0, "!~"},
    {"print", 0, " ~"},
};

static void add_class(struct char_set *set, const char *bounds, bool negated)
{
    uint32_t next = 0; /* the bounds of each class ascend, so its complement is the gaps */
    for (; *bounds; bounds += 2) {
        uint32_t low = (unsigned char)bounds[0], high = (unsigned char)bounds[1];
        if (negated && low > next)
            add_range(set, next, low - 1);
        else if (!negated)
            add_range(set, low, high);
        next = high + 1;
    }
    if (negated)
        add_range(set, next, UINT32_MAX);
}

/* \d \D \w \W \s \S */
static bool add_escaped_class(struct char_set *set, char letter)
{
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (classes[i].escape && (letter | 0x20) == classes[i].escape) {
            add_class(set, classes[i].bounds, !(letter & 0x20));
            return true;
        }
    }
    return false;
}

/* "[:alpha:]" inside a set. */
static bool add_named_class(struct parser *p, struct char_set *set)
{
    const char *end = strstr(p->at, ":]");
    for (size_t i = 0; end && i < COUNT_OF(classes); i++) {
        size_t len = strlen(classes[i].name);
        if ((size_t)(end - p->at) == len + 2 && memcmp(p->at + 2, classes[i].name, len) == 0) {
            add_class(set, classes[i].bounds, false);
            p->at = end + 2;
            return true;
        }
    }
    fail(p, "unknown class");
    return false;
}

/* The character that a letter after a backslash stands for, or 0. */
static uint32_t escaped_char(char letter)
{
    switch (letter) {
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'f':
        return '\f';
    case 'v':
        return '\v';
    default:
        return char_is_word((unsigned char)letter) || !letter ? 0 : (unsigned char)letter;
    }
}

/* One bound of a range in a set; 0 with the error set when it is none. */
static uint32_t set_char(struct parser *p)
{
    if (*p->at != '\\')
        return next_char(p);
    p->at++;
    if ((unsigned char)*p->at >= 0x80)
        return next_char(p);
    uint32_t cp = escaped_char(*p->at);
    if (!cp)
        fail(p, "unknown escape");
    p->at++;
    return cp;
}

static bool fill_set(struct parser *p, struct char_set *set)
{
    set->negated = *p->at == '^';
    p->at += set->negated;
    for (bool first = true; first || *p->at != ']'; first = false) {
        if (!*p->at) {
            fail(p, "a [ is not closed");
            return false;
        }
        if (p->at[0] == '[' && p->at[1] == ':') {
            if (!add_named_class(p, set))
                return false;
            continue;
        }
        if (p->at[0] == '\\' && add_escaped_class(set, p->at[1])) {
            p->at += 2;
            continue;
        }
        uint32_t low = set_char(p), high = low;
        if (low && p->at[0] == '-' && p->at[1] && p->at[1] != ']') {
            p->at++;
            high = set_char(p);
        }
        if (!low || !high)
            return false;
        if (low > high) {
            fail(p, "a range ends before it begins");
            return false;
        }
        add_range(set, low, high);
    }
    p->at++;
    return true;
}

/* Atoms */

static uint32_t parse_escape(struct parser *p)
{
    char letter = p->at[1];
    struct char_set set = {0};
    if (letter >= '1' && letter <= '9')
        return fail(p, "back references are not supported");
    if (!letter)
        return fail(p, "it ends with a backslash");
    p->at++;
    if ((unsigned char)letter >= 0x80)
        return add_one(p, OP_CHAR, next_char(p));
    if (add_escaped_class(&set, letter)) {
        p->at++;
        return add_set(p, set);
    }
    if (letter == 'b' || letter == 'B') {
        p->at++;
        return add_one(p, letter == 'b' ? OP_EDGE : OP_NO_EDGE, 0);
    }
    uint32_t cp = escaped_char(letter);
    if (!cp)
        return fail(p, "unknown escape");
    p->at++;
    return add_one(p, OP_CHAR, cp);
}

static uint32_t parse_group(struct parser *p)
{
    p->at++;
    if (p->at[0] == '?' && p->at[1] != ':')
        return fail(p, "of the (?…) groups only (?:…) is supported");
    if (p->at[0] == '?')
        p->at += 2;
    if (++p->depth > DEPTH_MAX)
        return fail(p, "nested too deeply");
    uint32_t inside = parse_or(p);
    p->depth--;
    if (inside == NONE)
        return NONE;
    if (*p->at != ')')
        return fail(p, "a ( is not closed");
    p->at++;
    return inside;
}

static uint32_t parse_atom(struct parser *p)
{
    switch (*p->at) {
    case '(':
        return parse_group(p);
    case '[': {
        struct char_set set = {0};
        p->at++;
        if (fill_set(p, &set))
            return add_set(p, set);
        free(set.ranges);
        return NONE;
    }
    case '\\':
        return parse_escape(p);
    case '.':
        p->at++;
        return add_one(p, OP_ANY, 0);
    case '^':
        p->at++;
        return add_one(p, OP_BEGIN, 0);
    case '$':
        p->at++;
        return add_one(p, OP_END, 0);
    case '*':
    case '+':
    case '?':
        return fail(p, "there is nothing to repeat");
    default:
        return add_one(p, OP_CHAR, next_char(p));
    }
}

/* "{2}", "{2,}", "{2,5}". Anything else after a brace is just text, so that `foo {` can be looked for. */
static bool is_interval(const char *at, uint32_t *least, uint32_t *most, size_t *len)
{
    char *end;
    if (*at != '{' || at[1] < '0' || at[1] > '9')
        return false;
    unsigned long low = strtoul(at + 1, &end, 10), high = low;
    if (*end == ',') {
        end++;
        high = *end >= '0' && *end <= '9' ? strtoul(end, &end, 10) : FOREVER;
    }
    if (*end != '}')
        return false;
    *least = low > REPEAT_MAX ? REPEAT_MAX + 1 : (uint32_t)low;
    *most = high == FOREVER ? FOREVER : high > REPEAT_MAX ? REPEAT_MAX + 1 : (uint32_t)high;
    *len = (size_t)(end + 1 - at);
    return true;
}

static uint32_t parse_repeat(struct parser *p)
{
    uint32_t atom = parse_atom(p);
    while (atom != NONE) {
        uint32_t least = 0, most = FOREVER;
        size_t len = 1;
        if (*p->at == '+')
            least = 1;
        else if (*p->at == '?')
            most = 1;
        else if (*p->at != '*' && !is_interval(p->at, &least, &most, &len))
            return atom;
        if (least > REPEAT_MAX || (most > REPEAT_MAX && most != FOREVER) || least > most)
            return fail(p, "a repetition like this is not possible");
        p->at += len;
        p->at += *p->at == '?'; /* lazy or not: the same lines match */
        atom = add_node(p, (struct node){.type = NODE_REPEAT, .left = atom, .least = least, .most = most});
    }
    return NONE;
}

static uint32_t parse_then(struct parser *p)
{
    uint32_t left = add_node(p, (struct node){.type = NODE_EMPTY});
    while (*p->at && *p->at != '|' && *p->at != ')') {
        uint32_t right = parse_repeat(p);
        if (right == NONE)
            return NONE;
        left = add_node(p, (struct node){.type = NODE_THEN, .left = left, .right = right});
    }
    return left;
}

static uint32_t parse_or(struct parser *p)
{
    uint32_t left = parse_then(p);
    while (left != NONE && *p->at == '|') {
        p->at++;
        uint32_t right = parse_then(p);
        if (right == NONE)
            return NONE;
        left = add_node(p, (struct node){.type = NODE_OR, .left = left, .right = right});
    }
    return left;
}

/* Instructions */

static uint32_t emit(struct code *code, enum op op, uint32_t x)
{
    GROW(code->items, code->count, code->room);
    code->items[code->count] = (struct instruction){.op = op, .x = x};
    return (uint32_t)code->count++;
}

static uint32_t here(const struct code *code)
{
    return (uint32_t)code->count;
}

static bool emit_node(struct parser *p, uint32_t number);

static bool emit_repeat(struct parser *p, const struct node *node)
{
    struct code *code = p->code;
    for (uint32_t i = 0; i < node->least; i++) {
        size_t before = code->count;
        if (!emit_node(p, node->left))
            return false;
        if (code->count == before)
            break; /* nothing, a thousand times a thousand times, is still nothing */
    }
    if (node->most == FOREVER) {
        uint32_t split = emit(code, OP_SPLIT, 0);
        code->items[split].x = here(code);
        bool ok = emit_node(p, node->left);
        uint32_t back = emit(code, OP_SPLIT, split);
        code->items[back].y = split;
        code->items[split].y = here(code);
        return ok;
    }
    /* Each optional copy can be left out together with those behind it. */
    for (uint32_t i = node->least; i < node->most; i++) {
        uint32_t split = emit(code, OP_SPLIT, 0);
        code->items[split].x = here(code);
        if (!emit_node(p, node->left))
            return false;
        code->items[split].y = here(code);
    }
    return true;
}

static bool emit_node(struct parser *p, uint32_t number)
{
    struct code *code = p->code;
    const struct node node = p->nodes[number];
    if (code->count > PATTERN_CODE_MAX)
        return false;
    switch (node.type) {
    case NODE_EMPTY:
        return true;
    case NODE_ONE:
        emit(code, node.one.op, node.one.x);
        return true;
    case NODE_THEN:
        return emit_node(p, node.left) && emit_node(p, node.right);
    case NODE_OR: {
        uint32_t split = emit(code, OP_SPLIT, 0);
        code->items[split].x = here(code);
        if (!emit_node(p, node.left))
            return false;
        uint32_t over = emit(code, OP_SPLIT, 0);
        code->items[split].y = here(code);
        if (!emit_node(p, node.right))
            return false;
        code->items[over].x = code->items[over].y = here(code);
        return true;
    }
    case NODE_REPEAT:
        return emit_repeat(p, &node);
    }
    return false;
}

void code_release(struct code *code)
{
    for (size_t i = 0; i < code->set_count; i++)
        free(code->sets[i].ranges);
    free(code->sets);
    free(code->items);
    *code = (struct code){0};
}

int code_compile(struct code *code, const char *text, struct err *err)
{
    if (strlen(text) > TEXT_MAX)
        return err_set(err, "the regular expression is longer than %d bytes", TEXT_MAX);
    struct parser parser = {.code = code, .text = text, .at = text, .err = err};
    uint32_t top = parse_or(&parser);
    if (top != NONE && *parser.at)
        top = fail(&parser, "a ) closes nothing");
    int rc = top == NONE ? -1 : 0;
    if (rc == 0 && (!emit_node(&parser, top) || code->count > PATTERN_CODE_MAX))
        rc = err_set(err, "the regular expression is too large once its repetitions are written out");
    emit(code, OP_MATCH, 0);
    free(parser.nodes);
    return rc;
}
