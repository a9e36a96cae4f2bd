#pragma once
/* A text that is being typed: one line or several, with a cursor, the usual editing keys, and a history. Pasted text is
 * text: nothing in it is a key. */

#include "base/strbuf.h"
#include "canvas.h"
#include "keymap.h"

struct input {
    struct strbuf text;
    size_t at;      /* byte of the cursor */
    bool multiline; /* Alt-Enter or a paste puts in a newline; Enter ends it either way */
    char **history; /* oldest first */
    size_t history_count, history_room, history_at;
    char *draft; /* what was typed before going up the history */
    bool pasting;
    bool masked; /* its characters are not shown */
};
void input_init(struct input *input, bool multiline);
void input_release(struct input *input);
void input_set(struct input *input, const char *text);
void input_remember(struct input *input); /* the present text into the history; one that is masked never */

enum input_result { INPUT_IGNORED, INPUT_CHANGED, INPUT_DONE, INPUT_CLOSED };
/* Characters, Left/Right/Home/End, Ctrl-A/E/B/F/K/U/W/D, Alt-B/F, Backspace/Delete, Up/Down in history or lines. Enter:
 * DONE. Esc: CLOSED. */
enum input_result input_key(struct input *input, const struct key *key);
/* Paints `label` and the text into `in`, wrapped, the cursor in sight; returns the rows it would like. */
int input_paint(const struct input *input, struct canvas *canvas, struct rect in, const char *label);
