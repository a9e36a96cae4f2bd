#pragma once
/* Bytes as text (RFC 4648, the usual alphabet, with padding), for where only text can pass. */

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

void base64_write(struct strbuf *out, const void *bytes, size_t len);
/* Decodes a text; `bytes` has room for BASE64_ROOM(len) of them. False if it is not base64: a foreign character,
 * misplaced padding, leftover bits. */
bool base64_read(void *bytes, size_t *count, const char *text, size_t len);
#define BASE64_ROOM(len) ((len) / 4 * 3 + 3)
