/* Tests of frames: a small terminal that interprets the output must show what the canvas has. */

#include "base/mem.h"
#include "screen/frame.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>

#define ROWS 6
#define COLS 20

static void position(struct strbuf *out, int row, int col)
{
    strbuf_addf(out, "\033[%d;%dH", row + 1, col + 1);
}

static void color(struct strbuf *out, int number, bool background)
{
    strbuf_addf(out, "\033[%d;5;%dm", background ? 48 : 38, number);
}

static const struct frame_caps caps = {.colors = 256,
                                       .utf8 = true,
                                       .reset = "\033[m",
                                       .bold = "\033[1m",
                                       .clear = "\033[H\033[2J",
                                       .position = position,
                                       .color = color,
                                       .hide_cursor = "\033[?25l",
                                       .show_cursor = "\033[?25h"};

/* The screen of a terminal without UTF-8: cells of ASCII only. */
struct glass {
    char cells[ROWS][COLS];
    int row, col;
};

static void look(struct glass *glass, const char *text)
{
    while (*text) {
        int row, col, used;
        if (*text != '\033') {
            if (glass->row < ROWS && glass->col < COLS)
                glass->cells[glass->row][glass->col] = *text;
            glass->col++;
            text++;
        } else if (sscanf(text, "\033[%d;%dH%n", &row, &col, &used) == 2 && text[used - 1] == 'H') {
            glass->row = row - 1;
            glass->col = col - 1;
            text += used;
        } else if (strncmp(text, "\033[2J", 4) == 0) {
            memset(glass->cells, ' ', sizeof(glass->cells));
            text += 4;
        } else {
            text += 2;
            while (!(*text >= '@' && *text <= '~'))
                text++;
            text++;
        }
    }
}

static void check_glass(const struct glass *glass, const struct canvas *canvas)
{
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++) {
            const char *text = canvas->cells[row * COLS + col].text;
            assert_int_equal(glass->cells[row][col], *text ? *text : ' ');
        }
}

TEST(any_frame_after_any_other)
{
    struct frame frame;
    struct canvas canvas;
    struct theme theme;
    struct err err = ERR_INIT;
    struct glass glass = {.row = 0};
    unsigned random = 3;
    assert_int_equal(theme_load(&theme, "default", &err), 0);
    frame_init(&frame);
    canvas_init(&canvas);
    canvas_resize(&canvas, ROWS, COLS);
    for (int i = 0; i < 300; i++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        struct rect all = rect_make(0, 0, ROWS, COLS);
        for (int k = 0; k < 4; k++) {
            char word[3] = {(char)('a' + (random >> 9) % 26), (char)('A' + (random >> 14) % 26), '\0'};
            random = random * 1103515245u + 12345u;
            canvas_str(&canvas, all, (int)(random >> 8) % ROWS, (int)(random >> 16) % COLS,
                       (enum look)((random >> 4) % LOOK_COUNT), word);
        }
        if (i % 50 == 0)
            frame_forget(&frame);
        frame_diff(&frame, &caps, ROWS, COLS, &canvas, &theme, &out);
        look(&glass, out.buf);
        check_glass(&glass, &canvas);
        strbuf_reset(&out);
        frame_diff(&frame, &caps, ROWS, COLS, &canvas, &theme, &out);
        assert_int_equal(out.len, 0); /* unchanged cells are not sent again */
    }
    frame_release(&frame);
    canvas_release(&canvas);
}

static void show(struct strbuf *out, const struct frame_caps *how, const char *text)
{
    struct frame frame;
    struct canvas canvas;
    struct theme theme;
    struct err err = ERR_INIT;
    assert_int_equal(theme_load(&theme, "default", &err), 0);
    theme.styles[LOOK_ERROR].fg = COLOR_RGB | 0x102030;
    frame_init(&frame);
    canvas_init(&canvas);
    canvas_resize(&canvas, ROWS, COLS);
    canvas_str(&canvas, rect_make(0, 0, ROWS, COLS), 0, 0, LOOK_ERROR, text);
    frame_diff(&frame, how, ROWS, COLS, &canvas, &theme, out);
    frame_release(&frame);
    canvas_release(&canvas);
}

TEST(colors_are_reduced_for_the_terminal)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct frame_caps how = caps;
    how.colors = FRAME_RGB;
    show(&out, &how, "x");
    assert_non_null(strstr(out.buf, "\033[38;2;16;32;48m"));
    strbuf_reset(&out);
    show(&out, &caps, "x");
    assert_non_null(strstr(out.buf, "\033[38;5;"));
    assert_null(strstr(out.buf, ";2;16"));
    strbuf_reset(&out);
    how.colors = 0;
    show(&out, &how, "x");
    assert_null(strstr(out.buf, "\033[38"));
}

TEST(without_utf8_only_ascii_is_sent)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct frame_caps how = caps;
    how.utf8 = false;
    show(&out, &how, "a\xc3\xa9\xe6\xbc\xa2z");
    for (size_t i = 0; i < out.len; i++)
        assert_true((unsigned char)out.buf[i] < 0x80);
    assert_non_null(strstr(out.buf, "a?"));
}

TEST(cursor_moves_after_a_wide_character)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    show(&out, &caps, "\xe6\xbc\xa2z");
    assert_non_null(strstr(out.buf, "\xe6\xbc\xa2\033[1;3Hz"));
}
