#pragma once
/* The forms in which the value of a secret may appear, for redact.c. No other file includes this. */

#include <stddef.h>

/* How a form is compared with a text: byte by byte; or any byte of it may be spelled as a URL does; or any character of
 * it may be escaped as JSON and programs do (escaped.h). */
enum redact_spelling { REDACT_PLAIN, REDACT_IN_URL, REDACT_ESCAPED };

typedef void redact_encoding_fn(void *data, const char *text, size_t len, enum redact_spelling spelling);
/* Calls `each` for the value and every form of it that has at least REDACT_LEAST bytes; some may come twice. */
void redact_encodings(const char *value, redact_encoding_fn *each, void *data);
