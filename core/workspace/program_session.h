#pragma once
/* An interactive program: it goes on beyond the call that started it, is looked at by and by, typed into and ended. Its
 * output is numbered lines (process_output.h), and beside them the beginning of each stream for the result.
 *
 *     struct program_session *s = program_session_start(programs, ws, &spec, ended, user, &err);
 *     program_session_poll(s, 0, &text);
 *     program_session_write(s, "yes", 3, true, &err);
 *     program_session_kill(s, PROGRAM_GRACE_MS);
 *     program_session_free(s);
 *
 * program_session_wait looks until there is something to tell. Everything is on the loop. */

#include "process_output.h"
#include "program.h"

struct program_session;

/* Starts it with its input open. `ended` is called once, and may free it; NULL: nobody. */
struct program_session *program_session_start(struct programs *programs, struct workspace *ws,
                                              const struct program_spec *spec, void (*ended)(void *user), void *user,
                                              struct err *err) CHECKED;
const char *program_session_id(const struct program_session *session);
const struct session_lines *program_session_lines(const struct program_session *session);
bool program_session_exited(const struct program_session *session);
/* How it ended; all zero while it runs. */
const struct process_end *program_session_end(const struct program_session *session);
/* The beginning of a stream; with a terminal there is only the first. */
const struct strbuf *program_session_stream(const struct program_session *session, enum process_stream stream);

struct session_window program_session_poll(struct program_session *session, size_t limit, struct strbuf *out);
/* Whether something can be typed: -1 for the reasons that program_session_write has. */
int program_session_ready(const struct program_session *session, struct err *err) CHECKED;
/* Types the text, and Enter. Nothing to type is fine, always. "session is not running"; "stdin is not available"; or
 * more than PROGRAM_UNREAD_MAX waits to be read. */
int program_session_write(struct program_session *session, const char *text, size_t len, bool newline,
                          struct err *err) CHECKED;
/* Asks it to end, kills it and all it started after the grace; `ended` tells. Gone already is fine. */
void program_session_kill(struct program_session *session, int64_t grace_ms);
/* Its input ends; again: nothing happens. */
void program_session_close(struct program_session *session);
/* What Ctrl-D is on a terminal: there it is typed, as often as one likes; without one the input ends. */
void program_session_end_input(struct program_session *session);
bool program_session_closed(const struct program_session *session);
/* It waits for a line that its terminal does not say back. */
bool program_session_hides_input(const struct program_session *session);
/* Ends it if it runs; nobody is called any more, and a wait is forgotten. */
void program_session_free(struct program_session *session);

/* ---- waiting ---- */

/* Looks until the session has ended, has printed something and is quiet, has printed much, or `yield_ms` have passed;
 * 0: until it has printed something and is quiet. One wait at a time. */
void program_session_wait(struct program_session *session, int64_t yield_ms, size_t limit,
                          void (*done)(void *user, struct session_seen *seen), void *user);
/* Nobody waits any more; what was not told yet is there for the next. */
void program_session_wait_end(struct program_session *session);
