#pragma once
/* What is to be collected from a workspace, and how much of it. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

#define OUTPUT_MAX_FILES       100
#define OUTPUT_MAX_FILE_BYTES  (4 << 20) /* also the most that is read of any file */
#define OUTPUT_MAX_TOTAL_BYTES (64 << 20)

struct output_spec {
    char **globs;
    size_t glob_count;
    int64_t max_files, max_file_bytes, max_total_bytes; /* 0 and less: the defaults above */
    bool save;                                          /* as versioned artifacts */
    bool inline_content;                                /* hand the bytes over */
    bool lenient;        /* a link to nothing is left out with its reason, where it would be an error (D18) */
    char *name_template; /* stands before the name of what is saved; may be NULL */
};

/* From JSON: snake_case keys; MaxFiles and the like, in any case of letters, where those are missing. `spec` is to be
 * released in any case. */
int output_spec_parse(struct output_spec *spec, const char *text, size_t len, struct err *err) CHECKED;
int output_spec_read(struct output_spec *spec, const struct json *object, struct err *err) CHECKED;
/* The limits that hold. */
struct output_spec output_spec_effective(const struct output_spec *spec);
void output_spec_release(struct output_spec *spec);
static inline void output_spec_cleanup(struct output_spec *spec)
{
    output_spec_release(spec);
}
