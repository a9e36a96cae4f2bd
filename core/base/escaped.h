#pragma once
/* Texts as programs escape them: any of their characters may stand for itself or be written as \u0073, \x73, \n and the
 * like, also with the backslashes doubled (JSON within JSON). There are too many spellings to list them, so a text is
 * compared with a value one character at a time. */

#include <stddef.h>

#define ESCAPED_SLASHES_MAX 8 /* backslashes before an escape: JSON within JSON doubles them each time */

/* How many bytes at the beginning of `text` spell the whole value; 0: they do not. More than `len`: they may, but the
 * text ends first. `known` is the number of bytes of the value that were found. */
size_t escaped_length(const char *value, size_t value_len, const char *text, size_t len, size_t *known);
/* The letter of a byte that has a short escape (n for a line break), or 0. */
char escaped_letter(char byte);
