#pragma once
/* Keys: what the user pressed, the names of keys, and how bytes of a terminal become keys. Actions and the map from
 * keys to them are in app/keymap.h. This code needs no terminal, so tests can read keys without one. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

/* A key: a character, or one of these, with Ctrl, Alt or Shift. */
enum key_code {
    KEYSYM_BASE = 0x110000,
    KEYSYM_UP,
    KEYSYM_DOWN,
    KEYSYM_LEFT,
    KEYSYM_RIGHT,
    KEYSYM_PGUP,
    KEYSYM_PGDN,
    KEYSYM_HOME,
    KEYSYM_END,
    KEYSYM_TAB,
    KEYSYM_BACKTAB,
    KEYSYM_ENTER,
    KEYSYM_ESC,
    KEYSYM_BACKSPACE,
    KEYSYM_DELETE,
    KEYSYM_F1, /* … F12 */
    KEYSYM_F12 = KEYSYM_F1 + 11,
    KEYSYM_MOUSE,
    KEYSYM_RESIZE,
    KEYSYM_PASTE_BEGIN,
    KEYSYM_PASTE_END
};
struct key {
    uint32_t code;
    bool ctrl, alt, shift;
    int row, col, button; /* of a mouse key: 1 left, 2 middle, 3 right, 4 wheel up, 5 wheel down */
};

/* Parses "Ctrl-C", "PgUp", "Shift-Tab", "x". Names match in any case; the case of a single letter counts. Keys that a
 * terminal cannot distinguish are one key: Ctrl-M is Enter, Ctrl-I is Tab, Ctrl-[ is Esc. */
int key_parse(struct key *key, const char *name, struct err *err) CHECKED;
void key_write(struct strbuf *out, const struct key *key);
bool key_same(const struct key *a, const struct key *b);

/* Reading: pass what the terminal sends, one byte, character or known key at a time, and call keyread_idle when no more
 * input is available. Each function returns true when `key` is complete. */
enum keyread_state { KEYREAD_PLAIN, KEYREAD_ESC, KEYREAD_CSI, KEYREAD_SS3, KEYREAD_STRING, KEYREAD_STRING_ESC };

struct keyread {
    enum keyread_state state;
    char text[32]; /* of the sequence so far */
    size_t len;    /* number of characters of a string so far */
    bool pasting;
    uint32_t opener; /* the letter after Esc that began it */
    bool c1;         /* the sequence began with a C1 control, which no key sends, so a pause does not end it */
    bool over;       /* a string without an end: the next pause ends it */
    int64_t now_us;  /* set by the caller before it passes bytes */
    int64_t last_us; /* time of the last character of a string */
    char partial[4]; /* bytes of an incomplete character */
    size_t partial_len;
};

/* Reads one byte of UTF-8. The bytes of a character may arrive with pauses between them. */
bool keyread_byte(struct keyread *read, unsigned char byte, struct key *key);
bool keyread_char(struct keyread *read, uint32_t c, struct key *key);
/* Reads a key that ncurses recognized. */
bool keyread_known(struct keyread *read, const struct key *known, struct key *key);
/* Call when no more input is available: a lone Esc is the key Esc, and Esc with a letter that could begin a sequence is
 * Alt with that letter. */
bool keyread_idle(struct keyread *read, struct key *key);
