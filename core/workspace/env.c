/* A list that is filled from the lowest layer up; a later layer replaces. */

#include "env.h"
#include "base/mem.h"
#include "layout.h"
#include <ctype.h>
#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

struct list {
    char **items;
    size_t count, room;
};

static void list_cleanup(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}

static void put_entry(struct list *list, char *take_entry)
{
    size_t name = strcspn(take_entry, "=") + 1;
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], take_entry, name) == 0) {
            free(list->items[i]);
            list->items[i] = take_entry;
            return;
        }
    GROW(list->items, list->count + 1, list->room);
    list->items[list->count++] = take_entry;
    list->items[list->count] = NULL;
}

static void put(struct list *list, const char *name, const char *value)
{
    put_entry(list, xasprintf("%s=%s", name, value));
}

static bool is_name(const char *name)
{
    return *name && !strchr(name, '=');
}

bool env_steers(const char *name)
{
    static const char *const patterns[] = {
        "HOME",     "ENV", "BASH_ENV", "PROMPT_COMMAND", "PS4",    "SHELL",      "SHELLOPTS",   "PATH",
        "BASHOPTS", "IFS", "CDPATH",   "LD_*",           "DYLD_*", "GLOBIGNORE", "BASH_FUNC_*", "GCONV_PATH"};
    for (size_t i = 0; i < COUNT_OF(patterns); i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    if (!isalpha((unsigned char)*name) && *name != '_')
        return true;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name != '\0';
}

static void put_workspace(struct list *list, const struct env_layers *layers)
{
    put(list, LAYOUT_ENV_ROOT, layers->root);
    for (size_t i = 0; i < LAYOUT_DIRS; i++)
        if (layout_rows[i].env) {
            CLEANUP(free) char *path = xasprintf("%s/%s", layers->root, layout_rows[i].name);
            put(list, layout_rows[i].env, path);
        }
    if (layers->run) {
        CLEANUP(free) char *path = xasprintf("%s/%s", layers->root, layers->run);
        put(list, LAYOUT_ENV_RUN, path);
    }
}

char **env_merge(const struct env_layers *layers, struct err *err)
{
    CLEANUP(list) struct list list = {0};
    GROW(list.items, list.count, list.room);
    list.items[0] = NULL;
    for (const char *const *at = layers->clean ? NULL : layers->below; at && *at; at++)
        if (strchr(*at, '='))
            put_entry(&list, xstrdup(*at));
    if (layers->root)
        put_workspace(&list, layers);
    for (size_t i = 0; i < layers->provider.count; i++) {
        const struct env_var *var = &layers->provider.items[i];
        if (is_name(var->name) && !(layers->clean && env_steers(var->name)))
            put(&list, var->name, var->value);
    }
    for (size_t i = 0; i < layers->call.count; i++) {
        const struct env_var *var = &layers->call.items[i];
        if (!is_name(var->name)) {
            err_set(err, "\"%.60s\" cannot be the name of a variable", var->name);
            return NULL;
        }
        put(&list, var->name, var->value);
    }
    if (!env_value((const char *const *)list.items, "PATH"))
        put(&list, "PATH", ENV_PATH);
    list.count = 0;
    return steal(&list.items);
}

const char *env_value(const char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}
