#pragma once
/* The pattern of search_files: a plain text, or a PCRE2 regular expression, searched in single lines.
 *
 *     struct pattern *pattern = pattern_new(text, regex, PATTERN_CPU_MS, &canceled, &err);
 *     for each line: pattern_find(pattern, line, len, &at)
 *     pattern_free(pattern);
 *
 * The expression comes from a model and the lines from any file, so neither is trusted; the head of search.c lists
 * the limits. Any thread, but one at a time for a pattern. */

#include "base/err.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pattern;

enum pattern_result {
    PATTERN_NOT_FOUND,
    PATTERN_FOUND,
    PATTERN_TOO_EXPENSIVE, /* a limit was reached; the line may or may not match */
};

#define PATTERN_CPU_MS 5000 /* of a search; 100 MB of source take 1 to 3 s */

/* `cpu_ms` limits the CPU time of all calls of pattern_find together. Returns NULL if the expression is malformed or
 * too large. `cancelled` ends a match early and may be NULL. */
struct pattern *pattern_new(const char *text, bool regex, int64_t cpu_ms, const atomic_bool *cancelled,
                            struct err *err) CHECKED;
void pattern_free(struct pattern *pattern);
/* Finds the first match in a line and sets `at` to its first byte. PATTERN_NOT_FOUND if canceled meanwhile. */
enum pattern_result pattern_find(struct pattern *pattern, const char *line, size_t len, size_t *at);
