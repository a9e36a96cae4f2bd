/* The output of a program as lines: the last line can be overwritten, the lines above it cannot.
 *
 * Unlike program_screen.c, this file does not use libvterm: a terminal breaks lines at its width, but these lines are
 * searched, copied and scrolled sideways as the program wrote them.
 *
 * Sequences follow ECMA-48: ESC [ parameters final; ESC ] … and similar up to BEL or ESC \; ESC and one character. An
 * unterminated sequence is dropped after SEQUENCE_MAX characters, so that a program cannot hide output in it. */

#include "program_lines.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

#define SEQUENCE_MAX 4096
#define TAB_COLUMNS  8
#define SCREEN_MOST  300    /* columns: a larger cursor position means the right edge */
#define TYPED_SIGN   0x203A /* › */

enum { GROUND, ESCAPE, CONTROL, TEXT, TEXT_ESCAPE }; /* outside; after ESC; after ESC [; in a string; after ESC in it */

void program_lines_init(struct program_lines *text)
{
    *text = (struct program_lines){.look = LOOK_PROGRAM};
}

static void release_line(struct program_line *line)
{
    free(line->text);
    free(line->runs);
    *line = (struct program_line){0};
}

void program_lines_release(struct program_lines *text)
{
    for (size_t i = text->first; i < text->end; i++)
        release_line(&text->lines[i]);
    release_line(&text->newest);
    free(text->lines);
    free(text->cells);
    *text = (struct program_lines){0};
}

void program_lines_reset(struct program_lines *text)
{
    program_lines_release(text);
    program_lines_init(text);
}

/* ---- lines ---- */

static void add_code(struct strbuf *bytes, uint32_t code)
{
    char encoded[4];
    strbuf_add(bytes, encoded, utf8_encode(code, encoded));
}

/* The columns it needs when painted run by run. */
static int line_columns(const struct program_line *line)
{
    struct canvas canvas = {.ascii = !text_utf8()};
    int columns = 0;
    for (uint32_t i = 0; i < line->run_count; i++)
        columns += canvas_columns(&canvas, line->text + line->runs[i].at, line->runs[i].len);
    return columns;
}

static struct program_line make_line(const struct program_lines *text)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    struct program_line line = {0};
    size_t room = 0;
    for (size_t i = 0; i < text->width; i++) {
        const struct program_cell *cell = &text->cells[i];
        size_t before = bytes.len;
        if (!line.run_count || line.runs[line.run_count - 1].look != cell->look) {
            GROW(line.runs, line.run_count, room);
            line.runs[line.run_count++] = (struct program_run){.at = (uint32_t)bytes.len, .look = cell->look};
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

static size_t line_bytes(const struct program_line *line)
{
    return sizeof(*line) + line->len + line->run_count * sizeof(*line->runs);
}

static void drop_first(struct program_lines *text)
{
    text->bytes -= line_bytes(&text->lines[text->first]);
    release_line(&text->lines[text->first++]);
    text->dropped++;
}

static void end_line(struct program_lines *text)
{
    /* Reuse the room at the front if it is more than half. */
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
    while (text->end - text->first > PROGRAM_LINES_MAX ||
           (text->bytes > PROGRAM_LINES_BYTES_MAX && text->end - text->first > 1))
        drop_first(text);
    text->width = text->at = 0;
}

static void blank(struct program_cell *cell)
{
    *cell = (struct program_cell){.code = ' ', .look = LOOK_PROGRAM};
}

/* A wide character that is half overwritten is removed: blanks before and after this column. */
static void part(struct program_lines *text, size_t column)
{
    if (column == 0 || column >= text->width || text->cells[column].code)
        return;
    blank(&text->cells[column - 1]);
    blank(&text->cells[column]);
}

/* Adds a mark to the previous character. Only the first marks have room. */
static bool put_mark(struct program_lines *text, uint32_t code)
{
    char spelled[16];
    if (!text->at || utf8_width(code) != 0 || utf8_spell(code, spelled) != 0)
        return false;
    struct program_cell *cell = &text->cells[text->at - 1];
    cell -= !cell->code;
    if (!cell->marks[0] || !cell->marks[1])
        cell->marks[cell->marks[0] != 0] = code;
    return true;
}

static void put(struct program_lines *text, uint32_t code, uint16_t look)
{
    size_t cells = utf8_width(code) == 2 ? 2 : 1;
    code = code ? code : UTF8_REPLACEMENT; /* 0 is reserved for the right half of a wide character */
    if (put_mark(text, code))
        return;
    if (text->at + cells > PROGRAM_LINES_COLUMNS_MAX)
        end_line(text);
    part(text, text->at);
    part(text, text->at + cells);
    while (text->width < text->at + cells) {
        GROW(text->cells, text->width, text->cell_room);
        blank(&text->cells[text->width++]);
    }
    text->cells[text->at] = (struct program_cell){.code = code, .look = look};
    if (cells == 2)
        text->cells[text->at + 1] = (struct program_cell){.look = look};
    text->at += cells;
}

static void move_to(struct program_lines *text, size_t column)
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

/* The parameter with this index, or `otherwise` if it is missing. */
static size_t parameter(const struct program_lines *text, size_t number, size_t otherwise)
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

/* Colors become roles. No meaning is lost, because programs also say in words what they color. */
static void set_look(struct program_lines *text)
{
    static const uint16_t colors[] = {[31] = LOOK_ERROR, [32] = LOOK_GOOD, [33] = LOOK_WARN};
    uint16_t look = text->color < COUNT_OF(colors) ? colors[text->color] : 0;
    text->look = look ? look : text->bold ? LOOK_STRONG : text->dim ? LOOK_DIM : LOOK_PROGRAM;
}

static void set_colors(struct program_lines *text)
{
    size_t count = 1;
    for (const char *at = text->sequence; *at; at++)
        count += *at == ';';
    for (size_t i = 0; i < count; i++) {
        size_t value = parameter(text, i, 0);
        if (value == 0) {
            text->bold = text->dim = false;
            text->color = 0;
        } else if (value == 1) {
            text->bold = true;
        } else if (value == 2) {
            text->dim = true;
        } else if (value == 22) {
            text->bold = text->dim = false;
        } else if (value >= 30 && value <= 37) {
            text->color = (uint8_t)value;
        } else if (value >= 90 && value <= 97) {
            text->color = (uint8_t)(value - 60);
        } else if (value == 39) {
            text->color = 0;
        } else if (value == 38 || value == 48) { /* 256 colors or RGB: skip the parameters that belong to it */
            size_t how = parameter(text, i + 1, 0);
            i += how == 5 ? 2 : how == 2 ? 4 : 0;
        }
    }
    set_look(text);
}

static void erase(struct program_lines *text)
{
    size_t what = parameter(text, 0, 0);
    part(text, what == 0 ? text->at : text->at + 1);
    if (what == 0)
        text->width = text->at;
    for (size_t i = 0; what >= 1 && i < text->width && (what == 2 || i <= text->at); i++)
        blank(&text->cells[i]);
}

bool program_lines_names_mode(const char *parameters, unsigned long mode)
{
    if (*parameters != '?')
        return false;
    for (const char *at = parameters; *at; at += 1 + strcspn(at + 1, ";")) /* at "?", then at each ";" */
        if (strtoul(at + 1, NULL, 10) == mode)
            return true;
    return false;
}

/* A program that wants application cursor keys reads single keys, so it also needs a screen. */
static bool needs_screen(const struct program_lines *text, uint32_t final)
{
    const char *parameters = text->sequence;
    if (*parameters == '?')
        return final == 'h' && (program_lines_names_mode(parameters, 1047) ||
                                program_lines_names_mode(parameters, 1049) || program_lines_names_mode(parameters, 1));
    if (parameters[strspn(parameters, "0123456789;")])
        return false;
    return strchr("AFHLMSTdfr", (int) final) || (final == 'J' && parameter(text, 0, 0) == 2);
}

static void control(struct program_lines *text, uint32_t final)
{
    size_t by = parameter(text, 0, 1);
    if (needs_screen(text, final))
        snprintf(text->paints, sizeof(text->paints), "\033[%s%c", text->sequence, (char) final);
    if (text->sequence[0] == '?')
        return;
    by = by ? by : 1;
    switch (final) {
    case 'm':
        set_colors(text);
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
    default: /* for a screen, or a query to the terminal: ignored */
        break;
    }
}

static void begin_line(struct program_lines *text, uint8_t state)
{
    text->state = state;
    text->held = 0;
    text->sequence[0] = '\0';
}

static void in_escape(struct program_lines *text, uint32_t code)
{
    if (code == '[')
        begin_line(text, CONTROL);
    else if (code == ']' || code == 'P' || code == 'X' || code == '^' || code == '_')
        begin_line(text, TEXT);
    else if (code < 0x20 || code > 0x2F) {  /* else one more byte follows */
        if (code == 'M' && text->held == 1) /* moves up, and scrolls in the first row */
            memcpy(text->paints, "\033M", sizeof("\033M"));
        begin_line(text, GROUND);
    }
}

static void in_control(struct program_lines *text, uint32_t code)
{
    if (code >= 0x40 && code <= 0x7E) {
        text->state = GROUND;
        if (text->held < sizeof(text->sequence)) /* no useful sequence is longer */
            control(text, code);
        return;
    }
    if (code < 0x20 || code > 0x3F) { /* the sequence is broken */
        begin_line(text, GROUND);
        return;
    }
    if (text->held < sizeof(text->sequence) - 1) {
        text->sequence[text->held] = (char)code;
        text->sequence[text->held + 1] = '\0';
    }
}

/* ---- characters ---- */

static void ground(struct program_lines *text, uint32_t code)
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
        begin_line(text, ESCAPE);
        break;
    default:
        put(text, code, text->look);
        break;
    }
}

static void take(struct program_lines *text, uint32_t code)
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
            begin_line(text, GROUND);
        else if (code == 0x1B)
            text->state = TEXT_ESCAPE;
        break;
    case TEXT_ESCAPE:
        text->state = TEXT;
        if (code == '\\')
            begin_line(text, GROUND);
        break;
    default:
        ground(text, code);
        break;
    }
}

size_t program_lines_print_until_painted(struct program_lines *text, const char *bytes, size_t len)
{
    size_t at = 0;
    text->fresh = false;
    text->paints[0] = '\0';
    while (at < len && !*text->paints) {
        size_t used;
        take(text, utf8_decode(bytes + at, len - at, &used));
        at += used;
    }
    return at;
}

void program_lines_print(struct program_lines *text, const char *bytes, size_t len)
{
    for (size_t used; len; bytes += used, len -= used)
        used = program_lines_print_until_painted(text, bytes, len);
}

void program_lines_type(struct program_lines *text, const char *bytes, size_t len)
{
    bool signed_already = false;
    text->fresh = false;
    begin_line(text, GROUND); /* an unfinished sequence of the program cannot hide it */
    text->at = text->width;
    while (len) {
        size_t used;
        uint32_t code = utf8_decode(bytes, len, &used);
        if (!signed_already) { /* add a sign, because the role alone would be only color */
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

/* ---- moving lines to a screen ---- */

static void add_look(struct strbuf *out, uint16_t look)
{
    static const char *const colors[] = {
        [LOOK_STRONG] = "1", [LOOK_DIM] = "2", [LOOK_ERROR] = "31", [LOOK_GOOD] = "32", [LOOK_WARN] = "33"};
    strbuf_addf(out, "\033[0;%sm", look < COUNT_OF(colors) && colors[look] ? colors[look] : "");
}

static void add_line(struct strbuf *out, const struct program_line *line)
{
    for (uint32_t i = 0; i < line->run_count; i++) {
        add_look(out, line->runs[i].look);
        strbuf_add(out, line->text + line->runs[i].at, line->runs[i].len);
    }
}

static int rows_needed(int columns, int cols)
{
    return columns ? (columns + cols - 1) / cols : 1;
}

void program_lines_take_newest(struct program_lines *text, int rows, int cols, struct strbuf *out)
{
    struct program_line newest = make_line(text);
    size_t from = text->end;
    rows -= rows_needed(newest.columns, cols);
    while (from > text->first && (rows -= rows_needed(text->lines[from - 1].columns, cols)) >= 0)
        from--;
    for (size_t i = from; i < text->end; i++) {
        add_line(out, &text->lines[i]);
        strbuf_addstr(out, "\r\n");
        text->bytes -= line_bytes(&text->lines[i]);
        release_line(&text->lines[i]);
    }
    add_line(out, &newest);
    strbuf_addf(out, "\033[%zuG", text->at % (size_t)cols + 1);
    add_look(out, text->look);
    release_line(&newest);
    text->end = from;
    text->width = text->at = 0;
    text->fresh = false;
}

/* ---- reading lines ---- */

size_t program_lines_count(const struct program_lines *text)
{
    return text->end - text->first + (text->width > 0);
}

const struct program_line *program_lines_line(struct program_lines *text, size_t number)
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

int program_lines_longest(struct program_lines *text)
{
    const struct program_line *newest = program_lines_line(text, text->end - text->first);
    return newest && newest->columns > text->longest ? newest->columns : text->longest;
}

void program_lines_paint(struct program_lines *text, struct canvas *canvas, struct rect in, int row, int left,
                         size_t number)
{
    const struct program_line *line = program_lines_line(text, number);
    int col = -left;
    if (!line || !line->run_count)
        return;
    for (uint32_t i = 0; i < line->run_count && col < in.cols; i++) {
        const struct program_run *run = &line->runs[i];
        canvas_text(canvas, in, row, col, (enum look)run->look, line->text + run->at, run->len);
        col += canvas_columns(canvas, line->text + run->at, run->len);
    }
    if (left > 0)
        canvas_put_sign(canvas, in, row, 0, LOOK_DIM, SIGN_MORE);
    if (line->columns - left > in.cols)
        canvas_put_sign(canvas, in, row, in.cols - 1, LOOK_DIM, SIGN_MORE);
}

bool program_lines_search(struct program_lines *text, const char *wanted, bool back, size_t *number)
{
    size_t count = program_lines_count(text);
    if (!count)
        return false;
    size_t at = *number < count ? *number : back ? 0 : count - 1;
    for (size_t left = count; left; left--) {
        at = back ? (at + count - 1) % count : (at + 1) % count;
        const struct program_line *line = program_lines_line(text, at);
        if (line && text_match_find(line->text, line->len, wanted)) {
            *number = at;
            return true;
        }
    }
    return false;
}
