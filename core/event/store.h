#pragma once
/* keyturn.db: data that outlives a session: the list of sessions, and episodic memory (full text, ranked by BM25).
 *
 * The journals are the source of truth. If the user deletes this file, only memory is lost.
 *
 * Several threads may use a store at once, because calls are serialized inside. So memory can be loaded on the pool.
 * Opening creates the file (0600) and upgrades an older schema. A file that is not a database is an error that says
 * so, and the caller continues without a store. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store *store_open(const char *path, struct err *err) CHECKED; /* ":memory:" for tests */
void store_close(struct store *store);

struct store_session {
    char *id, *path, *workspace, *title, *status, *model; /* title: the first prompt, cut */
    int64_t created_us, updated_us;                       /* wall time */
    int64_t turns;
    int64_t writes;           /* applied; -1: not known */
    int64_t undone;           /* of these, undone now */
    int64_t approved, denied; /* decisions about writes; -1: not known */
};
/* Adds or updates a session. */
int store_session_put(struct store *store, const struct store_session *session, struct err *err) CHECKED;
/* Newest first. The caller frees with store_sessions_free. */
int store_sessions(struct store *store, size_t limit, struct store_session **list, size_t *count,
                   struct err *err) CHECKED;
void store_sessions_free(struct store_session *list, size_t count);

struct store_memory {
    int64_t id;
    char *text;
    char *project; /* project_root of its session's folder; NULL: it is older than projects */
    char *session;
    int64_t wall_us;
    double score; /* higher is better; 0 when not from a search */
};
int store_memory_add(struct store *store, const char *project, const char *session, const char *text, int64_t wall_us,
                     struct err *err) CHECKED;
/* Memories of the project that share words with `query`, best first. NULL: of all projects. A memory without a project
 * is never found. The query is plain text and never query syntax. */
int store_memory_search(struct store *store, const char *project, const char *query, size_t limit,
                        struct store_memory **list, size_t *count, struct err *err) CHECKED;
/* All of them, newest first. */
int store_memory_list(struct store *store, struct store_memory **list, size_t *count, struct err *err) CHECKED;
/* Forgets one; id 0: all. `count`: how many there were. */
int store_memory_forget(struct store *store, int64_t id, int64_t *count, struct err *err) CHECKED;
void store_memory_free(struct store_memory *list, size_t count);
