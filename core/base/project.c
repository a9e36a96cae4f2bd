/* Finds the project of a folder (project.h). */

#include "project.h"
#include "mem.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `.git` is a folder, or a file in a worktree. */
static bool is_top_level(const char *folder, size_t len)
{
    CLEANUP(free) char *mark = xasprintf("%.*s/.git", (int)len, folder);
    return access(mark, F_OK) == 0;
}

char *project_root(const char *folder)
{
    CLEANUP(free) char *real = realpath(folder, NULL);
    if (!real)
        return xstrdup(folder);
    for (size_t len = strlen(real); len > 1; len--) {
        if ((real[len] == '/' || !real[len]) && is_top_level(real, len))
            return xmemdup0(real, len);
    }
    return steal(&real);
}
