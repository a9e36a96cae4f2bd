#pragma once
/* The sandbox of a live session as panes see it: how its boxes stand at this instant, and the words for it. */

#include "base/strbuf.h"
#include "sandbox/pool.h"

#define SANDBOX_BOXES 16

struct sandbox_view {
    struct pool_status status;
    struct pool_box boxes[SANDBOX_BOXES];
    size_t count;
};

/* What limits programs. It is tried when somebody looks: that may take a while. */
struct program_limits_view {
    const struct sandbox_engine *engine;
    const char *words; /* NULL: not tried yet */
};

const char *sandbox_view_limits(struct program_limits_view *limits);
void sandbox_view_fill(struct sandbox_view *sandbox, const struct pool *pool);
/* "bwrap, 4 layers, 1 warm, 1 busy"; in short "bwrap 1 warm 1 busy". */
void sandbox_view_line(struct strbuf *out, const struct sandbox_view *sandbox, bool wide);
/* "programs none UNSAFE": the engine of programs, where scripts have another. */
void sandbox_view_programs(struct strbuf *out, const char *engine, bool unsafe);
/* "no_new_privs, rlimits, landlock 7, not seccomp"; gives how many are in effect. */
size_t sandbox_view_layers(struct strbuf *out, const char *layers);
