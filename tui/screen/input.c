/* A text field: editing keys, history, and painting with a cursor.
 *
 * The text is UTF-8. The cursor is between characters as the user sees them: a letter and its combining marks move and
 * are deleted together. Painting and moving both use char_end for that. */

#include "input.h"
#include "base/mem.h"
#include "base/utf8.h"

#define TEXT_MOST    (1024 * 1024) /* bytes */
#define HISTORY_MOST 500

void input_init(struct input *input, bool multiline)
{
    *input = (struct input){.multiline = multiline};
    strbuf_init(&input->text);
}

void input_release(struct input *input)
{
    strbuf_release(&input->text);
    for (size_t i = 0; i < input->history_count; i++)
        free(input->history[i]);
    free(input->history);
    free(input->draft);
    input_init(input, input->multiline);
}

static void replace_text(struct input *input, const char *text)
{
    strbuf_reset(&input->text);
    strbuf_addstr(&input->text, text);
    input->at = input->text.len;
}

void input_set(struct input *input, const char *text)
{
    replace_text(input, text);
    input->history_at = input->history_count;
    input->pasting = false;
    free(input->draft);
    input->draft = NULL;
}

void input_remember(struct input *input)
{
    const char *text = input->text.buf;
    bool again = input->history_count && strcmp(input->history[input->history_count - 1], text) == 0;
    if (*text && !again && !input->masked) {
        if (input->history_count == HISTORY_MOST) {
            free(input->history[0]);
            memmove(input->history, input->history + 1, --input->history_count * sizeof(*input->history));
        }
        GROW(input->history, input->history_count, input->history_room);
        input->history[input->history_count++] = xstrdup(text);
    }
    input->history_at = input->history_count;
}

/* ---- boundaries of characters, words and lines ---- */

static bool is_mark(uint32_t cp)
{
    char spelled[16];
    return utf8_width(cp) == 0 && utf8_spell(cp, spelled) == 0;
}

static size_t char_end(const struct input *input, size_t at)
{
    const struct strbuf *text = &input->text;
    size_t used;
    if (at >= text->len)
        return text->len;
    if (utf8_decode(text->buf + at, text->len - at, &used) == '\n')
        return at + used; /* a mark does not join a newline */
    for (at += used; at < text->len; at += used)
        if (!is_mark(utf8_decode(text->buf + at, text->len - at, &used)))
            break;
    return at;
}

static size_t line_start(const struct input *input, size_t at)
{
    while (at > 0 && input->text.buf[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const struct input *input, size_t at)
{
    while (at < input->text.len && input->text.buf[at] != '\n')
        at++;
    return at;
}

/* Character boundaries can only be found forward, so search from the start of the line. */
static size_t char_start(const struct input *input, size_t at)
{
    if (at == 0)
        return 0;
    size_t before = line_start(input, at - 1);
    for (size_t next = before; (next = char_end(input, next)) < at;)
        before = next;
    return before;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static size_t word_start(const struct input *input, size_t at)
{
    while (at > 0 && is_space(input->text.buf[at - 1]))
        at--;
    while (at > 0 && !is_space(input->text.buf[at - 1]))
        at--;
    return at;
}

static size_t word_end(const struct input *input, size_t at)
{
    while (at < input->text.len && is_space(input->text.buf[at]))
        at++;
    while (at < input->text.len && !is_space(input->text.buf[at]))
        at++;
    return at;
}

/* ---- editing ---- */

static enum input_result move_to(struct input *input, size_t at)
{
    input->at = at;
    return INPUT_CHANGED;
}

static enum input_result remove_between(struct input *input, size_t from, size_t to)
{
    memmove(input->text.buf + from, input->text.buf + to, input->text.len - to);
    strbuf_set_len(&input->text, input->text.len - (to - from));
    return move_to(input, from);
}

static enum input_result insert(struct input *input, uint32_t cp)
{
    char bytes[4];
    size_t len = utf8_encode(cp, bytes);
    if (input->text.len + len > TEXT_MOST)
        return INPUT_CHANGED;
    strbuf_grow(&input->text, len);
    memmove(input->text.buf + input->at + len, input->text.buf + input->at, input->text.len - input->at);
    memcpy(input->text.buf + input->at, bytes, len);
    strbuf_set_len(&input->text, input->text.len + len);
    return move_to(input, input->at + len);
}

/* In a one-line field a newline becomes a blank. */
static enum input_result insert_newline(struct input *input)
{
    return insert(input, input->multiline ? '\n' : ' ');
}

static enum input_result paste(struct input *input, const struct key *key)
{
    if (key->ctrl || key->alt)
        return INPUT_CHANGED;
    if (key->code == KEYSYM_ENTER || key->code == '\n')
        return insert_newline(input);
    if (key->code == KEYSYM_TAB || key->code == '\t')
        return insert(input, input->multiline ? '\t' : ' ');
    if (key->code >= 0x20 && key->code != 0x7F && key->code < KEYSYM_BASE)
        return insert(input, key->code);
    return INPUT_CHANGED; /* Esc and other control characters are neither text nor keys here */
}

static enum input_result go_history(struct input *input, bool back)
{
    if (back ? input->history_at == 0 : input->history_at >= input->history_count)
        return INPUT_IGNORED;
    if (input->history_at == input->history_count) {
        free(input->draft);
        input->draft = xstrdup(input->text.buf);
    }
    input->history_at = back ? input->history_at - 1 : input->history_at + 1;
    if (input->history_at < input->history_count)
        replace_text(input, input->history[input->history_at]);
    else
        replace_text(input, input->draft ? input->draft : "");
    return INPUT_CHANGED;
}

/* Moves one line up or down at about the same column; from the first or last line into the history. */
static enum input_result go_line(struct input *input, bool up)
{
    size_t start = line_start(input, input->at);
    size_t end = line_end(input, input->at);
    if (up ? start == 0 : end == input->text.len)
        return go_history(input, up);
    size_t column = utf8_columns(input->text.buf + start, input->at - start);
    size_t at = up ? line_start(input, start - 1) : end + 1;
    size_t line = at;
    size_t stop = line_end(input, at);
    while (at < stop && utf8_columns(input->text.buf + line, char_end(input, at) - line) <= column)
        at = char_end(input, at);
    return move_to(input, at);
}

static enum input_result control_key(struct input *input, uint32_t letter)
{
    switch (letter) {
    case 'a':
        return move_to(input, line_start(input, input->at));
    case 'e':
        return move_to(input, line_end(input, input->at));
    case 'b':
        return move_to(input, char_start(input, input->at));
    case 'f':
        return move_to(input, char_end(input, input->at));
    case 'k':
        return remove_between(input, input->at, line_end(input, input->at));
    case 'u':
        return remove_between(input, line_start(input, input->at), input->at);
    case 'w':
        return remove_between(input, word_start(input, input->at), input->at);
    case 'h':
        return remove_between(input, char_start(input, input->at), input->at);
    case 'd':
        return remove_between(input, input->at, char_end(input, input->at));
    case 'p':
        return go_line(input, true);
    case 'n':
        return go_line(input, false);
    default:
        return INPUT_IGNORED;
    }
}

static enum input_result alt_key(struct input *input, uint32_t code)
{
    switch (code) {
    case 'b':
        return move_to(input, word_start(input, input->at));
    case 'f':
        return move_to(input, word_end(input, input->at));
    case 'd':
        return remove_between(input, input->at, word_end(input, input->at));
    case KEYSYM_BACKSPACE:
        return remove_between(input, word_start(input, input->at), input->at);
    case KEYSYM_ENTER:
        return input->multiline ? insert(input, '\n') : INPUT_IGNORED;
    default:
        return INPUT_IGNORED;
    }
}

enum input_result input_key(struct input *input, const struct key *key)
{
    if (key->code == KEYSYM_PASTE_BEGIN || key->code == KEYSYM_PASTE_END) {
        input->pasting = key->code == KEYSYM_PASTE_BEGIN;
        return INPUT_CHANGED;
    }
    if (input->pasting)
        return paste(input, key);
    if (key->alt)
        return alt_key(input, key->code);
    if (key->ctrl && key->code < KEYSYM_BASE)
        return control_key(input, key->code >= 'A' && key->code <= 'Z' ? key->code + 32 : key->code);
    switch (key->code) {
    case KEYSYM_LEFT:
        return move_to(input, key->ctrl ? word_start(input, input->at) : char_start(input, input->at));
    case KEYSYM_RIGHT:
        return move_to(input, key->ctrl ? word_end(input, input->at) : char_end(input, input->at));
    case KEYSYM_HOME:
        return control_key(input, 'a');
    case KEYSYM_END:
        return control_key(input, 'e');
    case KEYSYM_BACKSPACE:
        return control_key(input, 'h');
    case KEYSYM_DELETE:
        return control_key(input, 'd');
    case KEYSYM_UP:
        return go_line(input, true);
    case KEYSYM_DOWN:
        return go_line(input, false);
    case KEYSYM_ENTER:
        return INPUT_DONE;
    case KEYSYM_ESC:
        return INPUT_CLOSED;
    default:
        break;
    }
    if (key->code >= 0x20 && key->code < KEYSYM_BASE && key->code != 0x7F)
        return insert(input, key->code);
    return INPUT_IGNORED;
}

/* ---- painting ---- */

/* Visits the characters with their rows and columns. Painting must know the cursor's row first, so it runs twice:
 * without a canvas, then with the first `top` rows left out. */
struct walk {
    int rows, cursor_row, cursor_col;
};

static struct walk walk_text(const struct input *input, struct canvas *canvas, struct rect text, int top, bool paint)
{
    struct walk walk = {1, 0, 0};
    int col = 0;
    for (size_t at = 0, next;; at = next) {
        bool newline = at < input->text.len && input->text.buf[at] == '\n';
        next = char_end(input, at);
        bool plain = at < input->text.len && !input->masked;
        int width = plain ? canvas_columns(canvas, input->text.buf + at, next - at) : 1;
        /* The cursor after the last character needs a column too. */
        if (!newline && col + width > text.cols && col > 0) {
            walk.rows++;
            col = 0;
        }
        if (newline && col >= text.cols && at == input->at) {
            walk.rows++;
            col = 0;
        }
        if (at == input->at) {
            walk.cursor_row = walk.rows - 1;
            walk.cursor_col = col;
        }
        if (at >= input->text.len)
            return walk;
        if (newline) {
            walk.rows++;
            col = 0;
            continue;
        }
        if (paint && input->masked)
            canvas_str(canvas, text, walk.rows - 1 - top, col, LOOK_INPUT, canvas->ascii ? "*" : "•");
        else if (paint)
            canvas_text(canvas, text, walk.rows - 1 - top, col, LOOK_INPUT, input->text.buf + at, next - at);
        col += width;
    }
}

int input_paint(const struct input *input, struct canvas *canvas, struct rect in, const char *label)
{
    if (in.rows <= 0 || in.cols <= 0)
        return 1;
    canvas_fill(canvas, in, LOOK_INPUT);
    int indent = canvas_str(canvas, in, 0, 0, LOOK_INPUT, label);
    canvas_mark(canvas, rect_make(in.row, in.col, 1, indent), MARK_BOLD);
    if (indent > in.cols / 2)
        indent = in.cols / 2;
    struct rect text = rect_make(in.row, in.col + indent, in.rows, in.cols - indent);
    struct walk walk = walk_text(input, canvas, text, 0, false);
    int top = walk.cursor_row >= in.rows ? walk.cursor_row - in.rows + 1 : 0;
    walk_text(input, canvas, text, top, true);
    canvas->cursor_row = text.row + walk.cursor_row - top;
    canvas->cursor_col = text.col + walk.cursor_col;
    canvas_tint(canvas, rect_make(canvas->cursor_row, canvas->cursor_col, 1, 1), LOOK_INPUT_CURSOR);
    return walk.rows;
}
