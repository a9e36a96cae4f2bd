#pragma once
/* Tool servers on stdio (the Model Context Protocol): processes that the user named, whose tools a session has beside
 * its own.
 *
 *     mcp = mcp_open(loop, &specs, workspace);   starts them all, at once
 *     mcp_wait(mcp, MCP_WAIT_S);                 runs the loop until each is ready or failed, or the time is over
 *     mcp_register(mcp, registry);               the tools of those that are ready
 *     …                                          the session
 *     mcp_close(mcp);                            asks them to end, and ends them
 *
 * The tools of a turn are those that were there when it began: that is what its recording says. A server that comes
 * later, or offers others later, has them in the next turn (mcp_source); a tool that was changed under a turn's feet is
 * refused. One that ends is started again, after a pause that grows, and calls wait for it as long as their own time
 * allows. */

#include "classify.h"
#include "spec.h"

struct loop;
struct mcp;
struct mcp_server;
struct registry;
struct tool_source;

#define MCP_WAIT_S 10 /* how long a session waits for its servers */

enum mcp_state {
    MCP_OFF,      /* the user switched it off */
    MCP_STARTING, /* not ready yet */
    MCP_READY,
    MCP_PAUSING, /* it ended, and is started again soon */
    MCP_FAILED,  /* it is not there and will not be */
};

/* A tool as doctor shows it. */
struct mcp_offer {
    const char *name;      /* the server's own; hostile text */
    const char *qualified; /* what a model calls it */
    const char *left_out;  /* why the session does not have it; NULL: it has */
    struct mcp_class class, claimed;
};

struct mcp_status {
    const char *name; /* in the configuration */
    enum mcp_state state;
    const char *why;             /* of PAUSING and FAILED; what is wrong */
    const char *title, *version; /* what it calls itself, hostile text; NULL: it has not said */
    const char *protocol;        /* the version spoken; NULL: none yet */
    const char *said;            /* the last it wrote to its standard error, hostile text; "" */
    bool trusted;
    const char *note;   /* of its entry in the configuration */
    size_t tool_count;  /* that a session has */
    size_t offer_count; /* with those that are left out */
    bool news;          /* the next turn has other tools of it */
};

/* The specs are copied. */
struct mcp *mcp_open(struct loop *loop, const struct mcp_specs *specs, const char *workspace);
void mcp_close(struct mcp *mcp); /* NULL is fine; runs the loop for a moment */
/* Told on the loop whenever a server's state has changed. */
void mcp_watch(struct mcp *mcp, void (*changed)(void *user, const struct mcp_status *status), void *user);
/* Whether nobody needs to be waited for: each is ready, failed or switched off. */
bool mcp_settled(const struct mcp *mcp);
/* Calls done(user) once, from the loop: when all are settled, or when the time is over. One at a time. */
void mcp_await(struct mcp *mcp, double limit_s, void (*done)(void *user), void *user);
void mcp_await_stop(struct mcp *mcp);
/* The same, running the loop. False when one of them was still not ready at the end. */
bool mcp_wait(struct mcp *mcp, double limit_s);
/* Adds the tools of the servers that are ready. One that the registry refuses is left out. */
void mcp_register(struct mcp *mcp, struct registry *registry);
/* Who brings a registry up to date later: what servers offer then, without what failed ones did. */
struct tool_source *mcp_source(struct mcp *mcp);
size_t mcp_count(const struct mcp *mcp);
struct mcp_status mcp_status(const struct mcp *mcp, size_t index);
struct mcp_offer mcp_offer(const struct mcp *mcp, size_t server, size_t index);
/* "fs: ready, 14 tools", "fs: failed: …": a line for people. */
void mcp_status_write(struct strbuf *out, const struct mcp_status *status);
