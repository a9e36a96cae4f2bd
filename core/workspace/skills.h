#pragma once
/* Skills: folders with a SKILL.md that says in its head what they are for. They are found on the host and staged, read-only,
 * as skills/<name> in a workspace, where the metadata remembers what was staged and from where. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct stage_options;
struct workspace;

#define SKILL_FILE "SKILL.md"

struct skill {
    char *name;        /* of the head, else of the folder */
    char *description; /* of the head; "" when it has none */
    char *path;        /* the folder, absolute */
};

struct skills {
    struct skill *items; /* by name; of equal names the first that was found */
    size_t count, room;
    char **doubles; /* a sentence for each that another one of its name hides */
    size_t double_count, double_room;
};

/* The folders directly below `folder` that have a SKILL.md. A folder that is not there has none. Adds to `skills`, which is
 * zeroed at first. */
int skills_list(struct skills *skills, const char *folder, struct err *err) CHECKED;
const struct skill *skills_find(const struct skills *skills, const char *name); /* NULL when there is none */
void skills_release(struct skills *skills);

/* Stages one, unless what is there already is the same by its digest. `staged`, when given, says whether anything was done.
 * `options` NULL: read-only, copied. */
int skills_stage(struct workspace *ws, const struct skill *skill, const struct stage_options *options, bool *staged,
                 struct err *err) CHECKED;

/* The name and the description from the head of a SKILL.md ("---", lines "key: value", "---"); empty texts where it has
 * none. Both are the caller's. */
void skills_parse_head(const char *text, size_t len, char **name, char **description);
