#pragma once
/* Roles and themes: what a cell means, and the colors and attributes that a theme gives to each role.
 *
 * roles.def lists the roles. A theme is a file NAME.theme with one line per role,
 * `role fg[,bg][+bold+dim+italic+underline+reverse]`, and `#` comments. Colors: 16 names, 0–255, #rrggbb, default. A
 * role that a theme does not name inherits everything from its parent. A line that leaves out a color
 * ("status.wait +bold") inherits that color. The themes default and mono are built in, so the program starts without
 * any file. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum look {
#define ROLE(ID, name, doc) LOOK_##ID,
#include "roles.def"
#undef ROLE
    LOOK_COUNT
};
const char *look_name(enum look look); /* "diff.add.gutter" */
const char *look_doc(enum look look);
int look_from_name(const char *name);  /* -1 if unknown */
enum look look_parent(enum look look); /* LOOK_TEXT is its own parent */

#define COLOR_DEFAULT (-1)
#define COLOR_RGB     0x1000000 /* or'ed with 0xrrggbb */

struct style {
    int32_t fg, bg; /* COLOR_DEFAULT, 0…255, or COLOR_RGB | rgb */
    bool bold, dim, italic, underline, reverse;
};

struct theme {
    char name[64];
    struct style styles[LOOK_COUNT];
};

/* Parses a whole file; the error has its line. */
int theme_parse(struct theme *theme, const char *name, const char *text, size_t len, struct err *err) CHECKED;
/* Loads a theme by name: first the user's ($XDG_CONFIG_HOME/keyturn/themes/NAME.theme), then $KEYTURN_THEMES, then
 * those that come with Keyturn. NULL: NO_COLOR and the terminal decide. The error names file and line. */
int theme_load(struct theme *theme, const char *name, struct err *err) CHECKED;
/* All names, sorted, NULL-terminated; free with theme_names_free. */
char **theme_names(void);
void theme_names_free(char **names);
/* Reduces both colors of a style for a terminal with `colors` colors. Different colors stay different. */
struct style style_reduce(const struct style *style, int colors);
/* The nearest of `colors` (8, 16, 256); for 8 and 16 the one with the same hue. COLOR_DEFAULT stays. */
int32_t color_reduce(int32_t color, int colors);
