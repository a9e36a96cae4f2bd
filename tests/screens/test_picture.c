/* The picture in README is the workbench: docs/screen-dark.svg and docs/screen-light.svg are rendered here from the
 * real canvas of a write that waits for approval. UPDATE_GOLDEN=1 writes them.
 *
 * Every word has its own x and textLength, so columns stay aligned in any monospace font. Lines, corners and blocks are
 * drawn as shapes, because fonts disagree about them. */

#include "base/file.h"
#include "base/mem.h"
#include "screen/canvas.h"
#include "screen/theme.h"
#include "support/screen_rig.h"
#include "support/screen_stage.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

#define CASE   SOURCE_DIR "/tests/screens/cases/write-waits"
#define COLS   120
#define ROWS   36
#define CELL_W 8.4 /* pixels */
#define CELL_H 18
#define MARGIN 12

/* The screen colors of `default` and of the sixteen named colors in the picture. */
struct palette {
    int text, background;
    int named[16];
};

static const struct palette dark = {
    .text = 0xd5d8de,
    .background = 0x16191f,
    .named = {0x16191f, 0xf07178, 0x8fd18a, 0xe6c06a, 0x7aa8f0, 0xc792ea, 0x62c4d4, 0xd5d8de, 0x7b828e, 0xff8b92,
              0xb5e8b0, 0xffdf8f, 0xa0c4ff, 0xe0b5ff, 0x93e3f0, 0xffffff},
};
/* The light theme defines every color itself. */
static const struct palette light = {.text = 0x2c3038, .background = 0xfbfaf7};

static int color_rgb(const struct palette *palette, int32_t color, int otherwise)
{
    static const int levels[6] = {0, 95, 135, 175, 215, 255};
    if (color == COLOR_DEFAULT)
        return otherwise;
    if (color & COLOR_RGB)
        return color & 0xffffff;
    if (color < 16)
        return palette->named[color];
    if (color >= 232)
        return (8 + 10 * (color - 232)) * 0x010101;
    color -= 16;
    return levels[color / 36] << 16 | levels[color / 6 % 6] << 8 | levels[color % 6];
}

/* The look of one cell: its style with its marks, and colors as numbers. */
struct ink {
    int color, background;
    bool bold, dim, italic, underline;
};

static struct ink ink_of(const struct cell *cell, const struct theme *theme, const struct palette *palette)
{
    const struct style *style = &theme->styles[cell->look];
    struct ink ink = {
        .color = color_rgb(palette, style->fg, palette->text),
        .background = color_rgb(palette, style->bg, palette->background),
        .bold = style->bold || cell->marks & MARK_BOLD,
        .dim = style->dim || cell->marks & MARK_DIM,
        .italic = style->italic,
        .underline = style->underline || cell->marks & MARK_UNDERLINE,
    };
    if (style->reverse != ((cell->marks & MARK_REVERSE) != 0)) {
        int color = ink.color;
        ink.color = ink.background;
        ink.background = color;
    }
    return ink;
}

static bool same_ink(const struct ink *a, const struct ink *b)
{
    return a->color == b->color && a->bold == b->bold && a->dim == b->dim && a->italic == b->italic &&
           a->underline == b->underline;
}

static double x_of(int col)
{
    return MARGIN + col * CELL_W;
}

static int y_of(int row)
{
    return MARGIN + row * CELL_H;
}

static void add_rect(struct strbuf *out, double x, double y, double width, double height, int color, double opacity)
{
    strbuf_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%06x\"", x, y, width, height,
                (unsigned)color);
    if (opacity < 1)
        strbuf_addf(out, " opacity=\"%.2f\"", opacity);
    strbuf_addstr(out, "/>\n");
}

/* Characters drawn as shapes: the filled part of the cell, or strokes from its center. */
static const struct shape {
    const char *sign;
    double left, top, right, bottom, opacity; /* of the cell; opacity 0: strokes */
    const char *strokes;                      /* directions: l r u d */
} shapes[] = {
    {"█", 0, 0.12, 1, 0.88, 1, NULL},   {"▌", 0, 0.12, 0.5, 0.88, 1, NULL}, {"▐", 0.5, 0, 1, 1, 1, NULL},
    {"▏", 0, 0, 0.18, 1, 1, NULL},      {"▓", 0, 0.12, 1, 0.88, 0.8, NULL}, {"▒", 0, 0, 1, 1, 0.5, NULL},
    {"░", 0, 0.12, 1, 0.88, 0.2, NULL}, {"─", 0, 0, 0, 0, 0, "lr"},         {"│", 0, 0, 0, 0, 0, "ud"},
    {"┌", 0, 0, 0, 0, 0, "rd"},         {"┐", 0, 0, 0, 0, 0, "ld"},         {"└", 0, 0, 0, 0, 0, "ru"},
    {"┘", 0, 0, 0, 0, 0, "lu"},         {"┄", 0, 0, 0, 0, 0, "lr"},
};

static const struct shape *shape_of(const struct cell *cell)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        if (strcmp(shapes[i].sign, cell->text) == 0)
            return &shapes[i];
    return NULL;
}

/* Whether equal characters beside each other form one shape: lines along the row, and blocks as wide as a cell. */
static bool joins_itself(const struct shape *shape)
{
    return shape->opacity > 0 ? shape->right - shape->left == 1 : strcmp(shape->strokes, "lr") == 0;
}

/* A run of `count` equal characters. */
static void add_shape(struct strbuf *out, const struct shape *shape, int row, int col, int count, int color)
{
    if (shape->opacity > 0) {
        double right = shape->right < 1 ? shape->right : count;
        add_rect(out, x_of(col) + shape->left * CELL_W, y_of(row) + shape->top * CELL_H, (right - shape->left) * CELL_W,
                 (shape->bottom - shape->top) * CELL_H, color, shape->opacity);
        return;
    }
    double x = x_of(col) + CELL_W / 2, y = y_of(row) + CELL_H / 2.0;
    strbuf_addf(out, "<path stroke=\"#%06x\" d=\"", (unsigned)color);
    if (count > 1)
        strbuf_addf(out, "M%.1f %.1fH%.1f", x_of(col), y, x_of(col + count));
    for (const char *stroke = count > 1 ? "" : shape->strokes; *stroke; stroke++)
        switch (*stroke) {
        case 'l':
            strbuf_addf(out, "M%.1f %.1fH%.1f", x, y, x_of(col));
            break;
        case 'r':
            strbuf_addf(out, "M%.1f %.1fH%.1f", x, y, x_of(col + 1));
            break;
        case 'u':
            strbuf_addf(out, "M%.1f %.1fV%d", x, y, y_of(row));
            break;
        case 'd':
            strbuf_addf(out, "M%.1f %.1fV%d", x, y, y_of(row + 1));
            break;
        }
    strbuf_addf(out, "\"%s/>\n", strcmp(shape->sign, "┄") == 0 ? " stroke-dasharray=\"2 2\"" : "");
}

static void add_escaped(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            strbuf_addstr(out, "&amp;");
        else if (*text == '<')
            strbuf_addstr(out, "&lt;");
        else
            strbuf_addch(out, *text);
    }
}

static void add_word(struct strbuf *out, const struct cell *cells, int row, int col, int count, const struct ink *ink)
{
    strbuf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" fill=\"#%06x\"", x_of(col), y_of(row) + 13.5,
                count * CELL_W, (unsigned)ink->color);
    strbuf_addf(out, "%s%s%s%s>", ink->bold ? " font-weight=\"bold\"" : "", ink->italic ? " font-style=\"italic\"" : "",
                ink->dim ? " opacity=\"0.6\"" : "", ink->underline ? " text-decoration=\"underline\"" : "");
    for (int i = 0; i < count; i++)
        add_escaped(out, cells[i].text);
    strbuf_addstr(out, "</text>\n");
}

static bool is_blank(const struct cell *cell)
{
    return cell->width && strcmp(cell->text, " ") == 0;
}

static void render_row(struct strbuf *out, const struct canvas *canvas, int row, const struct theme *theme,
                       const struct palette *palette)
{
    const struct cell *cells = &canvas->cells[row * canvas->cols];
    for (int col = 0, end; col < canvas->cols; col = end) {
        int background = ink_of(&cells[col], theme, palette).background;
        for (end = col + 1; end < canvas->cols; end++)
            if (ink_of(&cells[end], theme, palette).background != background)
                break;
        if (background != palette->background)
            add_rect(out, x_of(col), y_of(row), (end - col) * CELL_W, CELL_H, background, 1);
    }
    for (int col = 0, end; col < canvas->cols; col = end) {
        struct ink ink = ink_of(&cells[col], theme, palette);
        const struct shape *shape = shape_of(&cells[col]);
        for (end = col + 1; end < canvas->cols; end++) {
            struct ink next = ink_of(&cells[end], theme, palette);
            bool joins;
            if (shape)
                joins = shape_of(&cells[end]) == shape && joins_itself(shape);
            else if (is_blank(&cells[col]))
                joins = is_blank(&cells[end]);
            else
                joins = !is_blank(&cells[end]) && !shape_of(&cells[end]);
            if (!joins || (!is_blank(&cells[col]) && !same_ink(&ink, &next)))
                break;
        }
        if (shape)
            add_shape(out, shape, row, col, end - col, ink.color);
        else if (!is_blank(&cells[col]))
            add_word(out, &cells[col], row, col, end - col, &ink);
    }
}

static void render(struct strbuf *out, const struct canvas *canvas, const char *theme_name,
                   const struct palette *palette)
{
    struct theme theme;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(free) char *file = xasprintf("%s/themes/%s.theme", SOURCE_DIR, theme_name);
    if (file_read(file, &text, 0, &err) || theme_parse(&theme, theme_name, text.buf, text.len, &err))
        fail_msg("%s: %s", file, err.text);
    double width = 2 * MARGIN + canvas->cols * CELL_W;
    int height = 2 * MARGIN + canvas->rows * CELL_H;
    strbuf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\" "
                "role=\"img\" xml:space=\"preserve\" font-size=\"14\" "
                "font-family=\"ui-monospace,'SFMono-Regular','DejaVu Sans Mono',Menlo,Consolas,monospace\">\n"
                "<title>Keyturn asks before a write: the diff, the conversation, the calls and the budget</title>\n"
                "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#%06x\"/>\n",
                width, height, width, height, (unsigned)palette->background);
    for (int row = 0; row < canvas->rows; row++)
        render_row(out, canvas, row, &theme, palette);
    strbuf_addstr(out, "</svg>\n");
}

static void check_picture(const struct canvas *canvas, const char *theme, const struct palette *palette,
                          const char *path)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
    struct err err = ERR_INIT;
    render(&got, canvas, theme, palette);
    if (getenv("UPDATE_GOLDEN"))
        assert_int_equal(file_replace(path, got.buf, got.len, 0644, &err), 0);
    if (file_read(path, &want, 0, &err))
        fail_msg("%s", err.text);
    if (strcmp(want.buf, got.buf) != 0)
        fail_msg("%s is not what the workbench shows (UPDATE_GOLDEN=1 build/tests/screens_test_picture writes it)",
                 path);
}

TEST(picture_in_readme_is_the_workbench)
{
    CLEANUP(strbuf) struct strbuf script = STRBUF_INIT;
    struct canvas canvas;
    struct err err = ERR_INIT;
    if (file_read(CASE "/case", &script, 0, &err))
        fail_msg("%s", err.text);
    screen_rig_paint(&canvas, CASE, script.buf, COLS, ROWS);
    check_picture(&canvas, "default", &dark, SOURCE_DIR "/docs/screen-dark.svg");
    check_picture(&canvas, "light", &light, SOURCE_DIR "/docs/screen-light.svg");
    canvas_release(&canvas);
}

void test_begin(void)
{
    screen_source = SOURCE_DIR;
}
