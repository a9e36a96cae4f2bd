#pragma once
/* What was run before: the list in keyturn.db, and the journals that it does not know (the program was killed, the list
 * was deleted). Journals are the truth: one that is gone is not listed. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

struct session_row {
    char *id, *path, *workspace, *title, *status, *model;
    int64_t when_us; /* of its last change, wall time */
    int64_t turns;
    int64_t writes; /* applied; -1: not known */
    bool running;   /* a living process has its journal open */
};
struct session_rows {
    struct session_row *items;
    size_t count, room;
};

/* Newest first, at most `most`. Never fails: what cannot be read is left out. */
void sessions_load(struct session_rows *rows, size_t most);
/* The journal of the session of that name; a copy of `name` when there is none, or when it is a file itself. */
char *sessions_find(const char *name);
/* "~/src/lines": a folder as people write it. The caller's. */
char *sessions_folder(const char *path);
void sessions_release(struct session_rows *rows);
/* A table for people, a line each, indented by `indent`. */
void sessions_table(struct strbuf *out, const struct session_rows *rows, size_t indent, size_t width);
