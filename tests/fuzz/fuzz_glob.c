/* Fuzzes patterns: a pattern, a newline, a path. An accepted pattern matches the same path every time, a pattern
 * without special characters matches only itself, and {P,P} matches the same paths as P. Every matching path is where a
 * search would look: below the pattern's base, and below folders that may lead to it. */

#include "base/err.h"
#include "base/mem.h"
#include "workspace/glob.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether a walk of the tree could produce this path: no empty parts. */
static bool is_path(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && name[0] != '/' && name[len - 1] != '/' && !strstr(name, "//");
}

static void check_search(const struct glob *glob, const char *pattern, char *name)
{
    bool whole;
    CLEANUP(free) char *base = glob_base(glob, &whole);
    size_t len = strlen(base);
    if (strncmp(name, base, len) != 0 || (name[len] && name[len] != '/' && len > 0))
        BUG("%s matches %s, which is not below %s", pattern, name, base);
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!glob_may_lead(glob, name))
            BUG("%s is not searched for in %s", pattern, name);
        *slash = '/';
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    if (!newline || memchr(data, '\0', size))
        return 0;
    CLEANUP(free) char *pattern = xmemdup0(data, (size_t)(newline - data));
    CLEANUP(free) char *name = xmemdup0(newline + 1, size - (size_t)(newline + 1 - data));
    struct err err = ERR_INIT;
    struct glob *glob = glob_new(pattern, &err);
    bool plain = !strpbrk(pattern, "*?[]{}\\");
    if (!glob) {
        if (plain && strlen(pattern) <= 4096)
            BUG("%s is not taken: %s", pattern, err.text);
        return 0;
    }
    bool match = glob_match(glob, name);
    bool ascii = true;
    for (const char *at = name; *at; at++)
        ascii &= (unsigned char)*at < 0x80;
    if (plain && ascii && match != (strcmp(pattern, name) == 0))
        BUG("%s is not %s", pattern, name);
    if (match && is_path(name))
        check_search(glob, pattern, name);
    CLEANUP(free) char *twice = xasprintf("{%s,%s}", pattern, pattern);
    struct glob *choice = glob_new(twice, &err);
    /* A comma outside braces ends an alternative, and doubling many of them may exceed the limit. */
    if (choice && !strchr(pattern, ',') && glob_match(choice, name) != match)
        BUG("%s and %s differ on %s", pattern, twice, name);
    glob_free(choice);
    glob_free(glob);
    return 0;
}
