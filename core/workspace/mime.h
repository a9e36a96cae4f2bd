#pragma once
/* What a file is, by its first bytes (as browsers sniff: the WHATWG table), and whether a type is text. */

#include <stdbool.h>
#include <stddef.h>

#define MIME_SNIFF_BYTES 512 /* more is not looked at */
#define MIME_BYTES       "application/octet-stream"

/* Never NULL; "text/plain; charset=utf-8" for nothing at all. */
const char *mime_sniff(const void *bytes, size_t len);
/* text/…, application/json and …+json, in any case of letters and with parameters. */
bool mime_is_text(const char *mime);
