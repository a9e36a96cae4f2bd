#include "roles.h"
#include "base/mem.h"
#include <string.h>

static const struct {
    const char *name, *doc;
} looks[LOOK_COUNT] = {
#define ROLE(ID, name, doc) [LOOK_##ID] = {name, doc},
#include "roles.def"
#undef ROLE
};

const char *look_name(enum look look)
{
    return (unsigned)look < LOOK_COUNT ? looks[look].name : "?";
}

const char *look_doc(enum look look)
{
    return (unsigned)look < LOOK_COUNT ? looks[look].doc : "";
}

static int find(const char *name, size_t len)
{
    for (int i = 0; i < LOOK_COUNT; i++)
        if (strncmp(looks[i].name, name, len) == 0 && looks[i].name[len] == '\0')
            return i;
    return -1;
}

int look_from_name(const char *name)
{
    return find(name, strlen(name));
}

enum look look_parent(enum look look)
{
    const char *name = look_name(look);
    size_t len = strlen(name);
    /* `wave.bar` has no `wave` above it: names that are no roles are stepped over. */
    for (;;) {
        while (len && name[len - 1] != '.')
            len--;
        if (len == 0)
            return LOOK_TEXT;
        int above = find(name, --len);
        if (above >= 0)
            return (enum look)above;
    }
}
