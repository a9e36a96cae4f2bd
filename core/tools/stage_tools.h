#pragma once
/* What tools share that collect from the session's workspace. */

#include "base/json.h"
#include "tool.h"
#include "workspace/collect.h"
#include "workspace/outputspec.h"

/* Everything in out/, where nothing is said; and one broken link must not hide the rest. */
void output_spec_usual(struct output_spec *spec);
/* Adds "files", "limits_hit" and "skipped"; the text of files in at most `room` characters. The place remembers them.
 */
void collected_write(struct json_writer *w, const struct collected *files, bool contents, size_t room,
                     const struct tool_run *run);
