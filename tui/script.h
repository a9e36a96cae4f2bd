#pragma once
/* A script among the arguments of a call: its text, and the arguments with another text in its place.
 */

#include "base/strbuf.h"
#include <stddef.h>

struct json;

/* The text of `script`, NULL when the arguments have none. */
const struct json *script_of(const struct json *arguments);
bool script_within(const char *arguments); /* the same of their JSON */
/* The arguments, JSON, with this script. False when they have none. */
bool script_replace(struct strbuf *out, const char *arguments, const char *script);
