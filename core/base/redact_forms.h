#pragma once
/* The forms in which the value of a secret may turn up. What redact.c looks for; nobody else includes it. */

#include <stddef.h>

typedef void redact_form_fn(void *data, const char *text, size_t len);
/* Calls `each` for the value and every form of it that has at least REDACT_LEAST bytes; some may come twice. */
void redact_forms(const char *value, redact_form_fn *each, void *data);
