/* Finds the functions of a library at run time. */

#include "lazy_link.h"
#include <dlfcn.h>

int lazy_link(const char *library, const struct lazy_symbol *symbols, size_t count, struct err *err)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return err_set(err, "cannot load a library that keyturn needs: %s", dlerror());
    for (size_t i = 0; i < count; i++) {
        *symbols[i].into = dlsym(handle, symbols[i].name);
        if (!*symbols[i].into)
            return err_set(err, "%s has no %s", library, symbols[i].name);
    }
    return 0;
}
