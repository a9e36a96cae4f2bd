#pragma once
/* The few files of /etc that programs need where an engine brings none: localhost, and a name for their user. */

#include "base/child.h"
#include "base/err.h"

struct sandbox_engine;

struct engines_etc {
    int fds[CHILD_HANDED_MORE + 1]; /* hosts, passwd, group, nsswitch.conf; -1 at the end */
};

/* For one start of the engine: each of its descriptors is read once. None where it takes none. */
int engines_etc_open(struct engines_etc *etc, const struct sandbox_engine *engine, struct err *err) CHECKED;
void engines_etc_close(struct engines_etc *etc);
