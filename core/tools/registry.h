#pragma once
/* The tools a session has, by name. Filled before the first turn, changed between turns at most. */

#include "event/event.h"
#include "tool.h"

struct registry;
struct json;
struct strbuf;

struct registry *registry_new(void);
void registry_free(struct registry *registry);
/* The tool must outlive the registry. Two of one name, a name that is not [A-Za-z0-9_.-]{1,64}, or a schema that is not
 * one we can check is an error. */
int registry_add(struct registry *registry, const struct tool *tool, struct err *err) CHECKED;
/* In the place of the one that has its name. */
int registry_replace(struct registry *registry, const struct tool *tool, struct err *err) CHECKED;
/* False when there is none of this name. */
bool registry_remove(struct registry *registry, const char *name);
int registry_add_builtin(struct registry *registry, struct err *err) CHECKED;
const struct tool *registry_find(const struct registry *registry, const char *name); /* NULL when unknown */
/* The name nearest to a misspelt one, NULL when none is near. */
const char *registry_nearest(const struct registry *registry, const char *name);
size_t registry_count(const struct registry *registry);
const struct tool *registry_at(const struct registry *registry, size_t index); /* in the order added */
/* 0, or -1 with a sentence that names the field: "path: missing", "limit: must be an integer, is a string". */
int registry_validate(const struct registry *registry, const struct tool *tool, const struct json *arguments,
                      struct err *err) CHECKED;
/* The tools as session.started lists them. Texts of the tools are borrowed. */
struct event_tool_info_list registry_to_event(const struct registry *registry, struct arena *arena);
