#pragma once
/* A process: a script's box, a program, a tool server, the editor, a command that prints a key.
 *
 *     struct process *process = process_start(loop, &(struct process_spec){.argv = argv}, &ops, user, &err);
 *     process_write(process, "text\n", 5);
 *     process_kill(process, 2000);              asks it to end, kills it 2 s later; ops.ended tells
 *     process_free(process);                    from ops.ended or at any time; a process that runs is killed
 *
 * It is a session and a process group of its own. It gets its three standard files and no other descriptor of ours but
 * those that the spec names, an empty kernel keyring of the session, and it is killed when this program dies, however
 * that dies. Nothing that it started in its group outlives it; behind keyturn-launch (launcher.h) nothing at all does.
 *
 * Everything happens on the loop. The callbacks are called from there, never from within a call of this file, and may
 * free the process. */

#include "err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct strbuf;
struct process;

#define PROCESS_HANDED_FD  4  /* in the process: the first of the descriptors that it is handed */
#define PROCESS_HANDED_MAX 5  /* how many it can be handed */
#define PROCESS_LEFT_MAX   16 /* named of what it left behind */

enum process_open {
    PROCESS_PIPE,
    PROCESS_PTY,      /* a terminal of its own; its output is all PROCESS_STDOUT */
    PROCESS_TERMINAL, /* the user's terminal: process_run_in_terminal */
};

enum process_launcher {
    PROCESS_DIRECT,         /* argv is the process */
    PROCESS_LAUNCHED,       /* keyturn-launch runs argv: process_start puts it before */
    PROCESS_IN_ENGINE,      /* argv is an engine's, and leads to keyturn-launch --mark --control */
    PROCESS_IN_ENGINE_DEAF, /* the same without --control: the engine passes no descriptor on. keyturn-launch says on
                               stderr how the program ended; ask_argv and stop_argv end it */
};

enum process_stream {
    PROCESS_STDOUT,
    PROCESS_STDERR,
    PROCESS_ENGINE_STDERR, /* what an engine said before the program began, at once */
};

/* Its limits, which keyturn-launch applies; here they are for the sentences about a process that hit one. 0: none. */
struct process_limits {
    unsigned memory_mb, cpu_s, files_mb;
};

/* Everything is copied but `hand_over` and `join`, which are used at the start only. */
struct process_spec {
    const char *const *argv; /* NULL-terminated; a name without a slash is looked up in the PATH of `env` */
    const char *const *env;  /* NULL: ours */
    const char *cwd;         /* NULL: ours; for PROCESS_LAUNCHED needed */
    enum process_open open;
    enum process_launcher launcher;
    const char *input; /* what its stdin begins with */
    size_t input_len;
    bool keep_input;      /* its stdin stays open behind that. Neither: /dev/null */
    bool ends_with_us;    /* it hears of our death by itself, at the end of its input: no signal kills it then. bwrap's
                             own child would wait for a killed bwrap for ever */
    bool gentle;          /* when it is freed, its input ends and it has some seconds to end by itself */
    bool keep_keyring;    /* it may use the keys of the user's session: Kerberos tickets, fscrypt */
    int64_t timeout_ms;   /* then it is killed; 0: never */
    uint64_t calm_after;  /* what a stream brings beyond so many bytes is read with pauses; 0: never */
    const int *join;      /* cgroup.procs files that it writes "0" to before it begins; -1 at the end */
    const int *hand_over; /* descriptors that it gets from PROCESS_HANDED_FD on; 0 leaves a place out, -1 at the end */
    void (*network)(void *user, int take_fd); /* gets the socket of keyturn-launch --network. NULL: it is closed */
    struct process_limits limits;
    /* How an engine asks the program to end and ends it from outside ("podman kill"), where the control line is missing
     * or not heard; run with `stop_env`. stop_argv is also run when a process ends by a signal, or is freed while it
     * runs without a control line. */
    const char *const *ask_argv, *const *stop_argv, *const *stop_env;
    bool guard; /* stop_argv is run even if this program is killed */
    /* No sandbox is around it. Then it may kill or stop keyturn-launch, so what it left is found by this name, the
     * value of LAUNCH_NAME in its environment, and by the cgroup.procs file `group` (NULL: none). NULL: a sandbox ends
     * it. */
    const char *name, *group;
};

/* Something that still ran when the process ended. It was killed, unless it survived that too. */
struct left_process {
    int pid; /* as the process's own world counts */
    char name[17];
    bool survived;
};

struct process_end {
    int exit_code;             /* -1: it was killed or did not start */
    int signum;                /* what killed it, else 0 */
    int error;                 /* keyturn-launch could not start the program: errno, else 0 */
    bool timed_out;            /* killed for its timeout */
    bool asked, forced;        /* we asked it to end; we killed it */
    bool over_limit;           /* of memory, processes, processor time or files; `why` says which */
    bool started;              /* the program ran */
    bool lost;                 /* the engine ended, nobody said how the program did, and we had no part in it */
    bool engine_failed;        /* and it did so before the program began: nothing of the program ran */
    int status, status_signal; /* of the process that we started ourselves: the engine's, or keyturn-launch's */
    int64_t duration_ms;
    const char *why;         /* a sentence, or NULL: the exit code or the signal says it all */
    const char *engine_said; /* on stderr before the program began, and the program never did; "" else */
    const struct left_process *left;
    size_t left_count, survivors;
};

/* Any but `ended` may be NULL. */
struct process_ops {
    void (*started)(void *user); /* behind keyturn-launch: the program runs */
    /* len 0: the stream has ended. Not told for processes in an engine. */
    void (*output)(void *user, enum process_stream stream, const char *bytes, size_t len);
    /* Once, and the last call. `end` stays until it returns, even if the process is freed. */
    void (*ended)(void *user, const struct process_end *end);
};

struct process *process_start(struct loop *loop, const struct process_spec *spec, const struct process_ops *ops,
                              void *user, struct err *err) CHECKED;
/* Queues bytes for its stdin; a closed pipe is no error, the end tells. */
void process_write(struct process *process, const void *bytes, size_t len);
/* Bytes that are queued and that it has not read yet. */
size_t process_unread(const struct process *process);
/* On a terminal that types Ctrl-D. */
void process_close_input(struct process *process);
/* It reads lines from a terminal that does not echo: a password. */
bool process_hides_input(const struct process *process);
/* Stops and resumes reading its stdout; a full pipe makes it wait. */
void process_pause(struct process *process, bool paused);
/* Asks it to end and kills it after the grace; 0: at once, even if it was asked before. Asking again does nothing, nor
 * does killing again or what has ended: false then. */
bool process_kill(struct process *process, int64_t grace_ms);
void process_free(struct process *process); /* NULL: nothing */

/* Runs the process on the user's terminal to its end, in our process group, so that job control works: if it is
 * suspended, we are too. Blocks. It has the user's keyring. -1: it could not be run. */
int process_run_in_terminal(const struct process_spec *spec, struct process_end *end, struct err *err) CHECKED;
/* The same, without input, and what it prints is added to `said`: the first `most` bytes or a little more, then it
 * loses its reader. It may still ask at the terminal, for a password. */
int process_read_in_terminal(const struct process_spec *spec, struct strbuf *said, size_t most, struct process_end *end,
                             struct err *err) CHECKED;
