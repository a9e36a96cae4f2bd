#pragma once
/* The dialog while a session waits for its tool servers: who is there, who is not, how to go on without them. It covers
 * everything, over a view of an empty session, and shows what whoever waits keeps up to date. */

#include "mcp/mcp.h"
#include "dialog.h"

struct servers_wait {
    const struct mcp_status *servers;
    size_t count;
    double waited_s, limit_s;
    const char *leave; /* what leaving does, "leave" */
    void (*go_on)(void *user);
    void *user;
};

/* `wait` is borrowed as long as the dialog is there. */
struct dialog *dialog_servers_new(const struct servers_wait *wait);
