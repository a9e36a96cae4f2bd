#pragma once
/* Actions and the map from keys to them. actions.def is the only table: names, contexts, default keys, help. The user's
 * `keys` object in the config file goes through the same parser. The map is refused if two actions of one context have
 * the same key. */

#include "base/err.h"
#include "base/strbuf.h"
#include "screen/keys.h"
#include "screen/list.h"
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

const char *action_name(enum action action);
const char *action_help(enum action action);
const char *action_short(enum action action);
unsigned action_contexts(enum action action);
enum action action_from_name(const char *name);
/* How the action moves in a list or a text; LIST_STAY: it does not move. */
enum list_step action_list_step(enum action action);
/* The heading of a context: "Everywhere", "In a live turn", … */
const char *context_title(enum context context);

struct keymap;
struct keymap *keymap_new(void); /* with the default keys */
void keymap_free(struct keymap *keymap);
/* Replaces the keys of `action` ("s F5"; "" removes all). Refuses a key that another action of the same context has,
 * and Enter and Space for actions that approve. A refused call changes nothing. */
int keymap_bind(struct keymap *keymap, const char *action, const char *keys, struct err *err) CHECKED;
/* Binds several actions at once, so that two actions can swap their keys. */
struct keymap_binding {
    const char *action, *keys;
};
int keymap_bind_all(struct keymap *keymap, const struct keymap_binding *bindings, size_t count,
                    struct err *err) CHECKED;
/* The action of a key while these contexts are active. The most specific context wins (program, question, replay, step,
 * everywhere). */
enum action keymap_find(const struct keymap *keymap, unsigned contexts, const struct key *key);
/* The first key of an action as text; "" if it has none. */
const char *keymap_key(const struct keymap *keymap, enum action action);
void keymap_keys(const struct keymap *keymap, enum action action, struct strbuf *out); /* all keys of the action */
/* Every action with its keys and its help, for `keyturn keys`. */
void keymap_table(const struct keymap *keymap, struct strbuf *out);
