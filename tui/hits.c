#include "hits.h"
#include "base/mem.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool has_capital(const char *text)
{
    for (; *text; text++)
        if (isupper((unsigned char)*text))
            return true;
    return false;
}

const char *hits_find(const char *text, size_t len, const char *needle)
{
    size_t want = strlen(needle);
    if (!want || want > len)
        return NULL;
    if (has_capital(needle))
        return memmem(text, len, needle, want);
    /* One pass for each case of its first letter is memchr's speed, and a line is rarely long. */
    const char *end = text + (len - want) + 1;
    char low = needle[0], high = (char)toupper((unsigned char)low);
    const char *next_low = NULL, *next_high = NULL;
    for (const char *at = text; at < end; at++) {
        if (next_low < at && !(next_low = memchr(at, low, (size_t)(end - at))))
            next_low = end;
        if (next_high < at && !(next_high = low == high ? next_low : memchr(at, high, (size_t)(end - at))))
            next_high = end;
        at = next_low < next_high ? next_low : next_high;
        if (at < end && strncasecmp(at, needle, want) == 0)
            return at;
    }
    return NULL;
}

static void show_row(struct canvas *canvas, struct rect in, int row, const char *needle, struct strbuf *text)
{
    /* Which column each byte of the row's text stands in, so that a hit behind wide characters is tinted where it is.
     */
    int columns[1024];
    strbuf_reset(text);
    for (int col = in.col; col < in.col + in.cols && col < canvas->cols; col++) {
        const struct cell *cell = &canvas->cells[row * canvas->cols + col];
        size_t len = strlen(cell->text);
        if (text->len + len > COUNT_OF(columns))
            break;
        for (size_t i = 0; i < len; i++)
            columns[text->len + i] = col;
        strbuf_add(text, cell->text, len);
    }
    size_t want = strlen(needle);
    const char *at = text->buf, *hit;
    while ((hit = hits_find(at, text->len - (size_t)(at - text->buf), needle))) {
        int first = columns[hit - text->buf], last = columns[hit - text->buf + (ptrdiff_t)want - 1];
        int width = canvas->cells[row * canvas->cols + last].width;
        canvas_tint(canvas, rect_make(row, first, 1, last - first + (width > 1 ? width : 1)), LOOK_SEARCH);
        at = hit + want;
    }
}

void hits_show(struct canvas *canvas, struct rect in, const char *needle)
{
    if (!needle || !*needle)
        return;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    int first = in.row > 0 ? in.row : 0;
    if (in.col < 0) {
        in.cols += in.col;
        in.col = 0;
    }
    for (int row = first; row < in.row + in.rows && row < canvas->rows; row++)
        show_row(canvas, in, row, needle, &text);
}
