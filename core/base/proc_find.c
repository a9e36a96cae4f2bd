/* Where a program is. */

#include "mem.h"
#include "proc.h"
#include <string.h>
#include <sys/stat.h>

static const char *env_value(const char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static bool is_program(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

/* Entries of PATH that are not absolute are passed over: they would run whatever lies in the folder the child starts
 * in.
 */
char *proc_find(const char *name, const char *const *env)
{
    if (strchr(name, '/'))
        return xstrdup(name);
    const char *path = env ? env_value(env, "PATH") : getenv("PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path) {
        size_t len = strcspn(path, ":");
        if (path[0] == '/') {
            CLEANUP(free) char *file = xasprintf("%.*s/%s", (int)len, path, name);
            if (is_program(file))
                return steal(&file);
        }
        path += len;
        path += *path == ':';
    }
    return NULL;
}
