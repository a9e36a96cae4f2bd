#pragma once
/* An interactive program: it outlives the call that started it, and later calls read its output, write to it and end
 * it.
 *
 * Its output is numbered lines (process_output.h), and also the beginning of each stream for the result.
 *
 *   struct running_program *s = running_program_start(programs, ws, &spec, ended, user, &err);
 *   running_program_poll(s, 0, &text);
 *   running_program_write(s, "yes", 3, true, &err);
 *   running_program_kill(s, PROGRAM_GRACE_MS);
 *   running_program_free(s);
 *
 * running_program_wait looks until there is output to return. All functions run on the loop. */

#include "program.h"
#include "sandbox/process_output.h"

struct running_program;

/* Starts the program with its input open. `ended` is called once and may free it; may be NULL. */
struct running_program *running_program_start(struct programs *programs, struct workspace *ws,
                                              const struct program_spec *spec, void (*ended)(void *user), void *user,
                                              struct err *err) CHECKED;
const char *running_program_id(const struct running_program *session);
const struct output_lines *running_program_lines(const struct running_program *session);
bool running_program_exited(const struct running_program *session);
/* How the program ended; all zero while it runs. */
const struct process_end *running_program_end(const struct running_program *session);
/* The beginning of a stream; a terminal has only the first. */
const struct strbuf *running_program_stream(const struct running_program *session, enum process_stream stream);

struct line_range running_program_poll(struct running_program *session, size_t limit, struct strbuf *out);
/* Returns 0 if the program accepts input, else -1 with the errors of running_program_write. */
int running_program_ready(const struct running_program *session, struct err *err) CHECKED;
/* Writes the text, and Enter if `newline`. Empty input always succeeds. Errors: "session is not running"; "stdin is
 * not available"; or more than PROGRAM_UNREAD_MAX bytes are unread. */
int running_program_write(struct running_program *session, const char *text, size_t len, bool newline,
                          struct err *err) CHECKED;
/* Sends SIGTERM, and after the grace kills the program and all it started. `ended` reports the end. Does nothing if
 * the program has ended. */
void running_program_kill(struct running_program *session, int64_t grace_ms);
/* Closes the input; a second call does nothing. */
void running_program_close(struct running_program *session);
/* Does what Ctrl-D does: types it on a terminal, any number of times; without a terminal, closes the input. */
void running_program_end_input(struct running_program *session);
bool running_program_closed(const struct running_program *session);
/* True if the program waits for a line that its terminal does not echo. */
bool running_program_hides_input(const struct running_program *session);
void running_program_resize(struct running_program *session, int rows, int cols); /* does nothing without a terminal */
/* Kills the program if it runs and drops a wait. No callback runs after this. */
void running_program_free(struct running_program *session);

/* ---- waiting ---- */

/* Looks until the session has ended, has printed something and is quiet, has printed much, or `yield_ms` have
 * passed. 0: until it has printed something and is quiet. Only one wait at a time. */
void running_program_wait(struct running_program *session, int64_t yield_ms, size_t limit,
                          void (*done)(void *user, struct output_seen *seen), void *user);
/* Cancels the wait. The next wait returns the output that was not returned yet. */
void running_program_wait_end(struct running_program *session);
