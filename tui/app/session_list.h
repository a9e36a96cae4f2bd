#pragma once
/* The list of recorded sessions: those in keyturn.db, and journals that are missing there (the program was killed, or
 * the list was deleted). The journals are authoritative: a session without a journal is not listed. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

struct session_row {
    char *id, *path, *workspace, *status, *model;
    char *title;     /* the name that the user gave it, else its first prompt */
    int64_t when_us; /* wall time of its last change */
    int64_t turns;
    int64_t writes;           /* writes that were applied; -1: unknown */
    int64_t undone;           /* of these, undone now */
    int64_t approved, denied; /* decisions about writes; -1: unknown */
    bool running;             /* a running process has its journal open */
};
struct session_rows {
    struct session_row *items;
    size_t count, room;
};

/* "2", and ", 1 undone" if there are any; nothing if unknown. With `unit`: "2 writes, 1 undone". */
void sessions_writes(struct strbuf *out, const struct session_row *row, bool unit);
/* Newest first, at most `most`. Never fails: a session that cannot be read is left out. */
void sessions_load(struct session_rows *rows, size_t most);
/* The journal of the session of that name. A copy of `name` if there is no such session, or if `name` is a file. */
char *sessions_find(const char *name);
/* A folder as the user would type it: "~/src/lines". The caller frees it. */
char *sessions_folder(const char *path);
/* Keeps the sessions that `text` names, best first: the one with that id; else those whose id begins with it; else
 * those with that title; else those whose title or prompts contain it, ignoring case. */
void sessions_keep_named(struct session_rows *rows, const char *text);
/* Keeps the sessions of a folder, given as the kernel resolves it. */
void sessions_keep_folder(struct session_rows *rows, const char *folder);
void sessions_release(struct session_rows *rows);
