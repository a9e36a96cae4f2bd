/* The screen of a full-screen program, kept by libvterm; see program_screen.h.
 *
 * program_screen_print passes bytes to the lines until a sequence that they cannot show, then to a fresh libvterm until
 * the program leaves the alternate screen (DEC modes 1047 and 1049), or scrolls without painting for a whole screen.
 * libvterm reports both in callbacks while it parses, so each line and control sequence (CSI) is passed in a separate
 * call.
 *
 * What scrolls off a painted screen is held until the program has scrolled a screenful, and dropped if a new frame
 * begins before: a frame painted for a taller terminal scrolls each time (`top` before it learns its size).
 *
 * libvterm 0.1.4 is not safe with hostile input: more than 16 parameters overflow a table, and CSI b without a
 * preceding character loops forever. So it only gets a safe subset: characters with a width, control characters, the
 * sequences in is_safe_sequence and the two-byte sequences in print_escape. Strings (OSC, DCS and similar) and queries
 * to the terminal are dropped; print_repeated implements CSI b.
 *
 * Rows and columns are limited. Answers to the program are dropped: libvterm's output is read only for keys. Memory
 * comes from xcalloc, because libvterm does not check for failures. */

#include "program_screen.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "keys.h"
#include "theme.h"
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#define STRING_MAX     4096
#define FRAME_ROWS_MAX 100 /* more lines are no frame */

struct program_vterm {
    VTerm *term;
    VTermScreen *screen;
    bool alternate; /* the program uses the alternate screen */
    bool painted;   /* it painted before, without the alternate screen */
    bool left;      /* it left the screen */
    bool cursor_keys;
    bool hidden_cursor;
    struct strbuf scrolled; /* rows that scrolled off since the last frame began */
    int scrolled_rows;
    int quiet_rows;                                 /* rows that scrolled off since the program painted */
    enum { GROUND, ESCAPE, CONTROL, STRING } state; /* outside; after ESC; after ESC [; in an OSC or similar */
    char sequence[64];                              /* from ESC on, in CONTROL */
    size_t sequence_len;                            /* larger than the array: the sequence is dropped */
    char set;                                       /* the byte after ESC, if another one must follow */
    uint32_t last;                                  /* last printed character; 0: none */
    VTermPos cursor;
};

/* ---- life ---- */

static void *vterm_alloc(size_t size, void *none)
{
    (void)none;
    return xcalloc(1, size);
}

static void vterm_release(void *memory, void *none)
{
    (void)none;
    free(memory);
}

static int vterm_moved_cursor(VTermPos to, VTermPos from, int visible, void *data)
{
    struct program_vterm *full = data;
    (void)from;
    (void)visible;
    full->cursor = to;
    return 1;
}

static int vterm_set_property(VTermProp property, VTermValue *value, void *data)
{
    struct program_vterm *full = data;
    if (property == VTERM_PROP_ALTSCREEN) {
        full->left = full->alternate && !value->boolean && !full->painted;
        full->alternate = value->boolean;
    } else if (property == VTERM_PROP_CURSORVISIBLE) {
        full->hidden_cursor = !value->boolean;
    }
    return 1;
}

static void add_row(const VTermScreen *screen, const VTermScreenCell *cells, int cols, bool looks, struct strbuf *out);
static int add_rows(const struct program_screen *screen, bool looks, struct strbuf *out);

/* A row scrolled off the screen that is not the alternate one. */
static int vterm_scrolled(int cols, const VTermScreenCell *cells, void *data)
{
    struct program_vterm *full = data;
    add_row(full->screen, cells, cols, true, &full->scrolled);
    strbuf_addch(&full->scrolled, '\n');
    full->scrolled_rows++;
    full->quiet_rows++;
    return 1;
}

static struct program_vterm *vterm_open(int rows, int cols)
{
    static VTermAllocatorFunctions memory = {.malloc = vterm_alloc, .free = vterm_release};
    static const VTermScreenCallbacks callbacks = {
        .movecursor = vterm_moved_cursor, .settermprop = vterm_set_property, .sb_pushline = vterm_scrolled};
    struct program_vterm *full = xcalloc(1, sizeof(*full));
    strbuf_init(&full->scrolled);
    full->term = vterm_new_with_allocator(rows, cols, &memory, NULL);
    vterm_set_utf8(full->term, 1);
    full->screen = vterm_obtain_screen(full->term);
    vterm_screen_enable_altscreen(full->screen, 1);
    vterm_screen_set_callbacks(full->screen, &callbacks, full);
    vterm_screen_reset(full->screen, 1);
    return full;
}

/* Passes bytes to libvterm. It leaves the cursor beyond the screen when that becomes smaller, and when a position is
 * restored that was saved before; so the cursor is put back before anything else is passed. */
static void write_vterm(struct program_vterm *full, const char *bytes, size_t len)
{
    int rows, cols;
    vterm_input_write(full->term, bytes, len);
    vterm_get_size(full->term, &rows, &cols);
    VTermPos at = full->cursor;
    if (at.row >= 0 && at.row < rows && at.col >= 0 && at.col < cols)
        return;
    char back[32];
    at.row = at.row < 0 ? 0 : at.row < rows ? at.row : rows - 1;
    at.col = at.col < 0 ? 0 : at.col < cols ? at.col : cols - 1;
    int put = snprintf(back, sizeof(back), "\033[%d;%dH", at.row + 1, at.col + 1);
    vterm_input_write(full->term, back, (size_t)put);
}

static void vterm_close(struct program_vterm *full)
{
    if (!full)
        return;
    vterm_free(full->term);
    strbuf_release(&full->scrolled);
    free(full);
}

void program_screen_init(struct program_screen *screen)
{
    *screen = (struct program_screen){.rows = 24, .cols = 80};
    program_lines_init(&screen->lines);
}

void program_screen_release(struct program_screen *screen)
{
    vterm_close(screen->full);
    screen->full = NULL;
    program_lines_release(&screen->lines);
}

void program_screen_reset(struct program_screen *screen)
{
    vterm_close(screen->full);
    screen->full = NULL;
    screen->painted = false;
    program_lines_reset(&screen->lines);
}

/* Two columns at least: libvterm writes the second half of a wide character without looking for room. */
static int bounded(int size, int least, int most)
{
    return size < least ? least : size > most ? most : size;
}

/* Margins end with the size they were set for: libvterm keeps them beyond a smaller screen, and then moves a negative
 * number of rows. */
static void resize_vterm(struct program_vterm *full, int rows, int cols)
{
    char reset[64];
    int len = snprintf(reset, sizeof(reset), "\033[s\033[r\033[%d;%dH", full->cursor.row + 1, full->cursor.col + 1);
    write_vterm(full, reset, (size_t)len);
    int quiet = full->quiet_rows;
    vterm_set_size(full->term, rows, cols);
    full->quiet_rows = quiet; /* the program did not scroll these rows */
    write_vterm(full, "", 0);
}

void program_screen_resize(struct program_screen *screen, int rows, int cols)
{
    rows = bounded(rows, 1, PROGRAM_SCREEN_ROWS_MAX);
    cols = bounded(cols, 2, PROGRAM_SCREEN_COLS_MAX);
    if (screen->full && (rows != screen->rows || cols != screen->cols))
        resize_vterm(screen->full, rows, cols);
    screen->rows = rows;
    screen->cols = cols;
}

/* ---- output ---- */

/* CSI b: repeats the last character, at most as often as fills the screen. */
static void print_repeated(struct program_screen *screen)
{
    struct program_vterm *full = screen->full;
    full->sequence[full->sequence_len - 1] = '\0';
    long count = strtol(full->sequence + 2, NULL, 10), most = (long)screen->rows * screen->cols;
    char bytes[4];
    size_t len = utf8_encode(full->last, bytes);
    if (!full->last || full->sequence[2 + strspn(full->sequence + 2, "0123456789")])
        return;
    count = count < 1 ? 1 : count > most ? most : count;
    while (count--)
        write_vterm(full, bytes, len);
}

/* ESC [, perhaps "?", at most 16 numbers of at most 5 digits, and a final byte that moves, erases, scrolls or sets. */
static bool is_safe_sequence(const struct program_vterm *full)
{
    if (full->sequence_len > sizeof(full->sequence))
        return false;
    const char *at = full->sequence + 2, *end = full->sequence + full->sequence_len - 1;
    if (!strchr("@ABCDEFGHIJKLMPSTXZ`adefhlmrsu", *end))
        return false;
    at += *at == '?';
    for (int numbers = 1; at < end; numbers += *at++ == ';') {
        size_t digits = strspn(at, "0123456789");
        at += digits;
        if (digits > 5 || numbers > 16 || (*at != ';' && at != end))
            return false;
        if (at == end)
            break;
    }
    return true;
}

/* Notes what a sequence says about the program: that it paints, begins a frame in the first row, or wants its keys. */
static void note_sequence(struct program_vterm *full, char final)
{
    char *parameters = full->sequence + 2;
    full->sequence[full->sequence_len - 1] = '\0';
    if (strchr("AFHJLMSTdfr", final))
        full->quiet_rows = 0;
    if ((strchr("Hdf", final) && strtol(parameters, NULL, 10) <= 1) || (final == 'J' && *parameters == '2')) {
        strbuf_reset(&full->scrolled);
        full->scrolled_rows = 0;
    }
    if (strchr("hl", final) && program_lines_names_mode(parameters, 1))
        full->cursor_keys = final == 'h';
    full->sequence[full->sequence_len - 1] = final;
}

/* Sets or resets private modes one by one, because libvterm 0.1.4 takes only the first of a sequence. */
static void print_modes(struct program_vterm *full, char final)
{
    const char *at = full->sequence + 3, *end = full->sequence + full->sequence_len - 1;
    char mode[16];
    for (size_t digits; at <= end; at += digits + 1) {
        digits = strspn(at, "0123456789");
        int len = snprintf(mode, sizeof(mode), "\033[?%.*s%c", (int)digits, at, final);
        if (digits)
            write_vterm(full, mode, (size_t)len);
    }
}

/* Handles the final byte of a control sequence. */
static void print_sequence(struct program_screen *screen, char final)
{
    struct program_vterm *full = screen->full;
    full->state = GROUND;
    if (final == 'b' && full->sequence_len <= sizeof(full->sequence)) {
        print_repeated(screen);
    } else if (is_safe_sequence(full)) {
        note_sequence(full, final);
        if (full->sequence[2] == '?' && strchr("hl", final))
            print_modes(full, final);
        else
            write_vterm(full, full->sequence, full->sequence_len);
    }
}

static void hold_byte(struct program_vterm *full, char byte)
{
    if (full->sequence_len < sizeof(full->sequence))
        full->sequence[full->sequence_len] = byte;
    full->sequence_len++;
}

/* Handles a byte inside a control sequence. Parameters are kept until its end; control characters take effect at
 * once. */
static void print_in_sequence(struct program_screen *screen, char byte)
{
    struct program_vterm *full = screen->full;
    unsigned char code = (unsigned char)byte;
    if (code >= 0x40 && code <= 0x7E) {
        hold_byte(full, byte);
        print_sequence(screen, byte);
    } else if (code >= 0x20 && code < 0x40) {
        hold_byte(full, byte);
    } else if (code == 0x1B) {
        full->state = ESCAPE;
    } else {
        full->state = code == 0x18 || code == 0x1A || code >= 0x7F ? GROUND : CONTROL;
        if (code < 0x7F)
            write_vterm(full, &byte, 1);
    }
}

/* Prints text and control characters up to an ESC or the end of the line. Returns the bytes used. */
static size_t print_ground(struct program_vterm *full, const char *bytes, size_t len)
{
    size_t end = 0;
    while (end < len && bytes[end] != 0x1B && (end == 0 || bytes[end - 1] != '\n'))
        end++;
    bool escape = end < len && bytes[end] == 0x1B;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t at = 0, used; at < end; at += used) {
        uint32_t code = utf8_decode(bytes + at, end - at, &used);
        bool control = code < 0x20;
        if (!control && (utf8_unsafe(code) || (utf8_width(code) == 0 && !full->last)))
            code = UTF8_REPLACEMENT;
        full->last = control ? 0 : utf8_width(code) > 0 ? code : full->last;
        char encoded[4];
        strbuf_add(&text, encoded, utf8_encode(code, encoded));
    }
    if (text.len)
        write_vterm(full, text.buf, text.len);
    full->state = escape ? ESCAPE : GROUND;
    return end + escape;
}

/* Handles a byte after ESC, or after ESC and the "(" or ")" that selects a character set: 0 is the line drawing set. */
static void print_escape(struct program_vterm *full, char byte)
{
    char set = full->set;
    full->set = '\0';
    full->state = GROUND;
    if (byte == 0x1B || (byte >= 0x20 && byte <= 0x2F)) {
        full->state = ESCAPE;
        full->set = byte;
    } else if (set == '(' || set == ')') {
        if (byte == '0' || byte == 'B')
            write_vterm(full, (const char[]){'\033', set, byte}, 3);
    } else if (set && set != 0x1B) {
        return;
    } else if (byte == '[') {
        full->state = CONTROL;
        full->sequence_len = 0;
        hold_byte(full, '\033');
        hold_byte(full, byte);
    } else if (byte && strchr("]PX^_", byte)) {
        full->state = STRING;
        full->sequence_len = 0;
    } else if (byte && strchr("78=>MDE", byte)) {
        full->quiet_rows = byte == 'M' ? 0 : full->quiet_rows;
        write_vterm(full, (const char[]){'\033', byte}, 2);
    }
}

/* Skips a string until BEL or ESC \. An unterminated string is dropped, so that it cannot hide output. */
static void skip_string(struct program_vterm *full, char byte)
{
    if (byte == '\a' || full->sequence_len++ >= STRING_MAX)
        full->state = GROUND;
    else if (byte == 0x1B)
        full->state = ESCAPE;
}

/* Moves rows that scrolled off to the lines if they are a screenful: then they are no part of a frame. */
static void keep_scrolled(struct program_screen *screen)
{
    struct program_vterm *full = screen->full;
    full->left = full->left || (full->quiet_rows >= screen->rows && !full->cursor_keys && !full->alternate);
    if (full->scrolled_rows < screen->rows)
        return;
    program_lines_print(&screen->lines, full->scrolled.buf, full->scrolled.len);
    strbuf_reset(&full->scrolled);
    full->scrolled_rows = 0;
}

/* Passes bytes to the full screen until the program leaves it. Returns the bytes used. */
static size_t print_full(struct program_screen *screen, const char *bytes, size_t len)
{
    struct program_vterm *full = screen->full;
    size_t at = 0;
    while (at < len && !full->left) {
        if (full->state == CONTROL)
            print_in_sequence(screen, bytes[at++]);
        else if (full->state == GROUND)
            at += print_ground(full, bytes + at, len - at);
        else if (full->state == ESCAPE)
            print_escape(full, bytes[at++]);
        else
            skip_string(full, bytes[at++]);
        keep_scrolled(screen);
    }
    char answers[256];
    while (vterm_output_read(full->term, answers, sizeof(answers)))
        ;
    return at;
}

/* The sequence that asked for a screen is its first one. A sequence that moves from where the cursor is also needs the
 * newest lines there: they become rows. */
static void enter_screen(struct program_screen *screen)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    char *sequence = screen->lines.paints;
    size_t len = strlen(sequence);
    screen->painted = true;
    screen->full = vterm_open(screen->rows, screen->cols);
    if (strchr("AFLMST", sequence[len - 1]))
        program_lines_take_newest(&screen->lines, screen->rows, screen->cols, &bytes);
    screen->full->quiet_rows = -2 * PROGRAM_LINES_COLUMNS_MAX; /* its own lines do not end the screen */
    print_full(screen, bytes.buf, bytes.len);
    print_full(screen, sequence, len);
    screen->full->quiet_rows = 0;
    screen->full->painted = !screen->full->alternate;
}

/* Returns to lines: the rows of the screen become lines. If the cursor is in the last one, the program continues it. */
static void leave_screen(struct program_screen *screen)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    VTermPos cursor = screen->full->cursor;
    strbuf_add(&text, screen->full->scrolled.buf, screen->full->scrolled.len);
    int used = add_rows(screen, true, &text);
    strbuf_set_len(&text, text.len - (size_t)(screen->rows - used));
    if (used && used - 1 == cursor.row) {
        strbuf_set_len(&text, text.len - 1);
        strbuf_addf(&text, "\033[%dG", cursor.col + 1);
    }
    vterm_close(screen->full);
    screen->full = NULL;
    if (text.len && screen->lines.width)
        program_lines_print(&screen->lines, "\n", 1);
    program_lines_print(&screen->lines, text.buf, text.len);
}

void program_screen_end(struct program_screen *screen)
{
    if (screen->full)
        leave_screen(screen);
}

void program_screen_print(struct program_screen *screen, const char *bytes, size_t len)
{
    while (len) {
        size_t used = screen->full ? print_full(screen, bytes, len)
                                   : program_lines_print_until_painted(&screen->lines, bytes, len);
        bytes += used;
        len -= used;
        if (screen->full && screen->full->left)
            leave_screen(screen);
        else if (!screen->full && *screen->lines.paints)
            enter_screen(screen);
    }
}

/* The most that a size grows to. */
static void grow(int *size, int to, int most)
{
    if (to > *size && to <= most)
        *size = to;
}

/* Reads the sequence at `bytes`, after ESC [. Returns its final byte, or 0, and up to two numbers. */
static char read_sequence(const char *bytes, size_t len, int numbers[2])
{
    size_t at = 0, index = 0;
    numbers[0] = numbers[1] = 0;
    for (; at < len && ((bytes[at] >= '0' && bytes[at] <= '9') || bytes[at] == ';'); at++)
        if (bytes[at] == ';')
            index++;
        else if (index < 2 && numbers[index] < 10000)
            numbers[index] = numbers[index] * 10 + (bytes[at] - '0');
    return at < len ? bytes[at] : '\0';
}

/* Uses the numbers after ESC [: a full-screen program addresses its last row, and often its last column. One that
 * prints frames line by line, from the first row on, is as tall as they are. */
void program_screen_guess_size(const char *bytes, size_t len, int *rows, int *cols)
{
    int frame = 0; /* row of the frame; 0: in none */
    for (size_t at = 0; at < len; at++) {
        if (bytes[at] == '\n' && frame)
            grow(rows, ++frame, FRAME_ROWS_MAX);
        if (at + 2 >= len || bytes[at] != '\033' || bytes[at + 1] != '[')
            continue;
        int numbers[2];
        char final = read_sequence(bytes + at + 2, len - at - 2, numbers);
        grow(rows, final == 'H' || final == 'd' ? numbers[0] : final == 'r' ? numbers[1] : 0, PROGRAM_SCREEN_ROWS_MAX);
        grow(cols, final == 'H' ? numbers[1] : final == 'G' ? numbers[0] : 0, PROGRAM_SCREEN_COLS_MAX);
        if (final == 'H')
            frame = numbers[0] <= 1;
    }
}

/* ---- painting ---- */

/* A color of the program, reduced to 16 so that the theme's palette applies; 0 is the default. */
static int cell_color(const VTermScreen *screen, VTermColor color, bool background)
{
    if (background ? VTERM_COLOR_IS_DEFAULT_BG(&color) : VTERM_COLOR_IS_DEFAULT_FG(&color))
        return 0;
    if (VTERM_COLOR_IS_INDEXED(&color))
        return 1 + color_reduce(color.indexed.idx, 16);
    vterm_screen_convert_color_to_rgb(screen, &color);
    return 1 + color_reduce(COLOR_RGB | color.rgb.red << 16 | color.rgb.green << 8 | color.rgb.blue, 16);
}

/* The characters of a cell. An unsafe character becomes a sign, because a cell has no room to spell it out. */
static void cell_text(const VTermScreenCell *cell, struct strbuf *out)
{
    char spelled[16], bytes[4];
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i] && cell->chars[i] <= 0x10FFFF; i++)
        if (i == 0 && utf8_spell(cell->chars[0], spelled))
            strbuf_addstr(out, "\xEF\xBF\xBD");
        else if (i == 0 || (utf8_width(cell->chars[i]) == 0 && !utf8_spell(cell->chars[i], spelled)))
            strbuf_add(out, bytes, utf8_encode(cell->chars[i], bytes));
    if (!out->len)
        strbuf_addch(out, ' ');
}

/* Adds the text of a row, with sequences for its colors if `looks`. */
static void add_row(const VTermScreen *screen, const VTermScreenCell *cells, int cols, bool looks, struct strbuf *out)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const int plain = 2 * 39;
    size_t end = out->len;
    int shown = plain;
    while (cols && !cells[cols - 1].chars[0])
        cols--;
    for (int col = 0; col < cols; col += cells[col].width == 2 ? 2 : 1) {
        int color = cell_color(screen, cells[col].fg, false);
        int look = 2 * (color ? 30 + (color - 1) % 8 : 39) + (cells[col].attrs.bold != 0);
        strbuf_reset(&text);
        cell_text(&cells[col], &text);
        bool blank = strcmp(text.buf, " ") == 0;
        if (looks && !blank && look != shown)
            strbuf_addf(out, "\033[0;%d;%dm", look / 2, look % 2 ? 1 : 22);
        shown = blank ? shown : look;
        strbuf_add(out, text.buf, text.len);
        end = blank ? end : out->len;
    }
    strbuf_set_len(out, end);
    if (looks && shown != plain)
        strbuf_addstr(out, "\033[m");
}

/* Adds the rows of the screen, each with a newline. Returns the number of rows up to the last one with text. */
static int add_rows(const struct program_screen *screen, bool looks, struct strbuf *out)
{
    VTermScreenCell *cells = xcalloc((size_t)screen->cols, sizeof(*cells));
    int used = 0;
    for (int row = 0; row < screen->rows; row++) {
        size_t before = out->len;
        for (int col = 0; col < screen->cols; col++)
            vterm_screen_get_cell(screen->full->screen, (VTermPos){.row = row, .col = col}, &cells[col]);
        add_row(screen->full->screen, cells, screen->cols, looks, out);
        used = out->len > before ? row + 1 : used;
        strbuf_addch(out, '\n');
    }
    free(cells);
    return used;
}

static void paint_cell(const struct program_vterm *full, struct canvas *canvas, struct rect at,
                       const VTermScreenCell *cell)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    cell_text(cell, &text);
    canvas_text(canvas, at, 0, 0, LOOK_PROGRAM, text.buf, text.len);
    int fg = cell_color(full->screen, cell->fg, false), bg = cell_color(full->screen, cell->bg, true);
    if (fg || bg)
        canvas_color(canvas, at, fg, bg);
    unsigned marks = (cell->attrs.reverse ? MARK_REVERSE : 0u) | (cell->attrs.underline ? MARK_UNDERLINE : 0u) |
                     (cell->attrs.bold ? MARK_BOLD : 0u);
    if (marks)
        canvas_mark(canvas, at, marks);
}

void program_screen_paint(const struct program_screen *screen, struct canvas *canvas, struct rect in, int left,
                          bool cursor)
{
    const struct program_vterm *full = screen->full;
    int top = full->cursor.row < in.rows ? 0 : full->cursor.row - in.rows + 1; /* a recorded screen may be taller */
    for (int row = 0; row < in.rows && top + row < screen->rows; row++) {
        for (int col = left, width; col < screen->cols && col - left < in.cols; col += width) {
            VTermScreenCell cell = {0};
            vterm_screen_get_cell(full->screen, (VTermPos){.row = top + row, .col = col}, &cell);
            width = cell.width == 2 ? 2 : 1;
            int room = in.cols - (col - left) < width ? 1 : width;
            paint_cell(full, canvas, rect_make(in.row + row, in.col + col - left, 1, room), &cell);
        }
        if (screen->cols - left > in.cols)
            canvas_put_sign(canvas, in, row, in.cols - 1, LOOK_DIM, SIGN_MORE);
    }
    int row = full->cursor.row - top, col = full->cursor.col - left;
    if (cursor && !full->hidden_cursor && row >= 0 && row < in.rows && col >= 0 && col < in.cols) {
        canvas->cursor_row = in.row + row;
        canvas->cursor_col = in.col + col;
    }
}

void program_screen_text(const struct program_screen *screen, struct strbuf *out)
{
    add_rows(screen, false, out);
}

/* ---- keys ---- */

static VTermKey vterm_key(uint32_t code)
{
    static const struct {
        uint32_t code;
        VTermKey key;
    } keys[] = {
        {KEYSYM_UP, VTERM_KEY_UP},       {KEYSYM_DOWN, VTERM_KEY_DOWN},
        {KEYSYM_LEFT, VTERM_KEY_LEFT},   {KEYSYM_RIGHT, VTERM_KEY_RIGHT},
        {KEYSYM_PGUP, VTERM_KEY_PAGEUP}, {KEYSYM_PGDN, VTERM_KEY_PAGEDOWN},
        {KEYSYM_HOME, VTERM_KEY_HOME},   {KEYSYM_END, VTERM_KEY_END},
        {KEYSYM_TAB, VTERM_KEY_TAB},     {KEYSYM_BACKTAB, VTERM_KEY_TAB},
        {KEYSYM_ENTER, VTERM_KEY_ENTER}, {KEYSYM_ESC, VTERM_KEY_ESCAPE},
        {KEYSYM_DELETE, VTERM_KEY_DEL},  {KEYSYM_BACKSPACE, VTERM_KEY_BACKSPACE},
    };
    if (code >= KEYSYM_F1 && code <= KEYSYM_F12)
        return (VTermKey)VTERM_KEY_FUNCTION(1 + code - KEYSYM_F1);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (keys[i].code == code)
            return keys[i].key;
    return VTERM_KEY_NONE;
}

void program_screen_key(struct program_screen *screen, const struct key *key, struct strbuf *out)
{
    VTerm *term = screen->full->term;
    VTermModifier modifiers = (key->ctrl ? VTERM_MOD_CTRL : 0) | (key->alt ? VTERM_MOD_ALT : 0) |
                              (key->shift || key->code == KEYSYM_BACKTAB ? VTERM_MOD_SHIFT : 0);
    if (key->code < KEYSYM_BASE)
        vterm_keyboard_unichar(term, key->code, modifiers & ~(unsigned)VTERM_MOD_SHIFT);
    else if (vterm_key(key->code) != VTERM_KEY_NONE)
        vterm_keyboard_key(term, vterm_key(key->code), modifiers);
    char bytes[64];
    for (size_t got; (got = vterm_output_read(term, bytes, sizeof(bytes))) > 0;)
        strbuf_add(out, bytes, got);
}
