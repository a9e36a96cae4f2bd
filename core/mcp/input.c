#include "input.h"
#include "base/json.h"
#include "base/strbuf.h"
#include <string.h>

bool mcp_input_wanted(const struct json *result)
{
    return strcmp(json_str(json_get(result, "resultType"), ""), "input_required") == 0;
}

void mcp_input_write(struct strbuf *out, const struct json *result)
{
    const char *before = "";
    json_each (request, json_get(result, "inputRequests")) {
        strbuf_addf(out, "%s%s (%s): ", before, request->key ? request->key : "?",
                    json_str(json_get(request, "method"), "no method"));
        const struct json *params = json_get(request, "params");
        if (params)
            json_write(out, params, JSON_COMPACT);
        before = "\n";
    }
    if (!*before)
        strbuf_addstr(out, "it does not say what");
}

bool mcp_input_decline(struct strbuf *out, const struct json *result)
{
    const struct json *requests = json_get(result, "inputRequests"), *state = json_get(result, "requestState");
    struct strbuf answers = STRBUF_INIT;
    struct json_writer w = json_begin(&answers);
    bool can = state || (requests && requests->count);
    json_open(&w, NULL, '{');
    json_each (request, requests) {
        can &= request->key && strcmp(json_str(json_get(request, "method"), ""), "elicitation/create") == 0;
        json_add_raw(&w, request->key, "{\"action\":\"decline\"}");
    }
    json_close(&w, '}');
    if (can)
        strbuf_addf(out, ",\"inputResponses\":%s", answers.buf);
    if (can && state) { /* theirs: it goes back as it came */
        strbuf_addstr(out, ",\"requestState\":");
        json_write(out, state, JSON_COMPACT);
    }
    strbuf_release(&answers);
    return can;
}
