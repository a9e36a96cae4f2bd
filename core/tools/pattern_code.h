#pragma once
/* What pattern_parse.c makes and pattern.c runs; nobody else includes it. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_CODE_MAX 2000 /* instructions: bounds the work per character */

struct char_range {
    uint32_t low, high;
};

struct char_set {
    struct char_range *ranges;
    size_t count, room;
    bool negated;
};

enum op {
    OP_CHAR,
    OP_ANY,
    OP_SET,
    OP_SPLIT,   /* goes to x and to y */
    OP_BEGIN,   /* ^ */
    OP_END,     /* $ */
    OP_EDGE,    /* \b */
    OP_NO_EDGE, /* \B */
    OP_MATCH,
};

struct instruction {
    enum op op;
    uint32_t x, y; /* CHAR: x is the character; SET: x is the set; SPLIT: targets. All others go on to the next one */
};

struct code {
    struct instruction *items;
    size_t count, room;
    struct char_set *sets;
    size_t set_count, set_room;
};

void code_release(struct code *code);
bool char_set_has(const struct char_set *set, uint32_t cp);
/* A letter, digit or underscore of ASCII: what \w and \b mean. */
bool char_is_word(uint32_t cp);
int code_compile(struct code *code, const char *text, struct err *err) CHECKED;
