#pragma once
/* The digest of a folder's contents: SHA-256 over path, NUL, content, NUL of every file, by the bytes of their paths. Modes,
 * times and empty folders do not count. A link to a file is read through; a link to a folder, or anything that is not a
 * file, makes it fail. */

#include "base/err.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stdint.h>

/* `bytes_max` 0: no limit; a tree with more content is an error (EFBIG). `own_links`: links that lead out do not count,
 * and one to a folder, or to nothing, is the text of its target. */
int digest_folder(int folder, bool own_links, int64_t bytes_max, char out[HASH_SHA256_HEX], struct err *err) CHECKED;
int digest_path(const char *folder, char out[HASH_SHA256_HEX], struct err *err) CHECKED;
