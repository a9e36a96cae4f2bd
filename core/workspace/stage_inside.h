#pragma once
/* What the files of staging share. */

#include "base/err.h"
#include "stage.h"
#include <stdint.h>

/* How many bytes may still be written, -1 for any. */
int64_t stage_room(const struct workspace *ws);
/* One file, replaced whole. `left` as stage_room gives it, and less afterwards. */
int stage_put(struct workspace *ws, const struct stage_file *file, int64_t *left, struct err *err) CHECKED;
/* The folder `to`, made when it is missing. */
int stage_open_folder(const struct workspace *ws, const char *to, struct err *err) CHECKED;
/* The folder that holds `path`, made when it is missing, and the last name, which is the caller's. */
int stage_open_parent(const struct workspace *ws, const char *path, char **name, struct err *err) CHECKED;
