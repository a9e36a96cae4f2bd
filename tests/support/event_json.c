/* Reads fields of events as JSON text. */

#include "event_json.h"
#include "base/mem.h"
#include <string.h>

static struct arena texts;

static void forget(void)
{
    arena_release(&texts);
}

const char *event_json(const struct event *event, const char *field)
{
    return event_body_json(event->type, &event->session_started, field);
}

const char *event_body_json(enum event_type type, const void *body, const char *field)
{
    static bool registered;
    struct event_layout layout = event_layout(type);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!registered)
        atexit(forget);
    registered = true;
    for (size_t i = 0; i < layout.count; i++)
        if (strcmp(layout.fields[i].name, field) == 0)
            event_encode_field(&text, &layout.fields[i], body);
    return text.len ? arena_memdup0(&texts, text.buf, text.len) : NULL;
}
