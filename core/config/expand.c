#include "expand.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include <stdlib.h>
#include <string.h>

/* What stands for the inside of the braces; NULL: nothing does. */
static const char *look_up(struct arena *arena, const char *inside, size_t len, const char **name)
{
    const char *dash = memmem(inside, len, ":-", 2);
    *name = arena_memdup0(arena, inside, dash ? (size_t)(dash - inside) : len);
    const char *value = getenv(*name);
    if (value && (*value || !dash)) {
        redact_add_variable(*name, value);
        return value;
    }
    if (!dash)
        return NULL;
    const char *instead = arena_memdup0(arena, dash + 2, len - (size_t)(dash + 2 - inside));
    if (redact_name_tells(*name))
        redact_add(*name, instead);
    return instead;
}

const char *config_expand(struct arena *arena, const char *text, void (*missing)(void *user, const char *name),
                          void *user)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    for (const char *open, *close; (open = strstr(text, "${")) && (close = strchr(open, '}')); text = close + 1) {
        const char *name, *value = look_up(arena, open + 2, (size_t)(close - open) - 2, &name);
        strbuf_add(&out, text, (size_t)(open - text));
        strbuf_addstr(&out, value ? value : "");
        if (!value)
            missing(user, name);
    }
    strbuf_addstr(&out, text);
    return arena_strdup(arena, out.buf);
}
