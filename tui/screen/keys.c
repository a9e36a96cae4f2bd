/* Keys: their names, and the reader that turns the bytes of a terminal into keys.
 *
 * A terminal sends the same bytes for some keys (Ctrl-M and Enter). normalize_key maps them to one key; the parser and
 * the comparison both use it.
 *
 * The reader drops an unknown escape sequence to its end. If it passed the bytes on one by one, the last letter could
 * answer a question. C1 controls begin sequences as Esc and a letter do. In pasted text only text, newlines and tabs
 * count; escape sequences in it are dropped. A string (OSC, DCS and similar) that never ends would drop every key. So
 * it ends at the first pause after one second of silence, or after it became too long. Ctrl-C, which approves nothing,
 * works inside any sequence. */

#include "keys.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* If a code has several names, the first is the one that is printed. */
static const struct {
    const char *name;
    uint32_t code;
} names[] = {
    {"Space", ' '},          {"Up", KEYSYM_UP},           {"Down", KEYSYM_DOWN},           {"Left", KEYSYM_LEFT},
    {"Right", KEYSYM_RIGHT}, {"PgUp", KEYSYM_PGUP},       {"PageUp", KEYSYM_PGUP},         {"PgDn", KEYSYM_PGDN},
    {"PgDown", KEYSYM_PGDN}, {"PageDown", KEYSYM_PGDN},   {"Home", KEYSYM_HOME},           {"End", KEYSYM_END},
    {"Tab", KEYSYM_TAB},     {"BackTab", KEYSYM_BACKTAB}, {"Enter", KEYSYM_ENTER},         {"Return", KEYSYM_ENTER},
    {"Esc", KEYSYM_ESC},     {"Escape", KEYSYM_ESC},      {"Backspace", KEYSYM_BACKSPACE}, {"Delete", KEYSYM_DELETE},
    {"Del", KEYSYM_DELETE},  {"F1", KEYSYM_F1},           {"F2", KEYSYM_F1 + 1},           {"F3", KEYSYM_F1 + 2},
    {"F4", KEYSYM_F1 + 3},   {"F5", KEYSYM_F1 + 4},       {"F6", KEYSYM_F1 + 5},           {"F7", KEYSYM_F1 + 6},
    {"F8", KEYSYM_F1 + 7},   {"F9", KEYSYM_F1 + 8},       {"F10", KEYSYM_F1 + 9},          {"F11", KEYSYM_F1 + 10},
    {"F12", KEYSYM_F12},
};

static struct key normalize_key(struct key key)
{
    if (key.code < KEYSYM_BASE) {
        bool lower = key.code >= 'a' && key.code <= 'z';
        bool upper = key.code >= 'A' && key.code <= 'Z';
        if (key.ctrl && upper)
            key.code += 'a' - 'A';
        else if (key.shift && lower && !key.ctrl)
            key.code -= 'a' - 'A';
        key.shift = false;
    }
    if (key.ctrl && (key.code == 'm' || key.code == 'j' || key.code == 'i' || key.code == '[')) {
        key.code = key.code == 'i' ? KEYSYM_TAB : key.code == '[' ? KEYSYM_ESC : KEYSYM_ENTER;
        key.ctrl = false;
    }
    if (key.code == KEYSYM_TAB && key.shift)
        key.code = KEYSYM_BACKTAB;
    if (key.code == KEYSYM_BACKTAB)
        key.shift = false;
    return key;
}

bool key_same(const struct key *a, const struct key *b)
{
    struct key one = normalize_key(*a);
    struct key two = normalize_key(*b);
    return one.code == two.code && one.ctrl == two.ctrl && one.alt == two.alt && one.shift == two.shift;
}

/* Removes a modifier ("Ctrl-") from *name. A key named "-" is not a modifier. */
static bool take_modifier(const char **name, const char *modifier)
{
    size_t len = strlen(modifier);
    if (strncasecmp(*name, modifier, len) != 0 || (*name)[len] == '\0')
        return false;
    *name += len;
    return true;
}

static int unknown_key(const char *name, struct err *err)
{
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        nearest_offer(&near, names[i].name);
    if (!*name)
        return err_set(err, "empty key name");
    if (near.best)
        return err_set(err, "unknown key %.60s; did you mean %s?", name, near.best);
    return err_set(err, "unknown key %.60s; write a character, or Ctrl-C, Alt-x, PgUp, F5", name);
}

int key_parse(struct key *key, const char *name, struct err *err)
{
    struct key parsed = {0};
    const char *rest = name;
    for (;;) {
        if (take_modifier(&rest, "Ctrl-"))
            parsed.ctrl = true;
        else if (take_modifier(&rest, "Alt-"))
            parsed.alt = true;
        else if (take_modifier(&rest, "Shift-"))
            parsed.shift = true;
        else
            break;
    }
    size_t len = strlen(rest);
    for (size_t i = 0; i < COUNT_OF(names) && !parsed.code; i++)
        if (strcasecmp(names[i].name, rest) == 0)
            parsed.code = names[i].code;
    if (!parsed.code && len) {
        size_t used;
        char spelled[16];
        uint32_t cp = utf8_decode(rest, len, &used);
        if (used == len && cp != UTF8_REPLACEMENT && utf8_width(cp) > 0 && utf8_spell(cp, spelled) == 0)
            parsed.code = cp;
    }
    if (!parsed.code)
        return unknown_key(rest, err);
    if (parsed.ctrl && parsed.code > 0x7F && parsed.code < KEYSYM_BASE)
        return err_set(err, "no terminal sends %.60s", name);
    *key = normalize_key(parsed);
    return 0;
}

void key_write(struct strbuf *out, const struct key *key)
{
    struct key written = normalize_key(*key);
    if (written.code == KEYSYM_BACKTAB) {
        written.code = KEYSYM_TAB;
        written.shift = true;
    }
    if (written.ctrl)
        strbuf_addstr(out, "Ctrl-");
    if (written.alt)
        strbuf_addstr(out, "Alt-");
    if (written.shift)
        strbuf_addstr(out, "Shift-");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (names[i].code == written.code) {
            strbuf_addstr(out, names[i].name);
            return;
        }
    }
    if (written.code >= KEYSYM_BASE) {
        strbuf_addstr(out, written.code == KEYSYM_MOUSE ? "Mouse" : "?");
        return;
    }
    if (written.ctrl && written.code >= 'a' && written.code <= 'z')
        written.code -= 'a' - 'A';
    char bytes[4];
    strbuf_add(out, bytes, utf8_encode(written.code, bytes));
}

/* ---- reading keys ---- */

#define C1_ST           0x9C /* ends the strings that OSC, DCS and the like begin */
#define CTRL_C          0x03
#define STRING_MAX      4096 /* characters; the terminal's answers to Keyturn are shorter */
#define STRING_QUIET_US 1000000

static bool is_key(struct key *key, uint32_t code)
{
    *key = (struct key){.code = code};
    return true;
}

/* The key of a control character. */
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
    return c <= 0x10FFFF && is_key(key, c);
}

/* "<0;12;5M": button, column, row, pressed. */
static bool mouse_key(const char *text, char last, struct key *key)
{
    char *at;
    long button = strtol(text + 1, &at, 10);
    long col = *at == ';' ? strtol(at + 1, &at, 10) : 0;
    long row = *at == ';' ? strtol(at + 1, &at, 10) : 0;
    if (last != 'M' || *at || row < 1 || col < 1 || row > 10000 || col > 10000 || button & 32)
        return false; /* released, or moved */
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

/* "1;5A" and similar. Terminfo has those without a number, but not for every terminal. */
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

/* "5~" and similar. */
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

/* The state after a C1 control that begins a sequence; KEYREAD_PLAIN: none. */
static enum keyread_state c1_state(uint32_t c)
{
    switch (c) {
    case 0x9B: /* CSI */
        return KEYREAD_CSI;
    case 0x8F: /* SS3 */
        return KEYREAD_SS3;
    case 0x90: /* DCS */
    case 0x98: /* SOS */
    case 0x9D: /* OSC */
    case 0x9E: /* PM */
    case 0x9F: /* APC */
        return KEYREAD_STRING;
    default:
        return KEYREAD_PLAIN;
    }
}

/* In pasted text a C1 control is dropped and begins no sequence. Otherwise pasted text could end the paste with it, or
 * hide its end. */
static bool take_c1(struct keyread *read, uint32_t c, struct key *key)
{
    bool esc = read->state == KEYREAD_ESC;
    read->state = read->pasting ? KEYREAD_PLAIN : c1_state(c);
    read->len = 0;
    read->c1 = true;
    read->over = false;
    read->last_us = read->now_us;
    return esc && !read->pasting && is_key(key, KEYSYM_ESC);
}

/* The state after Esc and this letter; KEYREAD_PLAIN: no sequence. */
static enum keyread_state esc_state(uint32_t c)
{
    switch (c) {
    case '[':
        return KEYREAD_CSI;
    case 'O':
        return KEYREAD_SS3;
    case 'P':
    case 'X':
    case ']':
    case '^':
    case '_':
        return KEYREAD_STRING;
    default:
        return KEYREAD_PLAIN;
    }
}

static bool begin_sequence(struct keyread *read, uint32_t c, struct key *key)
{
    read->len = 0;
    read->c1 = read->over = false;
    read->opener = c;
    read->last_us = read->now_us;
    read->state = esc_state(c);
    if (read->pasting && read->state == KEYREAD_STRING)
        read->state = KEYREAD_PLAIN; /* it would hide the end of the paste */
    if (read->state != KEYREAD_PLAIN)
        return false;
    if (c == 0x1B) { /* Esc twice: the first was a key, the second may begin a sequence */
        read->state = KEYREAD_ESC;
        return !read->pasting && is_key(key, KEYSYM_ESC);
    }
    if (!plain_char(c, key) || read->pasting)
        return false;
    key->alt = true;
    return true;
}

static bool in_string(const struct keyread *read)
{
    return read->state == KEYREAD_STRING || read->state == KEYREAD_STRING_ESC;
}

static void string_char(struct keyread *read, uint32_t c)
{
    if (read->now_us - read->last_us >= STRING_QUIET_US || ++read->len > STRING_MAX)
        read->over = true;
    read->last_us = read->now_us;
    if (c == C1_ST || c == (read->state == KEYREAD_STRING ? 0x07 : '\\'))
        read->state = KEYREAD_PLAIN;
    else
        read->state = c == 0x1B && read->state == KEYREAD_STRING ? KEYREAD_STRING_ESC : KEYREAD_STRING;
}

bool keyread_char(struct keyread *read, uint32_t c, struct key *key)
{
    if (c >= 0x80 && c < 0xA0 && !in_string(read))
        return take_c1(read, c, key);
    if (c == CTRL_C && read->state != KEYREAD_ESC && !read->pasting) {
        read->state = KEYREAD_PLAIN;
        return control_key(c, key);
    }
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
            read->state = KEYREAD_PLAIN; /* invalid: ends here */
        else if (read->len < sizeof(read->text) - 1)
            read->text[read->len++] = (char)c;
        return false;
    case KEYREAD_STRING:
    case KEYREAD_STRING_ESC:
        string_char(read, c);
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

/* Handles a byte that does not continue a character: 8-bit C1 controls count, all others are dropped. */
static bool stray_byte(struct keyread *read, unsigned char byte, struct key *key)
{
    if (byte >= 0xC2 && byte <= 0xF4) {
        read->partial[0] = (char)byte;
        read->partial_len = 1;
        return false;
    }
    return byte < 0xA0 && keyread_char(read, byte, key);
}

bool keyread_byte(struct keyread *read, unsigned char byte, struct key *key)
{
    if (byte < 0x80) {
        bool cut = read->partial_len;
        read->partial_len = 0;
        /* The byte after half a character is garbage too: it must not answer a question. */
        return !(cut && byte >= 0x20) && keyread_char(read, byte, key);
    }
    if (!read->partial_len)
        return stray_byte(read, byte, key);
    size_t used;
    read->partial[read->partial_len++] = (char)byte;
    size_t len = read->partial_len;
    if (utf8_unfinished(read->partial, len) == len)
        return false;
    uint32_t cp = utf8_decode(read->partial, len, &used);
    read->partial_len = 0;
    return used == len ? keyread_char(read, cp, key) : stray_byte(read, byte, key);
}

bool keyread_known(struct keyread *read, const struct key *known, struct key *key)
{
    bool alt = read->state == KEYREAD_ESC;
    read->state = KEYREAD_PLAIN;
    read->partial_len = 0;
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
    if (in_string(read) && read->over) {
        read->state = KEYREAD_PLAIN;
        return false;
    }
    /* "Alt-[", "Alt-]" and similar, typed by the user: the rest of a real sequence would arrive with it. */
    bool opened = read->state == KEYREAD_CSI || read->state == KEYREAD_SS3 || read->state == KEYREAD_STRING;
    if (!opened || read->len || read->pasting || read->c1)
        return false;
    is_key(key, read->opener);
    key->alt = true;
    read->state = KEYREAD_PLAIN;
    return true;
}
