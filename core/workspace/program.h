#pragma once
/* Runs programs in a workspace, without blocking the loop.
 *
 * One engine (core/sandbox/engines_program.h) runs all of them. A `struct programs` holds what they have in common, and
 * a spec describes one program:
 *
 *   struct programs *programs = programs_new(&(struct programs_options){.loop = loop, .engine = engine}, &err);
 *   program_run(programs, ws, &(struct program_spec){.cmd = "make", .cwd = "work"}, done, user, &err);
 *
 * program_run collects the beginning of a program's output and reports its end (RunProgram). running_program.h builds
 * interactive sessions on it, and inline.h runs blocks of code. exec.h is for the tools of a turn: commands, named
 * sessions, results as JSON.
 *
 * However a program ends, none of its processes remain. It gets SIGTERM, after its grace SIGKILL. So do all processes
 * it left behind, in any session. Every program is one `workspace.run` operation of its workspace. */

#include "base/err.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "sandbox/environment.h"
#include "sandbox/forwarder_rules.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emitter;
struct json_writer;
struct loop;
struct rate_limit;
struct sandbox_engine;
struct output_lines;
struct workspace;
struct workspace_capabilities;
struct programs;
struct program;

#define PROGRAM_TIMEOUT_MS 10000                /* default */
#define PROGRAM_GRACE_MS   2000                 /* between SIGTERM and SIGKILL */
#define PROGRAM_OUTPUT_MAX ((size_t)4 << 20)    /* bytes kept of each stream; the rest is only counted */
#define PROGRAM_CALM_AFTER ((uint64_t)64 << 20) /* of a stream: no receiver keeps more, so reading may slow down */
#define PROGRAM_UNREAD_MAX ((size_t)1 << 20)    /* unread input of a program: beyond this, writes fail */

/* 0: the engine's own limit. */
struct program_limits {
    unsigned cpu_percent; /* of one processor, at any time; without a control group: of each process, over its whole run
                             time */
    unsigned memory_mb; /* of all processes together; without a control group, keyturn-launch checks this and kills the
                           program */
    unsigned pids;
};

struct programs_options {
    struct loop *loop;
    const struct sandbox_engine *engine; /* must outlive this */
    const char *image;                   /* for engines that use images; NULL: our own, with this machine's /usr */
    const char *const *visible;   /* folders of this machine that programs may read at their own paths; NULL: none */
    struct network_rules network; /* the hosts that programs may reach through our forwarder; none: no network. With an
                                     engine that isolates nothing, programs have the whole network */
    struct emitter *emitter;      /* for network.connected, and program.* of sessions; NULL: not recorded */
    bool host_env;                /* programs get our environment if the engine isolates nothing; else a minimal one */
    struct env_provider provider; /* variables for every program */
    struct program_limits limits; /* for specs without limits */
    size_t max_output;            /* 0: PROGRAM_OUTPUT_MAX */
    bool prepare;                 /* after a program, let the sandbox of the next one stand ready, if the engine can */
    bool tidy_runs;               /* remove the folder of a run that its program left empty; else each run keeps one */
    unsigned numbered;            /* session names start above this number */
    /* Receives a line that the engine printed although its program runs; NULL: the line goes to the log. */
    void (*engine_says)(void *user, const char *line);
    void *engine_user;
};

/* Copies the strings. Fails if the engine cannot run programs. */
struct programs *programs_new(const struct programs_options *options, struct err *err) CHECKED;
/* Kills programs that still run. The caller must not use any of them afterwards. */
void programs_free(struct programs *programs);
/* What the engine can do (workspace.h). */
struct workspace_capabilities programs_capabilities(const struct programs *programs);
/* The workspace at `path` as programs see it. */
const char *programs_root(const struct programs *programs, const char *path);
struct loop *programs_loop(const struct programs *programs);
bool programs_run(const struct programs *programs); /* true while any program runs */
/* True if a sandbox stands ready for the next program. `used`: programs so far that ran in such a one; may be NULL. */
bool programs_stand_ready(const struct programs *programs, unsigned *used);

/* Receivers of output as it arrives, besides the beginning of each stream in the result. All may be NULL. */
struct program_prints {
    struct rate_limit *record[2]; /* by stream: recorded as events */
    struct output_lines *lines;
    void (*watch)(void *user, enum process_stream stream, const char *bytes, size_t len);
    void *user;
};

struct program_spec {
    const char *cmd;         /* a bare name is looked up in the PATH of the program's own environment */
    const char *const *args; /* NULL-terminated; NULL: none */
    const char *cwd;         /* relative to the workspace, created if missing; NULL or blank: the root */
    struct env_vars env;     /* above all other layers */
    bool clean_env;          /* no inherited variables, and none of the provider that steer a shell or a loader */
    const char *input;       /* written to stdin unchanged; NULL: nothing */
    size_t input_len;
    bool keep_input;    /* stdin stays open for later writes; else it ends after `input` */
    bool tty;           /* on its own terminal: one stream of output */
    int64_t timeout_ms; /* 0 or less: PROGRAM_TIMEOUT_MS */
    struct program_limits limits;
    const char *call;             /* the call of the program, for network.connected; NULL: none */
    struct program_prints prints; /* all that it points to must live until the program is over */
};

/* The timeout that applies for a requested one. */
int64_t program_timeout_ms(int64_t said_ms);

struct program_result {
    struct process_end end;
    struct strbuf out, err;                     /* the beginning of each stream */
    size_t out_bytes, err_bytes;                /* of the whole stream */
    struct left_process left[PROCESS_LEFT_MAX]; /* end.left_count entries; end.left is NULL here */
    char *why;
};
void program_result_release(struct program_result *result);

/* Starts a program, behind keyturn-launch in the engine. Fails if the spec, the workspace or the engine is wrong. A
 * program that cannot be started, or has no name, does not fail here: its end reports it.
 *
 * The loop calls `done` once, after the program is over and its workspace is counted. The program is freed then, and
 * `done` releases the result. The workspace must outlive the program. */
struct program *program_run(struct programs *programs, struct workspace *ws, const struct program_spec *spec,
                            void (*done)(void *user, struct program_result *take_result), void *user,
                            struct err *err) CHECKED;
/* The process, for writing and killing; NULL: ended. */
struct process *program_process(const struct program *program);
/* The output so far, in a result that has no other fields set yet. */
const struct program_result *program_printed(const struct program *program);
/* Kills the program early; `done` is not called. NULL is fine. */
void program_free(struct program *program);

/* Adds to an answer how a program ended: its signal (0: none), and the processes it left behind. */
void program_answer_end(struct json_writer *w, int signum, const struct left_process *left, size_t left_count);
