#include "toolset.h"
#include "base/json.h"
#include "base/mem.h"
#include <string.h>

void toolset_read(struct toolset *set, const struct json *ready)
{
    const struct json *names = json_get(ready, "tools"), *effects = json_get(ready, "effects");
    toolset_release(set);
    set->told = true;
    set->chosen = effects && effects->type == JSON_OBJECT;
    if (!names || names->type != JSON_ARRAY || !names->count)
        return;
    set->items = xcalloc(names->count, sizeof(*set->items));
    json_each (name, names)
        if (name->type == JSON_STRING)
            set->items[set->count++] =
                (struct toolset_tool){xstrdup(name->text), xstrdup(json_str(json_get(effects, name->text), ""))};
}

void toolset_release(struct toolset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->items[i].name);
        free(set->items[i].effect);
    }
    free(set->items);
    *set = (struct toolset){0};
}

const struct toolset_tool *toolset_find(const struct toolset *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return NULL;
}
