#pragma once
/* The host's lines on descriptor 0 and ours on descriptor 1. Neither is made non-blocking, because whoever started us
 * may share them; nothing here blocks all the same. */

#include "base/strbuf.h"
#include <stdbool.h>

struct protocol {
    struct strbuf in;
    size_t taken, seen; /* bytes of `in` that were given out; bytes after these without a newline */
    bool end, skipping;
    bool out_is_socket, broken;
};

enum protocol_line { PROTOCOL_NONE, PROTOCOL_LINE, PROTOCOL_TOO_LONG, PROTOCOL_END };

void protocol_init(struct protocol *protocol);
void protocol_release(struct protocol *protocol);
/* Whether more should be read: not the end, and not too much there already. */
bool protocol_wants(const struct protocol *protocol);
void protocol_read(struct protocol *protocol);
/* The next line, without its newline; valid until the next read. A last line without one counts too, and so does one
 * with nothing in it: every line has its answer, so that a host can count them (D9). */
char *protocol_next_line(struct protocol *protocol, size_t *len, enum protocol_line *found);
/* Writes what can be written now and takes it out of `out`. */
void protocol_write(struct protocol *protocol, struct strbuf *out);
/* Before leaving: gives the host a moment to take the rest. */
void protocol_drain(struct protocol *protocol, struct strbuf *out);
