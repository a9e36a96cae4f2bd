/* get_context_pack: excerpts of the workspace that fit a question, ranked by whoever was handed in. */

#include "context_pack.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tool.h"

#define PACK_DEFAULT 8
#define PACK_MAX     50

static void get_context_pack(struct tool_run *run, struct tool_reply *reply)
{
    struct context_source *source = run->env->context;
    if (!source) {
        tool_reply_error(reply, "this session keeps no context to search; use search_files and read_file");
        reply->final = true;
        return;
    }
    int64_t limit = json_int(json_get(run->arguments, "max"), PACK_DEFAULT);
    if (limit < 1)
        limit = 1;
    if (limit > PACK_MAX)
        limit = PACK_MAX;
    const char *query = json_str(json_get(run->arguments, "query"), "");
    CLEANUP(free) char *pack = source->pack(source, query, (size_t)limit, &run->deadline.cancelled);
    if (!pack) {
        tool_reply_error(reply, tool_run_cancelled(run) ? "cancelled" : "no context could be put together");
        return;
    }
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "query", query);
    json_add_raw(&w, "entries", pack);
    json_close(&w, '}');
    tool_reply_output(reply, strbuf_detach(&out, NULL));
}

static const char *const query_key[] = {"context:{query}", NULL};

const struct tool tool_get_context_pack = {
    .spec =
        {
            .name = "get_context_pack",
            .description = "Find the passages of the workspace that fit a question best, with their paths.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .resource_keys = query_key,
            .parameters = "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"minLength\":1,"
                          "\"description\":\"what you want to know, in a few words\"},\"max\":{\"type\":\"integer\","
                          "\"minimum\":1,\"maximum\":50,\"default\":8,\"description\":\"at most this many passages\"}},"
                          "\"required\":[\"query\"],\"additionalProperties\":false}",
        },
    .work = get_context_pack,
};
