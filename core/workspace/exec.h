#pragma once
/* Runs a model's commands in a workspace: tools pass arguments as JSON and get results as JSON.
 *
 * A command runs to its end, or becomes a named session that later calls write to or end.
 *
 *   exec_begin     {command, cwd, env, stdin, timeout_sec, yield_time_ms, background, tty}
 *               -> {status, output, exit_code, session_id, offset, next_offset, truncated, total_bytes, interaction,
 *                   signal, signal_name, left_behind}
 *   exec_write_within
 *                  {session_id, chars, append_newline, yield_time_ms} -> the same
 *   exec_kill      {session_id} -> {ok, session_id, status}
 *
 * Each function returns 0 and calls `done` once, later, from the loop. Or it returns -1 with an error about the
 * arguments. With a policy, the command is checked and gets no login shell and no variable that steers a shell. A
 * session that has ended is freed after a call has reported its end, or half an hour later.
 *
 * This module emits the events of sessions through the emitter of the programs: program.started, program.output,
 * program.input of a call, and program.ended. */

#include "base/err.h"
#include "running_program.h"
#include "sandbox/environment.h"

struct arena;
struct exec;
struct exec_request;
struct json;
struct program_control;
struct workspace;

#define EXEC_TIMEOUT_MS     300000    /* default */
#define EXEC_TIMEOUT_MAX_S  INT32_MAX /* upper bound of any requested timeout */
#define EXEC_WRITE_YIELD_MS 200
#define EXEC_RECORDED_MAX   (4u << 20) /* bytes of a session's output recorded at full rate; then at a limited rate */

struct exec_options {
    struct programs *programs;    /* must outlive this */
    struct command_policy policy; /* its lists must outlive this */
    size_t max_output;            /* bytes of output in an answer; 0: all */
    void (*ended)(
        void *user); /* called when a session has ended and may have left files in its workspace; may be NULL */
    void *user;
};

struct exec *exec_new(const struct exec_options *options);
/* Kills running programs and records their end. No callback runs after this. */
void exec_free(struct exec *exec);

typedef void exec_done(void *user, const char *result);
/* Runs a command by a request of exec_request_read, whose timeout the caller may have shortened. `prints` gets the
 * output of a command that runs to its end; NULL: no receiver. */
int exec_begin(struct exec *exec, struct workspace *ws, const struct exec_request *request,
               const struct program_prints *prints, exec_done *done, void *user, struct err *err) CHECKED;
/* The caller can wait at most `most_ms`. */
int exec_write_within(struct exec *exec, const struct json *args, int64_t most_ms, exec_done *done, void *user,
                      struct err *err) CHECKED;
int exec_kill(struct exec *exec, const struct json *args, exec_done *done, void *user, struct err *err) CHECKED;
/* Ends the wait of `user`. A command that runs to its end is killed; a session continues. */
void exec_cancel(struct exec *exec, void *user);
/* Returns the number of running sessions. Adds their names to `names`, newest first, unless that is NULL. */
size_t exec_running(const struct exec *exec, struct strbuf *names);
/* Connects keys to sessions. It does not know sessions that have ended. */
struct program_control *exec_control(struct exec *exec);

/* A command as it will run, before it starts: for tools that show it, and for tests. */
struct exec_request {
    const char *command, *input, *cwd;
    const char *call; /* the call of the program; set by the caller that read the request */
    struct env_vars env;
    int64_t timeout_ms, yield_ms; /* yield_ms 0: not given */
    bool background, tty, one_shot;
};
/* `root`: the workspace as programs see it; the cwd may begin with it. The arena owns all strings. */
int exec_request_read(struct exec_request *request, struct arena *arena, const struct json *args,
                      const struct command_policy *policy, const char *root, struct err *err) CHECKED;
/* Reads the variables of a call into the arena. With an active policy it drops variables that decide what runs,
 * because a list of command names would otherwise mean nothing. */
int exec_env_read(struct env_vars *env, struct arena *arena, const struct json *said,
                  const struct command_policy *policy, struct err *err) CHECKED;
/* Checks where a model's command may start: in the workspace's root or one of its folders. Returns the folder
 * relative to the root ("." for the root itself); the caller frees it. Blank means the root. A leading variable of
 * the workspace is expanded. An absolute path counts from the root. Backslashes are slashes. Patterns, paths that
 * leave the workspace and other folders are errors. */
char *cwd_normalize(const char *raw, struct err *err) CHECKED;
