#pragma once
/* The context pack: excerpts of the workspace's text files that fit the prompt best.
 *
 * context_load reads at most CONTEXT_FILES_MAX files beneath the root, nearest to it first. It skips .git, hidden
 * folders, links, binary and large files, ranks the rest by BM25 over path and content, and cuts an excerpt around
 * the first hit. The excerpts are untrusted text, and the prompt labels them so. */

#include "base/beneath.h"
#include "event/event.h"
#include <stdatomic.h>
#include <stdbool.h>

#define CONTEXT_FILES_MAX      2000
#define CONTEXT_FILE_BYTES_MAX (64u << 10)
#define CONTEXT_BYTES_MAX      (1u << 20) /* in all, because the model waits; later files count by their path */

struct context_item {
    char *path, *excerpt;
    double score;
};
struct context_pack {
    struct context_item *items;
    size_t count;
    bool complete; /* false: it was canceled or hit a limit */
};

/* Never fails: unreadable files are left out. Any thread; stops early when *canceled (may be NULL). */
struct context_pack context_load(const struct beneath *root, const char *prompt, size_t limit,
                                 const atomic_bool *cancelled);
void context_pack_release(struct context_pack *pack);
/* JSON: [{path, excerpt, score}] */
void context_pack_write(struct strbuf *out, const struct context_pack *pack);
struct event_pack_entry_list context_pack_to_event(struct arena *arena, const struct context_pack *pack);
