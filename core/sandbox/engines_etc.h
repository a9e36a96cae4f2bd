#pragma once
/* The few files of /etc that programs need where an engine brings none: localhost, and a name for their user. */

#include "base/err.h"

#define ENGINES_ETC_FILES 4

struct sandbox_engine;

struct engines_etc {
    int fds[ENGINES_ETC_FILES + 1]; /* hosts, passwd, group, nsswitch.conf; -1 at the end */
};

/* For one start of the engine: each of its descriptors is read once. None where it takes none. */
int engines_etc_open(struct engines_etc *etc, const struct sandbox_engine *engine, struct err *err) CHECKED;
void engines_etc_close(struct engines_etc *etc);
