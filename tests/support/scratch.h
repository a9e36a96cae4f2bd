#pragma once
/* A folder for one test, gone afterwards. Nothing in here fails softly: a test that cannot have its files is aborted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct scratch {
    char *path;
};

void scratch_init(struct scratch *scratch);
/* Removes everything, also what a test made unreadable. */
void scratch_release(struct scratch *scratch);

/* "<folder>/<name>"; the caller's. */
char *scratch_path(const struct scratch *scratch, const char *name);
/* Makes the folder, and those above it. */
void scratch_mkdir(const struct scratch *scratch, const char *name);
/* Writes the file, and makes the folders above it. */
void scratch_write(const struct scratch *scratch, const char *name, const char *text);
void scratch_write_bytes(const struct scratch *scratch, const char *name, const void *bytes, size_t len);
/* The content, NUL-terminated; the caller's. NULL when there is no such file. */
char *scratch_read(const struct scratch *scratch, const char *name, size_t *len);
bool scratch_exists(const struct scratch *scratch, const char *name);
mode_t scratch_mode(const struct scratch *scratch, const char *name); /* permission bits */
void scratch_chmod(const struct scratch *scratch, const char *name, mode_t mode);
void scratch_remove(const struct scratch *scratch, const char *name);
/* Names in the folder, sorted, with a space between them; the caller's. */
char *scratch_list(const struct scratch *scratch, const char *name);
