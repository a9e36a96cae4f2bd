#pragma once
/* Bytes as text (RFC 4648, the usual alphabet, with padding), for where only text can pass. */

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

void base64_write(struct strbuf *out, const void *bytes, size_t len);
/* The bytes behind a text; `bytes` has room for BASE64_ROOM(len) of them. False when it is no base64: a foreign
 * character, padding where none belongs, bits that are left over. */
bool base64_read(void *bytes, size_t *count, const char *text, size_t len);
#define BASE64_ROOM(len) ((len) / 4 * 3 + 3)
