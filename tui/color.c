/* Colours for terminals that have fewer. The first 16 are the user's own palette, of which nobody knows the real
 * values; the usual ones of xterm stand for them. */

#include "theme.h"

struct rgb {
    int red, green, blue;
};

static const struct rgb palette[16] = {
    {0, 0, 0},     {205, 0, 0},     {0, 205, 0},     {205, 205, 0},   {0, 0, 238}, {205, 0, 205},
    {0, 205, 205}, {229, 229, 229}, {127, 127, 127}, {255, 0, 0},     {0, 255, 0}, {255, 255, 0},
    {92, 92, 255}, {255, 0, 255},   {0, 255, 255},   {255, 255, 255},
};
static const int cube_levels[6] = {0, 95, 135, 175, 215, 255};

static struct rgb color_rgb(int32_t color)
{
    if (color & COLOR_RGB)
        return (struct rgb){color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF};
    if (color < 16)
        return palette[color];
    if (color >= 232) {
        int grey = 8 + 10 * (color - 232);
        return (struct rgb){grey, grey, grey};
    }
    color -= 16;
    return (struct rgb){cube_levels[color / 36], cube_levels[color / 6 % 6], cube_levels[color % 6]};
}

/* The eye sees green best and blue least; with the average of the reds as weight this is close to it. */
static long distance(struct rgb a, struct rgb b)
{
    long mean = (a.red + b.red) / 2;
    long red = a.red - b.red;
    long green = a.green - b.green;
    long blue = a.blue - b.blue;
    return ((512 + mean) * red * red >> 8) + 4 * green * green + ((767 - mean) * blue * blue >> 8);
}

static int32_t nearest_color(struct rgb wanted, int32_t first, int32_t end)
{
    int32_t best = first;
    for (int32_t color = first + 1; color < end; color++)
        if (distance(wanted, color_rgb(color)) < distance(wanted, color_rgb(best)))
            best = color;
    return best;
}

/* Of 16 or 8: the hue decides where there is one. The nearest by distance of a pastel is white, and a diff in pastel
 * green and red would be white twice. */
static int32_t nearest_hue(struct rgb rgb, bool bright)
{
    int most = rgb.red > rgb.green ? rgb.red : rgb.green;
    int least = rgb.red < rgb.green ? rgb.red : rgb.green;
    most = most > rgb.blue ? most : rgb.blue;
    least = least < rgb.blue ? least : rgb.blue;
    int middle = (most + least) / 2;
    if (most < 64)
        return 0;
    if ((most - least) * 5 < most) { /* a grey */
        if (bright)
            return most < 160 ? 8 : most < 240 ? 7 : 15;
        return most < 100 ? 0 : 7;
    }
    int32_t hue = (rgb.red > middle ? 1 : 0) | (rgb.green > middle ? 2 : 0) | (rgb.blue > middle ? 4 : 0);
    return bright && most >= 230 ? hue + 8 : hue;
}

int32_t color_reduce(int32_t color, int colors)
{
    if (color < 0 || colors < 8)
        return COLOR_DEFAULT;
    if (!(color & COLOR_RGB) && color < (colors >= 256 ? 256 : colors >= 16 ? 16 : 8))
        return color;
    /* With 256 the user's own palette is left alone: those 16 may be anything. */
    if (colors >= 256)
        return nearest_color(color_rgb(color), 16, 256);
    /* A bright colour keeps its hue; bright black would be black on black. */
    if (color < 16)
        return color == 8 ? 7 : color - 8;
    return nearest_hue(color_rgb(color), colors >= 16);
}

static int light(int32_t color)
{
    struct rgb rgb = color_rgb(color);
    return (299 * rgb.red + 587 * rgb.green + 114 * rgb.blue) / 1000;
}

struct style style_reduce(const struct style *style, int colors)
{
    struct style reduced = *style;
    reduced.fg = color_reduce(style->fg, colors);
    reduced.bg = color_reduce(style->bg, colors);
    /* Two colours that were apart must not become one. */
    if (reduced.fg >= 0 && reduced.fg == reduced.bg && style->fg != style->bg) {
        bool lighter = light(style->fg) >= light(style->bg);
        reduced.fg = lighter ? 7 : 0;
        if (reduced.fg == reduced.bg)
            reduced.bg = lighter ? 0 : 7;
    }
    return reduced;
}
