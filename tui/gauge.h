#pragma once
/* A bar that fills: how much of something is used. Near its end it has another look, and whoever paints it says so in
 * words beside it. */

#include "canvas.h"

#define GAUGE_NEAR 0.8 /* of the limit: worth a word */

enum look gauge_look(double share);
/* `width` columns of bar; a little is never nothing, and not quite all is never all. */
void gauge_paint(struct canvas *canvas, struct rect in, int row, int col, int width, double share, enum sign full);
