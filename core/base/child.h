#pragma once
/* The part of a process (process.h) that is libuv's. Only process.c and launcher.c start children; others look for
 * programs here.
 *
 * Child processes: started in a process group of their own, joined by pipes, killed as a group so that no grandchild
 * outlives its parent. However this program ends, its children are killed with it. A child gets its three standard
 * files and no other descriptor of ours. Everything is asynchronous on the loop. */

#include "err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct child;

#define CHILD_CONTROL_FD 3 /* in the child: the line to us */

struct child_options {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in the PATH of `env` when it has no slash */
    const char *const *env;  /* NULL: ours */
    const char *cwd;         /* NULL: ours */
    bool want_stdin;         /* else /dev/null */
    bool tty;                /* a terminal of its own for all three; its output comes to on_stdout */
    /* Descriptor 3 is a line to us: a program of ours that is meant to end by itself, and to clean up first, when the
     * line does. child_free ends the line then and kills nobody. len 0: end of the line. NULL: no such line. */
    void (*on_control)(void *data, const char *bytes, size_t len);
    /* It hears of our end by itself: its input ends. Else it is killed by a signal, which not all of those that it has
     * just started may survive: bubblewrap's own child would wait for it for ever. With a line to us this is so too. */
    bool ends_with_us;
    /* When it is freed, its input ends and it has some seconds to end by itself before it is killed. With a control line
     * this is so too. */
    bool gentle;
    const int *join; /* descriptors to which it writes "0" before it begins: cgroup.procs; -1 at the end */
    /* What the child on the other end of the control line sends along: a socket, the caller's to close. NULL: sockets
     * that come are closed. */
    void (*on_socket)(void *data, int fd);
    const int *hand_over; /* descriptors that it gets from PROCESS_HANDED_FD on; 0 leaves a place out, -1 at the end.
                             The caller's to close */
    /* It has the user's kernel keyring of this session. Others begin with an empty one: keys in it (Kerberos, fscrypt)
     * are the user's, not a script's, a program's or a tool server's. */
    bool keep_keyring;
    void (*on_stdout)(void *data, const char *bytes, size_t len); /* NULL: /dev/null. len 0: end of stream */
    void (*on_stderr)(void *data, const char *bytes, size_t len);
    /* What a stream brings beyond so many bytes is read with pauses: a child that prints for ever then waits for us,
     * and does not have a processor of ours for it. 0: never. */
    uint64_t calm_after;
    /* Called once, after both streams ended. `status` is the exit code, or -1 with `signum` set. */
    void (*on_exit)(void *data, int status, int signum);
    void *data;
};

struct child *child_start(struct loop *loop, const struct child_options *options, struct err *err) CHECKED;
int child_pid(const struct child *child);
/* Where a program is: as it stands when it has a slash, else in the PATH of `env` (NULL: ours). NULL: nowhere. */
char *child_find_program(const char *name, const char *const *env);
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
/* Kills the group if it still lives; on_exit is not called any more. */
void child_free(struct child *child);
/* Runs a command to its end, or for `limit_ms` at most, with nobody to hear of it: for cleaning up behind something
 * that is gone already. loop_free waits for it. -1: it could not be started. */
int child_run_aside(struct loop *loop, const char *const *argv, const char *const *env, unsigned limit_ms);
