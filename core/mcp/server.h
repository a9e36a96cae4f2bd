#pragma once
/* One MCP server: its process, its handshake, its tools. Only files of this folder include it; others use mcp.h. */

#include "base/hash.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "mcp.h"
#include "offers.h"
#include "peer.h"

struct mcp_call;
struct tool_changes;
struct process;

#define MCP_CALL_S    60.0
#define MCP_TOOLS_MAX 256

struct mcp_tool {
    struct tool tool;
    struct mcp_server *server;
    char *name; /* the server's own */
    char *qualified, *description, *parameters;
    char *left_out;
    char shape[HASH_SHA256_HEX]; /* hash of schema and annotations, as the session knows them */
    struct mcp_class class, claimed;
    char *resource; /* "file:{path}" */
    const char *resource_keys[2];
    struct mcp_file_arguments form; /* of its arguments */
    bool registered;                /* the session has it */
    bool gone;                      /* the server no longer offers it */
    struct mcp_tool *heir;          /* the tool as now offered, if it changed: the next turn has it; NULL: unchanged */
    unsigned seen;                  /* number of the listing that last had it */
    char *asked_call;               /* the call whose change set was proposed last… */
    char asked_digest[HASH_SHA256_HEX]; /* …and its digest */
};

struct mcp_listing {
    bool active, again; /* `again`: the offer has changed meanwhile */
    unsigned number, pages;
    struct hash_map cursors;
};

struct mcp_server {
    const struct mcp_spec *spec;
    const struct mcp_pace *pace;
    struct loop *loop;
    const char *workspace;
    struct hash_map *taken; /* names of the tools of all servers */
    void (*changed)(struct mcp_server *server);
    void *user;

    enum mcp_state state;
    char *why;
    struct process *process; /* run by keyturn-launch, which kills every process the server starts, in any session */
    struct mcp_peer *peer;
    char **env;

    bool era_known, modern; /* of the two eras of the protocol; known after the first start */
    bool probing;
    const char *protocol;
    char *title, *version;
    bool offers_tools;
    bool was_ready; /* has been ready: it is restarted when it ends */
    bool closing;
    unsigned failures; /* in a row */
    int64_t ready_us;
    struct loop_timer pause, relist;
    struct loop_task stop;
    char *stop_why; /* if set: why it is being stopped */
    bool stop_for_good;

    struct mcp_tool **tools;
    size_t tool_count, tool_room;
    size_t schema_bytes;       /* of all tools: each schema is in the record's first line and in every request */
    struct mcp_tool **retired; /* earlier tools of the session: a late call may still hold one */
    size_t retired_count, retired_room;
    struct mcp_listing listing;

    struct rpc_lines errors; /* its standard error */
    struct strbuf said;
    size_t logged;
    struct mcp_call *calls;
    unsigned tokens; /* progress tokens given so far */
};

/* ---- server.c ---- */
struct mcp_server *mcp_server_new(struct loop *loop, const struct mcp_spec *spec, const struct mcp_pace *pace,
                                  const char *workspace, struct hash_map *taken);
void mcp_server_start(struct mcp_server *server);
/* Closes its standard input, on which a correct server ends. */
void mcp_server_end_input(struct mcp_server *server);
void mcp_server_terminate(struct mcp_server *server);
bool mcp_server_runs(const struct mcp_server *server);
void mcp_server_free(struct mcp_server *server);
/* May be called anywhere; takes effect from the loop. `for_good`: do not restart it. */
void mcp_server_stop(struct mcp_server *server, bool for_good, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Call when its list of tools is complete. */
void mcp_server_listed(struct mcp_server *server);
void mcp_server_log(struct mcp_server *server, const char *what, const char *text, size_t len);

/* ---- server.c: the handshake ---- */
/* Returns the parameters of a request: `members` ("\"name\":…", or "") with the fields that the server's era requires.
 * The caller frees them. */
char *mcp_server_params(const struct mcp_server *server, const char *members, const char *progress_token);

/* ---- offers.c ---- */
void mcp_list_tools(struct mcp_server *server);
void mcp_list_changed(struct mcp_server *server); /* the server announced a change: lists again soon, once */
void mcp_list_release(struct mcp_server *server);
/* Returns true if the offers differ from the session's tools; the next turn gets them. */
bool mcp_offers_news(const struct mcp_server *server);
/* Updates the registry with the server's offers. */
void mcp_offers_adopt(struct mcp_server *server, struct registry *registry, struct tool_changes *changes);
void mcp_tool_free(struct mcp_tool *tool);

/* ---- call.c ---- */
void mcp_call_start(struct tool_run *run);
void mcp_call_cancel(struct tool_run *run);
void mcp_calls_ready(struct mcp_server *server);                   /* waiting calls continue */
void mcp_calls_failed(struct mcp_server *server, const char *why); /* waiting calls fail */
void mcp_calls_progress(struct mcp_server *server, const struct json *params);
