#pragma once
/* Skills: folders with a SKILL.md that says in its head what they are for. They are found on the host and staged,
 * read-only, as skills/<name> in a workspace, where the metadata remembers what was staged and from where. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct beneath;
struct stage_options;
struct workspace;

#define SKILL_FILE     "SKILL.md"
#define SKILLS_PROJECT ".keyturn/skills" /* of a project */

struct skill {
    char *name;        /* of the head, else of the folder */
    char *description; /* of the head; "" when it has none */
    char *path;        /* the folder, absolute: for people */
    char *project;     /* it is a project's own, and is opened beneath this; NULL: the user's */
};

/* A folder that is no skill although it looks like one. */
struct skill_left {
    char *name;
    char *why;  /* for an agent, which is told no paths of this machine */
    char *text; /* a sentence for the user */
};

struct skills {
    struct skill *items; /* by name; of equal names the first that was found */
    size_t count, room;
    struct skill_left *left; /* hidden by another one of the name, or links that lead away */
    size_t left_count, left_room;
};

/* The folders directly below `folder` that have a SKILL.md, which may be links: the folder is the user's own. A folder
 * that is not there has none. Adds to `skills`, which is zeroed at first. */
int skills_list(struct skills *skills, const char *folder, struct err *err) CHECKED;
/* The same of .keyturn/skills of a project, which somebody else may have made: links out of it are left out. */
int skills_list_project(struct skills *skills, const char *project, struct err *err) CHECKED;
/* All of both, the project's first; NULL: there are none. What cannot be read has none. */
void skills_list_all(struct skills *skills, const char *project, const char *const *folders);
const struct skill *skills_find(const struct skills *skills, const char *name); /* NULL when there is none */
void skills_release(struct skills *skills);
/* Its folder, as a root that nothing in it leads out of. */
struct beneath *skills_open(const struct skill *skill, struct err *err) CHECKED;

/* Stages one, unless what is there already is the same by its digest. `staged`, when given, says whether anything was
 * done. `options` NULL: read-only, copied. */
int skills_stage(struct workspace *ws, const struct skill *skill, const struct stage_options *options, bool *staged,
                 struct err *err) CHECKED;

/* The name and the description from the head of a SKILL.md ("---", lines "key: value", "---"); empty texts where it has
 * none. Both are the caller's. */
void skills_parse_head(const char *text, size_t len, char **name, char **description);
