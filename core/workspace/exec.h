#pragma once
/* Commands of a model in a workspace, as tools hand them on: arguments in as JSON, results out as JSON. A command runs
 * to its end, or becomes a session with a name that later calls type into or end.
 *
 *     exec_command   {command, cwd, env, stdin, timeout_sec, yield_time_ms, background, tty}
 *                 -> {status, output, exit_code, session_id, offset, next_offset, truncated, total_bytes, interaction,
 *                     signal, signal_name, left_behind}
 *     exec_write     {session_id, chars, append_newline, yield_time_ms} -> the same
 *     exec_kill      {session_id} -> {ok, session_id, status}
 *
 * Each returns 0 and calls `done` once, later, from the loop; or -1 and what is wrong with the arguments. With a policy
 * the command is checked, gets no login shell and no variable that steers one. A session that has ended is forgotten
 * when somebody was told, or half an hour later.
 *
 * What happens to sessions is emitted here (by the emitter of the programs): program.started, program.output,
 * program.input of a call, and program.ended. */

#include "base/err.h"
#include "policy.h"
#include "program_session.h"

struct exec;
struct json;
struct program_control;
struct workspace;

#define EXEC_TIMEOUT_MS     300000    /* when none is said */
#define EXEC_TIMEOUT_MAX_S  INT32_MAX /* whatever is said */
#define EXEC_WRITE_YIELD_MS 200
#define EXEC_RECORDED_MAX   (4u << 20) /* of what a session prints; then a limited rate */

struct exec_options {
    struct programs *programs;    /* lives longer */
    struct command_policy policy; /* lists live longer */
    size_t max_output;            /* bytes of an answer's output; 0: all of it */
    void (*ended)(void *user);    /* a session did, and may have left something in its workspace; NULL: nobody cares */
    void *user;
};

struct exec *exec_new(const struct exec_options *options);
/* Ends what runs, which is recorded; nobody is called any more. */
void exec_free(struct exec *exec);

typedef void exec_done(void *user, const char *result);
int exec_command(struct exec *exec, struct workspace *ws, const struct json *args, exec_done *done, void *user,
                 struct err *err) CHECKED;
/* The same of a request that was read, and may have been given less time. `prints`: where the output of a command goes
 * that runs to its end; NULL: nowhere. */
struct exec_request;
int exec_begin(struct exec *exec, struct workspace *ws, const struct exec_request *request,
               const struct program_prints *prints, exec_done *done, void *user, struct err *err) CHECKED;
int exec_write(struct exec *exec, const struct json *args, exec_done *done, void *user, struct err *err) CHECKED;
/* The same for who can wait only so long. */
int exec_write_within(struct exec *exec, const struct json *args, int64_t most_ms, exec_done *done, void *user,
                      struct err *err) CHECKED;
int exec_kill(struct exec *exec, const struct json *args, exec_done *done, void *user, struct err *err) CHECKED;
/* Whoever waits as `user` does not wait any more: a command that runs to its end is ended, a session goes on. */
void exec_cancel(struct exec *exec, void *user);
/* How many sessions run; adds their names to `names`, newest first, unless that is NULL. */
size_t exec_running(const struct exec *exec, struct strbuf *names);
/* How keys reach sessions. Those that have ended are unknown to it. */
struct program_control *exec_control(struct exec *exec);

/* What a command comes to, before anything is started: for tools that show it, and for tests. */
struct exec_request {
    const char *command, *input, *cwd;
    const char *call; /* that the program belongs to; whoever read the request sets it */
    struct env_vars env;
    int64_t timeout_ms, yield_ms; /* yield_ms 0: none was said */
    bool background, tty, one_shot;
};
struct arena;
/* `root`: the workspace as programs see it, which may stand before the cwd. All of it is in the arena. */
int exec_request_read(struct exec_request *request, struct arena *arena, const struct json *args,
                      const struct command_policy *policy, const char *root, struct err *err) CHECKED;
/* The variables that a call says, in the arena. Where commands are checked, those that decide what runs are left out:
 * the names on a list would mean nothing. */
int exec_env_read(struct env_vars *env, struct arena *arena, const struct json *said,
                  const struct command_policy *policy, struct err *err) CHECKED;
/* Where a command that a model wrote may start: in one of the folders of the workspace, or in its root. Gives the
 * folder relative to the root ("." for the root itself): blank is the root, a path that begins with a variable of
 * the workspace is expanded, an absolute path counts from the root, backslashes are slashes. Patterns, ways out and
 * other folders are errors. The caller's. */
char *cwd_normalize(const char *raw, struct err *err) CHECKED;
