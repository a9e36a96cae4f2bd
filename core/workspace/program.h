#pragma once
/* Programs in a workspace, on the loop and never in its way. One engine (core/sandbox/engines_program.h) runs them all;
 * what is said once for all of them is a `struct programs`, what is said of one is a spec:
 *
 *     struct programs *programs = programs_new(&(struct programs_options){.loop = loop, .engine = engine}, &err);
 *     program_run(programs, ws, &(struct program_spec){.cmd = "make", .cwd = "work"}, done, user, &err);
 *
 * program_run collects the beginning of what a program prints and tells when it is over (RunProgram). Interactive
 * sessions are made of it (program_session.h), inline.h runs blocks of code, exec.h is what the tools of a turn need:
 * commands, sessions by name, results as JSON.
 *
 * However a program ends, nothing that it started is left: it is asked (TERM), after its grace killed, and so is
 * whatever it left behind, in whatever session. Every program is one `workspace.run` operation of its workspace. */

#include "base/err.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "env.h"
#include "sandbox/forwarder_rules.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emitter;
struct json_writer;
struct loop;
struct rate_limit;
struct sandbox_engine;
struct session_lines;
struct workspace;
struct workspace_capabilities;
struct programs;
struct program;

#define PROGRAM_TIMEOUT_MS 10000                /* when none is said */
#define PROGRAM_GRACE_MS   2000                 /* between asking and killing */
#define PROGRAM_OUTPUT_MAX ((size_t)4 << 20)    /* kept of each stream; the rest is counted */
#define PROGRAM_CALM_AFTER ((uint64_t)64 << 20) /* of a stream: nobody keeps more, so the rest may take longer */
#define PROGRAM_UNREAD_MAX ((size_t)1 << 20)    /* typed and not read: from there on nothing more is typed */

/* Zero is the engine's own limit. */
struct program_limits {
    unsigned
        cpu_percent; /* of one processor, at any time; without a control group of each process, over its whole time */
    unsigned memory_mb; /* of all its processes together; without a control group it is killed when that is seen */
    unsigned pids;
};

struct programs_options {
    struct loop *loop;
    const struct sandbox_engine *engine; /* lives longer */
    const char *image;                   /* for engines that use one; NULL: our own, with this machine's /usr */
    const char *const *visible;          /* folders of this machine that programs may read where they are; NULL: none */
    struct network_rules network; /* the hosts that they may reach, through our forwarder; none: no network. An engine
                                     that isolates nothing leaves them all of it */
    struct emitter *emitter; /* for what happens to them: network.connected, and of sessions program.*; NULL: nobody
                                records that */
    bool host_env;           /* they get our environment where the engine isolates nothing; else a bare one */
    struct env_provider provider; /* variables for every program */
    struct program_limits limits; /* for specs that say none */
    size_t max_output;            /* 0: PROGRAM_OUTPUT_MAX */
    unsigned numbered;            /* sessions have names with higher numbers than this */
    /* A line that the engine says of a program that runs all the same; NULL: it goes to the log. */
    void (*engine_says)(void *user, const char *line);
    void *engine_user;
};

/* Strings are copied. An error when the engine cannot run programs. */
struct programs *programs_new(const struct programs_options *options, struct err *err) CHECKED;
/* Ends those that still run; whoever holds one has let go of it before. */
void programs_free(struct programs *programs);
/* What their engine can do; of workspace.h. */
struct workspace_capabilities programs_capabilities(const struct programs *programs);
/* The workspace as programs see it, where its path is `path`. */
const char *programs_root(const struct programs *programs, const char *path);
struct loop *programs_loop(const struct programs *programs);
bool programs_run(const struct programs *programs); /* any of them, at present */

/* Where its output goes as it comes, beside the beginning of each stream that the result has. All may be NULL. */
struct program_prints {
    struct rate_limit *record[2]; /* by stream: into events */
    struct session_lines *lines;
    void (*watch)(void *user, enum process_stream stream, const char *bytes, size_t len);
    void *user;
};

struct program_spec {
    const char *cmd;         /* a bare name is looked up in the PATH of its own environment */
    const char *const *args; /* NULL-terminated; NULL: none */
    const char *cwd;         /* relative to the workspace, made when it is missing; NULL or blank: its root */
    struct env_vars env;     /* over all other layers */
    bool clean_env;          /* nothing of either */
    const char *input;       /* written to its standard input as it is; NULL: nothing */
    size_t input_len;
    bool keep_input;    /* it may be written to later, else its input ends there */
    bool tty;           /* on a terminal of its own: one stream of output */
    int64_t timeout_ms; /* 0 or less: PROGRAM_TIMEOUT_MS */
    struct program_limits limits;
    const char *call;             /* what it belongs to, for network.connected; NULL: nothing */
    struct program_prints prints; /* everything it names lives until the program is over */
};

/* What a spec's timeout comes to. */
int64_t program_timeout_ms(int64_t said_ms);

struct program_result {
    struct process_end end;
    struct strbuf out, err;                     /* the beginning of each stream */
    size_t out_bytes, err_bytes;                /* all of it */
    struct left_process left[PROCESS_LEFT_MAX]; /* end.left_count of them; end.left is NULL here */
    char *why;
};
void program_result_release(struct program_result *result);

/* Starts it, behind keyturn-launch in the engine. An error is what is wrong with the spec, the workspace or the engine;
 * a program that cannot be started, or has no name, is an end like others. `done` is called once, from the loop, when
 * it is over and its workspace is counted; the program is gone then, and the result is `done`'s to release. The
 * workspace must outlive the program. */
struct program *program_run(struct programs *programs, struct workspace *ws, const struct program_spec *spec,
                            void (*done)(void *user, struct program_result *take_result), void *user,
                            struct err *err) CHECKED;
/* Its process, to type into and to kill; NULL: it has ended. */
struct process *program_process(const struct program *program);
/* What it has printed until now, in a result that has nothing else yet. */
const struct program_result *program_printed(const struct program *program);
/* Ends it before its time; `done` is not called any more. NULL: nothing. */
void program_free(struct program *program);

/* Adds to an answer how a program ended: its signal (0: none), and what it left behind. */
void program_answer_end(struct json_writer *w, int signum, const struct left_process *left, size_t left_count);
