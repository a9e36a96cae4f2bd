#pragma once
/* A pager for files that may be hundreds of megabytes: it reads only the lines that are shown. It finds the line
 * offsets a piece at a time, and stores only every 128th. The others are found again when they are needed. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pager;

/* Opens regular files only, because a recording may name anything. */
struct pager *pager_open(const char *path, struct err *err) CHECKED;
void pager_close(struct pager *pager); /* NULL is fine */
/* Scans up to `bytes` more for lines; true while there is more. */
bool pager_work(struct pager *pager, size_t bytes);
size_t pager_lines(const struct pager *pager); /* found so far */
uint64_t pager_size(const struct pager *pager);
/* Appends a line, at most PAGER_LINE_MAX bytes of it, without its newline. */
#define PAGER_LINE_MAX 65536
bool pager_line(struct pager *pager, size_t line, struct strbuf *out);
/* Finds the next line with the text after `line`, or before it, among those found so far; false if there is none. */
bool pager_search(struct pager *pager, const char *text, bool back, size_t *line);
