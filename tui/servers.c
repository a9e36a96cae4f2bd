#include "servers.h"
#include "base/beneath.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "mcp/mcp.h"
#include <string.h>

/* Somebody waits for this, and wants to know: as long as a package runner may take to fetch one. */
#define PATIENCE_S 30

struct telling {
    const struct mcp *mcp;
    void (*tell)(void *user, bool warn, const char *text);
    void *user;
};

static void tell_state(const struct telling *telling, const struct mcp_status *status)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (status->state == MCP_READY)
        strbuf_addf(&text, "%s: %s %s, protocol %s, %zu tool%s", status->name, status->title ? status->title : "(no name)",
                    status->version ? status->version : "(no version)", status->protocol, status->tool_count,
                    status->tool_count == 1 ? "" : "s");
    else if (status->state == MCP_OFF)
        strbuf_addf(&text, "%s: switched off (\"disabled\")", status->name);
    else if (status->state == MCP_STARTING)
        strbuf_addf(&text, "%s: not ready after %d s%s%s", status->name, PATIENCE_S, *status->said ? "; it says: " : "",
                    status->said);
    else
        strbuf_addf(&text, "%s: %s", status->name, status->why);
    if (status->state == MCP_READY && !status->trusted && status->tool_count)
        strbuf_addstr(&text, "; its hints are not believed (\"trust\": true, or \"effects\", says otherwise)");
    if (status->note)
        strbuf_addf(&text, "; %s", status->note);
    CLEANUP(free) char *told = redact_copy(text.buf); /* servers print what they were given */
    telling->tell(telling->user, status->state != MCP_READY && status->state != MCP_OFF, told);
}

static void tell_tool(const struct telling *telling, const struct mcp_status *status, const struct mcp_offer *offer)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%s: %s  ", status->name, offer->qualified);
    if (offer->left_out) {
        strbuf_addf(&text, "left out: %s", offer->left_out);
    } else {
        mcp_class_write(&text, &offer->class);
        strbuf_addstr(&text, offer->class.asks ? ", asks" : ", runs without asking");
        if (offer->claimed.bits != offer->class.bits) {
            strbuf_addstr(&text, " (it says ");
            mcp_class_write(&text, &offer->claimed);
            strbuf_addch(&text, ')');
        }
    }
    telling->tell(telling->user, offer->left_out != NULL, text.buf);
}

void servers_try(const struct config *config, void (*tell)(void *user, bool warn, const char *text), void *user)
{
    struct err err = ERR_INIT;
    struct beneath *root = config->mcp.count ? beneath_open(".", &err) : NULL;
    if (!root)
        return;
    struct loop *loop = loop_new(clock_system());
    struct mcp *mcp = mcp_open(loop, &config->mcp, beneath_path(root));
    struct telling telling = {mcp, tell, user};
    mcp_wait(mcp, PATIENCE_S);
    for (size_t i = 0; i < mcp_count(mcp); i++) {
        struct mcp_status status = mcp_status(mcp, i);
        tell_state(&telling, &status);
        for (size_t k = 0; k < status.offer_count && status.state == MCP_READY; k++) {
            struct mcp_offer offer = mcp_offer(mcp, i, k);
            tell_tool(&telling, &status, &offer);
        }
    }
    mcp_close(mcp);
    loop_free(loop);
    beneath_close(root);
}
