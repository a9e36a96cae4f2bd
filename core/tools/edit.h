#pragma once
/* The second execution of a tool that proposed changes of files. */

#include "tool.h"

/* Commits exactly what was approved, and says in the reply what came of it. Blocks. */
void edit_commit(struct tool_run *run, struct tool_reply *reply);
