#pragma once
/* One tool server: its process, its handshake, its tools. Between the files of this folder; others use mcp.h. */

#include "base/hash.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "form.h"
#include "mcp.h"
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
    char shape[HASH_SHA256_HEX]; /* of its schema and its annotations, as the session knows them */
    struct mcp_class class, claimed;
    char *resource; /* "file:{path}" */
    const char *resource_keys[2];
    struct mcp_form form; /* of its arguments */
    bool registered;      /* the session has it */
    bool gone;            /* it is not offered any more */
    struct mcp_tool
        *heir;     /* what it is offered as now, if that is another tool: the next turn has it; NULL: it is the same */
    unsigned seen; /* in which listing */
    char *asked_call;                   /* the call about which a change set was proposed last… */
    char asked_digest[HASH_SHA256_HEX]; /* …and its digest */
};

struct mcp_listing {
    bool active, again; /* `again`: what is offered has changed meanwhile */
    unsigned number, pages;
    struct hash_map cursors;
};

struct mcp_server {
    const struct mcp_spec *spec;
    const struct mcp_pace *pace;
    struct loop *loop;
    const char *workspace;
    struct hash_map *taken; /* names of tools, of all servers */
    void (*changed)(struct mcp_server *server);
    void *user;

    enum mcp_state state;
    char *why;
    struct process *process; /* behind keyturn-launch, which ends whatever the server starts, in whatever session */
    struct mcp_peer *peer;
    char **env;

    bool era_known, modern; /* of the two ways to talk; known once it was started */
    bool probing;
    const char *protocol;
    char *title, *version;
    bool offers_tools;
    bool was_ready; /* once: then it is started again when it ends */
    bool closing;
    unsigned failures; /* in a row */
    int64_t ready_us;
    struct loop_timer pause, relist;
    struct loop_task stop;
    char *stop_why; /* set: it is being stopped for this */
    bool stop_for_good;

    struct mcp_tool **tools;
    size_t tool_count, tool_room;
    size_t schema_bytes;       /* of all of them: every one is in the record's first line and in each request */
    struct mcp_tool **retired; /* that the session had: a late call may still hold one */
    size_t retired_count, retired_room;
    struct mcp_listing listing;

    struct rpc_lines errors; /* its standard error */
    struct strbuf said;
    size_t logged;
    struct mcp_call *calls;
    unsigned tokens; /* of progress, given so far */
};

/* server.c */
struct mcp_server *mcp_server_new(struct loop *loop, const struct mcp_spec *spec, const struct mcp_pace *pace,
                                  const char *workspace, struct hash_map *taken);
void mcp_server_start(struct mcp_server *server);
/* Closes its standard input: a good server then ends. */
void mcp_server_end_input(struct mcp_server *server);
void mcp_server_terminate(struct mcp_server *server);
bool mcp_server_runs(const struct mcp_server *server);
void mcp_server_free(struct mcp_server *server);
/* From anywhere; takes effect from the loop. `for_good`: it is not started again. */
void mcp_server_stop(struct mcp_server *server, bool for_good, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What it offers is known. */
void mcp_server_listed(struct mcp_server *server);
void mcp_server_log(struct mcp_server *server, const char *what, const char *text, size_t len);

/* handshake.c */
void mcp_handshake(struct mcp_server *server); /* with a process that was just started */
/* The parameters of a request: `members` ("\"name\":…", or "") with what the way of talking asks for. The caller's. */
char *mcp_server_params(const struct mcp_server *server, const char *members, const char *progress_token);

/* offers.c */
void mcp_list_tools(struct mcp_server *server);
void mcp_list_changed(struct mcp_server *server); /* they say so: soon, once */
void mcp_list_release(struct mcp_server *server);
/* What it offers is not what the session has of it: the next turn will. */
bool mcp_offers_news(const struct mcp_server *server);
/* Makes the registry have what it offers. */
void mcp_offers_adopt(struct mcp_server *server, struct registry *registry, struct tool_changes *changes);
void mcp_tool_free(struct mcp_tool *tool);

/* call.c */
void mcp_call_start(struct tool_run *run);
void mcp_call_cancel(struct tool_run *run);
void mcp_calls_ready(struct mcp_server *server);                   /* those that waited go on */
void mcp_calls_failed(struct mcp_server *server, const char *why); /* those that waited do not */
void mcp_calls_progress(struct mcp_server *server, const struct json *params);
