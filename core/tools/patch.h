#pragma once
/* What a file becomes by a unified difference, of a tool server's or of a recording. Nothing is guessed: each line must
 * stand just where the difference says, else there is no result. */

#include "base/err.h"
#include <stddef.h>

struct strbuf;

/* `text` holds the difference, alone or in a fence. Appends what `old` becomes. */
int patch_apply(struct strbuf *out, const char *old, size_t old_len, const char *text, struct err *err) CHECKED;
