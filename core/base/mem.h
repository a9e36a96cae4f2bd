#pragma once
/* Allocation that never fails, scope cleanup and growing arrays.
 *
 * Out of memory aborts: no caller can do better, and every caller that tried would be an untested path. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
/* Like realloc for `count` items of `size` bytes, with the multiplication checked. */
void *xreallocarray(void *ptr, size_t count, size_t size);
char *xstrdup(const char *text);
/* A NUL-terminated copy of `len` bytes. */
char *xmemdup0(const void *bytes, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Lists of strings with a NULL at the end, as execve takes them. NULL copies to an empty list. */
char **argv_copy(const char *const *argv);
void argv_free(char **argv); /* NULL is fine */

/* Frees and forgets at the end of the scope: CLEANUP(strbuf) struct strbuf s = STRBUF_INIT; */
#define CLEANUP(type) __attribute__((cleanup(type##_cleanup)))
/* Takes the pointer out of a CLEANUP variable: return steal(&p); */
#define steal(place)                        \
    ({                                      \
        __typeof__(*(place)) it = *(place); \
        *(place) = NULL;                    \
        it;                                 \
    })

static inline void free_cleanup(void *place)
{
    free(*(void **)place);
}

static inline void fd_cleanup(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Makes room for one more item: GROW(list->items, list->count, list->room). Doubles, so appending is O(1). */
#define GROW(items, count, room)                                                \
    do {                                                                        \
        if ((count) >= (room)) {                                                \
            (room) = (room) ? (room)*2 : 8;                                     \
            (items) = xreallocarray((items), (size_t)(room), sizeof(*(items))); \
        }                                                                       \
    } while (0)

/* The struct of which `pointer` points to a member. */
#define CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
