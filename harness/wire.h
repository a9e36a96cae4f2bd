#pragma once
/* What passes between the three processes of the harness.
 *
 *     supervisor ──script pipe──► child             one run: header, script, secrets, tools, files
 *     supervisor ◄──event pipe─── child             records (record.h), one a line
 *     supervisor ◄──two pipes──── child             what is written to descriptors 1 and 2
 *     supervisor ◄──loading pipe─ zygote            records, until the tools are loaded
 *     supervisor ◄──control────► zygote             struct control, descriptors handed over with it
 *
 * The host's lines are answered one by one: each with a script_done, one that is no request (a blank one too) with an
 * error of no execution before it.
 *
 * Nobody but the supervisor has the protocol's descriptors, and the zygote has no end of a pipe that a child can use.
 */

#include <stdint.h>

/* The zygote's descriptors besides 0 (/dev/null), 1 (/dev/null) and 2 (as the supervisor's). */
enum { ZYGOTE_LOADING = 3, ZYGOTE_CONTROL = 4 };
/* The child's besides 0 (/dev/null), 1 and 2 (pipes); that of the script is closed before the script runs. */
enum { CHILD_EVENTS = 3, CHILD_SCRIPT = 4 };

/* The name under which the program starts itself again as the zygote: a clean environment and a clean memory. */
#define ZYGOTE_NAME "keyturn-zygote"
/* The zygote's exit status when a layer of the sandbox cannot be put on, and the harness's. */
#define STATUS_LAYER 3
/* The child's exit status when it could not tell how the script ended. */
#define STATUS_UNTOLD 113

enum control_kind {
    CONTROL_SPARE = 1, /* supervisor: make one; zygote: here it is, with the descriptors below */
    CONTROL_EXITED,    /* zygote: this child has ended */
};

struct control {
    uint32_t kind;
    int32_t pid;
    int32_t status; /* as from waitpid */
};

/* What is handed over with a spare. */
enum { HAND_PIDFD, HAND_SCRIPT, HAND_EVENTS, HAND_STDOUT, HAND_STDERR, HAND_COUNT };

/* Before the bytes of the script, the secrets (NAME=VALUE, each with its NUL), the names of the tools that it may see
 * (each with its NUL) and the files (files.h). */
struct run_header {
    uint32_t script_len;
    uint32_t secrets_len;
    uint32_t tools_len;
    uint32_t all_tools; /* it may see every one */
    uint32_t files_len;
    char limit[32]; /* the timeout as it is told, "1.5" */
};
