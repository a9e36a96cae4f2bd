#pragma once
/* Messages to the user on stderr: one line each, whatever the texts contain. */

#include "base/err.h"
#include "exit_status.h"

/* "keyturn: text". Returns the status, so that `return cli_error(STATUS_USAGE, …)` reads well. */
int cli_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "keyturn: FILE:LINE: text". Leaves out the line if it is unknown, and the file if the text already names it. */
int cli_file_error(int status, const char *file, const struct err *err);
/* Prints a page that follows such a line. Its line breaks are kept. */
void cli_page(const char *text, size_t len);
/* The same line, for a problem that does not stop the program. */
void cli_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
