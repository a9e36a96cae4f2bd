#pragma once
/* From characters to keys: Alt, mouse, pasted text, and the sequences nobody knows. Pure, so that it is tested without
 * a terminal. */

#include "keymap.h"

enum keyread_state { KEYREAD_PLAIN, KEYREAD_ESC, KEYREAD_CSI, KEYREAD_SS3, KEYREAD_STRING, KEYREAD_STRING_ESC };

struct keyread {
    enum keyread_state state;
    char text[32]; /* of the sequence so far */
    size_t len;    /* of a string: how many characters it had */
    bool pasting;
    uint32_t opener; /* the letter after Esc that began it */
    bool c1;         /* the sequence began with a C1 control, which no key sends: a pause does not end it */
    bool over;       /* a string that nobody ends: it goes on to the next pause and no further */
    int64_t now_us;  /* the clock of whoever hands in the bytes */
    int64_t last_us; /* when the last character of a string came */
    char partial[4]; /* of a character whose bytes have not all come */
    size_t partial_len;
};

/* Takes one byte of UTF-8; true when `key` is a whole key. Bytes may come with pauses between them. */
bool keyread_byte(struct keyread *read, unsigned char byte, struct key *key);
/* Takes one character; true when `key` is a whole key. */
bool keyread_char(struct keyread *read, uint32_t c, struct key *key);
/* Takes a key that the terminal's description knows already; true when it is to be handed on. */
bool keyread_known(struct keyread *read, const struct key *known, struct key *key);
/* Nothing more came: an Esc that nothing followed is the key, and so is Alt with a letter that could have begun a
 * sequence. True when `key` is one. */
bool keyread_idle(struct keyread *read, struct key *key);
