#include "source.h"
#include "base/mem.h"

void tool_changes_add(struct tool_changes *changes, const char *name, enum tool_fate what)
{
    GROW(changes->items, changes->count, changes->room);
    changes->items[changes->count++] = (struct tool_change){name, what};
}

void tool_changes_release(struct tool_changes *changes)
{
    free(changes->items);
    *changes = (struct tool_changes){0};
}
