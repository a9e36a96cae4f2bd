#pragma once
/* Real tool servers, and calls of their tools through the executor, in real time.
 *
 *     struct mcp_rig rig;
 *     mcp_rig_init(&rig);
 *     mcp_rig_fake(&rig, "f", "pages", NULL);       fake_mcp.py with these faults
 *     mcp_rig_open(&rig, 20);
 *     mcp_rig_call(&rig, "f__echo", "{\"text\":\"hi\"}");
 *     assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: hi\"}");
 *     mcp_rig_release(&rig);
 *
 * A server is trusted unless the test changes that before mcp_rig_open. The rig never waits for a fixed time, only for
 * the expected event. */

#include "mcp/mcp.h"
#include "tools/registry.h"
#include "write_rig.h"

struct mcp_rig {
    struct write_rig test; /* "work" is the workspace */
    struct mcp_specs specs;
    struct mcp_pace pace;      /* the default, unless the test changes it */
    struct registry *registry; /* of the harness */
    struct mcp *mcp;
    bool all_ready; /* what mcp_wait returned */
    size_t calls;
    struct strbuf changes; /* "f READY, f PAUSING" */
    enum mcp_state until;  /* see mcp_rig_until */
};

void mcp_rig_init(struct mcp_rig *rig);
/* A command of up to seven words, NULL-terminated. */
struct mcp_spec *mcp_rig_server(struct mcp_rig *rig, const char *name, ...) __attribute__((sentinel));
struct mcp_spec *mcp_rig_fake(struct mcp_rig *rig, const char *name, ...) __attribute__((sentinel));
void mcp_rig_open(struct mcp_rig *rig, double wait_s);
void mcp_rig_release(struct mcp_rig *rig);

/* Calls a tool and waits for its outcome; the decision about a write is rig->test.decision. */
void mcp_rig_call(struct mcp_rig *rig, const char *tool, const char *arguments);
/* Starts a call without waiting. */
struct bounded_call *mcp_rig_begin(struct mcp_rig *rig, const char *tool, const char *arguments);
/* Waits until a call is done. */
void mcp_rig_wait(struct mcp_rig *rig);
/* Waits until a server reaches this state. */
void mcp_rig_until(struct mcp_rig *rig, enum mcp_state state);
/* Of the last call. */
const char *mcp_rig_output(const struct mcp_rig *rig); /* fails the test unless it is a result */
const char *mcp_rig_error(const struct mcp_rig *rig);  /* fails the test unless it is a failure */
