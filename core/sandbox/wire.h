#pragma once
/* Lines of a harness, read once and in place; reading an event allocates nothing. Fields are slices of the line, as
 * raw JSON; if a name occurs twice, the last one counts. */

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct json;

/* A deeper event is invalid. The journal and the results nest it inside other values, and those must be readable
 * too. */
#define WIRE_DEPTH_MAX 128

enum wire_type { WIRE_OTHER, WIRE_LOG, WIRE_INTERMEDIATE, WIRE_FINAL_RESULT, WIRE_ERROR, WIRE_SCRIPT_DONE };

struct wire_field {
    const char *src; /* NULL: missing */
    size_t len;
};

struct wire_event {
    const char *line; /* without white space around it */
    size_t len;
    struct wire_field type, execution_id, label, data, message, level, traceback;
};

/* False if the line is not one complete, valid JSON object. */
bool wire_read(struct wire_event *event, const char *line, size_t len);
enum wire_type wire_type_of(const struct wire_event *event, struct arena *arena);
/* True if the field equals this text. */
bool wire_is(struct wire_field field, const char *text, size_t len, struct arena *arena);
/* A string's text, or the JSON of another value; `otherwise` if it is missing or null. Points into the line or the
 * arena. */
struct wire_field wire_text(struct wire_field field, const char *otherwise, struct arena *arena);

/* ---- the tools of the ready event ---- */

/* The functions of a harness's tools folder, from its `ready` event: {"tools":["a"],"effects":{"a":"NETWORK"}}. This
 * file does not interpret effects. */

struct toolset_tool {
    char *name;
    char *effect; /* the effect of the tool, including all that its file can reach; "" if the harness reports none */
};

struct toolset {
    bool told;   /* a harness has listed its tools */
    bool chosen; /* the harness reports effects, and accepts `tools` and `files` in a request; older versions do not */
    struct toolset_tool *items;
    size_t count;
};

void toolset_read(struct toolset *set, const struct json *ready); /* replaces the earlier content */
void toolset_release(struct toolset *set);
const struct toolset_tool *toolset_find(const struct toolset *set, const char *name); /* NULL: not found */
