/* A line discipline and not a terminal: there is one line that can be written over, and above it lines that cannot.
 * Programs that paint whole screens are not followed there; their texts come one below the other.
 *
 * Sequences are read as ECMA-48 has them: ESC [ parameters final; ESC ] … and its like up to BEL or ESC \; ESC and one
 * character. One that does not end is given up after SEQUENCE_MAX characters, so that nothing can be hidden by leaving
 * one open. */

#include "termtext.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "hits.h"
#include "text.h"
#include <string.h>

#define SEQUENCE_MAX 4096
#define TAB_COLUMNS  8
#define SCREEN_MOST  300    /* columns: a program that goes further to the right means the edge */
#define TYPED_SIGN   0x203A /* › */

enum { GROUND, ESCAPE, CONTROL, TEXT, TEXT_ESCAPE }; /* outside; after ESC; after ESC [; in a text; after ESC in it */

void termtext_init(struct termtext *text)
{
    *text = (struct termtext){.look = LOOK_PROGRAM};
}

static void release_line(struct termtext_line *line)
{
    free(line->text);
    free(line->runs);
    *line = (struct termtext_line){0};
}

void termtext_release(struct termtext *text)
{
    for (size_t i = text->first; i < text->end; i++)
        release_line(&text->lines[i]);
    release_line(&text->newest);
    free(text->lines);
    free(text->cells);
    *text = (struct termtext){0};
}

void termtext_reset(struct termtext *text)
{
    termtext_release(text);
    termtext_init(text);
}

/* ---- lines ---- */

static void add_code(struct strbuf *bytes, uint32_t code)
{
    char encoded[4];
    strbuf_add(bytes, encoded, utf8_encode(code, encoded));
}

/* As many as it will take where it is painted: a run after the other. */
static int line_columns(const struct termtext_line *line)
{
    struct canvas canvas = {.ascii = !text_utf8()};
    int columns = 0;
    for (uint32_t i = 0; i < line->run_count; i++)
        columns += canvas_columns(&canvas, line->text + line->runs[i].at, line->runs[i].len);
    return columns;
}

static struct termtext_line make_line(const struct termtext *text)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    struct termtext_line line = {0};
    size_t room = 0;
    for (size_t i = 0; i < text->width; i++) {
        const struct termtext_cell *cell = &text->cells[i];
        size_t before = bytes.len;
        if (!line.run_count || line.runs[line.run_count - 1].look != cell->look) {
            GROW(line.runs, line.run_count, room);
            line.runs[line.run_count++] = (struct termtext_run){.at = (uint32_t)bytes.len, .look = cell->look};
        }
        if (cell->code)
            add_code(&bytes, cell->code);
        for (size_t k = 0; k < COUNT_OF(cell->marks) && cell->marks[k]; k++)
            add_code(&bytes, cell->marks[k]);
        line.runs[line.run_count - 1].len += (uint32_t)(bytes.len - before);
    }
    line.len = (uint32_t)bytes.len;
    line.text = xmemdup0(bytes.buf ? bytes.buf : "", bytes.len);
    line.columns = line_columns(&line);
    return line;
}

static size_t line_bytes(const struct termtext_line *line)
{
    return sizeof(*line) + line->len + line->run_count * sizeof(*line->runs);
}

static void drop_first(struct termtext *text)
{
    text->bytes -= line_bytes(&text->lines[text->first]);
    release_line(&text->lines[text->first++]);
    text->dropped++;
}

static void end_line(struct termtext *text)
{
    /* Room at the front is used again when it is most of the room there is. */
    if (text->end == text->room && text->first > text->room / 2) {
        memmove(text->lines, text->lines + text->first, (text->end - text->first) * sizeof(*text->lines));
        text->end -= text->first;
        text->first = 0;
    }
    GROW(text->lines, text->end, text->room);
    text->lines[text->end] = make_line(text);
    if (text->lines[text->end].columns > text->longest)
        text->longest = text->lines[text->end].columns;
    text->bytes += line_bytes(&text->lines[text->end++]);
    while (text->end - text->first > TERMTEXT_LINES_MAX ||
           (text->bytes > TERMTEXT_BYTES_MAX && text->end - text->first > 1))
        drop_first(text);
    text->width = text->at = 0;
}

static void blank(struct termtext_cell *cell)
{
    *cell = (struct termtext_cell){.code = ' ', .look = LOOK_PROGRAM};
}

/* Of a wide character that is written over by half nothing is left: blank in front of this column and behind it. */
static void part(struct termtext *text, size_t column)
{
    if (column == 0 || column >= text->width || text->cells[column].code)
        return;
    blank(&text->cells[column - 1]);
    blank(&text->cells[column]);
}

/* A mark goes onto the character before it; of more than there is room for, the first ones. */
static bool put_mark(struct termtext *text, uint32_t code)
{
    char spelled[16];
    if (!text->at || utf8_width(code) != 0 || utf8_spell(code, spelled) != 0)
        return false;
    struct termtext_cell *cell = &text->cells[text->at - 1];
    cell -= !cell->code;
    if (!cell->marks[0] || !cell->marks[1])
        cell->marks[cell->marks[0] != 0] = code;
    return true;
}

static void put(struct termtext *text, uint32_t code, uint16_t look)
{
    size_t cells = utf8_width(code) == 2 ? 2 : 1;
    code = code ? code : UTF8_REPLACEMENT; /* none is the right half of a wide one */
    if (put_mark(text, code))
        return;
    if (text->at + cells > TERMTEXT_COLUMNS_MAX)
        end_line(text);
    part(text, text->at);
    part(text, text->at + cells);
    while (text->width < text->at + cells) {
        GROW(text->cells, text->width, text->cell_room);
        blank(&text->cells[text->width++]);
    }
    text->cells[text->at] = (struct termtext_cell){.code = code, .look = look};
    if (cells == 2)
        text->cells[text->at + 1] = (struct termtext_cell){.look = look};
    text->at += cells;
}

static void move_to(struct termtext *text, size_t column)
{
    size_t most = text->width > SCREEN_MOST ? text->width : SCREEN_MOST;
    column = column < most ? column : most;
    if (column <= text->width) {
        text->at = column;
        return;
    }
    text->at = text->width;
    while (text->at < column)
        put(text, ' ', LOOK_PROGRAM);
}

/* ---- sequences ---- */

/* The parameter with this number, or what it is when it is left out. */
static size_t parameter(const struct termtext *text, size_t number, size_t otherwise)
{
    const char *at = text->sequence;
    for (; number && *at; at++)
        number -= *at == ';';
    if (number || *at < '0' || *at > '9')
        return otherwise;
    size_t value = 0;
    for (; *at >= '0' && *at <= '9' && value < 100000; at++)
        value = value * 10 + (size_t)(*at - '0');
    return value;
}

/* No meaning by colour alone: what a program colours it says in words as well. */
static void set_look(struct termtext *text)
{
    static const uint16_t colours[] = {[31] = LOOK_ERROR, [32] = LOOK_GOOD, [33] = LOOK_WARN};
    uint16_t look = text->colour < COUNT_OF(colours) ? colours[text->colour] : 0;
    text->look = look ? look : text->bold ? LOOK_STRONG : text->dim ? LOOK_DIM : LOOK_PROGRAM;
}

static void set_colours(struct termtext *text)
{
    size_t count = 1;
    for (const char *at = text->sequence; *at; at++)
        count += *at == ';';
    for (size_t i = 0; i < count; i++) {
        size_t value = parameter(text, i, 0);
        if (value == 0) {
            text->bold = text->dim = false;
            text->colour = 0;
        } else if (value == 1) {
            text->bold = true;
        } else if (value == 2) {
            text->dim = true;
        } else if (value == 22) {
            text->bold = text->dim = false;
        } else if (value >= 30 && value <= 37) {
            text->colour = (uint8_t)value;
        } else if (value >= 90 && value <= 97) {
            text->colour = (uint8_t)(value - 60);
        } else if (value == 39) {
            text->colour = 0;
        } else if (value == 38 || value == 48) { /* by number or by its parts: what belongs to it is no colour */
            size_t how = parameter(text, i + 1, 0);
            i += how == 5 ? 2 : how == 2 ? 4 : 0;
        }
    }
    set_look(text);
}

static void erase(struct termtext *text)
{
    size_t what = parameter(text, 0, 0);
    part(text, what == 0 ? text->at : text->at + 1);
    if (what == 0)
        text->width = text->at;
    for (size_t i = 0; what >= 1 && i < text->width && (what == 2 || i <= text->at); i++)
        blank(&text->cells[i]);
}

static void control(struct termtext *text, uint32_t final)
{
    size_t by = parameter(text, 0, 1);
    by = by ? by : 1;
    switch (final) {
    case 'm':
        set_colours(text);
        break;
    case 'K':
        erase(text);
        break;
    case 'C':
        move_to(text, text->at + by);
        break;
    case 'D':
        text->at -= by < text->at ? by : text->at;
        break;
    case 'G':
        move_to(text, by - 1);
        break;
    default: /* it moves about the screen, or asks the terminal something */
        break;
    }
}

static void begin(struct termtext *text, uint8_t state)
{
    text->state = state;
    text->held = 0;
    text->sequence[0] = '\0';
}

static void in_escape(struct termtext *text, uint32_t code)
{
    if (code == '[')
        begin(text, CONTROL);
    else if (code == ']' || code == 'P' || code == 'X' || code == '^' || code == '_')
        begin(text, TEXT);
    else if (code < 0x20 || code > 0x2F) /* else: one more is to come */
        begin(text, GROUND);
}

static void in_control(struct termtext *text, uint32_t code)
{
    if (code >= 0x40 && code <= 0x7E) {
        text->state = GROUND;
        if (text->held < sizeof(text->sequence)) /* one that is longer is none that anybody means */
            control(text, code);
        return;
    }
    if (code < 0x20 || code > 0x3F) { /* it broke off */
        begin(text, GROUND);
        return;
    }
    if (text->held < sizeof(text->sequence) - 1) {
        text->sequence[text->held] = (char)code;
        text->sequence[text->held + 1] = '\0';
    }
}

/* ---- characters ---- */

static void ground(struct termtext *text, uint32_t code)
{
    switch (code) {
    case '\n':
        end_line(text);
        break;
    case '\r':
        text->at = 0;
        break;
    case '\b':
        text->at -= text->at > 0;
        break;
    case '\t':
        move_to(text, (text->at / TAB_COLUMNS + 1) * TAB_COLUMNS);
        break;
    case '\a':
    case 0x0E:
    case 0x0F:
        break;
    case 0x1B:
        begin(text, ESCAPE);
        break;
    default:
        put(text, code, text->look);
        break;
    }
}

static void take(struct termtext *text, uint32_t code)
{
    if (text->state != GROUND && text->held++ >= SEQUENCE_MAX)
        text->state = GROUND;
    switch (text->state) {
    case ESCAPE:
        in_escape(text, code);
        break;
    case CONTROL:
        text->held--;
        in_control(text, code);
        text->held++;
        break;
    case TEXT:
        if (code == '\a')
            begin(text, GROUND);
        else if (code == 0x1B)
            text->state = TEXT_ESCAPE;
        break;
    case TEXT_ESCAPE:
        text->state = TEXT;
        if (code == '\\')
            begin(text, GROUND);
        break;
    default:
        ground(text, code);
        break;
    }
}

void termtext_print(struct termtext *text, const char *bytes, size_t len)
{
    text->fresh = false;
    while (len) {
        size_t used;
        take(text, utf8_decode(bytes, len, &used));
        bytes += used;
        len -= used;
    }
}

void termtext_type(struct termtext *text, const char *bytes, size_t len)
{
    bool signed_already = false;
    text->fresh = false;
    begin(text, GROUND); /* nothing that a program began can swallow it */
    text->at = text->width;
    while (len) {
        size_t used;
        uint32_t code = utf8_decode(bytes, len, &used);
        if (!signed_already) { /* its role alone would be colour alone */
            put(text, text_utf8() ? TYPED_SIGN : '>', LOOK_PROGRAM_INPUT);
            put(text, ' ', LOOK_PROGRAM_INPUT);
        }
        signed_already = code != '\n';
        if (code == '\n')
            end_line(text);
        else
            put(text, code, LOOK_PROGRAM_INPUT);
        bytes += used;
        len -= used;
    }
}

/* ---- looking ---- */

size_t termtext_count(const struct termtext *text)
{
    return text->end - text->first + (text->width > 0);
}

const struct termtext_line *termtext_line(struct termtext *text, size_t number)
{
    size_t ended = text->end - text->first;
    if (number < ended)
        return &text->lines[text->first + number];
    if (number > ended || !text->width)
        return NULL;
    if (!text->fresh) {
        release_line(&text->newest);
        text->newest = make_line(text);
        text->fresh = true;
    }
    return &text->newest;
}

int termtext_longest(struct termtext *text)
{
    const struct termtext_line *newest = termtext_line(text, text->end - text->first);
    return newest && newest->columns > text->longest ? newest->columns : text->longest;
}

void termtext_paint(struct termtext *text, struct canvas *canvas, struct rect in, int row, int left, size_t number)
{
    const struct termtext_line *line = termtext_line(text, number);
    int col = -left;
    if (!line || !line->run_count)
        return;
    for (uint32_t i = 0; i < line->run_count && col < in.cols; i++) {
        const struct termtext_run *run = &line->runs[i];
        canvas_text(canvas, in, row, col, (enum look)run->look, line->text + run->at, run->len);
        col += canvas_columns(canvas, line->text + run->at, run->len);
    }
    if (left > 0)
        canvas_put_sign(canvas, in, row, 0, LOOK_DIM, SIGN_MORE);
    if (line->columns - left > in.cols)
        canvas_put_sign(canvas, in, row, in.cols - 1, LOOK_DIM, SIGN_MORE);
}

bool termtext_search(struct termtext *text, const char *wanted, bool back, size_t *number)
{
    size_t count = termtext_count(text);
    if (!count)
        return false;
    size_t at = *number < count ? *number : back ? 0 : count - 1;
    for (size_t left = count; left; left--) {
        at = back ? (at + count - 1) % count : (at + 1) % count;
        const struct termtext_line *line = termtext_line(text, at);
        if (line && hits_find(line->text, line->len, wanted)) {
            *number = at;
            return true;
        }
    }
    return false;
}
