#pragma once
/* What search_files looks for in a line: a plain text or a regular expression.
 *
 * Regular expressions are the extended ones of POSIX without back references, with \d \w \s \b and (?:…) as everybody
 * writes them, over UTF-8 whatever the locale. Matching takes time proportional to line × expression, always: glibc's
 * regexec needs a minute for some innocent expressions on one line of 64 KiB, and a thread cannot be killed. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct pattern;

/* NULL when the expression is malformed or too large. */
struct pattern *pattern_new(const char *text, bool regex, struct err *err) CHECKED;
void pattern_free(struct pattern *pattern);
/* Whether the line has a match, and where one begins. Any thread, but one at a time for a pattern. */
bool pattern_find(struct pattern *pattern, const char *line, size_t len, size_t *at);
