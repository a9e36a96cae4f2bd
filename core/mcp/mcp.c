/* The MCP servers of a session: opens and closes them, waits for them, and adds their tools to the registry. */

#include "mcp.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "server.h"
#include "tools/registry.h"
#include <string.h>

#define SECOND ((int64_t)1000000)

const struct mcp_pace mcp_pace_usual = {.start_us = 30 * SECOND,
                                        .probe_us = 3 * SECOND,
                                        .ask_us = 10 * SECOND,
                                        .ping_us = 10 * SECOND,
                                        .pause_us = SECOND / 2,
                                        .steady_us = 60 * SECOND,
                                        .relist_us = SECOND * 3 / 10,
                                        .end_us = 2 * SECOND,
                                        .term_us = SECOND / 2};

static const char *copy_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static const char *const *copy_texts(struct arena *arena, const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    const char **copy = texts ? arena_calloc(arena, count + 1, sizeof(*copy)) : NULL;
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, texts[i]);
    return copy;
}

static struct mcp_spec mcp_spec_copy(struct arena *arena, const struct mcp_spec *spec)
{
    struct mcp_spec copy = *spec;
    struct mcp_rule *rules = arena_calloc(arena, spec->rule_count + 1, sizeof(*rules));
    for (size_t i = 0; i < spec->rule_count; i++)
        rules[i] = (struct mcp_rule){arena_strdup(arena, spec->rules[i].tool), spec->rules[i].effect};
    copy.name = arena_strdup(arena, spec->name);
    copy.argv = copy_texts(arena, spec->argv);
    copy.env = copy_texts(arena, spec->env);
    copy.cwd = copy_text(arena, spec->cwd);
    copy.rules = rules;
    copy.refused = copy_text(arena, spec->refused);
    copy.note = copy_text(arena, spec->note);
    return copy;
}

struct mcp {
    struct tool_source source;
    struct loop *loop;
    struct mcp_pace pace;
    char *workspace;
    struct arena arena; /* of the entries: the config file may be read again meanwhile */
    struct mcp_server **servers;
    size_t count;
    struct hash_map taken;
    void (*changed)(void *user, const struct mcp_status *status);
    void *user;
    bool closing;
    struct loop_timer limit, look;
    void (*awaited)(void *user);
    void *awaiting;
};

#define LOOK_US ((int64_t)10000)

static struct mcp_status status_of(const struct mcp_server *server)
{
    struct mcp_status status = {.name = server->spec->name,
                                .state = server->state,
                                .why = server->why,
                                .title = server->title,
                                .version = server->version,
                                .protocol = server->protocol,
                                .said = server->said.buf,
                                .trusted = server->spec->trust,
                                .note = server->spec->note,
                                .offer_count = server->tool_count};
    for (size_t i = 0; i < server->tool_count; i++)
        status.tool_count += !server->tools[i]->left_out && !server->tools[i]->gone;
    status.news = mcp_offers_news(server);
    return status;
}

static void server_changed(struct mcp_server *server)
{
    struct mcp *mcp = server->user;
    struct mcp_status status = status_of(server);
    if (mcp->changed)
        mcp->changed(mcp->user, &status);
}

struct mcp *mcp_open(struct loop *loop, const struct mcp_specs *specs, const char *workspace)
{
    struct mcp *mcp = xcalloc(1, sizeof(*mcp));
    mcp->loop = loop;
    mcp->pace = specs->pace ? *specs->pace : mcp_pace_usual;
    mcp->workspace = xstrdup(workspace);
    mcp->servers = xcalloc(specs->count + 1, sizeof(*mcp->servers));
    for (; mcp->count < specs->count; mcp->count++) {
        struct mcp_spec *spec = arena_alloc(&mcp->arena, sizeof(*spec));
        *spec = mcp_spec_copy(&mcp->arena, &specs->items[mcp->count]);
        struct mcp_server *server = mcp_server_new(loop, spec, &mcp->pace, mcp->workspace, &mcp->taken);
        server->changed = server_changed;
        server->user = mcp;
        mcp->servers[mcp->count] = server;
        mcp_server_start(server);
    }
    return mcp;
}

void mcp_watch(struct mcp *mcp, void (*changed)(void *user, const struct mcp_status *status), void *user)
{
    mcp->changed = changed;
    mcp->user = user;
}

/* ---- waiting ---- */

static bool settled(const struct mcp_server *server)
{
    if (server->state == MCP_READY)
        return !server->listing.active && !loop_timer_armed(&server->relist);
    return server->state != MCP_STARTING;
}

bool mcp_settled(const struct mcp *mcp)
{
    for (size_t i = 0; i < mcp->count; i++)
        if (!settled(mcp->servers[i]))
            return false;
    return true;
}

static bool all_gone(const struct mcp *mcp)
{
    for (size_t i = 0; i < mcp->count; i++)
        if (mcp_server_runs(mcp->servers[i]))
            return false;
    return true;
}

void mcp_await_stop(struct mcp *mcp)
{
    loop_timer_stop(mcp->loop, &mcp->limit);
    loop_timer_stop(mcp->loop, &mcp->look);
}

static void no_longer(struct mcp *mcp)
{
    mcp_await_stop(mcp);
    mcp->awaited(mcp->awaiting);
}

static void time_is_over(struct loop_timer *timer)
{
    no_longer(CONTAINER_OF(timer, struct mcp, limit));
}

static void look_for_tool(struct loop_timer *timer)
{
    struct mcp *mcp = CONTAINER_OF(timer, struct mcp, look);
    if (mcp->closing ? all_gone(mcp) : mcp_settled(mcp))
        no_longer(mcp);
    else
        loop_timer_start(mcp->loop, timer, loop_now_us(mcp->loop) + LOOK_US, look_for_tool);
}

void mcp_await(struct mcp *mcp, double limit_s, void (*done)(void *user), void *user)
{
    mcp->awaited = done;
    mcp->awaiting = user;
    loop_timer_start(mcp->loop, &mcp->limit, loop_now_us(mcp->loop) + (int64_t)(limit_s * 1e6), time_is_over);
    loop_timer_start(mcp->loop, &mcp->look, loop_now_us(mcp->loop), look_for_tool);
}

static void stop_running(void *user)
{
    loop_stop(((struct mcp *)user)->loop);
}

static void run_for(struct mcp *mcp, double seconds)
{
    mcp_await(mcp, seconds, stop_running, mcp);
    loop_run(mcp->loop);
    mcp_await_stop(mcp);
}

bool mcp_wait(struct mcp *mcp, double limit_s)
{
    if (!mcp_settled(mcp))
        run_for(mcp, limit_s);
    return mcp_settled(mcp);
}

void mcp_close(struct mcp *mcp)
{
    if (!mcp)
        return;
    mcp->changed = NULL;
    mcp->closing = true;
    for (size_t i = 0; i < mcp->count; i++) {
        mcp_server_end_input(mcp->servers[i]);
        if (mcp->servers[i]->state != MCP_READY) /* it has no work to finish yet */
            mcp_server_terminate(mcp->servers[i]);
    }
    if (!all_gone(mcp))
        run_for(mcp, (double)mcp->pace.end_us / 1e6);
    for (size_t i = 0; i < mcp->count; i++)
        mcp_server_terminate(mcp->servers[i]);
    if (!all_gone(mcp))
        run_for(mcp, (double)mcp->pace.term_us / 1e6);
    for (size_t i = 0; i < mcp->count; i++)
        mcp_server_free(mcp->servers[i]); /* this kills the process */
    free(mcp->servers);
    free(mcp->workspace);
    arena_release(&mcp->arena);
    hash_map_release(&mcp->taken);
    free(mcp);
}

/* ---- tools ---- */

/* Leaves a server alone that is starting or restarting. */
static void adopt(struct tool_source *source, struct registry *registry, int64_t turn, struct tool_changes *changes)
{
    struct mcp *mcp = CONTAINER_OF(source, struct mcp, source);
    (void)turn;
    for (size_t i = 0; i < mcp->count; i++)
        if (mcp->servers[i]->state == MCP_FAILED || (mcp->servers[i]->state == MCP_READY && settled(mcp->servers[i])))
            mcp_offers_adopt(mcp->servers[i], registry, changes);
}

struct tool_source *mcp_source(struct mcp *mcp)
{
    mcp->source.adopt = adopt;
    return &mcp->source;
}

void mcp_register(struct mcp *mcp, struct registry *registry)
{
    struct tool_changes changes = {0};
    adopt(&mcp->source, registry, 1, &changes);
    tool_changes_release(&changes);
}

size_t mcp_count(const struct mcp *mcp)
{
    return mcp->count;
}

struct mcp_status mcp_status(const struct mcp *mcp, size_t index)
{
    return status_of(mcp->servers[index]);
}

struct mcp_offer mcp_offer(const struct mcp *mcp, size_t server, size_t index)
{
    const struct mcp_tool *tool = mcp->servers[server]->tools[index];
    return (struct mcp_offer){.name = tool->name,
                              .qualified = tool->qualified,
                              .left_out = tool->left_out,
                              .class = tool->class,
                              .claimed = tool->claimed};
}

void mcp_status_write(struct strbuf *out, const struct mcp_status *status)
{
    CLEANUP(free) char *why = redact_copy(status->why); /* it may hold the server's last output */
    strbuf_addf(out, "MCP server %s: ", status->name);
    switch (status->state) {
    case MCP_OFF:
        strbuf_addstr(out, "disabled");
        break;
    case MCP_STARTING:
        strbuf_addstr(out, "not ready yet");
        break;
    case MCP_READY:
        strbuf_addf(out, "ready, %zu tool%s", status->tool_count, status->tool_count == 1 ? "" : "s");
        if (status->news)
            strbuf_addstr(out, "; the next turn has the new tools");
        break;
    case MCP_PAUSING:
        strbuf_addf(out, "%s; restarting", why);
        break;
    case MCP_FAILED:
        strbuf_addf(out, "failed: %s", why);
        break;
    }
}
