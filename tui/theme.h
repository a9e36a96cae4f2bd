#pragma once
/* Themes: a look for each role. NAME.theme files, one line per role: `role
 * fg[,bg][+bold+dim+italic+underline+reverse]`,
 * `#` comments. Colours: 16 names, 0–255, #rrggbb, default. What a theme does not name it inherits from the role's
 * parent; a colour that a line leaves out as well ("status.wait +bold"), its attributes are those of the line. The
 * default theme is built in, so the program starts without any file. */

#include "base/err.h"
#include "roles.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* By name: built-in ones (default light mono high-contrast solarized, from the themes folder) and files of the user's
 * ($XDG_CONFIG_HOME/keyturn/themes/NAME.theme, which win), and those of $KEYTURN_THEMES. NULL: what NO_COLOR and the
 * terminal suggest. The error names file and line. */
int theme_load(struct theme *theme, const char *name, struct err *err) CHECKED;
/* The names there are, sorted; NULL-terminated, the caller's. */
char **theme_names(void);
void theme_names_free(char **names);
/* Both colours of a style for a terminal with `colors` of them; what was readable stays so. */
struct style style_reduce(const struct style *style, int colors);
/* The nearest of `colors` (8, 16, 256) to a colour, of few the one with its hue; COLOR_DEFAULT stays. */
int32_t color_reduce(int32_t color, int colors);
