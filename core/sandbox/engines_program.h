#pragma once
/* How sandbox engines run programs.
 *
 * An engine of engines.h that can run programs has a `program`:
 *
 *   "program": {
 *     "argv": ["bwrap", …, "--bind", "{workspace}", "/workspace", …, "/run/keyturn-launch", "{command...}"],
 *     "workspace": "/workspace", "control": true }
 *
 * Placeholders: {launcher} {workspace} {image} {memory_mb} {pids} {name} {user}, and {tmp_bytes} and {shm_bytes} for
 * its file systems in memory. In lists: {path}, {place}, {cpus} and {variable}. "{command...}" becomes the arguments
 * of keyturn-launch, the program last.
 *
 * The environment of the engine's process holds the program's variables, behind LAUNCH_PREFIX. An engine that does
 * not pass its environment on names them with its `variable`.
 *
 * "filter" says how the engine takes a system call filter: bwrap with ["--seccomp", "4"]. With ["--filter", "4"]
 * before "{command...}" keyturn-launch loads it. With ["--filter-variable"] keyturn-launch loads it from the
 * variable LAUNCH_FILTER, for engines that pass no descriptors on. "etc" says the same for a few small files, which
 * bwrap copies from descriptors. */

#include "base/err.h"
#include "engines.h"

struct sandbox_engine;

#define PROGRAM_MEMORY_MB 2048u /* default in engines that isolate */
#define PROGRAM_PIDS      128u
#define PROGRAM_TMP_MB    256u /* in /tmp; less if half of the program's memory is less */
#define PROGRAM_SHM_MB    64u  /* in /dev/shm; less if half of the program's memory is less */

struct sandbox_program {
    char **argv;
    char **visible;     /* for each folder in "{visible...}", by {path} */
    char **bind_mounts; /* for each folder in "{lent...}" that the workspace shows read-only, by {path} and {place} */
    char **cpu;         /* for "{cpu...}", by {cpus}, if the processor is limited */
    char **variable;    /* for each variable in "{variables...}", by {variable}; NULL: the environment is enough */
    char **tty;         /* for "{tty...}" */
    char **
        filter; /* for "{filter...}": how the engine takes the system call filter, which it gets as PROCESS_HANDED_FD */
    char **etc; /* for "{etc...}": how the engine takes the files of engines_etc, from PROCESS_HANDED_FD + 1 on */
    char **system;            /* for "{system...}", only with Keyturn's own image */
    char **user, **user_root; /* for "{user...}": for an ordinary user, by {user}, and for root */
    char **ask, **stop; /* terminate and kill a program from outside, by {name}; needed if `control` is false or the
                           engine hides the end of keyturn-launch */
    bool control;       /* keyturn-launch has a control connection to Keyturn */
    bool cgroup;        /* a control group around the engine's process also limits the program */
    char *workspace;    /* path of the workspace inside; NULL: the same as outside */
};
void sandbox_program_free(struct sandbox_program *program);

/* A folder of this machine that programs see read-only in their workspace. */
struct bind_mount {
    char *path;
    char *place; /* relative to the workspace */
};

/* One program. Strings are borrowed; a limit of 0 means no limit. */
struct program_vector {
    const struct sandbox_engine *engine;
    const char *image;          /* NULL: BOX_IMAGE */
    const char *launcher;       /* NULL: launcher_path() */
    const char *workspace;      /* folder on this machine */
    const char *cwd;            /* relative to the workspace */
    const char *name;           /* unique on this machine */
    const char *const *visible; /* other folders of this machine that the program may read, NULL-terminated; or NULL */
    const char *const *argv;    /* the program and its arguments */
    const char *const *env;     /* its variables, "NAME=value" */
    const struct bind_mount *bind_mounts;
    size_t bind_mount_count;
    unsigned memory_mb, pids, cpu_percent, cpu_s,
        files_mb;             /* cpu_s: of each process; the others for all processes together where possible */
    const char *network_door; /* where keyturn-launch passes that port over if the engine has no `control` */
    bool network;             /* keyturn-launch opens a port, and Keyturn forwards its connections */
    bool tty;
    bool filtered;      /* the caller passes the system call filter as a descriptor */
    const char *filter; /* or as this text in the environment; NULL: not in the environment */
    bool watch_memory;  /* keyturn-launch watches the memory, because no control group of ours counts it */
    bool scope;         /* a systemd user scope holds the engine */
    bool waits;         /* keyturn-launch waits for an order (launcher.h) instead of running the program */
};

/* Returns 0, or -1 and a sentence why the engine cannot run programs. */
int sandbox_program_check(const struct sandbox_engine *engine, struct err *err) CHECKED;
/* Finds the engine of that name. Fails if it does not exist or cannot run programs. */
const struct sandbox_engine *sandbox_program_engine(const struct sandbox_engines *engines, const char *name,
                                                    struct err *err);
/* The argument vector; free it with argv_free. `again`: with the engine's `retry`. */
char **sandbox_program_argv(const struct program_vector *vector, bool again, struct err *err) CHECKED;
/* The command line of keyturn-launch for an order; free it with argv_free. */
char **sandbox_program_order(const struct program_vector *vector);
/* True if a sandbox of this engine can stand ready: a command line, a control connection and nothing else. */
bool sandbox_program_can_wait(const struct sandbox_engine *engine);
/* True if the engine takes the system call filter in the variable LAUNCH_FILTER. */
bool sandbox_program_filter_in_env(const struct sandbox_engine *engine);
/* The environment for this argument vector. */
char **sandbox_program_env(const struct program_vector *vector);
/* The command that terminates or kills the program; NULL: the engine has none. */
char **sandbox_program_ask(const struct program_vector *vector, bool kill);
/* What limits the memory of a program on this machine. */
enum program_holder {
    HOLDER_GROUP,     /* a control group that Keyturn creates */
    HOLDER_CONTAINER, /* the control group that the engine creates */
    HOLDER_SCOPE,     /* a systemd user scope */
    HOLDER_WATCH,     /* keyturn-launch checks every 100 ms */
};
enum program_holder sandbox_program_holder(const struct sandbox_engine *engine);
/* "a control group limits memory and processes", in a few words. */
const char *sandbox_program_holder_words(enum program_holder holder);
/* True if memory and processor limits apply to all processes of a program together on this machine. */
bool sandbox_program_bounds_whole(const struct sandbox_engine *engine);
/* True if programs run as the sandbox's user (user.h). The workspace must then belong to that user. */
bool sandbox_program_is_other_user(const struct sandbox_engine *engine);
/* True for Keyturn's own image or none: programs then use this machine's /usr. */
bool sandbox_program_is_ours(const char *image);
/* The workspace as the program sees it. */
const char *sandbox_program_root(const struct sandbox_engine *engine, const char *workspace);

/* ---- files of /etc ---- */

/* The few files of /etc that programs need if an engine provides none: localhost, and a name for their user. */

#define ENGINES_ETC_FILES 4

struct engines_etc {
    int fds[ENGINES_ETC_FILES + 1]; /* hosts, passwd, group, nsswitch.conf; -1 at the end */
};

/* Opens the files for one start of the engine, because the engine reads each descriptor once. Opens none if the
 * engine takes none. */
int engines_etc_open(struct engines_etc *etc, const struct sandbox_engine *engine, struct err *err) CHECKED;
void engines_etc_close(struct engines_etc *etc);

/* What an engine wrote to stderr before it failed, shortened for people. */

/* The last of it on one line; NULL: it wrote nothing. */
char *engine_stderr_line(const char *said, size_t len);
/* Explains known messages of engines that fail to start, so that users need not guess. `image` NULL: the engine has
 * none. Returns NULL if no cause is known. */
char *engine_stderr_cause(const char *said, const char *image);
