#pragma once
/* Short forms of functions of the product, for the vectors and for tests that have less at hand than its callers. */

#include "base/hash.h"
#include "base/tree.h"
#include "workspace/collect.h"
#include "workspace/exec.h"
#include "workspace/layout.h"

/* tree_digest of a folder by its path. */
int tree_digest_path(const char *folder, char out[HASH_SHA256_HEX], struct err *err) CHECKED;
/* layout_ensure_beneath of a path that need not exist. `paths`, if given, gets the four absolute paths; the caller
 * frees them. */
int layout_ensure(const char *root, struct clock *clock, char *paths[LAYOUT_DIRS], struct err *err) CHECKED;
/* output_spec_read of a JSON text. Release `spec` in any case. */
int output_spec_parse(struct output_spec *spec, const char *text, size_t len, struct err *err) CHECKED;
/* exec_request_read and exec_begin, with the programs and the policy of `options`. */
int exec_command(struct exec *exec, const struct exec_options *options, struct workspace *ws, const struct json *args,
                 exec_done *done, void *user, struct err *err) CHECKED;
