#pragma once
/* Tools that come and go while a session lasts. Their owner says between two turns what became of them: in the middle
 * of a turn the registry stays as it is. Whatever was registered once stays valid as long as the source. */

#include <stddef.h>
#include <stdint.h>

struct registry;

enum tool_fate { TOOL_ADDED, TOOL_CHANGED, TOOL_REMOVED };

struct tool_change {
    const char *name; /* the source's */
    enum tool_fate what;
};

struct tool_changes {
    struct tool_change *items;
    size_t count, room;
};
void tool_changes_add(struct tool_changes *changes, const char *name, enum tool_fate what);
void tool_changes_release(struct tool_changes *changes);

struct tool_source {
    /* Brings the registry up to date for the turn of this number, and tells what it did. */
    void (*adopt)(struct tool_source *source, struct registry *registry, int64_t turn, struct tool_changes *changes);
};
