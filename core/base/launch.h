#pragma once
/* What keyturn-launch and its host have in common: it stands between a sandbox engine and a program (harness/launch.c).
 */

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

/* $KEYTURN_LAUNCH, or keyturn-launch beside the program or where an installation puts it. Need not exist. The caller's.
 */
char *launch_path(void);
