#pragma once
/* The documents of the inspector: all details of the selection. */

#include "panes/diff_rows.h"
#include "panes/pane.h"
#include "screen/document.h"

/* Each appends to the document and borrows nothing from the view. */
void inspect_words(struct document *out, const struct view *view, struct selection what, bool plain); /* else as JSON */
void inspect_raw(struct document *out, const struct view *view, struct selection what);
/* True for a call with a script in its arguments. The document has its source and its output. */
bool inspect_has_script(const struct view *view, struct selection what);
void inspect_script(struct document *out, const struct view *view, struct selection what);
/* The diff of the selected write with its decision; false if there is none. */
bool inspect_diff(struct diffview *out, const struct view *view, struct selection what);
/* Artifacts: outputs that were too long for the result and are kept in files. Returns their number. */
struct inspect_artifact {
    char what[16]; /* "artifact", "output", "stdout" */
    char *path;    /* owned by the caller; NULL: the file is gone */
};
#define INSPECT_ARTIFACTS_MAX 4
size_t inspect_artifacts(const struct view *view, struct selection what, struct inspect_artifact out[]);
/* "call 4 edit_file", "event 57 tool.finished". */
void inspect_title(struct strbuf *out, const struct view *view, struct selection what);
/* A number that changes when the documents change, because a call may continue while the user inspects it. */
uint64_t inspect_state(const struct view *view, struct selection what);

/* The script in the arguments of a call: reading it, and replacing it. */

struct json;

/* The text of `script`; NULL if the arguments have none. */
const struct json *script_of(const struct json *arguments);
bool script_within(const char *arguments); /* the same for arguments as JSON text */
/* Writes the JSON arguments with this script. False if they have none. */
bool script_replace(struct strbuf *out, const char *arguments, const char *script);
