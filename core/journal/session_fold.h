#pragma once
/* What lies behind struct session_names: the interned texts, the ways from a text to a row, and memory to read JSON in.
 * Shared by the files of session; nobody else includes it. */

#include "base/arena.h"
#include "session.h"

struct session_name {
    uint32_t start;      /* of its text */
    uint32_t call;       /* newest row with this id, SESSION_NONE */
    uint32_t ask;
    uint32_t checkpoint; /* the ask whose checkpoint it names */
};

struct session_names {
    struct strbuf texts; /* each with its NUL, end to end */
    struct session_name *names; /* by number; 0 is "" */
    uint32_t count, room;
    uint32_t *slots; /* open addressing; numbers, 0 is free */
    uint32_t slot_room; /* a power of two */
    uint32_t *older_call; /* by row of calls: the row before it with the same id, SESSION_NONE */
    uint32_t older_room;
    struct arena scratch; /* for the event being applied */
};

struct session_names *session_names_new(void);
void session_names_free(struct session_names *names);
/* The number of a text, given one if it has none; 0 for NULL and "". */
uint32_t session_intern(struct session *session, const char *text);
/* The number of a text that has one, else 0. */
uint32_t session_interned(const struct session *session, const char *text);
