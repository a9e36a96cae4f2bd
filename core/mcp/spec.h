#pragma once
/* What a person says about a tool server: how it is started and how far it is believed. Read by core/config; everything
 * lives in an arena of whoever read it. */

#include "tools/tool.h"
#include <stdbool.h>
#include <stddef.h>

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
    double timeout_s;        /* of a call; 0: the usual */
    const struct mcp_rule *rules;
    size_t rule_count;
    const char *refused;     /* why it cannot be started at all; NULL: it can */
    const char *note;        /* what of its entry means nothing here; NULL: all of it means something */
    long line;
};

struct mcp_specs {
    struct mcp_spec *items;
    size_t count, room;
};

struct arena;
struct mcp_spec mcp_spec_copy(struct arena *arena, const struct mcp_spec *spec);
