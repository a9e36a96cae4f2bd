#pragma once
/* The messages between the three processes of the harness.
 *
 *     supervisor ──script pipe──► child             one run: header, script, secrets, tools, files
 *     supervisor ◄──event pipe─── child             records (record.h), one a line
 *     supervisor ◄──two pipes──── child             what is written to descriptors 1 and 2
 *     supervisor ◄──loading pipe─ zygote            records, until the tools are loaded
 *     supervisor ◄──control────► zygote             struct control, descriptors handed over with it
 *
 * The supervisor answers each line of the host with a script_done. For a line that is not a request, even a blank one,
 * an error without an execution precedes it.
 *
 * Only the supervisor has the protocol's descriptors. The zygote has no end of a pipe that a child can use. */

#include <stdint.h>

/* The zygote's descriptors besides 0 (/dev/null), 1 (/dev/null) and 2 (the supervisor's). */
enum { ZYGOTE_LOADING = 3, ZYGOTE_CONTROL = 4 };
/* The child's descriptors besides 0 (/dev/null), 1 and 2 (pipes). The script pipe is closed before the script runs. */
enum { CHILD_EVENTS = 3, CHILD_SCRIPT = 4 };

/* The name under which the program starts itself again as the zygote, with a clean environment and clean memory. */
#define ZYGOTE_NAME "keyturn-zygote"
/* The exit status of the zygote and of the harness if a sandbox layer does not work. */
#define STATUS_LAYER 3
/* The child's exit status if it could not report how the script ended. */
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

/* Descriptors sent with a spare. */
enum { HAND_PIDFD, HAND_SCRIPT, HAND_EVENTS, HAND_STDOUT, HAND_STDERR, HAND_COUNT };

/* Precedes the bytes of the script, the secrets (NAME=VALUE, each with its NUL), the names of the tools it may see
 * (each with its NUL) and the files (files.h). */
struct run_header {
    uint32_t script_len;
    uint32_t secrets_len;
    uint32_t tools_len;
    uint32_t all_tools; /* it may see every tool */
    uint32_t files_len;
    char limit[32]; /* the timeout as error messages name it, "1.5" */
};
