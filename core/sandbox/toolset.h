#pragma once
/* The functions of a harness's tools folder, as its `ready` event tells them:
 * {"tools":["a"],"effects":{"a":"NETWORK"}}. What an effect means is not known here. */

#include <stdbool.h>
#include <stddef.h>

struct json;

struct toolset_tool {
    char *name;
    char *effect; /* what it may do, with all that its file can reach; "" where the harness says nothing */
};

struct toolset {
    bool told;   /* a harness has said what there is */
    bool chosen; /* it knows of effects, and takes the `tools` and `files` of a request; one of an older version does
                    not */
    struct toolset_tool *items;
    size_t count;
};

void toolset_read(struct toolset *set, const struct json *ready); /* what was there before is gone */
void toolset_release(struct toolset *set);
const struct toolset_tool *toolset_find(const struct toolset *set, const char *name); /* NULL: there is none */
