/* The tools of a server: lists them page by page, rates them, names them, and registers those that a session can have.
 *
 * Each offer becomes a tool of the session from its next turn on. After that, every new list is compared with the
 * session's tools. A tool that is gone, or whose schema or hints changed, is refused, because the user agreed to the
 * earlier one. The next turn adopts it in its new form. Descriptions may change.
 *
 * A list is bounded: a maximum of pages, no cursor twice, a maximum of tools. */

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "server.h"
#include "tools/registry.h"
#include "tools/schema.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* Hashes the shape of a tool: what the user's approval, or a rule, was about. */
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

static struct mcp_file_arguments mcp_form_of(const char *tool, const struct json *schema);

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

/* Returns why a session cannot have the tool; NULL if it can. The caller frees it. */
static char *refuse_offer(const struct json *offer, const struct json *schema)
{
    struct err err = ERR_INIT;
    const struct json *execution = json_get(offer, "execution");
    if (!schema || schema->type != JSON_OBJECT)
        return xstrdup("it has no schema for its arguments");
    if (schema->src_len > SCHEMA_BYTES_MAX)
        return xasprintf("the schema of its arguments has more than %u KB", SCHEMA_BYTES_MAX >> 10);
    if (strcmp(json_str(json_get(schema, "type"), "object"), "object") != 0)
        return xstrdup("its arguments are not an object");
    if (schema_check(schema, &err))
        return xasprintf("invalid schema of its arguments: %.200s", err.text);
    if (strcmp(json_str(json_get(execution, "taskSupport"), ""), "required") == 0)
        return xstrdup("it runs only as a task, which Keyturn does not support");
    return NULL;
}

/* Fills the tool from the offer; its name and server are set already. */
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
    tool->form = (struct mcp_file_arguments){0};
    tool->resource_keys[0] = NULL;
    tool->description = describe(offer);
    tool->left_out = refuse_offer(offer, schema);
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
        mcp_server_log(tool->server, "ignored a tool: ", tool->left_out, strlen(tool->left_out));
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

/* Compares a known tool with its new offer. */
static void compare_tool(struct mcp_server *server, struct mcp_tool *tool, const struct json *offer)
{
    char shape[HASH_SHA256_HEX];
    digest_shape(offer, shape);
    bool changed = strcmp(shape, tool->shape) != 0;
    tool->gone = false;
    tool->seen = server->listing.number;
    if (!changed && tool->heir) { /* it changed back */
        mcp_tool_free(steal(&tool->heir));
    } else if (changed && !tool->registered) { /* no session has it yet */
        fill_tool(tool, offer);
    } else if (changed && tool->heir) {
        fill_tool(tool->heir, offer);
    } else if (changed) {
        log_warn("MCP server %s: it changed its tool %s; calls fail until the next turn", server->spec->name,
                 tool->qualified);
        tool->heir = make_tool(server, tool->name, xstrdup(tool->qualified), offer);
    }
}

/* Reserves room for its schema; returns false if there is none. */
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
        mcp_server_log(server, "ignored a tool without a usable name", "", 0);
    else if (known && known->seen == server->listing.number)
        mcp_server_log(server, "ignored a duplicate tool: ", name, strlen(name));
    else if (known)
        compare_tool(server, known, offer);
    else if (take_room(server, offer))
        add_tool(server, name, offer);
    else
        mcp_server_log(server, "tool limit reached; ignored: ", name, strlen(name));
}

/* ---- the session's tools ---- */

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

/* Replaces a tool that has changed. The old one stays allocated until the end, because a late call may still hold
 * it. */
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
        log_warn("MCP server %s: %s", tool->server->spec->name, err.text);
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
            log_warn("MCP server %s: it removed its tool %s", server->spec->name, tool->qualified);
        tool->gone = tool->seen != listing->number;
    }
    hash_map_release(&listing->cursors);
    listing->active = listing->again = false;
    mcp_server_listed(server);
    if (again)
        mcp_list_changed(server);
}

/* Returns the cursor of the next page; NULL if this is the last page to request. */
static const char *next_cursor(struct mcp_server *server, const struct json *result)
{
    struct mcp_listing *listing = &server->listing;
    const char *cursor = json_str(json_get(result, "nextCursor"), NULL);
    if (!cursor)
        return NULL;
    if (hash_map_has(&listing->cursors, cursor) || ++listing->pages >= PAGES_MAX || strlen(cursor) > SCHEMA_BYTES_MAX) {
        mcp_server_log(server, "its tool list does not end; using the first part", "", 0);
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
        if (server->state == MCP_READY) { /* this listing only checked for changes */
            mcp_server_log(server, "cannot refresh its tools: ", answer ? answer->text : why,
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

#define WORST (MCP_NETWORK | MCP_DESTROYS)

static struct mcp_class class_of_bits(unsigned bits, bool idempotent)
{
    return (struct mcp_class){
        .bits = bits,
        .effect = bits & MCP_DESTROYS  ? EFFECT_DESTRUCTIVE
                  : bits & MCP_NETWORK ? EFFECT_NETWORK
                  : bits & MCP_WRITES  ? EFFECT_LOCAL_WRITE
                                       : EFFECT_READ_ONLY,
        .idempotent = idempotent,
        .asks = bits & (MCP_WRITES | MCP_DESTROYS),
    };
}

struct mcp_class mcp_claimed(const struct json *annotations)
{
    if (!annotations || annotations->type != JSON_OBJECT)
        return class_of_bits(WORST, false);
    bool reads = json_bool(json_get(annotations, "readOnlyHint"), false);
    bool destroys = json_bool(json_get(annotations, "destructiveHint"), true);
    bool open_world = json_bool(json_get(annotations, "openWorldHint"), true);
    bool idempotent = json_bool(json_get(annotations, "idempotentHint"), false);
    unsigned bits = reads ? 0 : destroys ? MCP_DESTROYS : MCP_WRITES;
    return class_of_bits(bits | (open_world ? MCP_NETWORK : 0), reads || idempotent);
}

static unsigned bits_of_effect(enum effect effect)
{
    switch (effect) {
    case EFFECT_READ_ONLY:
        return 0;
    case EFFECT_LOCAL_WRITE:
        return MCP_WRITES;
    case EFFECT_NETWORK:
        return MCP_NETWORK;
    case EFFECT_DESTRUCTIVE:
        return MCP_DESTROYS;
    case EFFECT_UNKNOWN:
        break;
    }
    return WORST;
}

static const struct mcp_rule *rule_for(const struct mcp_spec *spec, const char *tool)
{
    for (size_t i = 0; i < spec->rule_count; i++)
        if (strcmp(spec->rules[i].tool, tool) == 0)
            return &spec->rules[i];
    return NULL;
}

struct mcp_class mcp_class_of(const struct mcp_spec *spec, const char *tool, const struct json *annotations)
{
    struct mcp_class claimed = mcp_claimed(annotations);
    const struct mcp_rule *own = rule_for(spec, tool), *all = rule_for(spec, "*");
    if (own) {
        unsigned bits = bits_of_effect(own->effect);
        return class_of_bits(bits, bits == 0 || (spec->trust && bits == claimed.bits && claimed.idempotent));
    }
    if (all) {
        unsigned raised = annotations && annotations->type == JSON_OBJECT ? claimed.bits : 0;
        unsigned bits = bits_of_effect(all->effect);
        bits |= raised;
        return class_of_bits(bits, bits == 0 || (spec->trust && bits == claimed.bits && claimed.idempotent));
    }
    return spec->trust ? claimed : class_of_bits(WORST, false);
}

void mcp_class_write(struct strbuf *out, const struct mcp_class *class)
{
    static const struct {
        unsigned bit;
        enum effect effect;
    } words[] = {{MCP_NETWORK, EFFECT_NETWORK}, {MCP_WRITES, EFFECT_LOCAL_WRITE}, {MCP_DESTROYS, EFFECT_DESTRUCTIVE}};
    const char *before = "";
    if (!class->bits)
        strbuf_addstr(out, effect_name(EFFECT_READ_ONLY));
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (class->bits & words[i].bit) {
            strbuf_addf(out, "%s%s", before, effect_name(words[i].effect));
            before = " + ";
        }
    if (class->idempotent && class->bits)
        strbuf_addstr(out, ", idempotent");
}

/* Most servers use the first name. If a schema has several of them, the first in this list counts. */
static const char *const paths[] = {"path",       "file_path",   "filePath",  "filepath", "filename",
                                    "fileName",   "file_name",   "file",      "target",   "target_path",
                                    "targetPath", "target_file", "targetFile"};
/* Not "data" and "body", which are often encoded. */
static const char *const contents[] = {"content", "contents", "file_text", "fileText", "text"};
static const char *const switches[] = {"dryRun", "dry_run"};

static const char *const places[] = {"owner", "repo", "repository", "project_id", "branch", "bucket", "url", "host"};

static bool takes(const struct json *schema, const char *name, const char *type)
{
    const struct json *property = json_get(json_get(schema, "properties"), name);
    return strcmp(json_str(json_get(property, "type"), ""), type) == 0;
}

static const char *first_taken(const struct json *schema, const char *const *names, size_t count, const char *type)
{
    for (size_t i = 0; i < count; i++)
        if (takes(schema, names[i], type))
            return names[i];
    return NULL;
}

static bool begins(const char *tool, const char *const *verbs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncasecmp(tool, verbs[i], strlen(verbs[i])) == 0)
            return true;
    return false;
}

/* True for "delete_file" and "deleteFile", but not for "delete_lines". */
static bool deletes(const char *tool)
{
    static const char *const names[] = {"delete", "deletefile", "remove", "removefile", "unlink", "rm"};
    char plain[32];
    size_t len = 0;
    for (; *tool && len + 1 < sizeof(plain); tool++)
        if (isalnum((unsigned char)*tool))
            plain[len++] = (char)tolower((unsigned char)*tool);
    plain[len] = '\0';
    for (size_t i = 0; !*tool && i < COUNT_OF(names); i++)
        if (strcmp(plain, names[i]) == 0)
            return true;
    return false;
}

/* True if all other arguments are switches, so that none selects a part of the file. */
static bool takes_only(const struct json *schema, const char *name)
{
    json_each (property, json_get(schema, "properties"))
        if (strcmp(property->key, name) != 0 && strcmp(json_str(json_get(property, "type"), ""), "boolean") != 0)
            return false;
    return true;
}

static struct mcp_file_arguments mcp_form_of(const char *tool, const struct json *schema)
{
    static const char *const moving[] = {"move", "rename"}, *const appending[] = {"append"};
    static const char *const writing[] = {"write", "create", "save", "put", "overwrite"};
    struct mcp_file_arguments form = {.path = first_taken(schema, paths, COUNT_OF(paths), "string"),
                                      .content = first_taken(schema, contents, COUNT_OF(contents), "string"),
                                      .dry_run = first_taken(schema, switches, COUNT_OF(switches), "boolean")};
    form.elsewhere = first_taken(schema, places, COUNT_OF(places), "string") != NULL;
    if (form.elsewhere) {
        form.path = NULL;
    } else if (begins(tool, moving, COUNT_OF(moving)) && takes(schema, "source", "string") &&
               takes(schema, "destination", "string")) {
        form.kind = MCP_FORM_MOVES;
        form.path = "source";
        form.target = "destination";
    } else if (form.path && deletes(tool) && takes_only(schema, form.path)) {
        form.kind = MCP_FORM_DELETES;
    } else if (form.path && form.content && begins(tool, appending, COUNT_OF(appending))) {
        form.kind = MCP_FORM_APPENDS;
    } else if (form.path && form.content && begins(tool, writing, COUNT_OF(writing))) {
        form.kind = MCP_FORM_WHOLE;
    } else if (form.path) {
        form.kind = MCP_FORM_NAMES;
    }
    return form;
}

static bool is_text(const struct json *arguments, const char *name)
{
    const struct json *value = name ? json_get(arguments, name) : NULL;
    return value && value->type == JSON_STRING;
}

enum mcp_form_kind mcp_form_of_call(const struct mcp_file_arguments *form, const struct json *arguments)
{
    const char *mode = json_str(json_get(arguments, "mode"), ""),
               *encoding = json_str(json_get(arguments, "encoding"), "");
    bool writes = form->kind == MCP_FORM_WHOLE || form->kind == MCP_FORM_APPENDS;
    if (form->kind == MCP_FORM_NONE || !is_text(arguments, form->path))
        return MCP_FORM_NONE;
    if (form->kind == MCP_FORM_MOVES)
        return is_text(arguments, form->target) ? MCP_FORM_MOVES : MCP_FORM_NONE;
    if (!writes)
        return form->kind;
    if (!is_text(arguments, form->content) ||
        (*encoding && strcasecmp(encoding, "utf-8") != 0 && strcasecmp(encoding, "utf8") != 0))
        return MCP_FORM_NAMES;
    bool appends =
        json_bool(json_get(arguments, "append"), false) || strcmp(mode, "a") == 0 || strcmp(mode, "append") == 0;
    return appends ? MCP_FORM_APPENDS : form->kind;
}

bool mcp_file_arguments_name_path(const char *argument)
{
    bool found = strcmp(argument, "source") == 0 || strcmp(argument, "destination") == 0;
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        found |= strcmp(argument, paths[i]) == 0;
    return found;
}

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
