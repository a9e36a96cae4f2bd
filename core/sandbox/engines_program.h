#pragma once
/* How engines run programs. An engine of engines.h that can has a `program`:
 *
 *   "program": { "argv": ["bwrap", …, "--bind", "{workspace}", "/workspace", …, "/run/keyturn-launch", "{command...}"],
 *                "workspace": "/workspace", "control": true }
 *
 * Its places are {launcher} {workspace} {image} {memory_mb} {pids} {name} {user}, {tmp_bytes} and {shm_bytes} for the
 * file systems in memory that it gets, and in lists {path}, {place}, {cpus}
 * and {variable}.
 * "{command...}" is what keyturn-launch gets, the program last. The program's variables are in the environment of the
 * engine's process, behind LAUNCH_PREFIX; an engine that hands none on names them by its `variable`. An engine that
 * takes a system call filter says how with "filter", as bwrap does with ["--seccomp", "4"]. ["--filter", "4"] before
 * "{command...}" has keyturn-launch load it; ["--filter-variable"] does so from the variable LAUNCH_FILTER, where the
 * engine hands no descriptors on. "etc" is the same for a few small files, which bwrap copies from descriptors. */

#include "engines.h"

#define PROGRAM_MEMORY_MB 2048u /* in engines that isolate, unless somebody says otherwise */
#define PROGRAM_PIDS      128u
#define PROGRAM_TMP_MB    256u /* in /tmp and … */
#define PROGRAM_SHM_MB    64u  /* … in /dev/shm: less where half of its memory is less */

struct sandbox_program {
    char **argv;
    char **visible; /* for each folder in "{visible...}", by {path} */
    char **lent; /* for each folder in "{lent...}" that is shown in the workspace to be read, by {path} and {place} */
    char **cpu;  /* for "{cpu...}", by {cpus}, where the processor is limited */
    char **variable; /* for each variable in "{variables...}", by {variable}; NULL: the environment is enough */
    char **tty;      /* for "{tty...}" */
    char **filter;   /* for "{filter...}": how it takes the system call filter, which it gets as PROCESS_HANDED_FD */
    char **etc;      /* for "{etc...}": how it takes the files of engines_etc.h, from PROCESS_HANDED_FD + 1 on */
    char **system;   /* for "{system...}", with our own image only */
    char **user, **user_root; /* for "{user...}": as an ordinary user, by {user}, and as root */
    char **ask, **stop;       /* how a program is asked to end and ended from outside, by {name}, where … */
    bool control;             /* … keyturn-launch has no line to us, or where its end is not heard */
    bool cgroup;              /* limits that we put on its process hold for the program */
    char *workspace;          /* where the workspace is inside; NULL: where it is outside */
};
void sandbox_program_free(struct sandbox_program *program);

/* A folder of this machine that programs see in their workspace, and cannot write to. */
struct program_lent {
    char *path;
    char *place; /* relative to the workspace */
};

/* One program. Strings are borrowed; zero limits are none. */
struct program_vector {
    const struct sandbox_engine *engine;
    const char *image;          /* NULL: BOX_IMAGE */
    const char *launcher;       /* NULL: launcher_path() */
    const char *workspace;      /* folder on this machine */
    const char *cwd;            /* relative to it */
    const char *name;           /* unique on this machine */
    const char *const *visible; /* other folders of this machine that it may read, NULL-terminated; or NULL */
    const char *const *argv;    /* the program and its arguments */
    const char *const *env;     /* its variables, "NAME=value" */
    const struct program_lent *lent;
    size_t lent_count;
    unsigned memory_mb, pids, cpu_percent, cpu_s,
        files_mb;             /* cpu_s: of each process, the rest of all together if it can be */
    const char *network_door; /* where keyturn-launch hands that port over where there is no `control` */
    bool network;             /* keyturn-launch opens a port that we forward from */
    bool tty;
    bool filtered;      /* whoever starts it hands the system call filter over */
    const char *filter; /* or this text, in the environment; NULL: it does not go that way */
    bool watch_memory;  /* keyturn-launch does: no control group of ours counts */
    bool scope;         /* its engine is started in a systemd user scope */
};

/* Why it cannot run programs: 0, or -1 and a sentence. */
int sandbox_program_check(const struct sandbox_engine *engine, struct err *err) CHECKED;
/* The engine of that name, if there is one and it can. */
const struct sandbox_engine *sandbox_program_engine(const struct sandbox_engines *engines, const char *name,
                                                    struct err *err);
/* The vector, to be freed with argv_free; `again`: with the engine's `retry`. */
char **sandbox_program_argv(const struct program_vector *vector, bool again, struct err *err) CHECKED;
/* Whether the engine takes the system call filter in the variable LAUNCH_FILTER. */
bool sandbox_program_filter_in_env(const struct sandbox_engine *engine);
/* The environment that goes with it. */
char **sandbox_program_env(const struct program_vector *vector);
/* How it is asked to end, or ended; NULL: there is no such vector. */
char **sandbox_program_ask(const struct program_vector *vector, bool kill);
/* What holds the memory of a program on this machine. */
enum program_holder {
    HOLDER_GROUP,     /* a control group that we make */
    HOLDER_CONTAINER, /* the one that its engine makes */
    HOLDER_SCOPE,     /* a systemd user scope */
    HOLDER_WATCH,     /* keyturn-launch looks, every 100 ms */
};
enum program_holder sandbox_program_holder(const struct sandbox_engine *engine);
/* "a control group limits memory and processes", in a few words. */
const char *sandbox_program_holder_words(enum program_holder holder);
/* Whether limits of memory and processor hold for all processes of a program together on this machine. */
bool sandbox_program_bounds_whole(const struct sandbox_engine *engine);
/* Whether its programs run as the sandbox's user (user.h), whom the workspace must belong to then. */
bool sandbox_program_is_other_user(const struct sandbox_engine *engine);
/* An image of ours, or none: this machine's /usr is what programs have. */
bool sandbox_program_is_ours(const char *image);
/* The workspace as the program sees it. */
const char *sandbox_program_root(const struct sandbox_engine *engine, const char *workspace);
