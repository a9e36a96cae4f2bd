/* Fuzzes the parser of themes. An accepted theme has a look for every role and any number of colors; an error names an
 * existing line and leaves the theme unchanged. */

#include "base/err.h"
#include "base/mem.h"
#include "screen/theme.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_color(int32_t color, int colors)
{
    int32_t reduced = color_reduce(color, colors);
    if (color == COLOR_DEFAULT ? reduced != COLOR_DEFAULT : reduced < 0 || reduced >= colors)
        BUG("%d of %d colors is %d", color, colors, reduced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int terminals[] = {8, 16, 256};
    struct theme theme;
    struct err err = ERR_INIT;
    long lines = 1;
    memset(&theme, 0x5A, sizeof(theme));
    if (theme_parse(&theme, "fuzz", (const char *)data, size, &err)) {
        for (size_t i = 0; i < size; i++)
            lines += data[i] == '\n';
        if (err.line < 1 || err.line > lines || !err.text[0])
            BUG("line %ld of %ld: %s", err.line, lines, err.text);
        if (theme.name[0] != 0x5A)
            BUG("a theme that was not taken changed");
        return 0;
    }
    for (enum look look = 0; look < LOOK_COUNT; look++) {
        const struct style *style = &theme.styles[look];
        for (size_t i = 0; i < COUNT_OF(terminals); i++) {
            check_color(style->fg, terminals[i]);
            check_color(style->bg, terminals[i]);
            struct style reduced = style_reduce(style, terminals[i]);
            if (style->fg != style->bg && reduced.fg >= 0 && reduced.fg == reduced.bg)
                BUG("%s cannot be read with %d colors", look_name(look), terminals[i]);
        }
    }
    return 0;
}
