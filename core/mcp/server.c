/* One MCP server, from its start to its end:
 *
 *   start ─► probe ─► initialize ─► initialized ─► list of tools ─► READY ─► (ends) ─► PAUSING ─► start …
 *              │ a modern one: no handshake            ▲
 *              └───────────────────────────────────────┘
 *
 * A server that was never ready is not restarted: the session does not have its tools anyway. One that was ready is
 * restarted after half a second, then after twice that, and so on. If it fails too often in a row, without being ready
 * for a while in between, it is given up. */

#include "server.h"
#include "base/child.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/redact.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_MAX_US  (30 * (int64_t)1000000)
#define FAILURES_MAX  4
#define UNREAD_MAX    ((size_t)4 << 20) /* bytes that the server has not read */
#define SAID_MAX      2000
#define LOG_LINES_MAX 2000
#define LOG_LINE_MAX  400

/* ---- state ---- */

static void set_state(struct mcp_server *server, enum mcp_state state, const char *why)
{
    char *before = server->why;
    server->state = state;
    server->why = why ? xstrdup(why) : NULL;
    free(before);
    if (server->changed && !server->closing)
        server->changed(server);
}

void mcp_server_log(struct mcp_server *server, const char *what, const char *text, size_t len)
{
    if (server->logged++ < LOG_LINES_MAX)
        log_info("MCP server %s: %s%.*s%s", server->spec->name, what, (int)(len < LOG_LINE_MAX ? len : LOG_LINE_MAX),
                 text, len < LOG_LINE_MAX ? "" : "…");
    else if (server->logged == LOG_LINES_MAX + 1)
        log_info("MCP server %s: log limit reached; the rest is dropped", server->spec->name);
}

static void take_error_line(void *user, const char *line, size_t len)
{
    struct mcp_server *server = user;
    mcp_server_log(server, "stderr: ", line, len);
    if (server->said.len)
        strbuf_addch(&server->said, '\n');
    utf8_scrub(&server->said, line, len < SAID_MAX ? len : SAID_MAX);
    if (server->said.len > SAID_MAX) {
        size_t over = server->said.len - SAID_MAX;
        while (over < server->said.len && (server->said.buf[over] & 0xC0) == 0x80)
            over++;
        CLEANUP(free) char *rest = xstrdup(server->said.buf + over);
        strbuf_reset(&server->said);
        strbuf_addstr(&server->said, rest);
    }
}

static void error_line_too_long(void *user)
{
    static const char text[] = "(a line that is too long)";
    take_error_line(user, text, strlen(text));
}

static void take_errors(struct mcp_server *server, const char *bytes, size_t len)
{
    rpc_lines_feed(&server->errors, bytes, len,
                   &(struct rpc_listener){take_error_line, error_line_too_long, NULL, server});
    if (!len && server->errors.held.len) { /* a last line without a newline */
        struct strbuf last = server->errors.held;
        strbuf_init(&server->errors.held);
        take_error_line(server, last.buf, last.len);
        strbuf_release(&last);
    }
}

/* ---- the end of the process ---- */

static void drop_process(struct mcp_server *server, const char *why)
{
    struct mcp_peer *peer = steal(&server->peer);
    struct process *process = steal(&server->process);
    mcp_list_release(server);
    if (peer) {
        mcp_peer_fail(peer, why);
        mcp_peer_free(peer);
    }
    process_free(process);
}

static void start_again(struct loop_timer *timer)
{
    mcp_server_start(CONTAINER_OF(timer, struct mcp_server, pause));
}

/* The process has ended for this reason. */
static void ended(struct mcp_server *server, const char *why, bool for_good)
{
    bool died_of_probe = server->probing && !server->era_known && !for_good;
    server->probing = false;
    drop_process(server, why);
    if (server->closing)
        return;
    if (died_of_probe) {
        server->era_known = true;
        server->modern = false;
        mcp_server_start(server);
        return;
    }
    if (server->state == MCP_READY && loop_now_us(server->loop) - server->ready_us > server->pace->steady_us)
        server->failures = 0;
    if (for_good || !server->was_ready || ++server->failures > FAILURES_MAX) {
        log_warn("MCP server %s: failed: %s", server->spec->name, why);
        set_state(server, MCP_FAILED, why);
        mcp_calls_failed(server, why);
        return;
    }
    int64_t pause_us = server->pace->pause_us << (server->failures - 1);
    pause_us = pause_us < PAUSE_MAX_US ? pause_us : PAUSE_MAX_US;
    log_warn("MCP server %s: %s; restarting in %.1f s", server->spec->name, why, (double)pause_us / 1e6);
    loop_timer_start(server->loop, &server->pause, loop_now_us(server->loop) + pause_us, start_again);
    set_state(server, MCP_PAUSING, why);
}

static void stop_now(struct loop_task *task)
{
    struct mcp_server *server = CONTAINER_OF(task, struct mcp_server, stop);
    CLEANUP(free) char *why = steal(&server->stop_why);
    ended(server, why, server->stop_for_good);
}

void mcp_server_stop(struct mcp_server *server, bool for_good, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (server->stop_why || server->closing || !server->peer)
        return;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    server->stop_why = strbuf_detach(&text, NULL);
    server->stop_for_good = for_good;
    loop_post(server->loop, &server->stop, stop_now);
}

static const char *folder_of(const struct mcp_server *server)
{
    return server->spec->cwd ? server->spec->cwd : server->workspace;
}

static void why_not_started(struct strbuf *why, const struct mcp_server *server, int code)
{
    const char *name = server->spec->argv[0], *folder = folder_of(server);
    struct err missing = ERR_INIT;
    if (access(folder, X_OK)) /* exec gives the same code for a missing folder and a missing program */
        strbuf_addf(why, "cannot start %s in %s: %s", name, folder, strerror(errno));
    else if (code == ENOENT && !strchr(name, '/') && child_not_found(&missing, name))
        strbuf_addstr(why, missing.text);
    else
        strbuf_addf(why, "cannot start %s: %s", name, strerror(code));
}

static void why_ended(struct strbuf *why, const struct mcp_server *server, const struct process_end *end)
{
    if (end->signum)
        strbuf_addf(why, "it was killed by signal %d (%s)", end->signum, strsignal(end->signum));
    else
        strbuf_addf(why, "it exited with status %d", end->exit_code);
    const char *last = strrchr(server->said.buf, '\n');
    last = last ? last + 1 : server->said.buf;
    if (*last)
        strbuf_addf(why, ", last output: %.*s", (int)utf8_prefix(last, strlen(last), 200), last);
}

static void server_ended(void *user, const struct process_end *end)
{
    struct mcp_server *server = user;
    CLEANUP(strbuf) struct strbuf why = STRBUF_INIT;
    if (server->stop_why)
        return; /* the reason is set already */
    if (end->error)
        why_not_started(&why, server, end->error);
    else
        why_ended(&why, server, end);
    ended(server, why.buf, end->error != 0);
}

/* ---- output of the server ---- */

static void server_output(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    struct mcp_server *server = user;
    if (stream == PROCESS_STDERR)
        take_errors(server, bytes, len);
    else if (server->peer && len && !server->stop_why)
        mcp_peer_receive(server->peer, bytes, len);
}

static void send_bytes(void *user, const char *bytes, size_t len)
{
    struct mcp_server *server = user;
    if (server->process && !server->stop_why && process_unread(server->process) > UNREAD_MAX)
        mcp_server_stop(server, false, "it does not read its input");
    if (server->process && !server->stop_why)
        process_write(server->process, bytes, len);
}

static void on_broken(void *user, const char *why)
{
    mcp_server_stop(user, true, "%s", why);
}

static void on_noise(void *user, const char *text, size_t len)
{
    mcp_server_log(user, "not a message: ", text, len);
}

/* Writes a path as a URL: every byte but letters, digits and a few others as %XX. */
static void write_roots(struct strbuf *out, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    CLEANUP(strbuf) struct strbuf uri = STRBUF_INIT;
    const char *slash = strrchr(path, '/');
    struct json_writer w = json_begin(out);
    strbuf_addstr(&uri, "file://");
    for (const char *at = path; *at; at++) {
        if (strchr(plain, *at))
            strbuf_addch(&uri, *at);
        else
            strbuf_addf(&uri, "%%%02X", (unsigned char)*at);
    }
    json_open(&w, NULL, '{');
    json_open(&w, "roots", '[');
    json_open(&w, NULL, '{');
    json_add_str(&w, "uri", uri.buf);
    json_add_str(&w, "name", slash && slash[1] ? slash + 1 : path);
    json_close(&w, '}');
    json_close(&w, ']');
    json_close(&w, '}');
}

static void take_request(struct mcp_server *server, const struct rpc_message *message)
{
    if (strcmp(message->method, "ping") == 0) {
        mcp_peer_answer(server->peer, message->id, NULL);
    } else if (strcmp(message->method, "roots/list") == 0) {
        CLEANUP(strbuf) struct strbuf roots = STRBUF_INIT;
        write_roots(&roots, server->workspace);
        mcp_peer_answer(server->peer, message->id, roots.buf);
    } else {
        mcp_peer_refuse(server->peer, message->id, RPC_METHOD_NOT_FOUND, "Method not found");
    }
}

static void take_log(struct mcp_server *server, const struct json *params)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const struct json *data = json_get(params, "data");
    if (data && data->type == JSON_STRING)
        strbuf_add(&text, data->text, data->len);
    else if (data)
        json_write(&text, data, JSON_COMPACT);
    mcp_server_log(server, "says: ", text.buf, text.len);
}

static void on_heard(void *user, const struct rpc_message *message)
{
    struct mcp_server *server = user;
    if (message->kind == RPC_REQUEST)
        take_request(server, message);
    else if (strcmp(message->method, "notifications/tools/list_changed") == 0)
        mcp_list_changed(server);
    else if (strcmp(message->method, "notifications/progress") == 0)
        mcp_calls_progress(server, message->params);
    else if (strcmp(message->method, "notifications/message") == 0)
        take_log(server, message->params);
}

static const struct mcp_peer_ops peer_ops = {
    .send = send_bytes, .heard = on_heard, .broken = on_broken, .noise = on_noise};

static const struct process_ops process_ops = {.output = server_output, .ended = server_ended};

/* ---- starting ---- */

static bool names_variable(const char *assignment, const char *name)
{
    size_t len = strlen(name);
    return strncmp(assignment, name, len) == 0 && assignment[len] == '=';
}

/* Passes few variables: those a program needs to run, and those in the server's entry. Some real servers print every
 * variable they see. */
static char **make_env(const struct mcp_spec *spec)
{
    static const char *const usual[] = {"PATH", "HOME", "USER",   "LOGNAME", "SHELL",
                                        "TERM", "LANG", "LC_ALL", "TZ",      "TMPDIR"};
    size_t own = 0, count = 0;
    while (spec->env && spec->env[own])
        own++;
    char **env = xcalloc(own + COUNT_OF(usual) + 1, sizeof(*env));
    for (; count < own; count++) {
        CLEANUP(free) char *name = xmemdup0(spec->env[count], strcspn(spec->env[count], "="));
        if (redact_name_tells(name))
            redact_add(name, spec->env[count] + strlen(name) + 1);
        env[count] = xstrdup(spec->env[count]);
    }
    for (size_t i = 0; i < COUNT_OF(usual); i++) {
        const char *value = getenv(usual[i]);
        bool said = false;
        for (size_t k = 0; k < own; k++)
            said |= names_variable(spec->env[k], usual[i]);
        if (value && !said)
            env[count++] = xasprintf("%s=%s", usual[i], value);
    }
    return env;
}

void mcp_server_listed(struct mcp_server *server)
{
    if (server->state == MCP_READY) { /* this was a repeated listing */
        if (server->changed && mcp_offers_news(server))
            server->changed(server);
        return;
    }
    server->was_ready = true;
    server->ready_us = loop_now_us(server->loop);
    log_info("MCP server %s: ready, protocol %s, %zu tools", server->spec->name, server->protocol, server->tool_count);
    set_state(server, MCP_READY, NULL);
    mcp_calls_ready(server);
}

struct mcp_server *mcp_server_new(struct loop *loop, const struct mcp_spec *spec, const struct mcp_pace *pace,
                                  const char *workspace, struct hash_map *taken)
{
    struct mcp_server *server = xcalloc(1, sizeof(*server));
    server->loop = loop;
    server->spec = spec;
    server->pace = pace;
    server->workspace = workspace;
    server->taken = taken;
    server->errors = (struct rpc_lines)RPC_LINES_INIT;
    strbuf_init(&server->said);
    server->env = make_env(spec);
    return server;
}

static void mcp_handshake(struct mcp_server *server);

void mcp_server_start(struct mcp_server *server)
{
    const struct mcp_spec *spec = server->spec;
    struct err err = ERR_INIT;
    if (spec->disabled) {
        set_state(server, MCP_OFF, NULL);
        return;
    }
    if (spec->refused) {
        set_state(server, MCP_FAILED, spec->refused);
        return;
    }
    strbuf_reset(&server->said);
    server->listing.active = false;
    struct process_spec process = {.argv = (const char *const *)spec->argv,
                                   .env = (const char *const *)server->env,
                                   .cwd = folder_of(server),
                                   .launcher = PROCESS_LAUNCHED,
                                   .keep_input = true};
    server->process = process_start(server->loop, &process, &process_ops, server, &err);
    if (!server->process) {
        ended(server, err.text, true);
        return;
    }
    server->peer = mcp_peer_new(server->loop, &peer_ops, server);
    set_state(server, MCP_STARTING, NULL);
    mcp_handshake(server);
}

/* ---- ending ---- */

void mcp_server_end_input(struct mcp_server *server)
{
    server->closing = true;
    loop_timer_stop(server->loop, &server->pause);
    loop_timer_stop(server->loop, &server->relist);
    loop_unpost(server->loop, &server->stop);
    if (server->process)
        process_close_input(server->process);
}

void mcp_server_terminate(struct mcp_server *server)
{
    if (server->process)
        process_kill(server->process, (server->pace->end_us + server->pace->term_us) / 1000); /* freed before that */
}

bool mcp_server_runs(const struct mcp_server *server)
{
    return server->process != NULL;
}

void mcp_server_free(struct mcp_server *server)
{
    mcp_server_end_input(server);
    drop_process(server, "Keyturn is exiting");
    mcp_calls_failed(server, "Keyturn is exiting");
    for (size_t i = 0; i < server->tool_count; i++)
        mcp_tool_free(server->tools[i]);
    for (size_t i = 0; i < server->retired_count; i++)
        mcp_tool_free(server->retired[i]);
    free(server->tools);
    free(server->retired);
    argv_free(server->env);
    rpc_lines_release(&server->errors);
    strbuf_release(&server->said);
    free(server->why);
    free(server->stop_why);
    free(server->title);
    free(server->version);
    free(server);
}

/* ---- handshake ----
 *
 * The probe (server/discover) finds out which era of the protocol the server speaks. Anything but a clear answer means
 * the old one. Even if the server exits because of the probe: then it is started again without a probe. The program
 * remembers the result as long as it runs. */

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
        mcp_server_stop(server, true, "it uses protocol version \"%.40s\", which Keyturn does not support", version);
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
    if (!lists(supported, MODERN)) { /* a modern server of another version may also speak the old protocol */
        for (size_t i = 0; i < COUNT_OF(versions); i++)
            if (lists(supported, versions[i])) {
                initialize(server);
                return;
            }
        mcp_server_stop(server, true, "it uses no protocol version that Keyturn supports");
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

/* Call it for a process that was just started. */
static void mcp_handshake(struct mcp_server *server)
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
