/* Which terminal to take another one for.
 *
 * The newer terminals bring a description of their own along, and it stays on the machine where they were installed: on
 * the far side of an ssh, in a container or on a small server their name is not known. All of them understand what
 * xterm does, and what goes on inside tmux or screen what screen does, so their descriptions do. A name that nobody
 * knows stays unknown: to guess would be to send a stranger control characters. */

#include "termname.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char *const like_xterm[] = {"xterm-256color", "xterm", NULL};
static const char *const like_screen[] = {"screen-256color", "screen", NULL};

/* The first part of a name: up to its end, a dash, a dot or a plus. */
static const struct {
    const char *first;
    const char *const *alike;
} families[] = {
    {"alacritty", like_xterm}, {"contour", like_xterm}, {"foot", like_xterm},    {"ghostty", like_xterm},
    {"gnome", like_xterm},     {"iterm2", like_xterm},  {"kitty", like_xterm},   {"konsole", like_xterm},
    {"mintty", like_xterm},    {"ms", like_xterm},      {"rio", like_xterm},     {"st", like_xterm},
    {"vscode", like_xterm},    {"vte", like_xterm},     {"wezterm", like_xterm}, {"xterm", like_xterm},
    {"screen", like_screen},   {"tmux", like_screen},
};

static bool begins(const char *name, const char *first)
{
    size_t len = strlen(first);
    return strncmp(name, first, len) == 0 && strchr("-.+", name[len]); /* the end of the name is one of them too */
}

const char *termname_alike(const char *name, unsigned tried)
{
    for (size_t i = 0; name && i < COUNT_OF(families); i++)
        if (begins(name, families[i].first))
            return tried < 2 ? families[i].alike[tried] : NULL;
    return NULL;
}
