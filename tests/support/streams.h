#pragma once
/* Hand-written answers as providers stream them, and the replies they must become. */

#include "model/answer.h"

struct stream {
    const char *name;
    const struct dialect *dialect;
    const char *text; /* the body of the answer */
    const char *says; /* stream_describe() of its reply */
};
/* The last one has no name. */
extern const struct stream streams[];

/* Describes a reply on one line: text, thinking, calls, stop, usage, what is kept; or the error. The caller frees
 * it. */
char *stream_describe(const struct model_reply *reply);
/* Reads a stream in pieces of this many bytes (0: at once), as if it ended after `len`. The caller releases the
 * reply. */
void stream_read(const struct dialect *dialect, const char *text, size_t len, size_t piece, struct model_reply *reply);
