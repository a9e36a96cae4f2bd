/* Allocation that aborts instead of failing. A size of zero still gives a pointer of its own, so that NULL never means
 * "empty" anywhere in the program. */

#include "mem.h"
#include "err.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *check(void *ptr, size_t size)
{
    if (!ptr)
        BUG("out of memory for %zu bytes", size);
    return ptr;
}

void *xmalloc(size_t size)
{
    return check(malloc(size ? size : 1), size);
}

void *xcalloc(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        count = size = 1;
    return check(calloc(count, size), size);
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all))
        BUG("%zu items of %zu bytes", count, size);
    return check(realloc(ptr, all ? all : 1), all);
}

char *xstrdup(const char *text)
{
    return xmemdup0(text, strlen(text));
}

char *xmemdup0(const void *bytes, size_t len)
{
    if (len == SIZE_MAX)
        BUG("no room for the NUL");
    char *copy = xmalloc(len + 1);
    if (len)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = NULL;
    int len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        BUG("cannot format \"%s\"", fmt);
    return text;
}

char **argv_copy(const char *const *argv)
{
    size_t count = 0;
    while (argv && argv[count])
        count++;
    char **copy = xcalloc(count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = xstrdup(argv[i]);
    return copy;
}

void argv_free(char **argv)
{
    for (char **at = argv; at && *at; at++)
        free(*at);
    free(argv);
}
