/* Fuzzes key maps: lines "action keys". If a map is accepted, every key of an action finds an action of the same
 * context, key names map back to the same keys, and no approval is on Enter or Space. */

#include "app/keymap.h"
#include "base/err.h"
#include "base/mem.h"
#include <string.h>

#define LINES_MOST 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_key(const struct keymap *keymap, enum action action, const char *name)
{
    struct key key;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf again = STRBUF_INIT;
    if (key_parse(&key, name, &err))
        BUG("%s was written and is not read: %s", name, err.text);
    key_write(&again, &key);
    if (strcmp(again.buf, name) != 0)
        BUG("%s becomes %s", name, again.buf);
    if (keymap_find(keymap, action_contexts(action), &key) != action)
        BUG("%s does not do %s", name, action_name(action));
    if ((action == ACTION_APPROVE || action == ACTION_ALLOW) && (key.code == ' ' || key.code == KEYSYM_ENTER))
        BUG("%s approves", name);
}

static void check_map(const struct keymap *keymap)
{
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
        CLEANUP(strbuf) struct strbuf keys = STRBUF_INIT;
        keymap_keys(keymap, action, &keys);
        for (char *at = keys.buf, *next; at && *at; at = next) {
            next = strchr(at, ' ');
            if (next)
                *next++ = '\0';
            check_key(keymap, action, at);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct keymap_binding bindings[LINES_MOST];
    size_t count = 0;
    struct err err = ERR_INIT;
    CLEANUP(free) char *text = xmemdup0(data, size);
    struct keymap *keymap = keymap_new();
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    keymap_table(keymap, &before);
    for (char *line = text, *next; line && count < LINES_MOST; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *space = strchr(line, ' ');
        if (space)
            *space = '\0';
        bindings[count++] = (struct keymap_binding){line, space ? space + 1 : ""};
    }
    if (keymap_bind_all(keymap, bindings, count, &err)) {
        keymap_table(keymap, &after);
        if (!err.text[0] || strcmp(before.buf, after.buf) != 0)
            BUG("a map that was not taken changed");
    }
    check_map(keymap);
    keymap_free(keymap);
    return 0;
}
