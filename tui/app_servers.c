/* The stage before a session that has tool servers: the screen is there at once, says who is waited for, and can be
 * left. It runs on the loop of the session, which begins when it is over; what is typed meanwhile goes nowhere. */

#include "app_servers.h"
#include "app_inside.h"
#include "dialog.h"
#include "mcp/mcp.h"
#include "say.h"

struct waiting {
    struct app *app;
    struct mcp *mcp;
    struct session session;
    struct journal_reader *lines; /* of nothing, so that whoever looks finds an end */
    struct servers_wait shown;
    struct mcp_status *servers;
    int64_t since_us;
    bool left;
};

static void waiting_fill(struct app *app)
{
    struct waiting *waiting = app->own;
    for (size_t i = 0; i < waiting->shown.count; i++)
        waiting->servers[i] = mcp_status(waiting->mcp, i);
    waiting->shown.waited_s = (double)(loop_now_us(app->loop) - waiting->since_us) / 1e6;
    app->view = (struct view){.mode = VIEW_LIVE, .session = &waiting->session, .lines = waiting->lines, .title = ""};
    app_tick(app, true);
}

static int waiting_submit(struct app *app, const struct intent *intent, struct err *err)
{
    (void)app;
    (void)intent;
    return err_set(err, "nothing runs yet");
}

static int waiting_replay(struct app *app, enum action action, const char *argument, struct err *err)
{
    (void)app;
    (void)action;
    (void)argument;
    return err_set(err, "nothing is open yet");
}

static void waiting_quit(struct app *app)
{
    struct waiting *waiting = app->own;
    waiting->left = true;
    app_leave(app);
}

static const struct stage_ops ops = {
    .fill = waiting_fill, .submit = waiting_submit, .replay = waiting_replay, .quit = waiting_quit};

static void go_on(void *user)
{
    app_leave(((struct waiting *)user)->app);
}

static void server_changed(void *user, const struct mcp_status *status)
{
    (void)status;
    app_dirty(((struct waiting *)user)->app);
}

static void wait_here(struct waiting *waiting)
{
    struct app *app = waiting->app;
    ui_open_dialog(app->ui, dialog_servers_new(&waiting->shown));
    mcp_watch(waiting->mcp, server_changed, waiting);
    mcp_await(waiting->mcp, waiting->shown.limit_s, go_on, waiting);
    app_run(app);
    mcp_await_stop(waiting->mcp);
    mcp_watch(waiting->mcp, NULL, NULL);
}

int app_wait_servers(void *user, struct mcp *mcp, struct loop *loop, double limit_s)
{
    static const char nothing[] = "{\"type\":\"session.started\",\"v\":1}\n";
    struct app *app = user;
    struct err err = ERR_INIT;
    if (mcp_settled(mcp) || limit_s <= 0)
        return 0;
    bool came_from_start = app->term != NULL;
    char *notice = steal(&app->notice); /* for the stage that follows */
    struct waiting waiting = {.app = app,
                              .mcp = mcp,
                              .lines = journal_open_bytes(nothing, sizeof(nothing) - 1, &err),
                              .servers = xcalloc(mcp_count(mcp) + 1, sizeof(*waiting.servers)),
                              .since_us = loop_now_us(loop)};
    if (!waiting.lines)
        BUG("%s", err.text);
    waiting.shown = (struct servers_wait){.servers = waiting.servers,
                                          .count = mcp_count(mcp),
                                          .limit_s = limit_s,
                                          .leave = came_from_start ? "back" : "leave",
                                          .go_on = go_on,
                                          .user = &waiting};
    session_init(&waiting.session);
    int status = app_begin(app, loop, &ops, &waiting);
    if (!status)
        wait_here(&waiting);
    app_end(app);
    session_release(&waiting.session);
    journal_reader_free(waiting.lines);
    free(waiting.servers);
    app->notice = notice;
    if (!waiting.left)
        return status;
    app->status = STATUS_INTERRUPTED;
    if (came_from_start && !app->stopped)
        app->next = (struct stage){.kind = STAGE_START};
    return STATUS_INTERRUPTED;
}
