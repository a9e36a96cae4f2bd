#pragma once
/* The `:` commands: one table with names, arguments, help and completion. The only side effects are calls of the ui
 * host. */

#include "dialogs/dialog.h"
#include "ui.h"

/* Runs a command line. Returns 0, or -1 and an error that suggests the nearest command. */
int command_run(struct ui *ui, const struct view *view, const char *line, struct err *err) CHECKED;
/* Tab: completes `line` as far as it is unambiguous, and puts the possible continuations into `offers`, separated by
 * two spaces. True if text was added. */
bool command_complete(const struct view *view, const char *line, struct strbuf *completed, struct strbuf *offers);
/* "theme NAME  switch to a theme": the usage of the command that `line` begins with; NULL if it begins with none. */
const char *command_usage(const char *line);
