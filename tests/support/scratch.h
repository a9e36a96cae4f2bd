#pragma once
/* A folder for one test, removed afterwards. A test that cannot create its files aborts. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct scratch {
    char *path;
};

void scratch_init(struct scratch *scratch);
/* Removes everything, even what a test made unreadable. */
void scratch_release(struct scratch *scratch);

/* Returns "<folder>/<name>"; the caller frees it. */
char *scratch_path(const struct scratch *scratch, const char *name);
/* Makes the folder and its parents. */
void scratch_mkdir(const struct scratch *scratch, const char *name);
/* Writes the file and makes its parent folders. */
void scratch_write(const struct scratch *scratch, const char *name, const char *text);
void scratch_write_bytes(const struct scratch *scratch, const char *name, const void *bytes, size_t len);
/* Returns the content, NUL-terminated; the caller frees it. NULL if there is no such file. */
char *scratch_read(const struct scratch *scratch, const char *name, size_t *len);
bool scratch_exists(const struct scratch *scratch, const char *name);
mode_t scratch_mode(const struct scratch *scratch, const char *name); /* permission bits */
void scratch_chmod(const struct scratch *scratch, const char *name, mode_t mode);
void scratch_remove(const struct scratch *scratch, const char *name);
/* Returns the sorted names in the folder, separated by spaces; the caller frees them. */
char *scratch_list(const struct scratch *scratch, const char *name);
