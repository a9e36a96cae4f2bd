#pragma once
/* The records that a child writes to its event pipe: a letter, the rest of the line, and a newline on both sides, so
 * that whatever a script writes there itself spoils no record but its own. Empty lines mean nothing.
 *
 * The script can write anything to this pipe. A record can only say what the emit functions could have said: the
 * supervisor adds the execution's id, and what it sends on is written anew from what was parsed. */

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

/* A longer line is dropped and told. */
#define RECORD_MAX ((size_t)8 << 20)
/* How many values one may hold: each costs 64 bytes here, and two in the line. */
#define RECORD_VALUES_MAX ((size_t)500000)
/* How deep a value may be. */
#define RECORD_DEPTH_MAX 64

enum record_kind {
    RECORD_RESULT = 'R',       /* any value */
    RECORD_INTERMEDIATE = 'I', /* {"label","data"} */
    RECORD_LOG = 'L',          /* {"message","level"} */
    RECORD_STDOUT = 'O',       /* bytes, with \n and \\ for newline and backslash */
    RECORD_STDERR = 'E',
    RECORD_END = 'X',     /* {} or {"message","traceback"}: the script is over */
    RECORD_FILE = 'F',    /* from the zygote: the path of a file of tools that it is about to load, as bytes */
    RECORD_TOOLS = 'T',   /* from the zygote: names of the tools, each with its effect */
    RECORD_SANDBOX = 'S', /* from the zygote: the layers in effect */
    RECORD_BAD = 0,
};

struct record {
    enum record_kind kind;
    const struct json *value; /* result; "data" of intermediate; the object of an end, of the tools */
    const char *text;         /* label, message, bytes; why a record is bad */
    size_t len;
    const char *more; /* level, traceback; NULL when there is none */
};

/* Reads one line without its newline. A bad one gives RECORD_BAD, `text` tells why. Values live in the arena. */
struct record record_parse(struct arena *arena, const char *line, size_t len);
/* Writes the bytes as a RECORD_STDOUT or RECORD_STDERR, newlines around it included: so much at most. */
#define RECORD_TEXT_ROOM(len) (2 * (len) + 3)
void record_write_text(struct strbuf *out, enum record_kind kind, const char *bytes, size_t len);

/* Cuts a stream of bytes into lines. */
struct record_reader {
    struct strbuf pending;
    size_t seen; /* bytes of pending that hold no newline */
    size_t taken;
    bool skipping;
};

void record_reader_init(struct record_reader *reader);
void record_reader_release(struct record_reader *reader);
void record_reader_add(struct record_reader *reader, const char *bytes, size_t len);
/* The next record; false when there is no complete line. `arena` is the caller's to reset. */
bool record_reader_next(struct record_reader *reader, struct arena *arena, struct record *record);
