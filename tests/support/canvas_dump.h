#pragma once
/* A canvas as text. */

#include "screen/canvas.h"

/* For goldens: the text, one line per row without trailing blanks. With `roles`, then the runs of roles per row ("3:
 * 0-14 status.mode, 15-60 text+bold") without blanks of ordinary text, and the cursor. */
void canvas_dump(struct strbuf *out, const struct canvas *canvas, bool roles);
