#pragma once
/* Protected places that a call without files names in its arguments.
 *
 * Such a call is a foreign tool's: nobody knows which of its texts are paths. So every text and every member name is
 * looked at. What cannot be looked at within the bounds counts as naming a protected place. */

#include "base/strbuf.h"

struct beneath;
struct json;

struct named {
    struct strbuf texts; /* each with its NUL */
    size_t count;
    const char *beyond; /* which bound was passed; NULL: none */
};

void named_init(struct named *named);
void named_release(struct named *named);
/* Copies what may be a path: the pool cannot read the arguments themselves. */
void named_collect(struct named *named, const struct json *arguments);
/* "names a protected place: …" or "may name a protected place: …"; NULL: it names none. Blocks; call it on the pool.
 * `root` may be NULL. */
char *named_find(const struct named *named, const struct beneath *root);
