/* How a conversation begins.
 *
 * The probe (server/discover) is how the way of talking is found out; anything but a clear answer means the old one,
 * also that the server ends for being asked: then it is started once more and not asked again. What was found is
 * remembered as long as the program runs. */

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "server.h"
#include <string.h>

#define MODERN "2026-07-28"
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

char *mcp_server_params(const struct mcp_server *server, const char *members, const char *progress_token)
{
    CLEANUP(strbuf) struct strbuf meta = STRBUF_INIT;
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&meta);
    json_open(&w, NULL, '{');
    if (server->modern || server->probing) {
        json_add_str(&w, "io.modelcontextprotocol/protocolVersion", MODERN);
        json_add_raw(&w, "io.modelcontextprotocol/clientInfo",
                     "{\"name\":\"keyturn\",\"version\":\"" KEYTURN_VERSION "\"}");
        json_add_raw(&w, "io.modelcontextprotocol/clientCapabilities", "{}");
    }
    if (progress_token)
        json_add_str(&w, "progressToken", progress_token);
    json_close(&w, '}');
    strbuf_addf(&out, "{%s", members);
    if (meta.len > 2)
        strbuf_addf(&out, "%s\"_meta\":%s", *members ? "," : "", meta.buf);
    strbuf_addch(&out, '}');
    return strbuf_detach(&out, NULL);
}

static char *copy_short(const struct json *text)
{
    const char *from = json_str(text, NULL);
    return from ? xmemdup0(from, utf8_prefix(from, strlen(from), 100)) : NULL;
}

static void take_names(struct mcp_server *server, const struct json *result)
{
    const struct json *info = json_get(result, "serverInfo");
    free(server->title);
    free(server->version);
    server->title = copy_short(json_get(info, "name"));
    server->version = copy_short(json_get(info, "version"));
}

static void handshake_done(struct mcp_server *server, bool offers_tools)
{
    server->offers_tools = offers_tools;
    if (offers_tools)
        mcp_list_tools(server);
    else
        mcp_server_listed(server);
}

static void on_initialized(void *user, const struct rpc_message *answer, const char *why)
{
    struct mcp_server *server = user;
    if (!answer || answer->kind == RPC_ERROR) {
        mcp_server_stop(server, false, "initialize: %.300s", answer ? answer->text : why);
        return;
    }
    const char *version = json_str(json_get(answer->result, "protocolVersion"), "");
    server->protocol = NULL;
    for (size_t i = 0; i < COUNT_OF(versions); i++)
        if (strcmp(versions[i], version) == 0)
            server->protocol = versions[i];
    if (!server->protocol) {
        mcp_server_stop(server, true, "it speaks version \"%.40s\" of the protocol, which is not known here", version);
        return;
    }
    take_names(server, answer->result);
    mcp_peer_tell(server->peer, "notifications/initialized", NULL);
    const struct json *tools = json_get(json_get(answer->result, "capabilities"), "tools");
    handshake_done(server, tools && tools->type == JSON_OBJECT);
}

static void initialize(struct mcp_server *server)
{
    CLEANUP(strbuf) struct strbuf params = STRBUF_INIT;
    strbuf_addf(&params,
                "{\"protocolVersion\":\"%s\",\"capabilities\":{\"roots\":{\"listChanged\":true}},"
                "\"clientInfo\":{\"name\":\"keyturn\",\"version\":\"" KEYTURN_VERSION "\"}}",
                versions[0]);
    server->probing = false;
    server->era_known = true;
    server->modern = false;
    mcp_peer_ask(server->peer, "initialize", params.buf, server->pace->start_us, on_initialized, server);
}

static bool lists(const struct json *list, const char *version)
{
    json_each (item, list)
        if (strcmp(json_str(item, ""), version) == 0)
            return true;
    return false;
}

static void on_discovered(void *user, const struct rpc_message *answer, const char *why)
{
    struct mcp_server *server = user;
    (void)why;
    if (!server->peer || server->closing) /* it ended meanwhile */
        return;
    const struct json *supported = NULL;
    if (answer && answer->kind == RPC_RESULT)
        supported = json_get(answer->result, "supportedVersions");
    else if (answer && answer->code == RPC_UNSUPPORTED_VERSION)
        supported = json_get(answer->data, "supported");
    if (!supported) {
        initialize(server);
        return;
    }
    if (!lists(supported, MODERN)) { /* a modern server of another version may have the old way too */
        for (size_t i = 0; i < COUNT_OF(versions); i++)
            if (lists(supported, versions[i])) {
                initialize(server);
                return;
            }
        mcp_server_stop(server, true, "it speaks no version of the protocol that is known here");
        return;
    }
    server->probing = false;
    server->era_known = server->modern = true;
    server->protocol = MODERN;
    if (answer->kind == RPC_RESULT)
        take_names(server, answer->result);
    const struct json *capabilities = answer->kind == RPC_RESULT ? json_get(answer->result, "capabilities") : NULL;
    handshake_done(server, !capabilities || json_get(capabilities, "tools"));
}

void mcp_handshake(struct mcp_server *server)
{
    if (!server->era_known) {
        server->probing = true;
        CLEANUP(free) char *params = mcp_server_params(server, "", NULL);
        mcp_peer_ask(server->peer, "server/discover", params, server->pace->probe_us, on_discovered, server);
    } else if (server->modern) {
        handshake_done(server, server->offers_tools);
    } else {
        initialize(server);
    }
}
