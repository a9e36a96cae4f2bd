/* The words for how the sandbox of a live session stands. */

#include "sandboxview.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/engines_program.h"
#include "text.h"
#include <string.h>

void sandbox_view_fill(struct sandbox_view *sandbox, const struct pool *pool)
{
    sandbox->status = pool_status(pool);
    sandbox->count = pool_boxes(pool, sandbox->boxes, SANDBOX_BOXES);
}

const char *sandbox_view_limits(struct program_limits_view *limits)
{
    if (!limits->words)
        limits->words = sandbox_program_holder_words(sandbox_program_holder(limits->engine));
    return limits->words;
}

size_t sandbox_view_layers(struct strbuf *out, const char *layers)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = layers ? json_parse(&arena, layers, strlen(layers), NULL) : NULL;
    size_t from = out->len, held = 0;
    if (!value || value->type != JSON_OBJECT)
        return 0;
    json_each (layer, value) {
        bool number = layer->type == JSON_NUMBER;
        bool on = number ? json_num(layer, 0) > 0 : json_bool(layer, false);
        strbuf_addf(out, "%s%s%s", out->len > from ? ", " : "", on ? "" : "not ", layer->key);
        if (on && number)
            strbuf_addf(out, " %.*s", (int)layer->src_len, layer->src);
        held += on;
    }
    return held;
}

void sandbox_view_programs(struct strbuf *out, const char *engine, bool unsafe)
{
    strbuf_addf(out, "programs %s%s", engine, unsafe ? " UNSAFE" : "");
}

static void add_count(struct strbuf *out, bool wide, uint64_t count, const char *what)
{
    if (count)
        strbuf_addf(out, "%s%llu %s", wide ? ", " : " ", (unsigned long long)count, what);
}

void sandbox_view_line(struct strbuf *out, const struct sandbox_view *sandbox, bool wide)
{
    const struct pool_status *status = &sandbox->status;
    CLEANUP(strbuf) struct strbuf layers = STRBUF_INIT;
    strbuf_addstr(out, status->engine);
    if (status->trouble && !status->idle && !status->busy) {
        strbuf_addstr(out, wide ? ": no box can be started" : ": no box");
        return;
    }
    if (wide && status->layers)
        add_count(out, wide, sandbox_view_layers(&layers, status->layers), "layers");
    add_count(out, wide, status->starting, "starting");
    add_count(out, wide, status->idle, "warm");
    add_count(out, wide, status->busy, "busy");
    add_count(out, wide, status->waiting, "waiting");
    if (wide)
        add_count(out, wide, status->retired, "retired");
}
