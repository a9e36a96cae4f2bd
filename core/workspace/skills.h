#pragma once
/* Skills: folders with a SKILL.md whose head says what they are for.
 *
 * Keyturn finds skills on the host and stages them, read-only, as skills/<name> in a workspace. The metadata records
 * what was staged and from where. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct beneath;
struct stage_options;
struct workspace;

#define SKILL_FILE     "SKILL.md"
#define SKILLS_PROJECT ".keyturn/skills" /* in a project */

struct skill {
    char *name;        /* from the head, else the folder's name */
    char *description; /* from the head; "" if it has none */
    char *path;        /* the folder, absolute: for display */
    char *project;     /* set for a project's skill, which is opened beneath this; NULL: the user's skill */
};

/* A folder that looks like a skill but is skipped. */
struct skill_left {
    char *name;
    char *why;  /* for an agent, which must not see paths of this machine */
    char *text; /* a sentence for the user */
};

struct skills {
    struct skill *items; /* by name; of equal names, the first one found */
    size_t count, room;
    struct skill_left *left; /* hidden by another skill of that name, or links that lead out */
    size_t left_count, left_room;
};

/* Adds the folders directly below `folder` that have a SKILL.md. They may be links, because the user owns the
 * folder. A missing folder has no skills. Zero `skills` before the first call. */
int skills_list(struct skills *skills, const char *folder, struct err *err) CHECKED;
/* The same for .keyturn/skills of a project. Its author may not be the user, so links that lead out are skipped. */
int skills_list_project(struct skills *skills, const char *project, struct err *err) CHECKED;
/* Lists both kinds, the project's first; either may be NULL. Unreadable folders have no skills. */
void skills_list_all(struct skills *skills, const char *project, const char *const *folders);
const struct skill *skills_find(const struct skills *skills, const char *name); /* NULL: not found */
void skills_release(struct skills *skills);
/* Opens its folder as a root that no link in it can leave. */
struct beneath *skills_open(const struct skill *skill, struct err *err) CHECKED;

/* Stages one skill, unless the staged copy has the same digest. `staged`, if given, says whether it staged.
 * `options` NULL: read-only, copied. */
int skills_stage(struct workspace *ws, const struct skill *skill, const struct stage_options *options, bool *staged,
                 struct err *err) CHECKED;

/* Reads name and description from the head of a SKILL.md ("---", lines "key: value", "---"). Missing ones are empty.
 * The caller frees both. */
void skills_parse_head(const char *text, size_t len, char **name, char **description);
