#pragma once
/* Exchanges lines with the host: its lines on descriptor 0, ours on descriptor 1. Neither is made non-blocking, because
 * the program that started us may share them. Still, no function here blocks. */

#include "base/strbuf.h"
#include <stdbool.h>

struct protocol {
    struct strbuf in;
    size_t taken, seen; /* bytes of `in` already returned; bytes after those known to hold no newline */
    bool end, skipping;
    bool out_is_socket, broken;
};

enum protocol_line { PROTOCOL_NONE, PROTOCOL_LINE, PROTOCOL_TOO_LONG, PROTOCOL_END };

void protocol_init(struct protocol *protocol);
void protocol_release(struct protocol *protocol);
/* Returns true if more should be read: input has not ended, and not too much is buffered. */
bool protocol_wants(const struct protocol *protocol);
void protocol_read(struct protocol *protocol);
/* Returns the next line without its newline, valid until the next read. A last line without a newline and an empty line
 * count too: every line gets an answer, so that a host can count them. */
char *protocol_next_line(struct protocol *protocol, size_t *len, enum protocol_line *found);
/* Writes as much as possible now and removes it from `out`. */
void protocol_write(struct protocol *protocol, struct strbuf *out);
/* Call before exiting: gives the host a moment to read the rest. */
void protocol_drain(struct protocol *protocol, struct strbuf *out);
