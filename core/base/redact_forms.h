#pragma once
/* The forms in which the value of a secret may turn up. What redact.c looks for; nobody else includes it. */

#include <stdbool.h>
#include <stddef.h>

/* `in_url`: any byte of it may be spelled as a URL spells it. */
typedef void redact_form_fn(void *data, const char *text, size_t len, bool in_url);
/* Calls `each` for the value and every form of it that has at least REDACT_LEAST bytes; some may come twice. */
void redact_forms(const char *value, redact_form_fn *each, void *data);
