#pragma once
/* Collects files of the workspace: shared by collect_outputs and skill_run. */

#include "base/json.h"
#include "tool.h"
#include "workspace/collect.h"

/* Sets defaults: everything in out/ if the call names nothing; one broken link must not hide the rest. */
void output_spec_usual(struct output_spec *spec);
/* Adds "files", "limits_hit" and "skipped", with the text of files in at most `room` characters. The runtime
 * remembers them. */
void collected_write(struct json_writer *w, const struct collected *files, bool contents, size_t room,
                     const struct tool_run *run);
