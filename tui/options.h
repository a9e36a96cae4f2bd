#pragma once
/* The command line: one table of commands (commands.def), one table of options (options.c). Parsing, the help pages and
 * the suggestions for a misspelt name all come from the two. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

enum command {
#define COMMAND(ID, name, operands, least, most, help, more) COMMAND_##ID,
#include "commands.def"
#undef COMMAND
    COMMAND_COUNT,
    COMMAND_NONE = COMMAND_COUNT, /* keyturn alone */
};

struct option_list {
    const char **items;
    size_t count, room;
};

/* Texts point into argv. What was not said is NULL, false, NaN or -1. */
struct options {
    enum command command;
    bool help, version;
    const char *operand;

    bool headless, step, serial;
    const char *workspace, *record, *model, *config, *theme, *engine, *tools;
    const char *system;        /* file of the system prompt */
    bool no_instructions;      /* of the project */
    const char *web, *approve; /* one of their words */
    struct option_list breaks, budgets, mcp;

    bool execute, check;
    double speed;
    double ask_timeout; /* seconds */
    int64_t until;

    bool json;

    const char *ask; /* what a script is to be written for */
    int64_t attempts;
    const char *mode; /* one of its words */
    double timeout;   /* seconds */
    int64_t max_output;
    struct option_list secrets;
};

/* 0, or -1 and a sentence with what to do. */
int options_parse(struct options *options, int argc, char **argv, struct err *err) CHECKED;
void options_release(struct options *options);

const char *command_name(enum command command);
/* The page of all commands. */
void options_help(struct strbuf *out);
/* The page of one. */
void options_command_help(struct strbuf *out, enum command command);
