#pragma once
/* One case of a vector file, and the functions that an area uses to read it and to compare results.
 *
 * An area's function reads the case (in_…), drives the product with it, and reports the results (got_…). A got_…
 * compares only if the case expects something of that name, so a function reports all its results, and the next case
 * needs no new code. Every member that is read is marked; a member of `input` or `expect` that is unmarked at the end
 * is a failure that names it, so no member of a case is ignored.
 *
 *     void area_budget_per_tool(struct vector *v)
 *     {
 *         double cap_s = in_num(v, "cap_s", DEADLINE_CAP_S);
 *         …
 *         got_num(v, "per_tool_s", budget_per_tool_s(&budget, cap_s));
 *     }                                                                                                              */

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vector {
    const char *area, *name;
    const struct json *input, *expect; /* with the notation expanded */
    struct arena arena;                /* for everything that lives as long as the case */
    struct hash_map marks;
    struct strbuf failures;   /* empty: the case passed */
    const char *bound[16][2]; /* placeholder, value */
    size_t bound_count;
};

/* Replaces $repeat, $range, $keys, $nest and $records; NULL and err when one of them is malformed. */
const struct json *vector_expand(struct arena *arena, const struct json *value, struct err *err) CHECKED;
/* Fails for every member of `input` and `expect` that was not read. */
void vector_check_marks(struct vector *v);
/* Adds a failure. */
void vector_fail(struct vector *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* From here on "<name>" is replaced by this text. */
void vector_bind(struct vector *v, const char *name, const char *text);
/* The text with bound placeholders filled in; in the arena. */
const char *vector_substitute(struct vector *v, const char *text);

/* The members of `input`. in_get gives NULL for a missing one; the others give `otherwise` then, and fail for another
 * type. in_flag is for members like "x_fails": missing, null and false are false. */
const struct json *in_get(struct vector *v, const char *name);
bool in_has(struct vector *v, const char *name);
bool in_is_null(struct vector *v, const char *name);
double in_num(struct vector *v, const char *name, double otherwise);
int64_t in_int(struct vector *v, const char *name, int64_t otherwise);
bool in_bool(struct vector *v, const char *name, bool otherwise);
const char *in_text(struct vector *v, const char *name, const char *otherwise);
#define in_flag(v, name) in_bool(v, name, false)
/* A member of `input` or `expect` that is a field of a struct, by its name. Its kind is that of the field:
 *
 *     static const struct vector_field fields[] = {FIELD("timeout_sec", struct script_request, timeout_s)};
 *     vector_fill(v, fields, &request);       reads the case; a field without a member stays unchanged
 *     vector_compare(v, fields, &result);     compares with `expect` */
enum field_kind { FIELD_BOOL, FIELD_INT, FIELD_INT64, FIELD_SIZE, FIELD_DOUBLE, FIELD_TEXT };
struct vector_field {
    const char *name;
    enum field_kind kind;
    size_t offset;
};
/* clang-format off */
#define FIELD_KIND(TYPE, MEMBER)                                                                          \
    _Generic(((TYPE *)NULL)->MEMBER, bool: FIELD_BOOL, int: FIELD_INT, int64_t: FIELD_INT64,              \
             size_t: FIELD_SIZE, double: FIELD_DOUBLE, char *: FIELD_TEXT, const char *: FIELD_TEXT)
#define FIELD(NAME, TYPE, MEMBER) {NAME, FIELD_KIND(TYPE, MEMBER), offsetof(TYPE, MEMBER)}
/* clang-format on */
#define vector_fill(v, fields, target)    vector_fill_fields(v, fields, COUNT_OF(fields), target)
#define vector_compare(v, fields, source) vector_compare_fields(v, fields, COUNT_OF(fields), source)
void vector_fill_fields(struct vector *v, const struct vector_field *fields, size_t count, void *target);
void vector_compare_fields(struct vector *v, const struct vector_field *fields, size_t count, const void *source);

/* For objects within `input`: a failure for every member whose name is not in the NULL-terminated list. */
void in_only(struct vector *v, const struct json *object, const char *what, const char *const *names);

/* Whether the case expects a member of this name; marks it as read. */
const struct json *wants(struct vector *v, const char *name);
/* The results. NULL text and got_null are null. got_json compares JSON text exactly except for the order of members;
 * got_part allows more members in the actual objects. */
void got_bool(struct vector *v, const char *name, bool value);
void got_int(struct vector *v, const char *name, int64_t value);
void got_num(struct vector *v, const char *name, double value);
void got_text(struct vector *v, const char *name, const char *value);
void got_json(struct vector *v, const char *name, const char *json);
void got_value(struct vector *v, const char *name, const struct json *value);
void got_part(struct vector *v, const char *name, const char *json);
/* The expected value is a prefix of `text`; one text or several that `text` contains; a regular expression (POSIX). */
void got_prefix(struct vector *v, const char *name, const char *text);
void got_has(struct vector *v, const char *name, const char *text);
void got_pattern(struct vector *v, const char *name, const char *text);
/* Members named after a path in `value`: "a.b" is the value there, "a.b_len" its length (characters, items, members).
 * The other suffixes are "_chars", "_keys", "_first_key", "_last_key" and "_type"; "_first" and "_last" are items.
 * Without a path they apply to the value itself ("len"). A container against a number is compared by its length. False
 * if no such path exists. */
bool got_shape(struct vector *v, const char *name, const char *place, const struct json *value);
/* Compares all unread members of `expect`, as paths within `value`. Only those whose names begin with `prefix`, which
 * selects the value and is not part of the path. */
void got_places(struct vector *v, const char *prefix, const struct json *value);

/* Equal as JSON: numbers by value, members in any order. */
bool json_same(const struct json *a, const struct json *b);
/* In the arena; aborts with BUG for invalid JSON, which the product must not produce. */
const struct json *vector_parse(struct vector *v, const char *json);
/* A list of texts as JSON in the arena. */
const char *vector_list(struct vector *v, const char *const *texts, size_t count);
