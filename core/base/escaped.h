#pragma once
/* Compares texts with values that programs may have escaped.
 *
 * Any character may be literal or be written as \u0073, \x73, \n and the like, also with doubled backslashes (JSON
 * within JSON). There are too many spellings to list, so a text is compared with a value one character at a time. */

#include <stddef.h>

#define ESCAPED_SLASHES_MAX 8 /* backslashes before an escape: JSON within JSON doubles them each time */

/* Returns how many bytes at the beginning of `text` spell the whole value; 0: no match. More than `len`: a possible
 * match, but the text ends first. `known` is the number of matched bytes of the value. */
size_t escaped_length(const char *value, size_t value_len, const char *text, size_t len, size_t *known);
/* The letter of a byte that has a short escape (n for a line break), or 0. */
char escaped_letter(char byte);
