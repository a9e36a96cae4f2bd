#pragma once
/* Child processes: the part of a process (process.h) that uses libuv.
 *
 * Only process.c and launcher.c start children. Others use this file to find programs.
 *
 * A child starts in its own process group, connected by pipes. It is killed as a group, so that no grandchild
 * outlives it. However this program ends, its children are killed with it. A child gets its three standard files and
 * no other descriptor of Keyturn. All functions are asynchronous and run on the loop. */

#include "process.h"

struct child;

#define CHILD_CONTROL_FD 3 /* in the child: the control connection to us */

/* Any may be NULL. */
struct child_ops {
    /* len 0: the stream has ended. NULL: stdout and stderr are /dev/null. */
    void (*output)(void *data, enum process_stream stream, const char *bytes, size_t len);
    /* Receives bytes of the control connection, descriptor 3 of the child. It is for our own programs, which clean
     * up and exit when it closes. child_free then closes it and kills only after some seconds. len 0: it has ended.
     * NULL: the child gets none. */
    void (*control)(void *data, const char *bytes, size_t len);
    /* Receives a socket that the child sends over the control connection. NULL: it is closed. */
    void (*socket)(void *data, int take_fd);
    /* Called once, after all streams ended. `status` is the exit code, or -1 with `signum` set. */
    void (*exited)(void *data, int status, int signum);
};

/* Uses these fields of the spec: argv, env, cwd, open, input and keep_input (only whether there is input),
 * ends_with_us, keep_keyring, calm_after, join and hand_over. */
struct child *child_start(struct loop *loop, const struct process_spec *spec, const struct child_ops *ops, void *data,
                          struct err *err) CHECKED;
int child_pid(const struct child *child);
/* Finds a program: a name with a slash is used unchanged, others are looked up in the PATH of `env` (NULL: ours).
 * NULL: not found. */
char *child_find_program(const char *name, const char *const *env);
/* Sets the error for a program that was not found; the code is ENOENT. Returns -1. `err` may be NULL. */
int child_not_found(struct err *err, const char *name);
/* Pauses and resumes reading stdout. Unread bytes stay in the pipe, and a full pipe makes the child wait. */
void child_pause(struct child *child, bool paused);
/* Queues bytes for stdin. A closed pipe is not an error here; the exit reports it. */
void child_write(struct child *child, const void *bytes, size_t len);
/* Bytes that are queued and not read yet. */
size_t child_unwritten(const struct child *child);
/* True on a terminal in line mode without echo. A program that echoes input itself reads single characters, so it
 * does not count. */
bool child_hides_input(const struct child *child);
void child_resize(struct child *child, int rows, int cols); /* does nothing without a terminal */
/* On a terminal: types Ctrl-D. */
void child_close_stdin(struct child *child);
/* False if not all of it could be sent at once; a few bytes always can. */
bool child_write_control(struct child *child, const void *bytes, size_t len);
/* Sends the signal to the whole group. */
void child_kill(struct child *child, int signum);
/* The caller knows that all is over and only the process itself has yet to exit: gives what is left in the streams and
 * calls `exited` with that status, as the last callback. False: output is paused, so wait for the exit. */
bool child_end_now(struct child *child, int status);
/* Kills the group if it still lives. No callback runs after this. */
void child_free(struct child *child);
/* Runs a command to its end, for at most `limit_ms`, without callbacks: for cleaning up after something that has
 * ended. loop_free waits for it. Returns -1 if it could not be started. */
int child_run_aside(struct loop *loop, const char *const *argv, const char *const *env, unsigned limit_ms);
