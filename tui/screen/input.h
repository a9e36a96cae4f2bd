#pragma once
/* A text that the user types: one line or several, with a cursor, the usual editing keys, and a history. Pasted text is
 * text: no part of it acts as a key. */

#include "base/strbuf.h"
#include "canvas.h"
#include "keys.h"

struct input {
    struct strbuf text;
    size_t at;      /* byte offset of the cursor */
    bool multiline; /* Alt-Enter or a paste inserts a newline; Enter always finishes */
    char **history; /* oldest first */
    size_t history_count, history_room, history_at;
    char *draft; /* the text before the user went up the history */
    bool pasting;
    bool masked; /* its characters are not shown */
};
void input_init(struct input *input, bool multiline);
void input_release(struct input *input);
void input_set(struct input *input, const char *text);
void input_remember(struct input *input); /* adds the text to the history, unless it is masked */

enum input_result { INPUT_IGNORED, INPUT_CHANGED, INPUT_DONE, INPUT_CLOSED };
/* Handles characters, Left/Right/Home/End, Ctrl-A/E/B/F/K/U/W/D, Alt-B/F, Backspace/Delete, Up/Down in history or
 * lines. Enter: DONE. Esc: CLOSED. */
enum input_result input_key(struct input *input, const struct key *key);
/* Paints `label` and the text into `in`, wrapped, with the cursor visible. Returns the rows it needs. */
int input_paint(const struct input *input, struct canvas *canvas, struct rect in, const char *label);
