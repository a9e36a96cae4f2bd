/* Rows that hold all of a document, for whoever has to decide about it.
 *
 * Its texts are somebody else's and may be made to deceive: padded with blanks until the rest is on a row where nobody
 * looks for it, or where it looks like the frame around them. So what stands before a text stands before every row of
 * it, and a text cannot get there: a row that goes on has a sign where a first row has a blank, a quote or a bracket.
 * Columns are those of the canvas, which spells some characters out; by any other count a row could be too long. */

#include "base/mem.h"
#include "base/utf8.h"
#include "pretty.h"
#include "text.h"
#include <string.h>

#define BLANKS_MAX  32 /* columns that are shown as they are: an indentation, a column of comments */
#define EMPTY_MAX   3  /* lines */
#define TAB_COLUMNS 8

struct fold {
    struct pretty *out;
    const struct canvas *canvas;
    uint32_t from;
    int width, indent;
    bool bar;
    int room;   /* columns of this row that are the text's */
    int column; /* of them, where it stands */
    int line;   /* columns of the line so far, for its tabs */
};

static void begin_row(struct fold *fold, bool goes_on)
{
    struct pretty *out = fold->out;
    const char *sign = goes_on ? canvas_sign(fold->canvas, SIGN_MORE) : " ";
    pretty_begin(out, fold->indent);
    if (fold->bar)
        pretty_putf(out, LOOK_DIM, "|%s", sign);
    else if (goes_on)
        pretty_putf(out, LOOK_DIM, "%s ", sign);
    struct pretty_line *row = &out->lines[out->count - 1];
    row->gutter = row->count;
    row->from = fold->from;
    fold->room = fold->width - fold->indent - (fold->bar || goes_on ? 2 : 0);
    fold->column = 0;
}

/* Goes on in the next row where there are not so many columns left. */
static void make_room(struct fold *fold, int columns)
{
    if (fold->column && fold->column + columns > fold->room)
        begin_row(fold, true);
}

/* Characters that show nothing but have their place; those that have none are spelled out. */
static bool is_blank(uint32_t cp)
{
    return cp == ' ' || cp == '\t' || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x202F ||
           cp == 0x205F || cp == 0x2800 || cp == 0x3000;
}

/* The bytes that are blanks, how many they are and the columns that they take. */
static size_t blanks(const char *text, size_t len, size_t *count, size_t *columns)
{
    size_t at = 0;
    for (*count = *columns = 0; at < len; ++*count) {
        size_t used;
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        if (!is_blank(cp))
            break;
        *columns += cp == '\t' ? TAB_COLUMNS : (size_t)utf8_width(cp);
        at += used;
    }
    return at;
}

static void add_gap(struct fold *fold, size_t count, const char *one, const char *many)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    const char *sign = canvas_sign(fold->canvas, SIGN_GAP);
    strbuf_addf(&words, " %s ", sign);
    text_plural(&words, (int64_t)count, one, many);
    strbuf_addf(&words, " %s ", sign);
    int columns = canvas_columns(fold->canvas, words.buf, words.len);
    make_room(fold, columns);
    pretty_put(fold->out, LOOK_WARN, words.buf, words.len);
    fold->column += columns;
}

static void add_tab(struct fold *fold, enum look look)
{
    static const char eight[] = "        ";
    int columns = TAB_COLUMNS - fold->line % TAB_COLUMNS;
    make_room(fold, columns);
    pretty_put(fold->out, look, eight, (size_t)columns);
    fold->column += columns;
    fold->line += columns;
}

/* A mark that joins the character before it takes none. */
static int columns_of(const struct fold *fold, uint32_t cp, const char *text, size_t len, bool joins)
{
    char spelled[16];
    if (joins && !fold->canvas->ascii && utf8_width(cp) == 0 && !utf8_spell(cp, spelled))
        return 0;
    return canvas_columns(fold->canvas, text, len);
}

static void put_since(struct fold *fold, enum look look, const char *text, size_t *start, size_t at)
{
    if (at > *start)
        pretty_put(fold->out, look, text + *start, at - *start);
    *start = at;
}

static void fold_text(struct fold *fold, enum look look, const char *text, size_t len)
{
    size_t start = 0, at = 0; /* what is between them is not put yet */
    while (at < len) {
        size_t used, count, wide, gap = blanks(text + at, len - at, &count, &wide);
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        if (wide > BLANKS_MAX || cp == '\t') {
            put_since(fold, look, text, &start, at);
            if (wide > BLANKS_MAX)
                add_gap(fold, count, "blank", "blanks");
            else
                add_tab(fold, look);
            at = start = at + (wide > BLANKS_MAX ? gap : used);
            continue;
        }
        int columns = columns_of(fold, cp, text + at, used, at > start);
        if (fold->column && fold->column + columns > fold->room) {
            put_since(fold, look, text, &start, at);
            begin_row(fold, true);
        }
        fold->column += columns;
        fold->line = (fold->line + columns) % TAB_COLUMNS;
        at += used;
    }
    put_since(fold, look, text, &start, at);
}

static void read_gutter(struct fold *fold, const struct pretty *readable, const struct pretty_line *line)
{
    int columns = 0;
    fold->bar = false;
    for (uint32_t i = 0; i < line->gutter; i++) {
        const struct pretty_run *run = &readable->runs[line->run + i];
        fold->bar = readable->text.buf[run->at] == PRETTY_BAR[0];
        columns += fold->bar ? 0 : (int)run->len;
    }
    /* However deep a value is, there is room for what it says. */
    fold->indent = columns < fold->width / 2 ? columns : fold->width / 2;
}

static bool is_empty(const struct pretty *readable, const struct pretty_line *line)
{
    for (uint32_t i = line->gutter; i < line->count; i++) {
        const struct pretty_run *run = &readable->runs[line->run + i];
        size_t count, columns;
        if (blanks(readable->text.buf + run->at, run->len, &count, &columns) < run->len)
            return false;
    }
    return true;
}

/* Lines from this one on that show nothing and are of the same block. */
static size_t empty_lines(const struct pretty *readable, size_t first)
{
    size_t at = first;
    while (at < readable->count && readable->lines[at].gutter == readable->lines[first].gutter &&
           is_empty(readable, &readable->lines[at]))
        at++;
    return at - first;
}

void pretty_fold(struct pretty *pretty, const struct pretty *readable, const struct canvas *canvas)
{
    struct fold fold = {.out = pretty, .canvas = canvas};
    fold.width = pretty->width > PRETTY_WIDTH_MIN ? pretty->width : PRETTY_WIDTH_MIN;
    for (size_t i = 0; i < readable->count;) {
        const struct pretty_line *line = &readable->lines[i];
        size_t empty = empty_lines(readable, i);
        fold.from = (uint32_t)i + 1;
        fold.line = 0;
        read_gutter(&fold, readable, line);
        begin_row(&fold, false);
        if (empty > EMPTY_MAX) {
            add_gap(&fold, empty, "empty line", "empty lines");
            i += empty;
            continue;
        }
        for (uint32_t k = line->gutter; k < line->count; k++) {
            const struct pretty_run *run = &readable->runs[line->run + k];
            fold_text(&fold, (enum look)run->look, readable->text.buf + run->at, run->len);
        }
        i++;
    }
}

size_t pretty_row_from(const struct pretty *pretty, uint32_t from)
{
    size_t row = 0;
    while (row < pretty->count && pretty->lines[row].from < from)
        row++;
    return row;
}
