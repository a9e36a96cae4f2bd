#pragma once
/* Collects files that programs left in a workspace.
 *
 * Leftovers of a program cannot disturb this. Links are followed only inside. Folders, FIFOs, sockets and devices
 * are not files. Unreadable entries are skipped with a reason. No more of a file is read than requested, whatever
 * size it reports or grows to. Every operation is one workspace.op. */

#include "base/err.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct output_spec;
struct workspace;

#define COLLECT_BYTES_MAX (256 << 20) /* total content of a collection without its own limits */
#define COLLECT_PARTIAL   EREMOTEIO   /* err->code: files were collected, but the metadata could not be saved */

struct collected_file {
    char *name;    /* relative to the root; the kind of collection decides whether links in it are resolved */
    char *content; /* NUL-terminated; "" if not requested */
    size_t len;
    const char *mime; /* from its first bytes; "" if they could not be read */
    int64_t size;     /* of the whole file */
    bool runs;        /* executable by its owner */
    bool truncated;   /* `content`, or the part read for it, is shorter than that */
    char *saved_as;   /* NULL: not saved */
    int64_t version;  /* of the saved artifact */
};

struct collected {
    struct collected_file *files;
    size_t count, room;
    bool limits_hit; /* a limit cut or skipped something, or the workspace is above its limit */
    struct collect_skip {
        char *name, *why;
    } * skipped; /* entries that matched a pattern and could not be collected */
    size_t skipped_count, skipped_room;
};

/* Collects every file that matches one of the patterns, once, under its real path, with up to 4 MB of content.
 * Release `out` in any case. */
int collect_files(struct workspace *ws, const char *const *patterns, size_t count, struct collected *out,
                  struct err *err) CHECKED;
/* The same for one pattern, with each file under the path that matched. A file behind several links appears several
 * times. */
int collect_found(struct workspace *ws, const char *pattern, struct collected *out, struct err *err) CHECKED;
/* Collects with limits: each file once, under the first path that matched. Saves the files if the spec says so, and
 * records them in the metadata. A dangling link is an error here, unless the spec is lenient. */
int collect_outputs(struct workspace *ws, const struct output_spec *spec, struct collected *out,
                    struct err *err) CHECKED;
void collected_release(struct collected *out);
static inline void collected_cleanup(struct collected *out)
{
    collected_release(out);
}

/* ---- what to collect ---- */

/* Which files to collect from a workspace, and how much of them. */

#define OUTPUT_MAX_FILES       100
#define OUTPUT_MAX_FILE_BYTES  (4 << 20) /* also the read limit of any file */
#define OUTPUT_MAX_TOTAL_BYTES (64 << 20)

struct output_spec {
    char **globs;
    size_t glob_count;
    int64_t max_files, max_file_bytes, max_total_bytes; /* 0 or less: the defaults above */
    bool save;                                          /* save as versioned artifacts */
    bool inline_content;                                /* return the bytes */
    bool lenient;                                       /* skip a dangling link with a reason instead of failing */
    char *name_template;                                /* prefix of the names of saved artifacts; may be NULL */
};

/* Reads an object with snake_case keys. If one is missing, reads MaxFiles and the like, in any letter case. Release
 * `spec` in any case. */
int output_spec_read(struct output_spec *spec, const struct json *object, struct err *err) CHECKED;
/* The limits that apply, with defaults filled in. */
struct output_spec output_spec_effective(const struct output_spec *spec);
void output_spec_release(struct output_spec *spec);
static inline void output_spec_cleanup(struct output_spec *spec)
{
    output_spec_release(spec);
}
