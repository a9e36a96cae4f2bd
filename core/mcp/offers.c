/* What a server offers: its list of tools, page by page, and what becomes of it.
 *
 * Each tool becomes one of ours, which a session has from its next turn on. From then on the list is compared with what
 * the session has: a tool that is gone or whose schema or hints are others is refused, because what was agreed to was
 * another one, until the next turn adopts it as it is then. Descriptions may change.
 *
 * A list has an end: at most so many pages, no cursor twice, at most so many tools. */

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "names.h"
#include "server.h"
#include "tools/registry.h"
#include "tools/schema.h"
#include "tools/source.h"
#include <string.h>

#define PAGES_MAX         1000
#define NAME_BYTES_MAX    256
#define SCHEMA_BYTES_MAX  (64u << 10)
#define SCHEMAS_BYTES_MAX (1u << 20) /* of all tools of a server */
#define DESCRIPTION_CHARS 4000

void mcp_tool_free(struct mcp_tool *tool)
{
    free(tool->name);
    free(tool->qualified);
    free(tool->description);
    free(tool->parameters);
    free(tool->left_out);
    free(tool->resource);
    free(tool->asked_call);
    if (tool->heir)
        mcp_tool_free(tool->heir);
    free(tool);
}

void mcp_list_release(struct mcp_server *server)
{
    hash_map_release(&server->listing.cursors);
    server->listing.active = server->listing.again = false;
    loop_timer_stop(server->loop, &server->relist);
}

static struct mcp_tool *find_tool(const struct mcp_server *server, const char *name)
{
    for (size_t i = 0; i < server->tool_count; i++)
        if (strcmp(server->tools[i]->name, name) == 0)
            return server->tools[i];
    return NULL;
}

/* The shape of a tool: what a person's yes, or a rule, was about. */
static void digest_shape(const struct json *offer, char out[HASH_SHA256_HEX])
{
    static const char *const parts[] = {"inputSchema", "annotations"};
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const struct json *part = json_get(offer, parts[i]);
        if (part)
            json_write(&text, part, JSON_CANONICAL);
        strbuf_addch(&text, '\n');
    }
    hash_sha256(text.buf, text.len, out);
}

static void look_at_schema(struct mcp_tool *tool, const struct json *schema)
{
    tool->form = mcp_form_of(tool->name, schema);
    if (tool->form.path) {
        tool->resource = xasprintf("file:{%s}", tool->form.path);
        tool->resource_keys[0] = tool->resource;
    }
}

static char *describe(const struct json *offer)
{
    const char *text = json_str(json_get(offer, "description"), NULL);
    if (!text)
        text = json_str(json_get(offer, "title"), json_str(json_get(json_get(offer, "annotations"), "title"), ""));
    return xmemdup0(text, utf8_prefix(text, strlen(text), DESCRIPTION_CHARS));
}

/* Why a session cannot have it; NULL: it can. The caller's. */
static char *refuse(const struct json *offer, const struct json *schema)
{
    struct err err = ERR_INIT;
    const struct json *execution = json_get(offer, "execution");
    if (!schema || schema->type != JSON_OBJECT)
        return xstrdup("it has no schema of its arguments");
    if (schema->src_len > SCHEMA_BYTES_MAX)
        return xasprintf("the schema of its arguments has more than %u KiB", SCHEMA_BYTES_MAX >> 10);
    if (strcmp(json_str(json_get(schema, "type"), "object"), "object") != 0)
        return xstrdup("its arguments are no object");
    if (schema_check(schema, &err))
        return xasprintf("the schema of its arguments cannot be used: %.200s", err.text);
    if (strcmp(json_str(json_get(execution, "taskSupport"), ""), "required") == 0)
        return xstrdup("it can be called as a task only");
    return NULL;
}

/* Makes the tool what is offered; its name and who it belongs to are there. */
static void fill_tool(struct mcp_tool *tool, const struct json *offer)
{
    const struct mcp_spec *spec = tool->server->spec;
    const struct json *schema = json_get(offer, "inputSchema"), *annotations = json_get(offer, "annotations");
    struct strbuf parameters = STRBUF_INIT;
    free(tool->description);
    free(tool->left_out);
    free(tool->parameters);
    free(tool->resource);
    tool->resource = NULL;
    tool->form = (struct mcp_form){0};
    tool->resource_keys[0] = NULL;
    tool->description = describe(offer);
    tool->left_out = refuse(offer, schema);
    if (!tool->left_out) {
        json_write(&parameters, schema, JSON_COMPACT);
        look_at_schema(tool, schema);
    }
    tool->parameters = strbuf_detach(&parameters, NULL);
    tool->claimed = mcp_claimed(annotations);
    tool->class = mcp_class_of(spec, tool->name, annotations);
    digest_shape(offer, tool->shape);
    tool->tool = (struct tool){
        .spec = {.name = tool->qualified,
                 .description = tool->description,
                 .effect = tool->class.effect,
                 .idempotent = tool->class.idempotent,
                 .resource_keys = tool->resource_keys[0] ? tool->resource_keys : NULL,
                 .parameters = tool->parameters,
                 .timeout_s = spec->timeout_s},
        .start = mcp_call_start,
        .cancel = mcp_call_cancel,
        .data = tool,
    };
    if (tool->left_out)
        mcp_server_log(tool->server, "a tool is left out: ", tool->left_out, strlen(tool->left_out));
}

static struct mcp_tool *make_tool(struct mcp_server *server, const char *name, char *take_qualified,
                                  const struct json *offer)
{
    struct mcp_tool *tool = xcalloc(1, sizeof(*tool));
    tool->server = server;
    tool->name = xstrdup(name);
    tool->qualified = take_qualified;
    tool->seen = server->listing.number;
    fill_tool(tool, offer);
    return tool;
}

static void add_tool(struct mcp_server *server, const char *name, const struct json *offer)
{
    struct mcp_tool *tool = make_tool(server, name, mcp_name(server->spec->name, name, server->taken), offer);
    GROW(server->tools, server->tool_count, server->tool_room);
    server->tools[server->tool_count++] = tool;
}

/* A tool that is known, offered again. */
static void compare_tool(struct mcp_server *server, struct mcp_tool *tool, const struct json *offer)
{
    char shape[HASH_SHA256_HEX];
    digest_shape(offer, shape);
    bool changed = strcmp(shape, tool->shape) != 0;
    tool->gone = false;
    tool->seen = server->listing.number;
    if (!changed && tool->heir) { /* it is what it was */
        mcp_tool_free(steal(&tool->heir));
    } else if (changed && !tool->registered) { /* no session has it yet */
        fill_tool(tool, offer);
    } else if (changed && tool->heir) {
        fill_tool(tool->heir, offer);
    } else if (changed) {
        log_warn("tool server %s: it changed its tool %s: refused until the next turn", server->spec->name,
                 tool->qualified);
        tool->heir = make_tool(server, tool->name, xstrdup(tool->qualified), offer);
    }
}

/* Whether there is room for its schema; then it is taken. */
static bool take_room(struct mcp_server *server, const struct json *offer)
{
    const struct json *schema = json_get(offer, "inputSchema");
    size_t len = schema ? schema->src_len : 0;
    if (server->tool_count == MCP_TOOLS_MAX || len > SCHEMAS_BYTES_MAX - server->schema_bytes)
        return false;
    server->schema_bytes += len;
    return true;
}

static void take_offer(struct mcp_server *server, const struct json *offer)
{
    const char *name = json_str(json_get(offer, "name"), "");
    struct mcp_tool *known = find_tool(server, name);
    if (!*name || strlen(name) > NAME_BYTES_MAX)
        mcp_server_log(server, "a tool without a usable name is left out", "", 0);
    else if (known && known->seen == server->listing.number)
        mcp_server_log(server, "a tool is offered twice: ", name, strlen(name));
    else if (known)
        compare_tool(server, known, offer);
    else if (take_room(server, offer))
        add_tool(server, name, offer);
    else
        mcp_server_log(server, "more tools than a session can have; left out: ", name, strlen(name));
}

/* What the session has of it */

static bool wanted(const struct mcp_tool *tool)
{
    return !tool->left_out && !tool->gone && tool->server->state != MCP_FAILED;
}

static bool is_news(const struct mcp_tool *tool)
{
    return tool->registered ? tool->heir || !wanted(tool) : wanted(tool);
}

bool mcp_offers_news(const struct mcp_server *server)
{
    for (size_t i = 0; i < server->tool_count; i++)
        if (is_news(server->tools[i]))
            return true;
    return false;
}

/* A tool that is another one now makes way; it stays until the end, because a late call may still hold it. */
static struct mcp_tool *retire(struct mcp_server *server, size_t index)
{
    struct mcp_tool *tool = server->tools[index], *heir = steal(&tool->heir);
    heir->seen = tool->seen;
    heir->gone = tool->gone;
    GROW(server->retired, server->retired_count, server->retired_room);
    server->retired[server->retired_count++] = tool;
    server->tools[index] = heir;
    return heir;
}

static void register_tool(struct mcp_tool *tool, bool had, struct registry *registry, struct tool_changes *changes)
{
    struct err err = ERR_INIT;
    if (wanted(tool) && (had ? registry_replace : registry_add)(registry, &tool->tool, &err)) {
        log_warn("tool server %s: %s", tool->server->spec->name, err.text);
        tool->left_out = xstrdup(err.text);
    }
    tool->registered = wanted(tool);
    if (had && !tool->registered)
        registry_remove(registry, tool->qualified);
    if (had || tool->registered)
        tool_changes_add(changes, tool->qualified, !had ? TOOL_ADDED : tool->registered ? TOOL_CHANGED : TOOL_REMOVED);
}

void mcp_offers_adopt(struct mcp_server *server, struct registry *registry, struct tool_changes *changes)
{
    for (size_t i = 0; i < server->tool_count; i++) {
        struct mcp_tool *tool = server->tools[i];
        bool had = tool->registered;
        if (is_news(tool))
            register_tool(had && tool->heir ? retire(server, i) : tool, had, registry, changes);
    }
}

static void ask_page(struct mcp_server *server, const char *cursor);

static void end_list(struct mcp_server *server)
{
    struct mcp_listing *listing = &server->listing;
    bool again = listing->again;
    for (size_t i = 0; i < server->tool_count; i++) {
        struct mcp_tool *tool = server->tools[i];
        if (tool->seen != listing->number && !tool->gone)
            log_warn("tool server %s: its tool %s is gone", server->spec->name, tool->qualified);
        tool->gone = tool->seen != listing->number;
    }
    hash_map_release(&listing->cursors);
    listing->active = listing->again = false;
    mcp_server_listed(server);
    if (again)
        mcp_list_changed(server);
}

/* The cursor of the page behind this one; NULL: this is the last that is asked for. */
static const char *next_cursor(struct mcp_server *server, const struct json *result)
{
    struct mcp_listing *listing = &server->listing;
    const char *cursor = json_str(json_get(result, "nextCursor"), NULL);
    if (!cursor)
        return NULL;
    if (hash_map_has(&listing->cursors, cursor) || ++listing->pages >= PAGES_MAX || strlen(cursor) > SCHEMA_BYTES_MAX) {
        mcp_server_log(server, "its list of tools has no end: what came so far counts", "", 0);
        return NULL;
    }
    hash_map_put(&listing->cursors, cursor, 1);
    return cursor;
}

static void on_page(void *user, const struct rpc_message *answer, const char *why)
{
    struct mcp_server *server = user;
    if (!server->peer || server->closing)
        return;
    if (!answer || answer->kind == RPC_ERROR) {
        if (server->state == MCP_READY) { /* it was only looked whether something changed */
            mcp_server_log(server, "its tools cannot be listed again: ", answer ? answer->text : why,
                           strlen(answer ? answer->text : why));
            mcp_list_release(server);
        } else {
            mcp_server_stop(server, false, "tools/list: %.300s", answer ? answer->text : why);
        }
        return;
    }
    json_each (offer, json_get(answer->result, "tools"))
        take_offer(server, offer);
    const char *cursor = next_cursor(server, answer->result);
    if (cursor)
        ask_page(server, cursor);
    else
        end_list(server);
}

static void ask_page(struct mcp_server *server, const char *cursor)
{
    CLEANUP(strbuf) struct strbuf members = STRBUF_INIT;
    if (cursor) {
        strbuf_addstr(&members, "\"cursor\":");
        json_write_str(&members, cursor, strlen(cursor), JSON_COMPACT);
    }
    CLEANUP(free) char *params = mcp_server_params(server, members.buf, NULL);
    mcp_peer_ask(server->peer, "tools/list", params, server->pace->ask_us, on_page, server);
}

void mcp_list_tools(struct mcp_server *server)
{
    mcp_list_release(server);
    server->listing.active = true;
    server->listing.number++;
    server->listing.pages = 0;
    ask_page(server, NULL);
}

static void list_again(struct loop_timer *timer)
{
    struct mcp_server *server = CONTAINER_OF(timer, struct mcp_server, relist);
    if (server->peer && server->state == MCP_READY && !server->closing)
        mcp_list_tools(server);
}

void mcp_list_changed(struct mcp_server *server)
{
    if (server->listing.active)
        server->listing.again = true;
    else if (server->state == MCP_READY && !loop_timer_armed(&server->relist) && !server->closing)
        loop_timer_start(server->loop, &server->relist, loop_now_us(server->loop) + server->pace->relist_us,
                         list_again);
}
