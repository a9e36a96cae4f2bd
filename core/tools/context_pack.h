#pragma once
/* Where get_context_pack gets its material. The turn knows how to look for what fits a question; a tool must not know
 * the turn, so it is handed in through tool_env.context. */

#include <stdatomic.h>
#include <stddef.h>

struct context_source {
    /* A JSON array of {path, excerpt, score} for the question, best first, at most `limit` items; the caller's. Called
     * on a pool thread, may block, looks at `cancelled` now and then. NULL when there is nothing to look in. */
    char *(*pack)(struct context_source *source, const char *query, size_t limit, const atomic_bool *cancelled);
};
