#pragma once
/* Taking out of a workspace what programs left in it.
 *
 * Nothing a program leaves behind gets in the way: links are followed only inside, folders, FIFOs, sockets and devices
 * are not files, what cannot be read is left out with its reason, and no more is read of a file than asked for, however
 * large it says it is or grows meanwhile. Every operation is one workspace.op. */

#include "base/err.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output_spec;
struct workspace;

#define COLLECT_BYTES_MAX (256 << 20) /* of all contents of a collection without limits of its own */
#define COLLECT_PARTIAL   EREMOTEIO   /* err->code: files were collected, but the record of it could not be kept */

struct collected_file {
    char *name;    /* relative to the root; whether links in it are resolved depends on who collects */
    char *content; /* NUL-terminated; "" when it is not asked for */
    size_t len;
    const char *mime; /* by its first bytes; "" when none could be looked at */
    int64_t size;     /* of the whole file */
    bool runs;        /* its owner may run it */
    bool truncated;   /* `content`, or what was read for it, is less than that */
    char *saved_as;   /* NULL: not saved */
    int64_t version;  /* of what was saved */
};

struct collected {
    struct collected_file *files;
    size_t count, room;
    bool limits_hit; /* something was cut or left out because of a limit, or the workspace holds more than it may */
    struct collect_skip {
        char *name, *why;
    } * skipped; /* what fitted a pattern and could not be taken */
    size_t skipped_count, skipped_room;
};

/* Every file that fits one of the patterns, once, under its real path, with up to 4 MiB of its content. `out` is to be
 * released in any case. */
int collect_files(struct workspace *ws, const char *const *patterns, size_t count, struct collected *out,
                  struct err *err) CHECKED;
/* The same for one pattern, each file under the path that fitted: one that several links lead to is there several
 * times. */
int collect_found(struct workspace *ws, const char *pattern, struct collected *out, struct err *err) CHECKED;
/* With limits, each file once under the path that fitted first, and saved where that is asked for; keeps a record of it
 * in the metadata. A link to nothing is an error here (D18), unless the spec is lenient. */
int collect_outputs(struct workspace *ws, const struct output_spec *spec, struct collected *out,
                    struct err *err) CHECKED;
void collected_release(struct collected *out);
static inline void collected_cleanup(struct collected *out)
{
    collected_release(out);
}
