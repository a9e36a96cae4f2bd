#include "late.h"
#include <dlfcn.h>

int late_load(const char *library, const struct late_symbol *symbols, size_t count, struct err *err)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return err_set(err, "a library that keyturn needs is not there: %s", dlerror());
    for (size_t i = 0; i < count; i++) {
        *symbols[i].into = dlsym(handle, symbols[i].name);
        if (!*symbols[i].into)
            return err_set(err, "%s has no %s", library, symbols[i].name);
    }
    return 0;
}
