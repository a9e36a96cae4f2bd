#pragma once
/* The tools of a session, by name. Filled before the first turn; changed only between turns. */

#include "event/event.h"
#include "tool.h"
#include <stddef.h>
#include <stdint.h>

/* Tools that come and go during a session. Their owner changes the registry only between two turns. A tool that was
 * registered once stays valid as long as the source. */

struct registry;

enum tool_fate { TOOL_ADDED, TOOL_CHANGED, TOOL_REMOVED };

struct tool_change {
    const char *name; /* owned by the source */
    enum tool_fate what;
};

struct tool_changes {
    struct tool_change *items;
    size_t count, room;
};
void tool_changes_add(struct tool_changes *changes, const char *name, enum tool_fate what);
void tool_changes_release(struct tool_changes *changes);

struct tool_source {
    /* Updates the registry for the turn of this number, and reports the changes. */
    void (*adopt)(struct tool_source *source, struct registry *registry, int64_t turn, struct tool_changes *changes);
};

struct registry;
struct json;
struct strbuf;

struct registry *registry_new(void);
void registry_free(struct registry *registry);
/* The tool must outlive the registry. Fails for a duplicate name, a name that is not [A-Za-z0-9_.-]{1,64}, or an
 * unsupported schema. */
int registry_add(struct registry *registry, const struct tool *tool, struct err *err) CHECKED;
/* Replaces the tool with the same name. */
int registry_replace(struct registry *registry, const struct tool *tool, struct err *err) CHECKED;
/* Returns false if no tool has this name. */
bool registry_remove(struct registry *registry, const char *name);
int registry_add_builtin(struct registry *registry, struct err *err) CHECKED;
const struct tool *registry_find(const struct registry *registry, const char *name); /* NULL if unknown */
/* The name nearest to a misspelled one; NULL if none is near. */
const char *registry_nearest(const struct registry *registry, const char *name);
size_t registry_count(const struct registry *registry);
const struct tool *registry_at(const struct registry *registry, size_t index); /* in the order added */
/* 0, or -1 with a sentence that names the field: "path: missing", "limit: must be an integer, is a string". */
int registry_validate(const struct registry *registry, const struct tool *tool, const struct json *arguments,
                      struct err *err) CHECKED;
/* The tools as session.started lists them. Texts of the tools are borrowed. */
struct event_tool_info_list registry_to_event(const struct registry *registry, struct arena *arena);
