#pragma once
/* What a call's program prints, shown while the call runs: two trickles into tool.output. */

#include "tool.h"
#include "trickle.h"
#include "workspace/program.h"

struct tool_streams {
    struct trickle out, err;
};

void tool_streams_init(struct tool_streams *streams, struct tool_run *run);
void tool_streams_add(struct tool_streams *streams, enum process_stream stream, const char *bytes, size_t len);
/* Nothing more comes: tells the rest. */
void tool_streams_end(struct tool_streams *streams);
void tool_streams_release(struct tool_streams *streams);
