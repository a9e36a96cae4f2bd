#pragma once
/* Keys, actions and the map between them. actions.def is the one table: names, contexts, default keys, help. The user's
 * `keys` object of the configuration goes through the same parser; two actions on one key of a context are refused when
 * the map is made. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

enum context { IN_ALL = 1, IN_STEP = 2, IN_QUESTION = 4, IN_REPLAY = 8, IN_PROGRAM = 16 };

enum action {
    ACTION_NONE,
#define ACTION(ID, name, contexts, keys, short_help, help, handler) ACTION_##ID,
#include "actions.def"
#undef ACTION
    ACTION_COUNT
};

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

/* "Ctrl-C", "PgUp", "Shift-Tab", "x". Names in any case; a letter alone means its case. What a terminal cannot tell
 * apart is one key: Ctrl-M is Enter, Ctrl-I is Tab, Ctrl-[ is Esc. */
int key_parse(struct key *key, const char *name, struct err *err) CHECKED;
void key_write(struct strbuf *out, const struct key *key);
bool key_same(const struct key *a, const struct key *b);

const char *action_name(enum action action);
const char *action_help(enum action action);
const char *action_short(enum action action);
unsigned action_contexts(enum action action);
enum action action_from_name(const char *name);
/* "Everywhere", "In a live turn", … for one context. */
const char *context_title(enum context context);

struct keymap;
struct keymap *keymap_new(void); /* the defaults */
void keymap_free(struct keymap *keymap);
/* `action` on these keys instead of its own ("s F5"; "" takes all away). A key that another action of the same context
 * has is refused, and so are Enter and Space for what approves. Nothing changes then. */
int keymap_bind(struct keymap *keymap, const char *action, const char *keys, struct err *err) CHECKED;
/* Several at once, so that two actions can swap their keys. */
struct keymap_binding {
    const char *action, *keys;
};
int keymap_bind_all(struct keymap *keymap, const struct keymap_binding *bindings, size_t count,
                    struct err *err) CHECKED;
/* What the key does where these contexts hold; the most particular context wins (program, question, replay,
 * step, everywhere). */
enum action keymap_find(const struct keymap *keymap, unsigned contexts, const struct key *key);
/* The first key of an action as text, "" when it has none. */
const char *keymap_key(const struct keymap *keymap, enum action action);
void keymap_keys(const struct keymap *keymap, enum action action, struct strbuf *out); /* all of them */
/* A Markdown table of every action, for README and `keyturn keys`. */
void keymap_table(const struct keymap *keymap, struct strbuf *out, bool markdown);
