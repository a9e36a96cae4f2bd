#pragma once
/* What there is to say about a selected thing, in full: the documents the inspector shows. */

#include "diffview.h"
#include "pane.h"
#include "pretty.h"

/* Each appends to the document; nothing is borrowed from the view afterwards. */
void inspect_words(struct pretty *out, const struct view *view, struct selection what, bool plain); /* else as JSON */
void inspect_raw(struct pretty *out, const struct view *view, struct selection what);
/* A call with a script in its arguments: its source, and what it told. */
bool inspect_has_script(const struct view *view, struct selection what);
void inspect_script(struct pretty *out, const struct view *view, struct selection what);
/* The diff of the write it is about, with what was decided; false when there is none. */
bool inspect_diff(struct diffview *out, const struct view *view, struct selection what);
/* What was too long for its result and is kept in files of their own: how many there are. */
struct inspect_artifact {
    char what[16]; /* "artifact", "output", "stdout" */
    char *path;    /* the caller's; NULL: it is not there any more */
};
#define INSPECT_ARTIFACTS_MAX 4
size_t inspect_artifacts(const struct view *view, struct selection what, struct inspect_artifact out[]);
/* "call 4 edit_file", "event 57 tool.finished". */
void inspect_title(struct strbuf *out, const struct view *view, struct selection what);
/* A number that is another when the documents would be: a call goes on while it is looked at. */
uint64_t inspect_state(const struct view *view, struct selection what);
