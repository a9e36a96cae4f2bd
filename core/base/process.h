#pragma once
/* A process: a script's box, a program, an MCP server, the editor, a command that prints a key.
 *
 *     struct process *process = process_start(loop, &(struct process_spec){.argv = argv}, &ops, user, &err);
 *     process_write(process, "text\n", 5);
 *     process_kill(process, 2000);   SIGTERM, after 2 s SIGKILL; ops.ended reports the end
 *     process_free(process);         from ops.ended or at any time; kills a running process
 *
 * A process has its own session and process group. It gets its three standard files, the descriptors that the spec
 * names and no others, and an empty session keyring. It is killed when this program dies, however that happens. No
 * process of its group outlives it. Behind keyturn-launch (launcher.h) none of its descendants does.
 *
 * Everything runs on the loop. Callbacks run from the loop, never during a call of this file, and may free the
 * process. */

#include "err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct strbuf;
struct process;

#define PROCESS_HANDED_FD  4  /* in the process: the first descriptor that is handed over */
#define PROCESS_HANDED_MAX 5  /* most descriptors that can be handed over */
#define PROCESS_LEFT_MAX   16 /* most leftover processes that are named */

enum process_open {
    PROCESS_PIPE,
    PROCESS_PTY,      /* its own terminal; all output is PROCESS_STDOUT */
    PROCESS_TERMINAL, /* the user's terminal: process_run_in_terminal */
};

enum process_launcher {
    PROCESS_DIRECT,         /* argv is the process */
    PROCESS_LAUNCHED,       /* keyturn-launch runs argv: process_start adds it */
    PROCESS_IN_ENGINE,      /* argv starts an engine that runs keyturn-launch --mark --control */
    PROCESS_IN_ENGINE_DEAF, /* the same without --control, because the engine passes no descriptor on. keyturn-launch
                               reports on stderr how the program ended; ask_argv and stop_argv end it */
};

enum process_stream {
    PROCESS_STDOUT,
    PROCESS_STDERR,
    PROCESS_ENGINE_STDERR, /* engine output before the program began, in one call */
};

/* Limits that keyturn-launch applies. Used here only for sentences about a process that hit one. 0: none. */
struct process_limits {
    unsigned memory_mb, cpu_s, files_mb;
};

/* All fields are copied, except `hand_over` and `join`, which are used only at the start. */
struct process_spec {
    const char *const *argv; /* NULL-terminated; a name without a slash is looked up in the PATH of `env` */
    const char *const *env;  /* NULL: ours */
    const char *cwd;         /* NULL: ours; required for PROCESS_LAUNCHED */
    enum process_open open;
    enum process_launcher launcher;
    bool direct;       /* PROCESS_IN_ENGINE: the program writes into our pipes itself. A container passes its output on,
                          and some of it may come after the end that keyturn-launch reports */
    const char *input; /* first bytes of its stdin */
    size_t input_len;
    bool keep_input;      /* stdin stays open after `input`. Without both: /dev/null */
    bool ends_with_us;    /* it notices our death by the end of its input, so no signal kills it then. bwrap's own child
                             would wait for a killed bwrap forever */
    bool gentle;          /* process_free closes its input and gives it some seconds to exit */
    bool keep_keyring;    /* it may use the keys of the user's session: Kerberos tickets, fscrypt */
    int64_t timeout_ms;   /* then it is killed; 0: never */
    uint64_t calm_after;  /* bytes of a stream after which reading pauses now and then; 0: never */
    const int *join;      /* cgroup.procs files to which it writes "0" before it starts; -1 at the end */
    const int *hand_over; /* descriptors that it gets from PROCESS_HANDED_FD on; 0 skips a place, -1 at the end */
    void (*network)(void *user, int take_fd); /* receives the socket of keyturn-launch --network. NULL: it is closed */
    struct process_limits limits;
    /* Commands that terminate and kill the program from outside ("podman kill"), run with `stop_env`. Used if there
     * is no control connection, or no reaction to it. stop_argv also runs if a process ends by a signal, or is freed
     * while it runs without a control connection. */
    const char *const *ask_argv, *const *stop_argv, *const *stop_env;
    bool guard; /* run stop_argv even if this program is killed */
    /* For a process without a sandbox, which may kill or stop keyturn-launch. Its leftovers are found by this name,
     * the value of LAUNCH_NAME in their environment, and by the cgroup.procs file `group` (NULL: none). NULL: a
     * sandbox ends it. */
    const char *name, *group;
};

/* A process that still ran when its parent program ended. It was killed, unless it survived that too. */
struct left_process {
    int pid; /* in the pid namespace of the program */
    char name[17];
    bool survived;
};

struct process_end {
    int exit_code;             /* -1: it was killed or did not start */
    int signum;                /* the signal that killed it, else 0 */
    int error;                 /* keyturn-launch could not start the program: errno, else 0 */
    bool timed_out;            /* killed by its timeout */
    bool asked, forced;        /* we terminated it; we killed it */
    bool over_limit;           /* of memory, processes, processor time or files; `why` names it */
    bool started;              /* the program ran */
    bool lost;                 /* the engine ended without a report about the program, and not because of us */
    bool engine_failed;        /* the engine ended before the program began: nothing of the program ran */
    int status, status_signal; /* of the process that we started: the engine or keyturn-launch */
    int64_t duration_ms;
    const char *why;         /* a sentence; NULL: the exit code or the signal is enough */
    const char *engine_said; /* engine output on stderr if the program never began; else "" */
    const struct left_process *left;
    size_t left_count, survivors;
};

/* All except `ended` may be NULL. */
struct process_ops {
    void (*started)(void *user); /* behind keyturn-launch: the program runs */
    /* len 0: the stream has ended; not reported for processes in an engine. */
    void (*output)(void *user, enum process_stream stream, const char *bytes, size_t len);
    /* Called once, as the last callback. `end` is valid until it returns, even if the process is freed. */
    void (*ended)(void *user, const struct process_end *end);
};

struct process *process_start(struct loop *loop, const struct process_spec *spec, const struct process_ops *ops,
                              void *user, struct err *err) CHECKED;
/* For a process in an engine whose keyturn-launch waits (--wait): what it is to run. The input stays open until then.
 */
struct process_order {
    const char *const *argv; /* the command line of keyturn-launch */
    const char *const *env;  /* the program's variables */
    const char *input;
    size_t input_len;
    bool keep_input;
    int64_t timeout_ms;
    struct process_limits limits;
    const struct process_ops *ops; /* from now on, with `user` */
    void (*network)(void *user, int take_fd);
    void *user;
};
/* False if it cannot be sent: start another process, and free this one. */
bool process_give_order(struct process *process, const struct process_order *order);
/* Queues bytes for stdin. A closed pipe is not an error; `ended` reports it. */
void process_write(struct process *process, const void *bytes, size_t len);
/* Bytes that are queued and not read yet. */
size_t process_unread(const struct process *process);
/* Types Ctrl-D on a terminal. */
void process_close_input(struct process *process);
/* True if it reads lines from a terminal without echo: a password. */
bool process_hides_input(const struct process *process);
/* Sets the size of its terminal, 1 to 1000 each; the kernel sends SIGWINCH. Does nothing without a terminal. */
void process_resize(struct process *process, int rows, int cols);
/* Pauses and resumes reading stdout; a full pipe makes the process wait. */
void process_pause(struct process *process, bool paused);
/* Terminates the process and kills it after the grace; 0: kills it at once, even if it was terminated before.
 * Returns false if there was nothing to do: a second call of the same kind, or the process has ended. */
bool process_kill(struct process *process, int64_t grace_ms);
void process_free(struct process *process); /* NULL is fine */

/* Runs the process on the user's terminal to its end, in our process group, so that job control works: if it is
 * suspended, we are too. Blocks. The process has the user's keyring. Returns -1 if it could not run. */
int process_run_in_terminal(const struct process_spec *spec, struct process_end *end, struct err *err) CHECKED;
/* The same without input. Appends the output to `said`: the first `most` bytes or a little more, then closes the
 * pipe. The process may still prompt on the terminal, for a password. */
int process_read_in_terminal(const struct process_spec *spec, struct strbuf *said, size_t most, struct process_end *end,
                             struct err *err) CHECKED;
