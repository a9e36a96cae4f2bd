#pragma once
/* What a person says about a tool server: how it is started and how far it is believed. Read by core/config; everything
 * lives in an arena of whoever read it. */

#include "tools/tool.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The class of one tool, or, for "*", the least class of all of them. */
struct mcp_rule {
    const char *tool;
    enum effect effect;
};

struct mcp_spec {
    const char *name;
    const char *const *argv; /* NULL-terminated, the command first; NULL when there is none: see `refused` */
    const char *const *env;  /* NAME=VALUE, NULL-terminated: besides the few that every server gets; may be NULL */
    const char *cwd;         /* NULL: the workspace */
    bool trust;              /* what it says about its tools is believed */
    bool disabled;
    double timeout_s; /* of a call; 0: the usual */
    const struct mcp_rule *rules;
    size_t rule_count;
    const char *refused; /* why it cannot be started at all; NULL: it can */
    const char *note;    /* what of its entry means nothing here; NULL: all of it means something */
    long line;
};

/* How patient one is with servers, in microseconds. Only tests are in a hurry. */
struct mcp_pace {
    int64_t start_us;  /* for the first answer: package runners are slow */
    int64_t probe_us;  /* for the answer to a question that most servers do not know */
    int64_t ask_us;    /* for everything else but calls */
    int64_t ping_us;   /* of one that owes an answer: for a sign that it is still there */
    int64_t pause_us;  /* before it is started again; twice that the next time, and so on */
    int64_t steady_us; /* ready for so long: earlier failures are forgotten */
    int64_t relist_us; /* before its tools are listed again: they tell of changes several times in a row */
    int64_t end_us;    /* to end, once its input is closed */
    int64_t term_us;   /* to end, once it was told to */
};
extern const struct mcp_pace mcp_pace_usual;

struct mcp_specs {
    struct mcp_spec *items;
    size_t count, room;
    const struct mcp_pace *pace; /* NULL: the usual one */
};

struct arena;
struct mcp_spec mcp_spec_copy(struct arena *arena, const struct mcp_spec *spec);
