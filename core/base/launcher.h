#pragma once
/* keyturn-launch and its host. It stands between a sandbox engine and a program (harness/launch.c), or between us and a
 * program that no engine isolates, so that nothing the program starts outlives it. First what both sides have in common
 * (keyturn-launch includes this file too, so it needs nothing but libc), then the host's side, which process.c uses. */

#include <stdbool.h>
#include <stddef.h>

#define LAUNCH_CONTROL_FD 3                      /* the line to the host, with --control */
#define LAUNCH_ASK        'T'                    /* host: ask the program to end */
#define LAUNCH_KILL       'K'                    /* host: end everything */
#define LAUNCH_DONE       'D'                    /* host, to a guard: there is nothing left to stop */
#define LAUNCH_FAILED     127                    /* its exit code when there was no program to have one */
#define LAUNCH_WORD       "keyturn-launch> "     /* before what it says on stderr, with --mark: */
#define LAUNCH_MARK       LAUNCH_WORD "begins\n" /* what stands before it is the engine's */
#define LAUNCH_LAST       LAUNCH_WORD "ended\n"  /* and how, where there is no line to the host */
#define LAUNCH_PREFIX     "KTV_" /* before the names of the program's variables, in the environment of the engine */
#define LAUNCH_FILTER     "KEYTURN_FILTER" /* variable with the system call filter in hexadecimal */

struct child;
struct left_process;
struct loop;

/* $KEYTURN_LAUNCH, or keyturn-launch beside the program or where an installation puts it. Need not exist. The caller's.
 */
char *launcher_path(void);
/* What runs `argv` behind keyturn-launch in the folder `cwd`, with a control line; and the environment that goes with
 * it. Both end with argv_free. */
char **launcher_argv(const char *const *argv, const char *cwd);
char **launcher_env(const char *const *env);

/* ---- the stream on which it speaks among others ---- */

/* Before its mark only the engine has said anything. Behind that is the program's output. At the very end, where there
 * is no control line, keyturn-launch says how the program ended. A program may write the same words, but never after
 * the last ones. */
struct launcher_words;
/* `last`: there is no control line. `output` gets what the engine said, once, and then what the program prints. */
struct launcher_words *launcher_words_new(bool last, void (*output)(void *user, bool engine, const char *, size_t len),
                                          void *user);
void launcher_words_feed(struct launcher_words *words, const char *bytes, size_t len);
/* The mark has come. */
bool launcher_words_marked(const struct launcher_words *words);
/* What came while there was no mark. */
const char *launcher_words_said(const struct launcher_words *words);
/* There will be no mark: what came so far is the program's output. */
void launcher_words_give_up(struct launcher_words *words);
/* The stream has ended: `hear` gets each of the last words; what only looked like them is output. */
void launcher_words_end(struct launcher_words *words, void (*hear)(void *user, const char *line));
void launcher_words_free(struct launcher_words *words); /* NULL: nothing */

/* ---- leftovers ---- */

/* The variable that tells whose a process is, where no sandbox is around it. */
#define LAUNCH_NAME "KEYTURN_PROGRAM"

/* What is left of a program where no sandbox is around it and keyturn-launch could not end it, because the program
 * killed or stopped it. Found by its control group (`group`: its cgroup.procs; NULL: none), by the launcher it hangs
 * from (0: that is gone) and by LAUNCH_NAME=name in its environment.
 *
 * Kills all of it, the launcher too. That runs on a thread: it looks at every process of this machine, more than once,
 * and waits between. `killed` is called on the loop with what was found. */
struct leftovers;
struct leftovers *leftovers_kill(struct loop *loop, int launcher, const char *name, const char *group,
                                 void (*killed)(void *user, const struct left_process *left, size_t count), void *user);
/* Calls nobody; what is left is still killed. NULL: nothing. */
void leftovers_leave(struct leftovers *leftovers);

/* ---- guards ---- */

/* Some engines keep a program elsewhere, where nobody hears of our death: a daemon runs docker's containers. A guard is
 * a process (keyturn-launch --guard) that outlives us if we are killed and then runs `stop`. NULL: it cannot be had,
 * and the program runs without one. */
struct child *launcher_guard_start(struct loop *loop, const char *const *stop, const char *const *env);
/* What it stood for is over. NULL: nothing. */
void launcher_guard_dismiss(struct child *guard);
