#pragma once
/* For a test that must know when two texts are compared: it defines before_comparing(), which runs on the comparing
 * thread. This header replaces core/base/lazy_link.c, so that the product gets our function. */

#include "base/lazy_link.h"
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static void before_comparing(void);

typedef int compare(const void *, size_t, const char *, const void *, size_t, const char *, const void *, void *,
                    void *, void *, void *, void *);
static compare *really_compare;

static int note_and_compare(const void *old, size_t old_len, const char *old_path, const void *new, size_t new_len,
                            const char *new_path, const void *options, void *file, void *binary, void *hunk, void *line,
                            void *payload)
{
    before_comparing();
    return really_compare(old, old_len, old_path, new, new_len, new_path, options, file, binary, hunk, line, payload);
}

int lazy_link(const char *library, const struct lazy_symbol *symbols, size_t count, struct err *err)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

    if (!handle)
        return err_set(err, "%s", dlerror());
    for (size_t i = 0; i < count; i++) {
        *symbols[i].into = dlsym(handle, symbols[i].name);
        if (strcmp(symbols[i].name, "git_diff_buffers") == 0) {
            memcpy(&really_compare, symbols[i].into, sizeof(really_compare));
            memcpy(symbols[i].into, &(compare *){note_and_compare}, sizeof(compare *));
        }
    }
    return 0;
}
