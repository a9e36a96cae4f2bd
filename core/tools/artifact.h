#pragma once
/* Outputs that are too long for the model: stored whole in files of their own, read back with read_file by the session
 * that stored them, and by no other.
 *
 * <base>/<session>/art_<16 hex>.txt, folders 0700, files 0600. The index is rebuilt from the folder when a store is
 * opened, so artifacts survive the process. They expire after a time to live. Any thread may call. Storing sets no
 * error: NULL means that it failed. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct artifact_store;
struct artifact_writer;
struct clock;
struct strbuf;

#define ARTIFACT_TTL_S         3600
#define ARTIFACT_SUMMARY_CHARS 200

struct artifact {
    char *id, *session, *path, *tool, *summary;
    int64_t created_us; /* wall time */
    int64_t ttl_s;
    uint64_t size; /* bytes */
};

/* `base` NULL: the cache folder. Takes the time from `clock`. */
struct artifact_store *artifact_store_open(const char *base, struct clock *clock, struct err *err) CHECKED;
void artifact_store_close(struct artifact_store *store);
void artifact_free(struct artifact *artifact);

/* The session id is cleaned ([^A-Za-z0-9_-] becomes _), so it cannot name a folder outside the store. */
struct artifact *artifact_store_put(struct artifact_store *store, const char *session, const char *tool,
                                    const char *content, size_t len);
/* The same in pieces. Errors are reported at the end; a dropped writer leaves nothing. One thread at a time. */
struct artifact_writer *artifact_store_begin(struct artifact_store *store, const char *session, const char *tool);
void artifact_writer_add(struct artifact_writer *writer, const char *content, size_t len);
struct artifact *artifact_writer_end(struct artifact_writer *take_writer);
void artifact_writer_drop(struct artifact_writer *take_writer); /* NULL: nothing */
/* Appends the content. Returns false if this session has no such artifact, or it expired, or its file is missing. */
bool artifact_store_get(struct artifact_store *store, const char *session, const char *id, struct strbuf *out);
/* A copy of its index entry, or NULL; for read_file, which reads ranges of `path` itself. */
struct artifact *artifact_store_find(struct artifact_store *store, const char *session, const char *id);
/* The folder of its files. */
const char *artifact_store_folder(const struct artifact_store *store);
/* The file of an artifact of any session, without a store; `base` as above. NULL: no such id, or the file is
 * missing. */
char *artifact_file(const char *base, const char *id);
size_t artifact_store_count(struct artifact_store *store, const char *session); /* NULL: all */
/* Removes the session's artifacts, files and folder, and returns their number. */
size_t artifact_store_cleanup(struct artifact_store *store, const char *session);
