/* A sequence that is not known is swallowed to its end: were it handed on piece by piece, its last letter could answer
 * a question. In pasted text only text, newlines and tabs count; an escape in it is nobody's key. */

#include "keyread.h"
#include <stdlib.h>
#include <string.h>

static bool is_key(struct key *key, uint32_t code)
{
    *key = (struct key){.code = code};
    return true;
}

/* What a control character is called. */
static bool control_key(uint32_t c, struct key *key)
{
    switch (c) {
    case 0x08:
    case 0x7F:
        return is_key(key, KEYSYM_BACKSPACE);
    case '\t':
        return is_key(key, KEYSYM_TAB);
    case '\r':
    case '\n':
        return is_key(key, KEYSYM_ENTER);
    default:
        is_key(key, c == 0 ? ' ' : c < 27 ? c + 'a' - 1 : c + '@');
        key->ctrl = true;
        return true;
    }
}

static bool plain_char(uint32_t c, struct key *key)
{
    if (c < 0x20 || c == 0x7F)
        return control_key(c, key);
    if ((c >= 0x80 && c < 0xA0) || c > 0x10FFFF)
        return false; /* C1: not typed by anybody */
    return is_key(key, c);
}

/* "<0;12;5M": button, column, row, pressed. */
static bool mouse_key(const char *text, char last, struct key *key)
{
    char *at;
    long button = strtol(text + 1, &at, 10);
    long col = *at == ';' ? strtol(at + 1, &at, 10) : 0;
    long row = *at == ';' ? strtol(at + 1, &at, 10) : 0;
    if (last != 'M' || *at || row < 1 || col < 1 || row > 10000 || col > 10000 || button & 32)
        return false; /* let go of, or moved */
    long which = button & 64 ? 4 + (button & 3) : 1 + (button & 3);
    if (which < 1 || which > 5)
        return false;
    is_key(key, KEYSYM_MOUSE);
    key->button = (int)which;
    key->row = (int)row - 1;
    key->col = (int)col - 1;
    key->shift = button & 4;
    key->alt = button & 8;
    key->ctrl = button & 16;
    return true;
}

/* "1;5A" and the like; those without a number come from the terminal's description, but not every one has them. */
static bool cursor_key(const char *text, char last, struct key *key)
{
    static const struct {
        char last;
        uint32_t code;
    } keys[] = {
        {'A', KEYSYM_UP},   {'B', KEYSYM_DOWN}, {'C', KEYSYM_RIGHT},   {'D', KEYSYM_LEFT},
        {'H', KEYSYM_HOME}, {'F', KEYSYM_END},  {'Z', KEYSYM_BACKTAB},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].last == last) {
            const char *mods = strchr(text, ';');
            long mask = mods ? strtol(mods + 1, NULL, 10) - 1 : 0;
            is_key(key, keys[i].code);
            key->shift = mask & 1;
            key->alt = mask & 2;
            key->ctrl = mask & 4;
            return true;
        }
    return false;
}

/* "5~" and the like. */
static bool numbered_key(const char *text, struct key *key)
{
    switch (strtol(text, NULL, 10)) {
    case 1:
    case 7:
        return is_key(key, KEYSYM_HOME);
    case 4:
    case 8:
        return is_key(key, KEYSYM_END);
    case 3:
        return is_key(key, KEYSYM_DELETE);
    case 5:
        return is_key(key, KEYSYM_PGUP);
    case 6:
        return is_key(key, KEYSYM_PGDN);
    default:
        return false;
    }
}

static bool end_csi(struct keyread *read, char last, struct key *key)
{
    read->state = KEYREAD_PLAIN;
    read->text[read->len] = '\0';
    if (last == '~' && strcmp(read->text, "200") == 0) {
        read->pasting = true;
        return is_key(key, KEYSYM_PASTE_BEGIN);
    }
    if (last == '~' && strcmp(read->text, "201") == 0) {
        bool was = read->pasting;
        read->pasting = false;
        return was && is_key(key, KEYSYM_PASTE_END);
    }
    if (read->pasting)
        return false;
    if (read->text[0] == '<')
        return mouse_key(read->text, last, key);
    if (last == '~')
        return numbered_key(read->text, key);
    return cursor_key(read->text, last, key);
}

static bool begin_sequence(struct keyread *read, uint32_t c, struct key *key)
{
    read->len = 0;
    read->state = c == '['                                                   ? KEYREAD_CSI
                  : c == 'O'                                                 ? KEYREAD_SS3
                  : c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X' ? KEYREAD_STRING
                                                                             : KEYREAD_PLAIN;
    if (read->state != KEYREAD_PLAIN)
        return false;
    if (c == 0x1B) { /* twice: the first was a key, the second may begin something */
        read->state = KEYREAD_ESC;
        return !read->pasting && is_key(key, KEYSYM_ESC);
    }
    if (!plain_char(c, key) || read->pasting)
        return false;
    key->alt = true;
    return true;
}

bool keyread_char(struct keyread *read, uint32_t c, struct key *key)
{
    switch (read->state) {
    case KEYREAD_ESC:
        return begin_sequence(read, c, key);
    case KEYREAD_SS3:
        read->state = KEYREAD_PLAIN;
        return !read->pasting && c < 0x80 && cursor_key("", (char)c, key);
    case KEYREAD_CSI:
        if (c == 0x1B) {
            read->state = KEYREAD_ESC;
            return false;
        }
        if (c >= 0x40 && c < 0x7F)
            return end_csi(read, (char)c, key);
        if (c < 0x20 || c > 0x3F)
            read->state = KEYREAD_PLAIN; /* nonsense: it ends here */
        else if (read->len < sizeof(read->text) - 1)
            read->text[read->len++] = (char)c;
        return false;
    case KEYREAD_STRING:
        read->state = c == 0x07 ? KEYREAD_PLAIN : c == 0x1B ? KEYREAD_STRING_ESC : KEYREAD_STRING;
        return false;
    case KEYREAD_STRING_ESC:
        read->state = c == '\\' ? KEYREAD_PLAIN : KEYREAD_STRING;
        return false;
    case KEYREAD_PLAIN:
        break;
    }
    if (c == 0x1B) {
        read->state = KEYREAD_ESC;
        return false;
    }
    if (read->pasting && c < 0x20 && c != '\r' && c != '\n' && c != '\t')
        return false;
    return plain_char(c, key);
}

bool keyread_known(struct keyread *read, const struct key *known, struct key *key)
{
    bool alt = read->state == KEYREAD_ESC;
    read->state = KEYREAD_PLAIN;
    if (read->pasting && known->code != KEYSYM_ENTER)
        return false;
    *key = *known;
    key->alt |= alt;
    return true;
}

bool keyread_idle(struct keyread *read, struct key *key)
{
    if (read->state == KEYREAD_ESC) {
        read->state = KEYREAD_PLAIN;
        return !read->pasting && is_key(key, KEYSYM_ESC);
    }
    /* "Alt-[" and "Alt-O", typed: the rest of a real sequence comes with it. */
    if ((read->state == KEYREAD_CSI || read->state == KEYREAD_SS3) && !read->len && !read->pasting) {
        is_key(key, read->state == KEYREAD_CSI ? '[' : 'O');
        key->alt = true;
        read->state = KEYREAD_PLAIN;
        return true;
    }
    return false;
}
