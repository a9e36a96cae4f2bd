#pragma once
/* Finding what somebody typed in a text, and showing where it is. Without capitals in it, what was typed stands for
 * letters of either case (ASCII only). */

#include "canvas.h"
#include <stddef.h>

/* The first place of `needle` in `text`, NULL when it is not there or empty. */
const char *hits_find(const char *text, size_t len, const char *needle);
/* Tints every place of `needle` on the rows of `in`, as they are painted. NULL: nothing. */
void hits_show(struct canvas *canvas, struct rect in, const char *needle);
