#pragma once
/* keyturn-launch and its host: the program that ensures that nothing a program starts outlives it.
 *
 * It runs between a sandbox engine and a program (harness/launch.c), or between us and a program without a sandbox.
 * The first part is shared by both sides. keyturn-launch includes this file too, so it needs only libc. The second
 * part is the host's side, which process.c uses. */

#include <stdbool.h>
#include <stddef.h>

#define LAUNCH_CONTROL_FD 3                      /* the control connection to the host, with --control */
#define LAUNCH_ASK        'T'                    /* from the host: ask the program to end */
#define LAUNCH_KILL       'K'                    /* from the host: kill everything */
#define LAUNCH_DONE       'D'                    /* from the host to a guard: nothing is left to stop */
#define LAUNCH_FAILED     127                    /* its exit code if no program ran */
#define LAUNCH_WORD       "keyturn-launch> "     /* prefix of its messages on stderr, with --mark: */
#define LAUNCH_MARK       LAUNCH_WORD "begins\n" /* all output before it is the engine's */
#define LAUNCH_LAST       LAUNCH_WORD "ended\n"  /* then how the program ended, if there is no control connection */
#define LAUNCH_PREFIX     "KTV_"           /* prefix of the program's variables in the environment of the engine */
#define LAUNCH_FILTER     "KEYTURN_FILTER" /* variable with the system call filter in hexadecimal */

/* What the host sends to keyturn-launch --wait, before the texts. */
struct launch_order {
    unsigned len;       /* bytes of all texts with their NULs, at most LAUNCH_ORDER_MAX */
    unsigned args;      /* texts of the command line of keyturn-launch, its own name first */
    unsigned variables; /* texts of the program's environment */
};
#define LAUNCH_ORDER_MAX 65536u /* a socket takes that at once */

struct child;
struct left_process;
struct loop;

/* $KEYTURN_LAUNCH, or keyturn-launch beside the program or where an installation puts it. The file may be missing.
 * The caller frees it. */
char *launcher_path(void);
/* The command that runs `argv` behind keyturn-launch in the folder `cwd`, with a control connection; and its
 * environment. Free both with argv_free. */
char **launcher_argv(const char *const *argv, const char *cwd);
char **launcher_env(const char *const *env);

/* ---- its messages in a shared stream ---- */

/* Separates the engine's output, the program's output and messages of keyturn-launch in one stream. Bytes before the
 * mark are the engine's. Bytes after it are the program's. Without a control connection, keyturn-launch writes at
 * the very end how the program ended. A program may write the same text, but never after that. */
struct launcher_words;
/* `last`: there is no control connection. `output` gets the engine's output, once, and then the program's. */
struct launcher_words *launcher_words_new(bool last, void (*output)(void *user, bool engine, const char *, size_t len),
                                          void *user);
void launcher_words_feed(struct launcher_words *words, const char *bytes, size_t len);
/* True after the mark was received. */
bool launcher_words_marked(const struct launcher_words *words);
/* What was received without a mark. */
const char *launcher_words_said(const struct launcher_words *words);
/* The mark will not come: treats all bytes so far as the program's output. */
void launcher_words_give_up(struct launcher_words *words);
/* The stream has ended. Calls `hear` for each of the last messages; text that only looks like them is output. */
void launcher_words_end(struct launcher_words *words, void (*hear)(void *user, const char *line));
void launcher_words_free(struct launcher_words *words); /* NULL is fine */

/* ---- leftovers ---- */

/* The variable that identifies the processes of a program without a sandbox. */
#define LAUNCH_NAME "KEYTURN_PROGRAM"

/* Finds and kills what is left of a program without a sandbox. Needed if keyturn-launch could not end it, because
 * the program killed or stopped keyturn-launch. A process is found by its control group (`group`: its cgroup.procs;
 * NULL: none), by its descent from the launcher (0: the launcher has ended), or by LAUNCH_NAME=name in its
 * environment.
 *
 * Kills the launcher too. This runs on a thread, because it scans all processes of this machine several times with
 * pauses. The loop calls `killed` with the processes found. */
struct leftovers;
struct leftovers *leftovers_kill(struct loop *loop, int launcher, const char *name, const char *group,
                                 void (*killed)(void *user, const struct left_process *left, size_t count), void *user);
/* Drops the callback; the leftovers are still killed. NULL is fine. */
void leftovers_leave(struct leftovers *leftovers);

/* ---- guards ---- */

/* Some engines run a program elsewhere, where our death goes unnoticed: a daemon runs docker's containers. A guard
 * is a process (keyturn-launch --guard) that runs `stop` if we are killed. NULL: no guard could be started, and the
 * program runs without one. */
struct child *launcher_guard_start(struct loop *loop, const char *const *stop, const char *const *env);
/* Ends a guard that is no longer needed. NULL is fine. */
void launcher_guard_dismiss(struct child *guard);
