#pragma once
/* Tool servers on stdio (the Model Context Protocol): processes that the user configured, whose tools a session has
 * besides its own.
 *
 *     mcp = mcp_open(loop, &specs, workspace);   starts them all, at once
 *     mcp_wait(mcp, MCP_WAIT_S);                 runs the loop until each is ready or failed, or the time is over
 *     mcp_register(mcp, registry);               the tools of those that are ready
 *     …                                          the session
 *     mcp_close(mcp);                            asks them to end, and ends them
 *
 * A turn keeps the tools that were there when it began, as its recording lists them. If a server starts or changes its
 * tools later, the next turn has them (mcp_source). A tool that changed during a turn is refused. A server that ends is
 * started again, after a growing pause. Calls wait for it as long as their own time allows. */

#include "tools/tool.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct mcp;
struct registry;
struct strbuf;
struct tool_source;

/* ---- what the user configured for a server: how to start it and how far to trust it; core/config reads it ---- */

/* The class of one tool or, for "*", the least class of all tools of the server. */
struct mcp_rule {
    const char *tool;
    enum effect effect;
};

struct mcp_spec {
    const char *name;
    const char *const *argv; /* NULL-terminated, the command first; NULL if there is none: see `refused` */
    const char *const *env;  /* NAME=VALUE, NULL-terminated, besides those every server gets; may be NULL */
    const char *cwd;         /* NULL: the workspace */
    bool trust;              /* believe its hints about its tools */
    bool disabled;
    double timeout_s; /* of a call; 0: the default */
    const struct mcp_rule *rules;
    size_t rule_count;
    const char *refused; /* why it cannot be started at all; NULL: it can */
    const char *note;    /* which keys of its entry have no effect here; NULL: none */
    long line;
};

/* Time limits for servers, in microseconds. Only tests change them. */
struct mcp_pace {
    int64_t start_us;  /* for the first answer: package runners are slow */
    int64_t probe_us;  /* for the answer to the probe, which most servers do not know */
    int64_t ask_us;    /* for everything else except calls */
    int64_t ping_us;   /* for a ping, while the server owes an answer */
    int64_t pause_us;  /* before a restart; doubled for each further one */
    int64_t steady_us; /* after being ready for this long, earlier failures no longer count */
    int64_t relist_us; /* before its tools are listed again: servers announce a change several times in a row */
    int64_t end_us;    /* to end after its input is closed */
    int64_t term_us;   /* to end after SIGTERM */
};
extern const struct mcp_pace mcp_pace_usual;

struct mcp_specs {
    struct mcp_spec *items;
    size_t count, room;
    const struct mcp_pace *pace; /* NULL: the default */
};

/* ---- effect classes of tools (offers.h explains how they are determined) ---- */

enum mcp_bits { MCP_WRITES = 1, MCP_NETWORK = 2, MCP_DESTROYS = 4 };

struct mcp_class {
    unsigned bits;      /* enum mcp_bits; 0: it only reads */
    enum effect effect; /* the strongest of them */
    bool idempotent;
    bool asks; /* a call needs approval */
};

/* "NETWORK + DESTRUCTIVE, idempotent" */
void mcp_class_write(struct strbuf *out, const struct mcp_class *class);

/* ---- the servers of a session ---- */

#define MCP_WAIT_S 10 /* how long a session waits for its servers */

enum mcp_state {
    MCP_OFF,      /* the user switched it off */
    MCP_STARTING, /* not ready yet */
    MCP_READY,
    MCP_PAUSING, /* it ended and will be restarted soon */
    MCP_FAILED,  /* it is not running and will not be restarted */
};

/* A tool as `keyturn doctor` shows it. */
struct mcp_offer {
    const char *name;      /* the server's own; hostile text */
    const char *qualified; /* the name for the model */
    const char *left_out;  /* why the session does not have it; NULL: it has */
    struct mcp_class class, claimed;
};

struct mcp_status {
    const char *name; /* in the configuration */
    enum mcp_state state;
    const char *why;             /* of PAUSING and FAILED: the reason */
    const char *title, *version; /* what it calls itself, hostile text; NULL: unknown */
    const char *protocol;        /* the protocol version in use; NULL: none yet */
    const char *said;            /* the last line of its standard error, hostile text; "" */
    bool trusted;
    const char *note;   /* of its entry in the configuration */
    size_t tool_count;  /* tools that the session has */
    size_t offer_count; /* also counts tools that are left out */
    bool news;          /* the next turn will have other tools of this server */
};

/* Copies the specs. */
struct mcp *mcp_open(struct loop *loop, const struct mcp_specs *specs, const char *workspace);
void mcp_close(struct mcp *mcp); /* NULL is allowed; runs the loop for a moment */
/* Calls `changed` on the loop whenever a server's state has changed. */
void mcp_watch(struct mcp *mcp, void (*changed)(void *user, const struct mcp_status *status), void *user);
/* Returns true if no server is left to wait for: each is ready, failed or switched off. */
bool mcp_settled(const struct mcp *mcp);
/* Calls done(user) once, from the loop: when all are settled, or when the time is over. Only one may wait at a time. */
void mcp_await(struct mcp *mcp, double limit_s, void (*done)(void *user), void *user);
void mcp_await_stop(struct mcp *mcp);
/* The same, but runs the loop. Returns false if a server was still not ready at the end. */
bool mcp_wait(struct mcp *mcp, double limit_s);
/* Adds the tools of the servers that are ready. Leaves out a tool that the registry refuses. */
void mcp_register(struct mcp *mcp, struct registry *registry);
/* Updates a registry later: adds what servers offer then and removes the tools of failed ones. */
struct tool_source *mcp_source(struct mcp *mcp);
size_t mcp_count(const struct mcp *mcp);
struct mcp_status mcp_status(const struct mcp *mcp, size_t index);
struct mcp_offer mcp_offer(const struct mcp *mcp, size_t server, size_t index);
/* Writes a line for people: "fs: ready, 14 tools", "fs: failed: …". */
void mcp_status_write(struct strbuf *out, const struct mcp_status *status);
