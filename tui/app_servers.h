#pragma once
/* Waiting for tool servers with a screen; see setup_plan.wait. */

#include "mcp/mcp.h"

struct loop;

/* 0 when the session may begin; else somebody left, or the error was said: the exit status. `user` is the app. */
int app_wait_servers(void *user, struct mcp *mcp, struct loop *loop, double limit_s);
