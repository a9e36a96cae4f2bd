#pragma once
/* The records that a child writes to its event pipe. A record is a letter, the rest of the line, and a newline before
 * and after it. So bytes that a script writes there itself spoil no other record. Empty lines have no meaning.
 *
 * The script can write anything to this pipe. A record can only express what the emit functions can. The supervisor
 * adds the execution's id and rebuilds what it sends from the parsed values. */

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

/* A longer line is dropped and reported. */
#define RECORD_MAX ((size_t)8 << 20)
/* Values per record: each takes 64 bytes here, but two in the line. */
#define RECORD_VALUES_MAX ((size_t)500000)
/* Maximum depth of a value. */
#define RECORD_DEPTH_MAX 64

enum record_kind {
    RECORD_RESULT = 'R',       /* any value */
    RECORD_INTERMEDIATE = 'I', /* {"label","data"} */
    RECORD_LOG = 'L',          /* {"message","level"} */
    RECORD_STDOUT = 'O',       /* bytes, with \n and \\ for newline and backslash */
    RECORD_STDERR = 'E',
    RECORD_END = 'X',     /* {} or {"message","traceback"}: the script has ended */
    RECORD_FILE = 'F',    /* from the zygote: the path of the tool file it is about to load, as bytes */
    RECORD_TOOLS = 'T',   /* from the zygote: names of the tools, each with its effect */
    RECORD_SANDBOX = 'S', /* from the zygote: the layers in effect */
    RECORD_BAD = 0,
};

struct record {
    enum record_kind kind;
    const struct json *value; /* result; "data" of intermediate; the object of an end or of the tools */
    const char *text;         /* label, message, bytes; why a record is bad */
    size_t len;
    const char *more; /* level, traceback; NULL if absent */
};

/* Parses one line without its newline. A bad line gives RECORD_BAD with the reason in `text`. Values live in the
 * arena. */
struct record record_parse(struct arena *arena, const char *line, size_t len);
/* The most bytes that a RECORD_STDOUT or RECORD_STDERR of `len` bytes takes, newlines around it included. */
#define RECORD_TEXT_ROOM(len) (2 * (len) + 3)
void record_write_text(struct strbuf *out, enum record_kind kind, const char *bytes, size_t len);

/* Cuts a stream of bytes into lines. */
struct record_reader {
    struct strbuf pending;
    size_t seen; /* bytes of pending known to hold no newline */
    size_t taken;
    bool skipping;
};

void record_reader_init(struct record_reader *reader);
void record_reader_release(struct record_reader *reader);
void record_reader_add(struct record_reader *reader, const char *bytes, size_t len);
/* Returns the next record; false if no line is complete. The caller resets `arena`. */
bool record_reader_next(struct record_reader *reader, struct arena *arena, struct record *record);

/* Returns the same JSON text with U+FFFD for every escaped NUL, which C strings cannot hold and the parser rejects; all
 * bytes keep their offsets. Returns `text` itself if it has no NUL. */
const char *record_without_nul(struct arena *arena, const char *text, size_t len);
