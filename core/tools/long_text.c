#include "long_text.h"
#include "artifact.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "page.h"
#include "tool.h"
#include "workspace/window.h"

static void add_named(struct json_writer *w, const char *prefix, const char *name, const char *text, int64_t number)
{
    CLEANUP(free) char *key = xasprintf("%s%s", prefix, name);
    if (text)
        json_add_str(w, key, text);
    else if (number < 0)
        json_add_bool(w, key, true);
    else
        json_add_int(w, key, number);
}

void long_text_add(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len, size_t room,
                   const struct tool_env *env, const char *tool)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    if (len <= room && page_cost(text, len) <= room) {
        json_add_strn(w, key, text, len);
        return;
    }
    for (size_t max = room; max > sizeof(WINDOW_MARK); max = max * 3 / 4) {
        strbuf_reset(&shown);
        window_text(&shown, text, len, max);
        if (page_cost(shown.buf, shown.len) <= room)
            break;
    }
    json_add_strn(w, key, shown.buf, shown.len);
    add_named(w, prefix, "truncated", NULL, -1);
    add_named(w, prefix, "total_bytes", NULL, (int64_t)len);
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    utf8_scrub(&whole, text, len);
    struct artifact *kept =
        env->artifacts ? artifact_store_put(env->artifacts, env->session, tool, whole.buf, whole.len) : NULL;
    if (kept) {
        CLEANUP(free) char *where = xasprintf("artifact://%s", kept->id);
        add_named(w, prefix, "artifact", where, 0);
    }
    artifact_free(kept);
}
