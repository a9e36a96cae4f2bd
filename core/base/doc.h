#pragma once
/* Keyturn's own JSON documents, read and written with cJSON: engines.json, files with tool servers, metadata.json of a
 * workspace, the manifest of a checkpoint, and the output of --json.
 *
 * This header explains which of the two JSON readers to use. Use this one for a small document with known members that
 * is read as a whole. Use core/base/json for records that must come back digit for digit (events, arguments, digests,
 * model traffic): a number keeps its text, values live in an arena, and reading needs no malloc per value. config.json
 * uses core/base/json too, because its nodes know their source text, which other files parse again.
 *
 *     struct doc *doc = doc_parse(text, len, &err);    // NULL: err has text and line
 *     doc_each (member, doc)
 *         if (!doc_text(member)) complain about doc_key(member) in line doc_line(member)
 *     doc_free(doc);
 *
 * The grammar is that of json_parse_commented: strict RFC 8259, valid UTF-8, no \u0000, at most JSON_DEPTH_MAX deep,
 * and `//` comments. A lone surrogate is refused. Keys are compared with case. */

#include "err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

struct doc; /* a value; the root owns all others */

enum doc_type { DOC_NULL, DOC_FALSE, DOC_TRUE, DOC_NUMBER, DOC_TEXT, DOC_LIST, DOC_OBJECT, DOC_KEPT };

/* Reads one value with nothing but white space and comments around it. */
struct doc *doc_parse(const char *text, size_t len, struct err *err) CHECKED;
/* The same for a file that programs write, without comments. cJSON does not read the members of the root that are not
 * in `known`, which ends with NULL: they are DOC_KEPT, for doc_add_copy, and come back digit for digit. */
struct doc *doc_parse_known(const char *text, size_t len, const char *const *known, struct err *err) CHECKED;
void doc_free(struct doc *root);
static inline void doc_cleanup(struct doc **root)
{
    doc_free(*root);
}

enum doc_type doc_type(const struct doc *value);
const char *doc_key(const struct doc *value);                /* within the object around it, else NULL */
const char *doc_text(const struct doc *value);               /* NULL if it is no text; NULL is fine */
double doc_number(const struct doc *value);                  /* NaN if it is no number */
int64_t doc_int(const struct doc *value, int64_t otherwise); /* all digits count; also 3.0 and 1e2; NULL is fine */
size_t doc_count(const struct doc *value);                   /* members or items */
long doc_line(const struct doc *value);                      /* where it begins, from 1 */
/* The last member of that name, or NULL. `object` may be NULL or no object. */
const struct doc *doc_get(const struct doc *object, const char *key);

const struct doc *doc_first(const struct doc *container); /* in source order, with every member of equal names */
const struct doc *doc_next(const struct doc *value);
#define doc_each(item, container) for (const struct doc *item = doc_first(container); item; item = doc_next(item))

/* ---- writing ----
 *
 *     CLEANUP(doc) struct doc *doc = doc_new();
 *     doc_add_int(doc, "size", size);
 *     doc_write(doc, &out);
 *
 * `key` NULL adds an item to a list. Whole numbers keep all their digits. */

struct doc *doc_new(void); /* an object */
struct doc *doc_add_object(struct doc *to, const char *key);
struct doc *doc_add_list(struct doc *to, const char *key);
void doc_add_text(struct doc *to, const char *key, const char *text); /* NULL: null */
void doc_add_int(struct doc *to, const char *key, int64_t number);
void doc_add_bool(struct doc *to, const char *key, bool yes);
void doc_add_json(struct doc *to, const char *key, const char *json); /* text that is JSON already */
void doc_add_copy(struct doc *to, const struct doc *member);          /* under its own key */
/* Appends it on one line, safe to print (json_make_printable). */
void doc_write(const struct doc *root, struct strbuf *out);
