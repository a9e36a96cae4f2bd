#pragma once
/* The part of a process (process.h) that is libuv's. Only process.c and launcher.c start children; others look for
 * programs here.
 *
 * Child processes: started in a process group of their own, joined by pipes, killed as a group so that no grandchild
 * outlives its parent. However this program ends, its children are killed with it. A child gets its three standard
 * files and no other descriptor of ours. Everything is asynchronous on the loop. */

#include "process.h"

struct child;

#define CHILD_CONTROL_FD 3 /* in the child: the line to us */

/* Any may be NULL. */
struct child_ops {
    /* len 0: the stream has ended. NULL: stdout and stderr are /dev/null. */
    void (*output)(void *data, enum process_stream stream, const char *bytes, size_t len);
    /* Descriptor 3 is a line to us: a program of ours that is meant to end by itself, and to clean up first, when the
     * line does. child_free ends the line then and kills nobody for a while. len 0: end of the line. NULL: no line. */
    void (*control)(void *data, const char *bytes, size_t len);
    /* What the child on the other end of the control line sends along. NULL: it is closed. */
    void (*socket)(void *data, int take_fd);
    /* Called once, after all streams ended. `status` is the exit code, or -1 with `signum` set. */
    void (*exited)(void *data, int status, int signum);
};

/* Of the spec this uses argv, env, cwd, open, whether there is input, ends_with_us, keep_keyring, calm_after, join and
 * hand_over. */
struct child *child_start(struct loop *loop, const struct process_spec *spec, const struct child_ops *ops, void *data,
                          struct err *err) CHECKED;
int child_pid(const struct child *child);
/* Where a program is: as it stands when it has a slash, else in the PATH of `env` (NULL: ours). NULL: nowhere. */
char *child_find_program(const char *name, const char *const *env);
/* What is said then; the code is ENOENT. Returns -1. `err` may be NULL. */
int child_not_found(struct err *err, const char *name);
/* Stops and goes on reading its stdout; what is not read stays in the pipe, and a full pipe makes the child wait. */
void child_pause(struct child *child, bool paused);
/* Queues bytes for its stdin; a closed pipe is not an error here, the exit tells. */
void child_write(struct child *child, const void *bytes, size_t len);
/* Bytes that are queued and that it has not read yet. */
size_t child_unwritten(const struct child *child);
/* On a terminal: lines are read from it, and what is typed is not said back. A program that echoes itself reads
 * characters. */
bool child_hides_input(const struct child *child);
/* On a terminal: what a person would type for it. */
void child_close_stdin(struct child *child);
void child_write_control(struct child *child, const void *bytes, size_t len);
/* To the whole group. */
void child_kill(struct child *child, int signum);
/* Kills the group if it still lives; nobody is called any more. */
void child_free(struct child *child);
/* Runs a command to its end, or for `limit_ms` at most, with nobody to hear of it: for cleaning up behind something
 * that is gone already. loop_free waits for it. -1: it could not be started. */
int child_run_aside(struct loop *loop, const char *const *argv, const char *const *env, unsigned limit_ms);
