#include "names.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <ctype.h>
#include <string.h>

#define MARK_CHARS 7 /* "_" and six digits */

static void add_clean(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        bool good = isascii((unsigned char)*text) && (isalnum((unsigned char)*text) || strchr("_-", *text));
        if (good)
            strbuf_addch(out, *text);
        else if (!out->len || out->buf[out->len - 1] != '_')
            strbuf_addch(out, '_');
    }
}

char *mcp_name(const char *server, const char *tool, struct hash_map *taken)
{
    CLEANUP(strbuf) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    add_clean(&name, *server ? server : "server");
    strbuf_addstr(&name, "__");
    add_clean(&name, *tool ? tool : "tool");
    strbuf_addf(&whole, "%s\n%s", server, tool);
    for (unsigned round = 0; name.len > MCP_NAME_MAX || hash_map_has(taken, name.buf); round++) {
        strbuf_addf(&whole, "\n%u", round);
        if (name.len > MCP_NAME_MAX - MARK_CHARS)
            strbuf_set_len(&name, MCP_NAME_MAX - MARK_CHARS);
        strbuf_addf(&name, "_%06x", (unsigned)(hash_fnv1a(whole.buf, whole.len) & 0xffffff));
    }
    hash_map_put(taken, name.buf, 1);
    return strbuf_detach(&name, NULL);
}
