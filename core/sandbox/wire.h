#pragma once
/* One line of a harness, looked at once and in place: nothing is allocated, whatever is in it. Fields are pieces of the
 * line, JSON as it stands there; of a name that comes twice the last counts. */

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* Deeper than this an event is none: in the journal and in the results it lies inside other values, and those must be
 * readable too. */
#define WIRE_DEPTH_MAX 128

enum wire_type { WIRE_OTHER, WIRE_LOG, WIRE_INTERMEDIATE, WIRE_FINAL_RESULT, WIRE_ERROR, WIRE_SCRIPT_DONE };

struct wire_field {
    const char *src; /* NULL: there is none */
    size_t len;
};

struct wire_event {
    const char *line; /* without white space around it */
    size_t len;
    struct wire_field type, execution_id, label, data, message, level, traceback;
};

/* False when the line is no JSON object, whole and valid. */
bool wire_read(struct wire_event *event, const char *line, size_t len);
enum wire_type wire_type_of(const struct wire_event *event, struct arena *arena);
/* Whether the field is this text. */
bool wire_is(struct wire_field field, const char *text, size_t len, struct arena *arena);
/* A string's text, anything else as its JSON, `otherwise` when it is missing or null. Points into the line or the
 * arena. */
struct wire_field wire_text(struct wire_field field, const char *otherwise, struct arena *arena);
