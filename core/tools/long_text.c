#include "long_text.h"
#include "artifact.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "page.h"
#include "tool.h"
#include "workspace/process_output.h"
#include "workspace/versions.h"

/* As much of the head and the tail as costs no more than the room. */
static void shorten(struct strbuf *shown, const char *text, size_t len, size_t room)
{
    CLEANUP(strbuf) struct strbuf ends = STRBUF_INIT;
    if (len > 4 * room) { /* what is between is not shown, whatever its characters cost */
        strbuf_add(&ends, text, 2 * room);
        strbuf_add(&ends, text + len - 2 * room, 2 * room);
        text = ends.buf;
        len = ends.len;
    }
    size_t fits = sizeof(WINDOW_MARK), most = room;
    while (fits < most) {
        size_t max = fits + (most - fits + 1) / 2;
        strbuf_reset(shown);
        window_text(shown, text, len, max);
        if (page_cost(shown->buf, shown->len) <= room)
            fits = max;
        else
            most = max - 1;
    }
    strbuf_reset(shown);
    window_text(shown, text, len, fits);
}

void long_text_add_cut(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                       size_t room, uint64_t total, const struct artifact *kept)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    CLEANUP(free) char *truncated = xasprintf("%struncated", prefix), *bytes = xasprintf("%stotal_bytes", prefix);
    shorten(&shown, text, len, room);
    json_add_strn(w, key, shown.buf, shown.len);
    json_add_bool(w, truncated, true);
    json_add_int(w, bytes, (int64_t)total);
    if (kept) {
        CLEANUP(free) char *where = xasprintf("%sartifact", prefix), *ref = xasprintf(ARTIFACT_SCHEME "%s", kept->id);
        json_add_str(w, where, ref);
    }
}

void long_text_add(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                   size_t room, const struct tool_env *env, const char *tool)
{
    if (len <= room && page_cost(text, len) <= room) {
        json_add_strn(w, key, text, len);
        return;
    }
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    utf8_scrub(&whole, text, len);
    struct artifact *kept =
        env->artifacts ? artifact_store_put(env->artifacts, env->session, tool, whole.buf, whole.len) : NULL;
    long_text_add_cut(w, key, prefix, text, len, room, len, kept);
    artifact_free(kept);
}
