#pragma once
/* The semantic tool selector: of many tools, those whose name and description fit the prompt best (BM25). Off by
 * default; then, or when there are few, all of them in their order. */

#include "tools/registry.h"

#define SELECT_MAX 25

/* Tools for this prompt, at most `max`, in the registry's order; the array is the caller's. */
const struct tool **select_tools(const struct registry *registry, const char *prompt, bool enabled, size_t max,
                                 size_t *count);
