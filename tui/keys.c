/* Keys and their names. What a terminal sends as one byte sequence is one key here, whichever name it was given:
 * `settle` brings a key into that form, and both the parser and the comparison go through it. */

#include "base/mem.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "keymap.h"
#include <strings.h>

/* The first name of a code is the one that is written. */
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

static struct key settle(struct key key)
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
    struct key one = settle(*a);
    struct key two = settle(*b);
    return one.code == two.code && one.ctrl == two.ctrl && one.alt == two.alt && one.shift == two.shift;
}

/* Takes "Ctrl-" and its like off *name; a key called "-" alone is no modifier. */
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
        return err_set(err, "a key without a name");
    if (near.best)
        return err_set(err, "there is no key %.60s; did you mean %s?", name, near.best);
    return err_set(err, "there is no key %.60s; write a character, or Ctrl-C, Alt-x, PgUp, F5", name);
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
    *key = settle(parsed);
    return 0;
}

void key_write(struct strbuf *out, const struct key *key)
{
    struct key written = settle(*key);
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
