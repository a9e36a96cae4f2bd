#pragma once
/* What a program printed, as a terminal would show it, as far as text goes: a carriage return goes back over the line,
 * a backspace over a character, colours become roles, and everything else that steers a terminal is left out. No byte
 * of a program reaches the screen by another way than a text that the canvas makes harmless.
 *
 * It takes pieces as they come: a sequence may begin in one and end in the next. The newest lines are kept, up to a
 * bound; a line that is longer than any screen goes on in the next, as on a terminal. */

#include "base/strbuf.h"
#include "canvas.h"

#define TERMTEXT_LINES_MAX   20000
#define TERMTEXT_COLUMNS_MAX 4096       /* characters of a line */
#define TERMTEXT_BYTES_MAX   (8u << 20) /* of all lines */

struct termtext_run {
    uint32_t at, len; /* bytes within the line */
    uint16_t look;    /* enum look */
};

struct termtext_line {
    char *text;
    uint32_t len, run_count;
    struct termtext_run *runs;
    int columns; /* of a screen that it takes */
};

/* A wide character has two: the second one is empty. */
struct termtext_cell {
    uint32_t code;     /* 0: the right half of a wide one */
    uint32_t marks[2]; /* on the character; 0: none */
    uint16_t look;
};

struct termtext {
    struct termtext_line *lines; /* ended ones, from `first` on */
    size_t first, end, room;
    size_t bytes;
    uint64_t dropped;            /* lines that were there before the first */
    int longest;                 /* columns of the longest that ended */
    struct termtext_cell *cells; /* of the line being written */
    size_t width, cell_room;
    size_t at;     /* where the next character goes; never beyond `width` */
    uint16_t look; /* of what is printed now */
    bool bold, dim;
    uint8_t colour;              /* of SGR, 0: none */
    uint8_t state;               /* within a sequence */
    uint16_t held;               /* characters of it so far */
    char sequence[32];           /* its beginning */
    struct termtext_line newest; /* the line being written, made when somebody looks */
    bool fresh;                  /* it is as it should be */
};

void termtext_init(struct termtext *text);
void termtext_release(struct termtext *text);
void termtext_reset(struct termtext *text);
/* What a program printed: whole characters, sequences as they were cut. */
void termtext_print(struct termtext *text, const char *bytes, size_t len);
/* What was typed into one that does not say it back: behind a sign and in a role of its own, nothing in it steers
 * anything. */
void termtext_type(struct termtext *text, const char *bytes, size_t len);
/* Lines there are, one that has not ended among them. */
size_t termtext_count(const struct termtext *text);
/* Line by number, from 0 on; good until the next change. NULL: there is none. */
const struct termtext_line *termtext_line(struct termtext *text, size_t number);
/* Columns of the longest line there is or was. */
int termtext_longest(struct termtext *text);
/* What is cut on either side has a sign there that says so. */
void termtext_paint(struct termtext *text, struct canvas *canvas, struct rect in, int row, int left, size_t number);
/* The next line with this text after `number` (SIZE_MAX: from the first on), or before it, round the end. */
bool termtext_search(struct termtext *text, const char *wanted, bool back, size_t *number);
