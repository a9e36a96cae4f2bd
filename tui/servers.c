#include "servers.h"
#include "base/beneath.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "mcp/mcp.h"
#include <string.h>

#define NAME_COLS_MAX 28 /* of tools: in 80 columns there is room for their class then */

static void tell(const struct servers_report *report, enum servers_word word, const char *what, const char *text)
{
    CLEANUP(free) char *told = redact_copy(text); /* servers print what they were given */
    report->tell(report->user, word, what, told);
}

static const char *last_line(const char *text)
{
    const char *end = strrchr(text, '\n');
    return end ? end + 1 : text;
}

/* What a person can do about one that is not there. */
static const char *advice(const struct mcp_status *status)
{
    return status->state == MCP_STARTING ? "a session goes on without it; try its command by hand"
                                         : "mend its entry, or leave it out by \"disabled\": true";
}

static void tell_state(const struct servers_report *report, const struct mcp_status *status)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    bool fine = status->state == MCP_READY || status->state == MCP_OFF;
    if (status->state == MCP_READY)
        strbuf_addf(&text, "%s: %s %s, protocol %s, %zu tool%s", status->name,
                    status->title ? status->title : "(no name)", status->version ? status->version : "(no version)",
                    status->protocol, status->tool_count, status->tool_count == 1 ? "" : "s");
    else if (status->state == MCP_OFF)
        strbuf_addf(&text, "%s: switched off (\"disabled\")", status->name);
    else if (status->state == MCP_STARTING)
        strbuf_addf(&text, "%s: not ready after %d s%s%s", status->name, SERVERS_PATIENCE_S,
                    *status->said ? "; it says: " : "", last_line(status->said));
    else
        strbuf_addf(&text, "%s: %s", status->name, status->why);
    if (!fine)
        strbuf_addf(&text, " (%s)", advice(status));
    if (status->state == MCP_READY && !status->trusted && status->tool_count)
        strbuf_addstr(&text, "; its hints are not believed (\"trust\": true, or \"effects\", says otherwise)");
    if (status->note)
        strbuf_addf(&text, "; %s", status->note);
    tell(report, fine ? SERVERS_FINE : SERVERS_FAILED, "tool server", text.buf);
}

static void tell_tool(const struct servers_report *report, const struct mcp_offer *offer, size_t name_cols)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%-*s  ", (int)name_cols, offer->qualified);
    if (offer->left_out) {
        strbuf_addf(&text, "left out: %s", offer->left_out);
    } else {
        mcp_class_write(&text, &offer->class);
        strbuf_addstr(&text, offer->class.asks ? ", asks" : ", runs unasked");
        if (offer->claimed.bits != offer->class.bits) {
            strbuf_addstr(&text, " (it says ");
            mcp_class_write(&text, &offer->claimed);
            strbuf_addch(&text, ')');
        }
    }
    tell(report, offer->left_out ? SERVERS_LACKING : SERVERS_FINE, "tool", text.buf);
}

static void tell_tools(const struct servers_report *report, const struct mcp *mcp, size_t server, size_t count)
{
    size_t name_cols = 0;
    for (size_t i = 0; i < count; i++) {
        size_t cols = strlen(mcp_offer(mcp, server, i).qualified); /* names are ASCII */
        name_cols = cols > name_cols && cols <= NAME_COLS_MAX ? cols : name_cols;
    }
    for (size_t i = 0; i < count; i++) {
        struct mcp_offer offer = mcp_offer(mcp, server, i);
        tell_tool(report, &offer, name_cols);
    }
}

void servers_try(const struct config *config, const struct servers_report *report)
{
    struct err err = ERR_INIT;
    struct beneath *root = config->mcp.count ? beneath_open(".", &err) : NULL;
    if (!root)
        return;
    struct loop *loop = loop_new(clock_system());
    struct mcp *mcp = mcp_open(loop, &config->mcp, beneath_path(root));
    mcp_wait(mcp, SERVERS_PATIENCE_S);
    for (size_t i = 0; i < mcp_count(mcp); i++) {
        struct mcp_status status = mcp_status(mcp, i);
        tell_state(report, &status);
        if (status.state == MCP_READY)
            tell_tools(report, mcp, i, status.offer_count);
    }
    mcp_close(mcp);
    loop_free(loop);
    beneath_close(root);
}
