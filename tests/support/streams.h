#pragma once
/* Answers as providers stream them, written by hand, and what they must become. */

#include "model/dialect.h"

struct stream {
    const char *name;
    const struct dialect *dialect;
    const char *text; /* the body of the answer */
    const char *says; /* stream_describe() of what it becomes */
};
/* The last has no name. */
extern const struct stream streams[];

/* A reply on one line, for comparing: text, thinking, calls, stop, usage, what is kept; or the error. Yours. */
char *stream_describe(const struct model_reply *reply);
/* Reads a stream in pieces of this many bytes (0: at once), as if it ended after `len`. The reply is to be released. */
void stream_read(const struct dialect *dialect, const char *text, size_t len, size_t piece, struct model_reply *reply);
