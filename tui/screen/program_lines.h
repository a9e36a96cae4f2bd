#pragma once
/* The output of a program as lines: a carriage return goes back to the start of the line, a backspace over a character,
 * colors become roles, and other control sequences are dropped. Output of a program reaches the screen only as text
 * that the canvas sanitizes. Full-screen programs are in program_screen.h.
 *
 * Output may be passed in pieces: a sequence may begin in one and end in the next. The newest lines are kept, up to a
 * bound. A line that is too long continues in the next one. */

#include "base/strbuf.h"
#include "canvas.h"

#define PROGRAM_LINES_MAX         20000
#define PROGRAM_LINES_COLUMNS_MAX 4096       /* characters of a line */
#define PROGRAM_LINES_BYTES_MAX   (8u << 20) /* of all lines */

struct program_run {
    uint32_t at, len; /* bytes within the line */
    uint16_t look;    /* enum look */
};

struct program_line {
    char *text;
    uint32_t len, run_count;
    struct program_run *runs;
    int columns; /* columns it needs on the screen */
};

/* A cell. A wide character has two: the second one is empty. */
struct program_cell {
    uint32_t code;     /* 0: the right half of a wide one */
    uint32_t marks[2]; /* combining marks; 0: none */
    uint16_t look;
};

struct program_lines {
    struct program_line *lines; /* finished lines, from `first` on */
    size_t first, end, room;
    size_t bytes;
    uint64_t dropped;           /* number of lines dropped before the first */
    int longest;                /* columns of the longest finished line */
    struct program_cell *cells; /* of the current line */
    size_t width, cell_room;
    size_t at;     /* position of the next character, at most `width` */
    uint16_t look; /* current look of the output */
    bool bold, dim;
    char paints[40];            /* the sequence that only a screen can show; "": none */
    uint8_t color;              /* from SGR; 0: none */
    uint8_t state;              /* state of the sequence parser */
    uint16_t held;              /* characters of the sequence so far */
    char sequence[32];          /* start of the sequence */
    struct program_line newest; /* the current line, built on demand */
    bool fresh;                 /* `newest` is up to date */
};

void program_lines_init(struct program_lines *text);
void program_lines_release(struct program_lines *text);
void program_lines_reset(struct program_lines *text);
/* Adds output of a program. Characters must be whole; sequences may be cut. */
void program_lines_print(struct program_lines *text, const char *bytes, size_t len);
/* The same, but stops after a sequence that only a screen can show and keeps it in `paints`: it moves to a row, erases
 * or scrolls the screen, or switches to the alternate screen or to application cursor keys. Returns the bytes used. */
size_t program_lines_print_until_painted(struct program_lines *text, const char *bytes, size_t len);
/* Moves the newest lines that fit on a screen to `out`, as bytes that show them there. */
void program_lines_take_newest(struct program_lines *text, int rows, int cols, struct strbuf *out);
/* True if the parameters of a sequence, such as "?25;1049", name this private mode. */
bool program_lines_names_mode(const char *parameters, unsigned long mode);
/* Adds input to a program that does not echo it: after a sign and in its own role. Control characters in it have no
 * effect. */
void program_lines_type(struct program_lines *text, const char *bytes, size_t len);
/* The number of lines, including an unfinished one. */
size_t program_lines_count(const struct program_lines *text);
/* A line by number, from 0; valid until the next change. NULL: no such line. */
const struct program_line *program_lines_line(struct program_lines *text, size_t number);
/* Columns of the longest line so far. */
int program_lines_longest(struct program_lines *text);
/* Paints a line. A mark shows where it is cut, on either side. */
void program_lines_paint(struct program_lines *text, struct canvas *canvas, struct rect in, int row, int left,
                         size_t number);
/* Finds the next line with this text after `number` (SIZE_MAX: from the first), or before it. Wraps around. */
bool program_lines_search(struct program_lines *text, const char *wanted, bool back, size_t *number);
