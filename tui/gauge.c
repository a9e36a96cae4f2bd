#include "gauge.h"

enum look gauge_look(double share)
{
    if (share >= 1)
        return LOOK_GAUGE_FULL;
    return share >= GAUGE_NEAR ? LOOK_GAUGE_WARN : LOOK_GAUGE;
}

void gauge_paint(struct canvas *canvas, struct rect in, int row, int col, int width, double share, enum sign full)
{
    double part = share > 1 ? 1 : share > 0 ? share : 0;
    int filled = (int)(part * width + 0.5);
    if (part > 0 && filled == 0)
        filled = 1;
    if (part < 1 && filled == width)
        filled = width - 1;
    for (int i = 0; i < width; i++)
        canvas_put_sign(canvas, in, row, col + i, i < filled ? gauge_look(share) : LOOK_DIM,
                        i < filled ? full : SIGN_BAR_EMPTY);
}
