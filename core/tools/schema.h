#pragma once
/* The part of JSON Schema that tool parameters use: type (one or a list), properties, required, additionalProperties,
 * items, enum, minimum, maximum, minLength, maxLength, minItems, maxItems. Unknown keywords are ignored, as the
 * standard says. */

#include "base/err.h"

struct json;

/* 0, or -1 with a sentence that begins with the path of the field: "edits[2].old: missing". */
int schema_validate(const struct json *schema, const struct json *value, struct err *err) CHECKED;
/* Returns 0 if `schema` itself is supported. */
int schema_check(const struct json *schema, struct err *err) CHECKED;
