#pragma once
/* An interactive program: it goes on beyond the call that started it, is looked at by and by, typed into and ended. Its
 * output is numbered lines (session_lines.h), and beside them the beginning of each stream for the result.
 *
 *     struct program_session *s = program_session_start(programs, ws, &spec, &listener, &err);
 *     program_session_poll(s, 0, &text);
 *     program_session_write(s, "yes", 3, true, &err);
 *     program_session_kill(s, PROGRAM_GRACE_MS);
 *     program_session_free(s);
 *
 * program_session_wait looks until there is something to tell. Everything is on the loop. */

#include "program.h"
#include "session_lines.h"

struct program_session;

#define SESSION_EXEC_YIELD_MS 1000              /* how long to look after a start */
#define SESSION_IO_YIELD_MS   400               /* after typing */
#define SESSION_POLL_LINES    40                /* at a look */
#define SESSION_YIELD_MAX_MS  INT32_MAX         /* whatever is said */
#define SESSION_POLL_MS       50                /* between looks */
#define SESSION_SETTLE_MS     75                /* quiet for so long: it has said what it has to say */
#define SESSION_KEPT_S        1800              /* after its end, for who has not asked yet */
#define SESSION_SEEN_BYTES    ((size_t)1 << 20) /* who has seen so much is told: the rest is for the next look */

struct program_session_listener {
    /* Something was printed. The session must not be freed from within. */
    void (*output)(void *user, const char *bytes, size_t len);
    void (*ended)(void *user); /* may be freed from within */
    void *user;
};

/* Starts it with its input open. The listener's calls may be NULL. */
struct program_session *program_session_start(struct programs *programs, struct workspace *ws,
                                              const struct program_spec *spec,
                                              const struct program_session_listener *listener, struct err *err) CHECKED;
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
/* Types the text, and Enter. Nothing to type is fine, always. "session is not running"; "stdin is not available"; or more
 * than PROGRAM_UNREAD_MAX waits to be read. */
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

/* What was to be seen while somebody waited. */
struct session_seen {
    struct strbuf output; /* each text once, as printed; without the last newline */
    struct session_window window;
    bool exited;
    int exit_code;
};

/* Looks until the session has ended, has printed something and is quiet, has printed much, or `yield_ms` have passed;
 * 0: until it has printed something and is quiet. One wait at a time. */
void program_session_wait(struct program_session *session, int64_t yield_ms, size_t limit,
                          void (*done)(void *user, struct session_seen *seen), void *user);
/* Nobody waits any more; what was not told yet is there for the next. */
void program_session_wait_end(struct program_session *session);
/* A yield that somebody said: nothing and less than nothing is the other one. */
int64_t session_yield_ms(int64_t said_ms, int64_t otherwise_ms);

/* The state of waiting, apart from what drives it: who looks at which time and what there is then. */
struct session_waiter {
    int64_t until_us, quiet_us; /* 0: not set */
    size_t limit, added;
    bool any;
    struct session_seen seen;
};
void session_waiter_begin(struct session_waiter *waiter, int64_t now_us, int64_t yield_ms, size_t limit);
/* Takes what is there; true: that is all. */
bool session_waiter_look(struct session_waiter *waiter, struct session_lines *lines, int64_t now_us);
void session_waiter_release(struct session_waiter *waiter);
