#pragma once
/* JSON documents that people write for Keyturn, read with cJSON: engines.json and files with tool servers.
 *
 * There are two readers of JSON, and this is the line between them. A document is small, read once at start, and its
 * numbers are settings: cJSON does that. core/base/json is for records that must come back digit for digit (events,
 * arguments, digests, model traffic, and metadata.json with members of other programs): there a number keeps its text,
 * values live in an arena, and reading costs no malloc per value. config.json is read with core/base/json too, because
 * its nodes know their source text, which other files parse again.
 *
 *     struct doc *doc = doc_parse(text, len, &err);    // NULL: err has text and line
 *     doc_each (member, doc)
 *         if (!doc_text(member)) complain about doc_key(member) in line doc_line(member)
 *     doc_free(doc);
 *
 * The grammar is that of json_parse_commented: strict RFC 8259, valid UTF-8, no \u0000, at most JSON_DEPTH_MAX deep,
 * and
 * `//` comments. A lone surrogate is refused. Keys are compared with case. */

#include "err.h"
#include <stdbool.h>
#include <stddef.h>

struct doc; /* a value; the root owns all others */

enum doc_type { DOC_NULL, DOC_FALSE, DOC_TRUE, DOC_NUMBER, DOC_TEXT, DOC_LIST, DOC_OBJECT };

/* Reads one value with nothing but white space and comments around it. */
struct doc *doc_parse(const char *text, size_t len, struct err *err) CHECKED;
void doc_free(struct doc *root);
static inline void doc_cleanup(struct doc **root)
{
    doc_free(*root);
}

enum doc_type doc_type(const struct doc *value);
const char *doc_key(const struct doc *value);  /* within the object around it, else NULL */
const char *doc_text(const struct doc *value); /* NULL if it is no text; NULL is fine */
double doc_number(const struct doc *value);    /* NaN if it is no number */
size_t doc_count(const struct doc *value);     /* members or items */
long doc_line(const struct doc *value);        /* where it begins, from 1 */
/* The last member of that name, or NULL. `object` may be NULL or no object. */
const struct doc *doc_get(const struct doc *object, const char *key);

const struct doc *doc_first(const struct doc *container); /* in source order, with every member of equal names */
const struct doc *doc_next(const struct doc *value);
#define doc_each(item, container) for (const struct doc *item = doc_first(container); item; item = doc_next(item))
