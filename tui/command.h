#pragma once
/* The `:` commands: one table with names, arguments, help and completion. Pure but for what the host is asked to do. */

#include "dialog.h"
#include "ui.h"

/* Carries a command line out; 0, or -1 and a sentence that names the nearest command. */
int command_run(struct ui *ui, const struct view *view, const char *line, struct err *err) CHECKED;
/* Tab: completes `line` as far as it is certain and puts the possible continuations, separated by two spaces, into
 * `offers`. True when something was added. */
bool command_complete(const struct view *view, const char *line, struct strbuf *completed, struct strbuf *offers);
/* "theme NAME  switch to a theme" of the command that `line` begins with; NULL when it is none. */
const char *command_usage(const char *line);
