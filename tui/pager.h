#pragma once
/* A file that is read line by line, as far as somebody looks: an artifact may be hundreds of megabytes. Where lines
 * begin is found a piece at a time; every hundredth place or so is kept, the rest is read again when it is shown. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pager;

/* Regular files only; whatever else a recording may name is not opened. */
struct pager *pager_open(const char *path, struct err *err) CHECKED;
void pager_close(struct pager *pager); /* NULL is fine */
/* Looks for lines in up to `bytes` more; true while there is more to look at. */
bool pager_work(struct pager *pager, size_t bytes);
size_t pager_lines(const struct pager *pager); /* found so far */
uint64_t pager_size(const struct pager *pager);
/* Appends a line, at most PAGER_LINE_MAX bytes of it, without its newline. */
#define PAGER_LINE_MAX 65536
bool pager_line(struct pager *pager, size_t line, struct strbuf *out);
/* The next line with the text after `line`, or before it, among those found so far; false when none. */
bool pager_search(struct pager *pager, const char *text, bool back, size_t *line);
