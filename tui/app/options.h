#pragma once
/* The options of a run as values, as parsed by cli/options.c. Setup and the workbench read them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct option_list {
    const char **items;
    size_t count, room;
};

/* Texts point into argv. An option that was not given is NULL, false, NaN or -1. */
struct options {
    const char *operand; /* the argument after the command; NULL: none */
    const char *second;  /* the operand after it */

    bool headless, step, serial;
    bool newest; /* continue the newest session of the folder */
    const char *workspace, *record, *model, *config, *theme, *engine, *tools;
    const char *system;        /* file of the system prompt */
    bool no_instructions;      /* ignore the instructions of the project */
    const char *web, *approve; /* each one of its allowed words */
    struct option_list breaks, budgets, mcp;

    bool execute, check;
    double speed;
    double ask_timeout; /* seconds */
    int64_t until;

    bool json;

    const char *ask; /* task for which a model writes a script */
    int64_t attempts;
    const char *mode; /* one of its allowed words */
    double timeout;   /* seconds */
    int64_t max_output;
    struct option_list secrets;
};
