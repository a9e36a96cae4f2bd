#include "script.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
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
    return arguments && script_of(json_parse(&arena, arguments, strlen(arguments), NULL));
}

/* Both `File "<script>", line 3, in f` of a traceback and `(<script>, line 3)` of a syntax error. */
size_t script_failed_at(const char *text)
{
    static const char name[] = "<script>";
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, name));) {
        at += sizeof(name) - 1;
        const char *line = at + (*at == '"');
        if (strncmp(line, ", line ", 7) != 0)
            continue;
        unsigned long number = strtoul(line + 7, NULL, 10);
        found = number && number < UINT32_MAX ? (size_t)number : found;
    }
    return found;
}

bool script_replace(struct strbuf *out, const char *arguments, const char *script)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = json_parse(&arena, arguments, strlen(arguments), NULL);
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
