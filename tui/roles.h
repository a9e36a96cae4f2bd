#pragma once
/* The roles as an enum; roles.def is the list. */

enum look {
#define ROLE(ID, name, doc) LOOK_##ID,
#include "roles.def"
#undef ROLE
    LOOK_COUNT
};
const char *look_name(enum look look); /* "diff.add.gutter" */
const char *look_doc(enum look look);
int look_from_name(const char *name);  /* -1 when unknown */
enum look look_parent(enum look look); /* LOOK_TEXT is its own */
