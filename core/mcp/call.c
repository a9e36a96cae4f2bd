/* Runs one call of a server's tool, from its arguments to its reply.
 *
 *   only reads ────────────────────────────────────────────────► CALL ──► reply
 *   needs approval, first execution:
 *      arguments hold the file's new content ► READ ───────────► proposal (a diff)
 *      names a file, has a dry run ───► READ ─► TELL ─► PATCH ─► proposal (a diff)
 *      anything else, or no diff can be made ──────────────────► "Write confirmation required" (its arguments)
 *   needs approval, second execution:
 *      without a change set ───────────────────────────────────► CALL ──► reply
 *      as proposed, or only with other content ────────────────► CALL ──► VERIFY ──► reply
 *      otherwise (some hunks of an edit) ──────────────────────► COMMIT: Keyturn itself writes what was approved
 *
 * Without a diff, the question begins with the state of the files that the arguments name.
 *
 * TELL is a call with the tool's own dry-run argument. The server only claims that it changes nothing, so the call
 * reads the file again before it asks. VERIFY checks whether the server wrote what was approved. The call cannot undo
 * that write, but it reports a difference, and it kept the old bytes beforehand.
 *
 * A pool thread turns a long answer into a reply (CONTENT), because that would block the loop for too long.
 *
 * A call whose server is restarting waits for it. Every step has its own limit, because the executor has none while a
 * write is in progress. */

#include "base/arena.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "content.h"
#include "server.h"
#include "tools/change.h"
#include <string.h>

#define PROGRESS_EVERY_US ((int64_t)100000)
#define PROGRESS_MAX      500
#define PROGRESS_CHARS    200

enum stage { STAGE_READ, STAGE_TELL, STAGE_PATCH, STAGE_CALL, STAGE_CONTENT, STAGE_VERIFY, STAGE_COMMIT };

struct mcp_call {
    struct mcp_call *next;
    struct tool_run *run;
    struct mcp_tool *tool;
    enum stage stage;
    bool cancelled;
    bool verify;         /* compare the file with what was approved, after the call */
    char *arguments;     /* of the request */
    int64_t request;     /* its id; 0: the call waits for its server */
    int64_t due_us;      /* deadline for its answer */
    struct strbuf asked; /* questions of the server, which Keyturn declined */
    char *token;
    struct loop_timer timer; /* runs while the call waits */
    struct loop_work work;
    struct change_set *set;
    struct strbuf told; /* the answer to a dry run */
    char *line;         /* a long answer, until a thread has parsed it */
    size_t line_len;
    bool rehearsed;      /* it answers a dry run */
    struct strbuf named; /* state of the files that the call names, if there is no diff */
    struct tool_reply reply;
    struct err err;
    int failed;
    size_t progress;
    int64_t progress_us;
};

static struct mcp_server *server_of(const struct mcp_call *call)
{
    return call->tool->server;
}

static void finish(struct mcp_call *call, struct tool_reply *take_reply)
{
    struct mcp_server *server = server_of(call);
    struct mcp_call **place = &server->calls;
    struct tool_run *run = call->run;
    while (*place != call)
        place = &(*place)->next;
    *place = call->next;
    loop_timer_stop(server->loop, &call->timer);
    struct tool_reply reply = *take_reply;
    *take_reply = (struct tool_reply){0};
    tool_reply_release(&call->reply);
    change_set_free(call->set);
    strbuf_release(&call->told);
    strbuf_release(&call->named);
    strbuf_release(&call->asked);
    free(call->arguments);
    free(call->token);
    free(call->line);
    free(call);
    run->state = NULL;
    tool_run_finish(run, &reply);
}

__attribute__((format(printf, 3, 4))) static void finish_error(struct mcp_call *call, bool final, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct tool_reply reply = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    tool_reply_error(&reply, "%s", text.buf);
    reply.final = final;
    finish(call, &reply);
}

/* Asks for approval without a diff: the question shows the arguments. */
static void finish_asking(struct mcp_call *call)
{
    struct tool_reply reply = {0};
    if (call->named.len)
        tool_run_say(call->run, "stdout", call->named.buf);
    tool_reply_output(&reply, xstrdup("{\"needs_confirmation\":true}"));
    finish(call, &reply);
}

/* ---- requests ---- */

static void on_ponged(void *user, const struct rpc_message *answer, const char *why)
{
    struct mcp_server *server = user;
    if (!answer && server->peer)
        mcp_server_stop(server, false, "it no longer responds: %s", why);
}

/* Pings a server that owes an answer. The newer protocol has no ping. */
static void look_after(struct mcp_server *server)
{
    if (server->peer && !server->modern && !server->closing)
        mcp_peer_ask(server->peer, "ping", NULL, server->pace->ping_us, on_ponged, server);
}

/* Tells the server to stop working on a request whose answer is no longer needed. */
static void give_up(struct mcp_server *server, int64_t request, const char *reason)
{
    if (!server->peer)
        return;
    CLEANUP(free) char *params = xasprintf("{\"requestId\":%lld,\"reason\":\"%s\"}", (long long)request, reason);
    mcp_peer_tell(server->peer, "notifications/cancelled", params);
    look_after(server);
}

static void start_job(struct mcp_call *call, enum stage stage);
static void send_call(struct mcp_call *call, const char *more);

/* The server asks for input first. Declines once, if the protocol can, and keeps the questions for the outcome. */
static bool decline(struct mcp_call *call, const struct json *result)
{
    CLEANUP(strbuf) struct strbuf answers = STRBUF_INIT;
    if (!mcp_input_wanted(result) || call->asked.len)
        return false;
    mcp_input_write(&call->asked, result);
    if (!mcp_input_decline(&answers, result))
        return false;
    tool_run_say(call->run, "stderr", call->asked.buf);
    send_call(call, answers.buf);
    return true;
}

/* Fails the call, with the server's questions if it had any. */
static void finish_failed(struct mcp_call *call, const char *said)
{
    if (call->asked.len)
        finish_error(call, false, "MCP server %s requested input, which Keyturn does not support: %s\n(%s)",
                     server_of(call)->spec->name, call->asked.buf, said);
    else
        finish_error(call, false, "%s", said);
}

static void take_result(struct mcp_call *call, const struct json *result)
{
    mcp_content_reply(result, &call->reply);
    if (call->rehearsed && call->reply.type != REPLY_ERROR)
        mcp_content_text(result, &call->told);
}

static void after_result(struct mcp_call *call)
{
    if (call->reply.type == REPLY_ERROR) {
        finish_failed(call, call->reply.error);
    } else if (call->rehearsed) {
        tool_reply_release(&call->reply);
        start_job(call, STAGE_PATCH);
    } else if (call->verify) {
        start_job(call, STAGE_VERIFY);
    } else {
        finish(call, &call->reply);
    }
}

static void on_answered(void *user, const struct rpc_message *answer, const char *why)
{
    struct mcp_call *call = user;
    struct mcp_server *server = server_of(call);
    int64_t request = call->request;
    call->request = 0;
    if (!answer)
        give_up(server, request, loop_now_us(server->loop) < call->due_us ? "no usable answer" : "timeout");
    if (answer && answer->kind == RPC_RESULT && decline(call, answer->result))
        return;
    call->rehearsed = call->stage == STAGE_TELL;
    if (!answer && call->rehearsed) {
        finish_failed(call, why); /* the dry run failed: the model gets the reason, and the user gets no question */
    } else if (!answer) {
        finish_error(call, false, "MCP server %s: %s%s", server->spec->name, why,
                     call->tool->class.bits ? "; the call may have run" : "");
    } else if (answer->kind == RPC_ERROR) {
        finish_failed(call, answer->text);
    } else if (answer->line_len > RPC_LONG) {
        call->line = xmemdup0(answer->line, answer->line_len);
        call->line_len = answer->line_len;
        start_job(call, STAGE_CONTENT);
    } else {
        take_result(call, answer->result);
        after_result(call);
    }
}

static void waited_enough(struct loop_timer *timer)
{
    struct mcp_call *call = CONTAINER_OF(timer, struct mcp_call, timer);
    finish_error(call, false, "MCP server %s is not ready", server_of(call)->spec->name);
}

static double limit_s(const struct mcp_call *call)
{
    double own = server_of(call)->spec->timeout_s;
    return own > 0 ? own : MCP_CALL_S;
}

/* `more`: further members of the parameters, each after a comma. */
static void send_call(struct mcp_call *call, const char *more)
{
    struct mcp_server *server = server_of(call);
    CLEANUP(strbuf) struct strbuf members = STRBUF_INIT;
    free(call->token);
    call->token = xasprintf("keyturn-%u", ++server->tokens);
    loop_timer_stop(server->loop, &call->timer);
    strbuf_addstr(&members, "\"name\":");
    json_write_str(&members, call->tool->name, strlen(call->tool->name), JSON_COMPACT);
    strbuf_addf(&members, ",\"arguments\":%s%s", call->arguments, more);
    CLEANUP(free) char *params = mcp_server_params(server, members.buf, call->token);
    int64_t limit_us = (int64_t)(limit_s(call) * 1e6);
    call->due_us = loop_now_us(server->loop) + limit_us;
    call->request = mcp_peer_ask(server->peer, "tools/call", params, limit_us, on_answered, call);
}

static const char *refused(const struct mcp_tool *tool)
{
    if (tool->gone)
        return "the server removed this tool";
    return tool->heir ? "the server changed this tool; the next turn has the new version" : NULL;
}

/* Sends the call, or lets it wait for its server. */
static void place_call(struct mcp_call *call, enum stage stage, char *take_arguments)
{
    struct mcp_server *server = server_of(call);
    free(call->arguments);
    call->arguments = take_arguments;
    call->stage = stage;
    if (refused(call->tool)) {
        finish_error(call, true, "%s", refused(call->tool));
    } else if (server->state == MCP_READY && server->peer) {
        send_call(call, "");
    } else if (server->state == MCP_FAILED || server->closing) {
        finish_error(call, true, "MCP server %s is not running: %s", server->spec->name,
                     server->why ? server->why : "closed");
    } else {
        loop_timer_start(server->loop, &call->timer, loop_now_us(server->loop) + (int64_t)(limit_s(call) * 1e6),
                         waited_enough);
    }
}

static bool waits(const struct mcp_call *call)
{
    return !call->request && (call->stage == STAGE_CALL || call->stage == STAGE_TELL);
}

void mcp_calls_ready(struct mcp_server *server)
{
    for (struct mcp_call *call = server->calls, *next; call; call = next) {
        next = call->next;
        if (waits(call) && refused(call->tool))
            finish_error(call, true, "%s", refused(call->tool));
        else if (waits(call))
            send_call(call, "");
    }
}

void mcp_calls_failed(struct mcp_server *server, const char *why)
{
    for (struct mcp_call *call = server->calls, *next; call; call = next) {
        next = call->next;
        if (waits(call))
            finish_error(call, true, "MCP server %s is not running: %s", server->spec->name, why);
    }
}

static char *own_arguments(const struct mcp_call *call)
{
    struct strbuf text = STRBUF_INIT;
    json_write(&text, call->run->arguments, JSON_COMPACT);
    return strbuf_detach(&text, NULL);
}

static char *arguments_with(const struct mcp_call *call, const char *name, const char *value)
{
    struct strbuf text = STRBUF_INIT;
    mcp_arguments_with(&text, call->run->arguments, name, value);
    return strbuf_detach(&text, NULL);
}

/* ---- jobs on the pool ---- */

static const char *argument(const struct mcp_call *call, const char *name)
{
    return json_str(json_get(call->run->arguments, name), NULL);
}

static void read_files(struct mcp_call *call, struct beneath *root)
{
    const struct json *arguments = call->run->arguments;
    const struct mcp_file_arguments *form = &call->tool->form;
    const char *cwd = server_of(call)->spec->cwd;
    const struct json *content = form->content ? json_get(arguments, form->content) : NULL;
    enum mcp_form_kind kind = mcp_form_of_call(form, arguments);
    if (kind == MCP_FORM_MOVES)
        call->set = mcp_preview_move(root, argument(call, form->path), argument(call, form->target), cwd, &call->err);
    else if (kind != MCP_FORM_NONE)
        call->set = mcp_preview_begin(root, argument(call, form->path), cwd, &call->err);
    if (call->set && kind == MCP_FORM_WHOLE)
        mcp_preview_content(call->set, content->text, content->len);
    else if (call->set && kind == MCP_FORM_APPENDS)
        mcp_preview_append(call->set, content->text, content->len);
    else if (call->set && kind == MCP_FORM_DELETES)
        mcp_preview_delete(call->set);
    call->failed = call->set ? 0 : -1;
    if (!form->elsewhere)
        mcp_preview_name(&call->named, root, arguments, cwd);
}

/* Parses the line a second time; the first time only found out which request it answers. */
static void read_line(struct mcp_call *call)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct json *value = rpc_parse(&arena, call->line, call->line_len, &err);
    take_result(call, json_get(value, "result"));
}

static void run_job(struct loop_work *work)
{
    struct mcp_call *call = CONTAINER_OF(work, struct mcp_call, work);
    struct beneath *root = call->run->env->root;
    switch (call->stage) {
    case STAGE_READ:
        read_files(call, root);
        break;
    case STAGE_CONTENT:
        read_line(call);
        break;
    case STAGE_PATCH:
        call->failed = mcp_preview_check(call->set, root, false, &call->err);
        if (!call->failed && mcp_preview_patch(call->set, call->told.buf, &call->err))
            change_set_free(steal(&call->set));
        break;
    case STAGE_VERIFY:
        call->failed = mcp_preview_check(call->run->approved, root, true, &call->err);
        break;
    case STAGE_COMMIT:
        call->failed = change_set_commit(call->run->approved, root, &call->err);
        break;
    default:
        BUG("no job in stage %d", (int)call->stage);
    }
}

static void propose(struct mcp_call *call)
{
    struct mcp_tool *tool = call->tool;
    struct tool_reply reply = {0};
    free(tool->asked_call);
    tool->asked_call = xstrdup(call->run->call);
    change_set_digest(call->set, tool->asked_digest);
    tool_reply_propose_own(&reply, steal(&call->set));
    finish(call, &reply);
}

static void after_read(struct mcp_call *call)
{
    if (call->failed)
        finish_asking(call);
    else if (mcp_preview_changes(call->set))
        propose(call);
    else if (call->tool->form.dry_run)
        place_call(call, STAGE_TELL, arguments_with(call, call->tool->form.dry_run, "true"));
    else
        finish_asking(call); /* nothing would change, or only the server knows what would */
}

static void after_patch(struct mcp_call *call)
{
    if (call->failed)
        finish_error(call, true, "the server does not support a dry run: %s", call->err.text);
    else if (call->set && mcp_preview_changes(call->set))
        propose(call);
    else {
        /* Without a diff, show the user what the server's dry run answered. */
        if (call->told.len)
            tool_run_say(call->run, "stdout", call->told.buf);
        finish_asking(call);
    }
}

static void job_done(struct loop_work *work)
{
    struct mcp_call *call = CONTAINER_OF(work, struct mcp_call, work);
    if (call->cancelled)
        finish_error(call, false, "canceled");
    else if (call->stage == STAGE_READ)
        after_read(call);
    else if (call->stage == STAGE_PATCH)
        after_patch(call);
    else if (call->stage == STAGE_CONTENT)
        after_result(call);
    else if (call->failed && call->stage == STAGE_VERIFY)
        finish_error(call, false, "the server reported success, but %s (the old content is saved)", call->err.text);
    else if (call->failed)
        finish_error(call, false, "nothing was written: %s", call->err.text);
    else {
        if (call->stage == STAGE_COMMIT)
            tool_reply_output(&call->reply, xstrdup("{\"text\":\"Written as approved, not by the server: it could only "
                                                    "have written all of it.\"}"));
        finish(call, &call->reply);
    }
}

static void start_job(struct mcp_call *call, enum stage stage)
{
    call->stage = stage;
    loop_work_start(call->run->env->loop, &call->work, run_job, job_done);
}

/* ---- starting a call ---- */

static void replace_argument(struct strbuf *text, const char *name, const char *value)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf with = STRBUF_INIT;
    const struct json *arguments = json_parse(&arena, text->buf, text->len, NULL);
    mcp_arguments_with(&with, arguments, name, value);
    strbuf_reset(text);
    strbuf_add(text, with.buf, with.len);
}

/* Sends the server the resolved path that the user saw, not a link to it: a link could change meanwhile. */
static void replace_path(struct strbuf *text, const struct mcp_call *call, const char *name,
                         const struct change *change)
{
    const char *asked = name ? argument(call, name) : NULL;
    if (!asked || !change->through)
        return;
    CLEANUP(free)
    char *path =
        *asked == '/' ? xasprintf("%s/%s", beneath_path(call->run->env->root), change->path) : xstrdup(change->path);
    CLEANUP(strbuf) struct strbuf value = STRBUF_INIT;
    json_write_str(&value, path, strlen(path), JSON_COMPACT);
    replace_argument(text, name, value.buf);
}

/* Returns the call's arguments with resolved paths and, if not NULL, another content (JSON). */
static char *approved_arguments(const struct mcp_call *call, const char *content)
{
    const struct change_set *approved = call->run->approved;
    const struct mcp_file_arguments *form = &call->tool->form;
    struct strbuf text = STRBUF_INIT;
    json_write(&text, call->run->arguments, JSON_COMPACT);
    if (approved->count > 0)
        replace_path(&text, call, form->path, &approved->items[0]);
    if (approved->count > 1)
        replace_path(&text, call, form->target, &approved->items[1]);
    if (content)
        replace_argument(&text, form->content, content);
    return strbuf_detach(&text, NULL);
}

/* Second execution of a call whose change set was approved. */
static void write_approved(struct mcp_call *call)
{
    const struct change_set *approved = call->run->approved;
    const struct mcp_tool *tool = call->tool;
    char digest[HASH_SHA256_HEX];
    change_set_digest(approved, digest);
    bool same =
        tool->asked_call && strcmp(tool->asked_call, call->run->call) == 0 && strcmp(digest, tool->asked_digest) == 0;
    const struct change_side *after = approved->count == 1 ? &approved->items[0].new : NULL;
    call->verify = true;
    if (same) {
        place_call(call, STAGE_CALL, approved_arguments(call, NULL));
    } else if (mcp_form_of_call(&tool->form, call->run->arguments) == MCP_FORM_WHOLE && after && after->exists &&
               utf8_valid(after->bytes, after->len) && !memchr(after->bytes, '\0', after->len)) {
        CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
        json_write_str(&content, after->bytes, after->len, JSON_COMPACT);
        place_call(call, STAGE_CALL, approved_arguments(call, content.buf));
    } else {
        start_job(call, STAGE_COMMIT);
    }
}

void mcp_call_start(struct tool_run *run)
{
    struct mcp_tool *tool = run->tool->data;
    struct mcp_call *call = xcalloc(1, sizeof(*call));
    call->run = run;
    call->tool = tool;
    strbuf_init(&call->told);
    strbuf_init(&call->named);
    strbuf_init(&call->asked);
    call->next = tool->server->calls;
    tool->server->calls = call;
    run->state = call;
    /* A dry run is safe only if the server keeps its promise, so only a trusted server gets one. */
    const char *dry_run = tool->server->spec->trust ? tool->form.dry_run : NULL;
    bool rehearsal = dry_run && json_bool(json_get(run->arguments, dry_run), false);
    if (run->confirm_write && run->approved)
        write_approved(call);
    else if (run->confirm_write || !tool->class.asks || rehearsal)
        place_call(call, STAGE_CALL, own_arguments(call));
    else if (refused(tool))
        finish_error(call, true, "%s", refused(tool));
    else
        start_job(call, STAGE_READ);
}

void mcp_call_cancel(struct tool_run *run)
{
    struct mcp_call *call = run->state;
    if (!call || call->cancelled)
        return;
    struct mcp_server *server = server_of(call);
    call->cancelled = true;
    if (call->stage != STAGE_CALL && call->stage != STAGE_TELL)
        return; /* the job finishes the call when it returns */
    if (call->request && server->peer) {
        mcp_peer_forget(server->peer, call->request);
        give_up(server, call->request, deadline_remaining_s(&run->deadline) > 0 ? "canceled" : "timeout");
    }
    finish_error(call, false, "canceled");
}

void mcp_calls_progress(struct mcp_server *server, const struct json *params)
{
    const char *token = json_str(json_get(params, "progressToken"), NULL);
    struct mcp_call *call = server->calls;
    while (call && !(token && call->token && call->request && strcmp(call->token, token) == 0))
        call = call->next;
    int64_t now_us = loop_now_us(server->loop);
    if (!call || call->progress >= PROGRESS_MAX || now_us - call->progress_us < PROGRESS_EVERY_US)
        return;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const struct json *total = json_get(params, "total");
    const char *message = json_str(json_get(params, "message"), "");
    strbuf_addf(&text, "%.15g", json_num(json_get(params, "progress"), 0));
    if (total && total->type == JSON_NUMBER)
        strbuf_addf(&text, " of %.15g", json_num(total, 0));
    if (*message)
        strbuf_addf(&text, ": %.*s", (int)utf8_prefix(message, strlen(message), PROGRESS_CHARS), message);
    strbuf_addch(&text, '\n');
    call->progress++;
    call->progress_us = now_us;
    tool_run_say(call->run, "progress", text.buf);
}
