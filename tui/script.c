/* A script among the arguments of a call. */

#include "script.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/event.h"
#include <stdlib.h>
#include <string.h>

const struct json *script_of(const struct json *arguments)
{
    const struct json *script = json_get(arguments, "script");
    return script && script->type == JSON_STRING ? script : NULL;
}

bool script_within(const char *arguments)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    return script_of(event_leaf(&arena, arguments));
}

bool script_replace(struct strbuf *out, const char *arguments, const char *script)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = event_leaf(&arena, arguments);
    if (!script_of(value))
        return false;
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_each (field, value) {
        if (strcmp(field->key, "script") == 0)
            json_add_str(&w, "script", script);
        else
            json_add_value(&w, field->key, field);
    }
    json_close(&w, '}');
    return true;
}
