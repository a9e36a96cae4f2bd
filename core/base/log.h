#pragma once
/* The program's own log, for developers and bug reports: one line per message, escaped so that a hostile text cannot
 * forge a line, and without the values of secrets (redact.h). A fact that the user must know is also shown elsewhere.
 * Off until log_open; any thread may call it. */

#include "err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Appends to `path`, made 0600 with its folders. */
int log_open(const char *path, enum log_level least, struct err *err) CHECKED;
void log_close(void);
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
