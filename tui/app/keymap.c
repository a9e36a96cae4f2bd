/* The map from keys to actions: a list of keys per action. The lists are short, so a lookup searches all of them.
 *
 * A new map is built beside the old one and checked as a whole, so a change is accepted completely or not at all.
 * keys.c has the names of keys. */

#include "keymap.h"
#include "base/mem.h"
#include "base/nearest.h"
#include <stdio.h>
#include <string.h>

#define KEYS_MOST 8 /* per action */
#define NAME_MOST 32

static const struct {
    const char *name, *keys, *short_help, *help;
    unsigned contexts;
} actions[ACTION_COUNT] = {
    [ACTION_NONE] = {"none", "", "", "", 0},
#define ACTION(ID, name, contexts, keys, short_help, help, handler) \
    [ACTION_##ID] = {name, keys, short_help, help, contexts},
#include "actions.def"
#undef ACTION
};

enum list_step action_list_step(enum action action)
{
    static const enum list_step steps[ACTION_COUNT] = {
        [ACTION_UP] = LIST_UP,       [ACTION_DOWN] = LIST_DOWN,       [ACTION_LEFT] = LIST_LEFT,
        [ACTION_RIGHT] = LIST_RIGHT, [ACTION_PAGE_UP] = LIST_PAGE_UP, [ACTION_PAGE_DOWN] = LIST_PAGE_DOWN,
        [ACTION_HOME] = LIST_HOME,   [ACTION_END] = LIST_END,
    };
    return action < ACTION_COUNT ? steps[action] : LIST_STAY;
}

/* The most specific context first: the lookup order. */
static const enum context by_rank[] = {IN_PROGRAM, IN_QUESTION, IN_REPLAY, IN_STEP, IN_ALL};

struct keymap {
    struct {
        struct key keys[KEYS_MOST];
        size_t count;
        char first[NAME_MOST]; /* the first key as text */
    } of[ACTION_COUNT];
};

static bool is_action(enum action action)
{
    return action > ACTION_NONE && action < ACTION_COUNT;
}

const char *action_name(enum action action)
{
    return is_action(action) ? actions[action].name : "none";
}

const char *action_help(enum action action)
{
    return is_action(action) ? actions[action].help : "";
}

const char *action_short(enum action action)
{
    return is_action(action) ? actions[action].short_help : "";
}

unsigned action_contexts(enum action action)
{
    return is_action(action) ? actions[action].contexts : 0;
}

enum action action_from_name(const char *name)
{
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++)
        if (strcmp(actions[action].name, name) == 0)
            return action;
    return ACTION_NONE;
}

const char *context_title(enum context context)
{
    switch (context) {
    case IN_ALL:
        return "Everywhere";
    case IN_STEP:
        return "In a live turn";
    case IN_QUESTION:
        return "While a write waits";
    case IN_REPLAY:
        return "In a recording";
    case IN_PROGRAM:
        return "While a program is shown";
    }
    return "";
}

/* ---- building a map ---- */

static int set_keys(struct keymap *keymap, enum action action, const char *keys, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    keymap->of[action].count = 0;
    keymap->of[action].first[0] = '\0';
    for (const char *at = keys + strspn(keys, " "); *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        CLEANUP(free) char *name = xmemdup0(at, len);
        size_t count = keymap->of[action].count;
        if (count == KEYS_MOST)
            return err_set(err, "%s has more than %d keys", actions[action].name, KEYS_MOST);
        if (key_parse(&keymap->of[action].keys[count], name, err))
            return err_prefix(err, "%s", actions[action].name);
        keymap->of[action].count++;
        at += len;
    }
    if (keymap->of[action].count) {
        key_write(&text, &keymap->of[action].keys[0]);
        snprintf(keymap->of[action].first, NAME_MOST, "%s", text.buf);
    }
    return 0;
}

static bool has_key(const struct keymap *keymap, enum action action, const struct key *key)
{
    for (size_t i = 0; i < keymap->of[action].count; i++)
        if (key_same(&keymap->of[action].keys[i], key))
            return true;
    return false;
}

/* Users press Enter and Space without thinking, so these keys never approve anything. */
static bool is_thoughtless(const struct key *key)
{
    return key->code == KEYSYM_ENTER || key->code == ' ';
}

static int check_key(const struct keymap *keymap, enum action action, size_t index, struct err *err)
{
    const struct key *key = &keymap->of[action].keys[index];
    CLEANUP(strbuf) struct strbuf name = STRBUF_INIT;
    key_write(&name, key);
    if ((action == ACTION_APPROVE || action == ACTION_ALLOW) && is_thoughtless(key))
        return err_set(err, "cannot bind %s to %s: Enter and Space never approve", actions[action].name, name.buf);
    for (size_t i = 0; i < index; i++)
        if (key_same(&keymap->of[action].keys[i], key))
            return err_set(err, "%s has %s twice", actions[action].name, name.buf);
    for (enum action other = ACTION_NONE + 1; other < action; other++)
        if ((actions[other].contexts & actions[action].contexts) && has_key(keymap, other, key))
            return err_set(err, "%s is on both %s and %s; give one of them another key", name.buf, actions[other].name,
                           actions[action].name);
    return 0;
}

static int check(const struct keymap *keymap, struct err *err)
{
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++)
        for (size_t i = 0; i < keymap->of[action].count; i++)
            if (check_key(keymap, action, i, err))
                return -1;
    return 0;
}

struct keymap *keymap_new(void)
{
    struct keymap *keymap = xcalloc(1, sizeof(*keymap));
    struct err err = ERR_INIT;
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++)
        if (set_keys(keymap, action, actions[action].keys, &err))
            BUG("actions.def: %s", err.text);
    if (check(keymap, &err))
        BUG("actions.def: %s", err.text);
    return keymap;
}

void keymap_free(struct keymap *keymap)
{
    free(keymap);
}

static int unknown_action(const char *name, struct err *err)
{
    struct nearest near = nearest_to(name);
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++)
        nearest_offer(&near, actions[action].name);
    if (near.best)
        return err_set(err, "unknown action %.60s; did you mean %s?", name, near.best);
    return err_set(err, "unknown action %.60s; `keyturn keys` lists them", name);
}

int keymap_bind_all(struct keymap *keymap, const struct keymap_binding *bindings, size_t count, struct err *err)
{
    CLEANUP(free) struct keymap *changed = xmalloc(sizeof(*changed));
    *changed = *keymap;
    for (size_t i = 0; i < count; i++) {
        enum action action = action_from_name(bindings[i].action);
        if (!action)
            return unknown_action(bindings[i].action, err);
        if (set_keys(changed, action, bindings[i].keys, err))
            return -1;
    }
    if (check(changed, err))
        return -1;
    *keymap = *changed;
    return 0;
}

int keymap_bind(struct keymap *keymap, const char *action, const char *keys, struct err *err)
{
    struct keymap_binding binding = {action, keys};
    return keymap_bind_all(keymap, &binding, 1, err);
}

/* ---- lookup ---- */

enum action keymap_find(const struct keymap *keymap, unsigned contexts, const struct key *key)
{
    contexts |= IN_ALL;
    for (size_t i = 0; i < COUNT_OF(by_rank); i++)
        for (enum action action = ACTION_NONE + 1; (contexts & by_rank[i]) && action < ACTION_COUNT; action++)
            if ((actions[action].contexts & by_rank[i]) && has_key(keymap, action, key))
                return action;
    return ACTION_NONE;
}

const char *keymap_key(const struct keymap *keymap, enum action action)
{
    return is_action(action) ? keymap->of[action].first : "";
}

void keymap_keys(const struct keymap *keymap, enum action action, struct strbuf *out)
{
    for (size_t i = 0; is_action(action) && i < keymap->of[action].count; i++) {
        if (i)
            strbuf_addch(out, ' ');
        key_write(out, &keymap->of[action].keys[i]);
    }
}

void keymap_table(const struct keymap *keymap, struct strbuf *out)
{
    static const enum context order[] = {IN_ALL, IN_STEP, IN_QUESTION, IN_PROGRAM, IN_REPLAY};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        strbuf_addf(out, "%s%s\n", i ? "\n" : "", context_title(order[i]));
        for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
            if (!(actions[action].contexts & order[i]))
                continue;
            CLEANUP(strbuf) struct strbuf keys = STRBUF_INIT;
            keymap_keys(keymap, action, &keys);
            strbuf_addf(out, "  %-16s %-16s %s\n", keys.len ? keys.buf : "-", actions[action].name,
                        actions[action].help);
        }
    }
}
