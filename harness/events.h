#pragma once
/* Writes the events for the host, one JSON object per line. It rebuilds all output of a script, masks secrets and adds
 * the execution's id. A script never puts its own bytes on the protocol. */

#include "base/strbuf.h"
#include "mask.h"
#include <stdint.h>

struct json;

struct event_sink {
    struct strbuf out;
    const char *id; /* of the execution; NULL is written as null */
    struct mask mask;
};

void event_sink_init(struct event_sink *sink);
void event_sink_release(struct event_sink *sink);

/* `tools` is a list of names, `sandbox` the text of an object. */
void event_ready(struct event_sink *sink, const struct json *tools, const char *sandbox, const char *missing_tools);
void event_log(struct event_sink *sink, const char *level, const char *message, size_t len);
/* The text must be masked already. */
void event_printed(struct event_sink *sink, const char *level, const char *message, size_t len);
void event_intermediate(struct event_sink *sink, const char *label, size_t len, const struct json *data);
void event_result(struct event_sink *sink, const struct json *data);
void event_error(struct event_sink *sink, const char *message, const char *traceback);
void event_done(struct event_sink *sink);
