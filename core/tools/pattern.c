/* Running a regular expression: all the ways through the instructions at once, one character of the line after the
 * other (Thompson's simulation). A step looks at each instruction at most once, so the time is line × expression and
 * nothing is ever tried again.
 *
 * A thread is an instruction that waits for a character, with the place where its match began. When two meet at one
 * instruction, the first to come stays; it began no later. While no thread is alive only a character that can begin a
 * match matters, so the rest of the line is skipped by a table of first bytes. */

#include "pattern.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "pattern_code.h"
#include <string.h>

struct thread {
    uint32_t pc;
    size_t start;
};

struct threads {
    struct thread *items;
    size_t count;
};

struct pattern {
    char *text; /* of a plain one; NULL for an expression */
    size_t len;
    struct code code;
    bool first[256]; /* bytes that can begin a match; all when it may be empty */
    struct threads now, next;
    uint32_t *stack;       /* of instructions to follow; each is on it at most twice */
    uint64_t *seen, round; /* the step in which an instruction was last reached */
};

/* Marks the bytes that an instruction can begin with. */
static void mark_first(struct pattern *p, const struct instruction *item)
{
    char bytes[4];
    switch (item->op) {
    case OP_CHAR:
        utf8_encode(item->x, bytes);
        p->first[(unsigned char)bytes[0]] = true;
        if (item->x == UTF8_REPLACEMENT)
            memset(p->first + 0x80, true, 0x80); /* as which malformed bytes are read */
        break;
    case OP_SET:
        for (unsigned c = 0; c < 0x80; c++)
            p->first[c] |= char_set_has(&p->code.sets[item->x], c);
        memset(p->first + 0x80, true, 0x80);
        break;
    default:
        memset(p->first, true, sizeof(p->first));
    }
}

/* Follows the instructions from the start that take no character. */
static void find_first(struct pattern *p)
{
    size_t depth = 0;
    p->round++;
    p->stack[depth++] = 0;
    while (depth > 0) {
        uint32_t pc = p->stack[--depth];
        const struct instruction *item = &p->code.items[pc];
        if (p->seen[pc] == p->round)
            continue;
        p->seen[pc] = p->round;
        if (item->op == OP_SPLIT) {
            p->stack[depth++] = item->y;
            p->stack[depth++] = item->x;
        } else if (item->op == OP_BEGIN || item->op == OP_END || item->op == OP_EDGE || item->op == OP_NO_EDGE) {
            memset(p->first, true, sizeof(p->first)); /* they may hold at the end of a line, before no character */
        } else {
            mark_first(p, item);
        }
    }
}

struct pattern *pattern_new(const char *text, bool regex, struct err *err)
{
    struct pattern *p = xcalloc(1, sizeof(*p));
    if (!regex) {
        p->text = xstrdup(text);
        p->len = strlen(text);
        return p;
    }
    if (code_compile(&p->code, text, err) < 0) {
        pattern_free(p);
        return NULL;
    }
    size_t count = p->code.count;
    p->now.items = xcalloc(count, sizeof(*p->now.items));
    p->next.items = xcalloc(count, sizeof(*p->next.items));
    p->stack = xcalloc(2 * count + 2, sizeof(*p->stack));
    p->seen = xcalloc(count, sizeof(*p->seen));
    find_first(p);
    return p;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    free(pattern->text);
    code_release(&pattern->code);
    free(pattern->now.items);
    free(pattern->next.items);
    free(pattern->stack);
    free(pattern->seen);
    free(pattern);
}

struct place {
    const char *line;
    size_t len, at;
};

static bool is_edge(const struct place *place)
{
    bool before = place->at > 0 && char_is_word((unsigned char)place->line[place->at - 1]);
    bool after = place->at < place->len && char_is_word((unsigned char)place->line[place->at]);
    return before != after;
}

/* Whether an instruction that takes no character lets through here. */
static bool lets_through(enum op op, const struct place *place)
{
    switch (op) {
    case OP_BEGIN:
        return place->at == 0;
    case OP_END:
        return place->at == place->len;
    case OP_EDGE:
        return is_edge(place);
    default:
        return !is_edge(place);
    }
}

/* Adds the threads that wait behind `pc`. True when a match is complete. */
static bool follow(struct pattern *p, struct threads *to, uint32_t pc, size_t start, const struct place *place)
{
    size_t depth = 0;
    p->stack[depth++] = pc;
    while (depth > 0) {
        pc = p->stack[--depth];
        if (p->seen[pc] == p->round)
            continue;
        p->seen[pc] = p->round;
        const struct instruction *item = &p->code.items[pc];
        switch (item->op) {
        case OP_MATCH:
            return true;
        case OP_SPLIT:
            p->stack[depth++] = item->y;
            p->stack[depth++] = item->x;
            break;
        case OP_CHAR:
        case OP_ANY:
        case OP_SET:
            to->items[to->count++] = (struct thread){pc, start};
            break;
        default:
            if (lets_through(item->op, place))
                p->stack[depth++] = pc + 1;
        }
    }
    return false;
}

static bool takes(const struct pattern *p, const struct instruction *item, uint32_t cp)
{
    if (item->op == OP_ANY)
        return true;
    return item->op == OP_CHAR ? item->x == cp : char_set_has(&p->code.sets[item->x], cp);
}

static bool run(struct pattern *p, const char *line, size_t len, size_t *at)
{
    struct place place = {line, len, 0};
    p->now.count = 0;
    p->round++;
    for (;;) {
        if (p->now.count == 0 && place.at < len && !p->first[(unsigned char)line[place.at]]) {
            while (place.at < len && !p->first[(unsigned char)line[place.at]])
                place.at++;
            p->round++; /* what was reached at the place before says nothing about this one */
        }
        /* A new attempt begins at every place, behind those under way. */
        if (follow(p, &p->now, 0, place.at, &place)) {
            *at = place.at;
            return true;
        }
        if (place.at == len)
            return false;
        size_t used;
        uint32_t cp = utf8_decode(line + place.at, len - place.at, &used);
        place.at += used;
        p->round++;
        p->next.count = 0;
        for (size_t i = 0; i < p->now.count; i++) {
            const struct thread *thread = &p->now.items[i];
            if (takes(p, &p->code.items[thread->pc], cp) &&
                follow(p, &p->next, thread->pc + 1, thread->start, &place)) {
                *at = thread->start;
                return true;
            }
        }
        struct threads done = p->now;
        p->now = p->next;
        p->next = done;
    }
}

bool pattern_find(struct pattern *pattern, const char *line, size_t len, size_t *at)
{
    if (!pattern->text)
        return run(pattern, line, len, at);
    const char *found = memmem(line, len, pattern->text, pattern->len);
    if (found)
        *at = (size_t)(found - line);
    return found != NULL;
}
