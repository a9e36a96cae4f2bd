/* Commands of a model, and the sessions that some of them become (exec.h).
 *
 * Calls and sessions are two lists. A call waits for one thing: the end of a program, output of a session, or the end
 * of a session. Then `done` gets the result and the call is freed. Sessions are found by name. The last part reads the
 * arguments of a command under the names that models use. */

#include "exec.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/rate_limit.h"
#include "globs.h"
#include "layout.h"
#include "program_control.h"
#include "programs_internal.h"
#include "sandbox/process_output.h"
#include "workspace.h"
#include <string.h>

#define BLANKS " \t\n\v\f\r"

struct exec_entry {
    struct exec *exec;
    struct exec_entry *next;
    struct running_program *running;
    char *id;
    struct rate_limit printed; /* becomes program.output */
    struct call *waiting;      /* a call that waits for output or for the end */
    int64_t ended_us;          /* 0: still running */
    bool by_key;               /* the user pressed a key to end it */
};

struct call {
    struct exec *exec;
    struct call *next;
    struct exec_entry *entry; /* the session of this call; NULL: a command that runs to its end */
    struct program *program;  /* the program of that command */
    struct loop_task telling;
    struct strbuf result;
    exec_done *done;
    void *user;
    bool kills; /* the call waits for the end, not for output */
};

struct exec {
    struct exec_options options;
    struct loop *loop;
    struct exec_entry *entries;
    struct call *calls;
    struct program_control control;
};

/* ---- calls ---- */

static struct call *new_call(struct exec *exec, exec_done *done, void *user)
{
    struct call *call = xcalloc(1, sizeof(*call));
    *call = (struct call){.exec = exec, .next = exec->calls, .done = done, .user = user};
    strbuf_init(&call->result);
    exec->calls = call;
    return call;
}

static void free_call(struct call *call)
{
    struct call **at = &call->exec->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (call->entry)
        call->entry->waiting = NULL;
    loop_unpost(call->exec->loop, &call->telling);
    strbuf_release(&call->result);
    free(call);
}

static void report_exec(struct loop_task *task)
{
    struct call *call = CONTAINER_OF(task, struct call, telling);
    exec_done *done = call->done;
    void *user = call->user;
    CLEANUP(free) char *result = strbuf_detach(&call->result, NULL);
    free_call(call);
    done(user, result);
}

static void answer(struct call *call)
{
    loop_post(call->exec->loop, &call->telling, report_exec);
}

/* ---- sessions ---- */

static struct emitter *emitter_of(const struct exec *exec)
{
    return exec->options.programs->emitter;
}

/* Emits the remaining output and program.ended. `end` NULL: the session is freed before its program has ended. */
static void record_end(struct exec_entry *entry, const struct process_end *end)
{
    CLEANUP(free) char *signal = end && end->signum ? xasprintf("killed by signal %d", end->signum) : NULL;
    const char *why = !end                        ? "killed: the session ended"
                      : end->why                  ? end->why
                      : end->timed_out            ? "timed out"
                      : entry->by_key             ? "killed by key"
                      : end->asked || end->forced ? "killed by a call"
                      : signal                    ? signal
                                                  : "exited";
    bool killed = !end || end->why || end->timed_out || end->signum || end->exit_code < 0;
    rate_limit_flush(&entry->printed, true);
    rate_limit_release(&entry->printed);
    emit(emitter_of(entry->exec),
         &(struct event){.type = EVENT_PROGRAM_ENDED,
                         .program_ended = {
                             .program = entry->id, .exit_code = killed ? EVENT_NULL_INT : end->exit_code, .why = why}});
}

static void drop_entry(struct exec_entry *entry)
{
    struct exec_entry **at = &entry->exec->entries;
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    if (entry->waiting)
        entry->waiting->entry = NULL;
    running_program_free(entry->running);
    if (!entry->ended_us)
        record_end(entry, NULL);
    free(entry->id);
    free(entry);
}

static void drop_expired(struct exec *exec)
{
    int64_t now = loop_now_us(exec->loop);
    for (struct exec_entry *entry = exec->entries, *next; entry; entry = next) {
        next = entry->next;
        if (entry->ended_us && !entry->waiting && now - entry->ended_us >= OUTPUT_KEPT_S * INT64_C(1000000))
            drop_entry(entry);
    }
}

static struct exec_entry *find_entry(struct exec *exec, const char *id, struct err *err)
{
    drop_expired(exec);
    for (struct exec_entry *entry = exec->entries; entry; entry = entry->next)
        if (strcmp(entry->id, id) == 0)
            return entry;
    err_set(err, "unknown session_id: %.80s", id);
    return NULL;
}

/* The session's name under either key, trimmed; NULL: none. */
static char *named(const struct json *args)
{
    static const char *const keys[] = {"session_id", "sessionId"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *id = json_str(json_get(args, keys[i]), "");
        id += strspn(id, BLANKS);
        size_t len = strlen(id);
        while (len && strchr(BLANKS, id[len - 1]))
            len--;
        if (len)
            return xmemdup0(id, len);
    }
    return NULL;
}

static struct exec_entry *named_entry(struct exec *exec, const struct json *args, struct err *err)
{
    CLEANUP(free) char *id = named(args);
    if (!id) {
        err_set(err, "session_id is required");
        return NULL;
    }
    struct exec_entry *entry = find_entry(exec, id, err);
    if (entry && entry->waiting) {
        err_set(err, "session %s is in use by another call", id);
        return NULL;
    }
    return entry;
}

/* ---- results ---- */

/* `total`: all bytes printed; `output` may hold only a part of them. */
static void add_output(struct json_writer *w, const struct exec *exec, const struct strbuf *output, size_t total)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    bool cut = window_text(&shown, output->buf, output->len, exec->options.max_output);
    json_add_strn(w, "output", shown.buf, shown.len);
    if (!cut && total == output->len)
        return;
    json_add_bool(w, "truncated", true);
    json_add_int(w, "total_bytes", (int64_t)total);
}

static void add_offsets(struct json_writer *w, struct line_range window)
{
    json_add_int(w, "offset", (int64_t)window.offset);
    json_add_int(w, "next_offset", (int64_t)window.next);
}

static void add_interaction(struct json_writer *w, const char *output)
{
    CLEANUP(strbuf) struct strbuf hint = STRBUF_INIT;
    enum prompt_kind kind = prompt_find(output, &hint);
    if (kind == PROMPT_NONE)
        return;
    json_open(w, "interaction", '{');
    json_add_bool(w, "needs_input", true);
    json_add_str(w, "kind", prompt_kind_name(kind));
    json_add_str(w, "hint", hint.buf);
    json_close(w, '}');
}

/* A program that never ran gives no answer: the call fails. */
static const char *status_of(const struct process_end *end)
{
    return end->engine_failed ? "failed" : "exited";
}

static void add_end(struct json_writer *w, const struct process_end *end, const struct left_process *left)
{
    json_add_int(w, "exit_code", end->exit_code);
    program_answer_end(w, end->timed_out ? 0 : end->signum, left, end->left_count);
    if (end->timed_out)
        json_add_bool(w, "timed_out", true);
    if (end->why)
        json_add_str(w, "error", end->why);
}

/* Turns a look at a session into the answer. A session that has ended is freed with it. */
static void on_seen(void *user, struct output_seen *seen)
{
    struct call *call = user;
    struct exec_entry *entry = call->entry;
    struct json_writer w = json_begin(&call->result);
    json_open(&w, NULL, '{');
    json_add_str(&w, "status", seen->exited ? status_of(running_program_end(entry->running)) : "running");
    add_output(&w, call->exec, &seen->output, seen->output.len);
    if (seen->exited) {
        const struct process_end *end = running_program_end(entry->running);
        add_end(&w, end, end->left);
    } else {
        json_add_str(&w, "session_id", entry->id);
        add_interaction(&w, seen->output.buf);
    }
    add_offsets(&w, seen->window);
    json_close(&w, '}');
    entry->waiting = NULL;
    call->entry = NULL;
    answer(call);
    if (seen->exited)
        drop_entry(entry);
}

static void look_now(struct call *call)
{
    struct output_seen seen = {.exited = running_program_exited(call->entry->running)};
    strbuf_init(&seen.output);
    seen.window = running_program_poll(call->entry->running, seen.exited ? 0 : OUTPUT_POLL_LINES, &seen.output);
    on_seen(call, &seen);
    strbuf_release(&seen.output);
}

static void look_later(struct call *call, struct exec_entry *entry, int64_t yield_ms)
{
    call->entry = entry;
    entry->waiting = call;
    if (yield_ms > 0)
        running_program_wait(entry->running, yield_ms, OUTPUT_POLL_LINES, on_seen, call);
    else
        look_now(call);
}

static void answer_killed(struct call *call, const char *id, const char *status)
{
    struct json_writer w = json_begin(&call->result);
    json_open(&w, NULL, '{');
    json_add_bool(&w, "ok", true);
    json_add_str(&w, "session_id", id);
    json_add_str(&w, "status", status);
    json_close(&w, '}');
    answer(call);
}

static void on_exec_ended(void *user)
{
    struct exec_entry *entry = user;
    struct exec *exec = entry->exec;
    entry->ended_us = loop_now_us(exec->loop);
    record_end(entry, running_program_end(entry->running));
    struct call *call = entry->waiting;
    if (call && call->kills) {
        entry->waiting = NULL;
        call->entry = NULL;
        answer_killed(call, entry->id, "killed");
        drop_entry(entry);
    }
    if (exec->options.ended)
        exec->options.ended(exec->options.user);
}

/* ---- commands ---- */

static void on_program_done(void *user, struct program_result *take_result)
{
    struct call *call = user;
    struct json_writer w = json_begin(&call->result);
    call->program = NULL;
    strbuf_add(&take_result->out, take_result->err.buf, take_result->err.len);
    json_open(&w, NULL, '{');
    json_add_str(&w, "status", status_of(&take_result->end));
    add_output(&w, call->exec, &take_result->out, take_result->out_bytes + take_result->err_bytes);
    add_end(&w, &take_result->end, take_result->left);
    add_offsets(&w, (struct line_range){0, 0});
    json_close(&w, '}');
    program_result_release(take_result);
    answer(call);
}

static int start_session(struct exec *exec, struct workspace *ws, const struct exec_request *request,
                         const struct program_spec *spec, exec_done *done, void *user, struct err *err)
{
    struct exec_entry *entry = xcalloc(1, sizeof(*entry));
    struct program_spec own = *spec;
    own.prints = (struct program_prints){.record = {&entry->printed, &entry->printed}};
    entry->exec = exec;
    entry->running = running_program_start(exec->options.programs, ws, &own, on_exec_ended, entry, err);
    if (!entry->running) {
        free(entry);
        return -1;
    }
    entry->next = exec->entries;
    exec->entries = entry;
    entry->id = xstrdup(running_program_id(entry->running));
    rate_limit_init(&entry->printed, exec->loop, EXEC_RECORDED_MAX, emitter_of(exec),
                    &(struct event){.type = EVENT_PROGRAM_OUTPUT, .program_output = {.program = entry->id}});
    emit(emitter_of(exec), &(struct event){.type = EVENT_PROGRAM_STARTED,
                                           .program_started = {.program = entry->id,
                                                               .call = request->call,
                                                               .cmd = request->command,
                                                               .cwd = request->cwd,
                                                               .tty = request->tty}});
    int64_t yield =
        request->background && request->yield_ms <= 0 ? 0 : output_yield_ms(request->yield_ms, OUTPUT_EXEC_YIELD_MS);
    look_later(new_call(exec, done, user), entry, yield);
    return 0;
}

int exec_begin(struct exec *exec, struct workspace *ws, const struct exec_request *request,
               const struct program_prints *prints, exec_done *done, void *user, struct err *err)
{
    bool checked = command_policy_active(&exec->options.policy);
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){checked ? "-c" : "-lc", request->command, NULL},
                                .cwd = request->cwd,
                                .env = request->env,
                                .clean_env = checked,
                                .input = request->input,
                                .input_len = request->input ? strlen(request->input) : 0,
                                .tty = request->tty,
                                .call = request->call,
                                .timeout_ms = request->timeout_ms,
                                .prints = prints ? *prints : (struct program_prints){.user = NULL}};
    drop_expired(exec);
    if (!request->one_shot)
        return start_session(exec, ws, request, &spec, done, user, err);
    struct call *call = new_call(exec, done, user);
    call->program = program_run(exec->options.programs, ws, &spec, on_program_done, call, err);
    if (call->program)
        return 0;
    free_call(call);
    return -1;
}

/* Journal order: earlier output, then the input. Only then does the program read it. */
static int record_input(struct exec_entry *entry, const char *chars, bool submits, bool ends, struct err *err)
{
    CLEANUP(free) char *text = xasprintf("%s%s%s", chars, submits ? "\n" : "", ends ? PROGRAM_INPUT_END : "");
    rate_limit_flush(&entry->printed, false);
    if (emit(emitter_of(entry->exec),
             &(struct event){.type = EVENT_PROGRAM_INPUT,
                             .program_input = {.program = entry->id, .text = text, .by = "call"}}) < 0)
        return err_set(err, "cannot record the input, so nothing was typed");
    return 0;
}

int exec_write_within(struct exec *exec, const struct json *args, int64_t most_ms, exec_done *done, void *user,
                      struct err *err)
{
    struct exec_entry *entry = named_entry(exec, args, err);
    const char *chars = json_str(json_get(args, "chars"), "");
    const struct json *newline = json_get(args, "append_newline"), *yield = json_get(args, "yield_time_ms");
    if (!newline || newline->type == JSON_NULL)
        newline = json_get(args, "submit");
    if (!yield || yield->type == JSON_NULL)
        yield = json_get(args, "yieldMs");
    bool submits = json_bool(newline, false), ends = json_bool(json_get(args, "eof"), false);
    bool types = *chars || submits || ends;
    if (!entry || (types && running_program_ready(entry->running, err) < 0))
        return -1;
    if (types && record_input(entry, chars, submits, ends, err))
        return -1;
    if (running_program_write(entry->running, chars, strlen(chars), submits, err))
        return -1;
    if (ends)
        running_program_end_input(entry->running);
    int64_t yield_ms = json_int(yield, EXEC_WRITE_YIELD_MS);
    if (yield_ms < 0)
        yield_ms = EXEC_WRITE_YIELD_MS;
    look_later(new_call(exec, done, user), entry, yield_ms < most_ms ? yield_ms : most_ms);
    return 0;
}

int exec_kill(struct exec *exec, const struct json *args, exec_done *done, void *user, struct err *err)
{
    struct exec_entry *entry = named_entry(exec, args, err);
    if (!entry)
        return -1;
    struct call *call = new_call(exec, done, user);
    if (running_program_exited(entry->running)) {
        answer_killed(call, entry->id, "exited");
        drop_entry(entry);
        return 0;
    }
    call->kills = true;
    call->entry = entry;
    entry->waiting = call;
    running_program_kill(entry->running, PROGRAM_GRACE_MS);
    return 0;
}

void exec_cancel(struct exec *exec, void *user)
{
    for (struct call *call = exec->calls, *next; call; call = next) {
        next = call->next;
        if (call->user != user)
            continue;
        program_free(call->program);
        if (call->entry)
            running_program_wait_end(call->entry->running);
        free_call(call);
    }
}

/* ---- keys ---- */

/* NULL: no running session has this name. */
static struct exec_entry *running_entry(struct program_control *control, const char *program, struct err *err)
{
    struct exec_entry *entry = find_entry(CONTAINER_OF(control, struct exec, control), program, NULL);
    if (entry && !entry->ended_us)
        return entry;
    err_set(err, "unknown program %.40s", program);
    return NULL;
}

static int control_ready(struct program_control *control, const char *program, struct err *err)
{
    struct exec_entry *entry = running_entry(control, program, err);
    if (!entry)
        return -1;
    rate_limit_flush(&entry->printed, false);
    if (running_program_closed(entry->running))
        return err_set(err, "the program's input has ended");
    return running_program_ready(entry->running, err);
}

static void control_write(struct program_control *control, const char *program, const char *text, size_t len)
{
    struct exec_entry *entry = running_entry(control, program, NULL);
    bool end = len && text[len - 1] == *PROGRAM_INPUT_END;
    if (!entry || running_program_write(entry->running, text, len - end, false, NULL))
        return; /* the session ended meanwhile: program.ended reports it */
    if (end)
        running_program_end_input(entry->running);
}

static bool control_hides(struct program_control *control, const char *program)
{
    struct exec_entry *entry = running_entry(control, program, NULL);
    return entry && running_program_hides_input(entry->running);
}

static void control_resize(struct program_control *control, const char *program, int rows, int cols)
{
    struct exec_entry *entry = running_entry(control, program, NULL);
    if (entry)
        running_program_resize(entry->running, rows, cols);
}

static int control_kill(struct program_control *control, const char *program, struct err *err)
{
    struct exec_entry *entry = running_entry(control, program, err);
    if (!entry)
        return -1;
    entry->by_key = true;
    running_program_kill(entry->running, PROGRAM_GRACE_MS);
    return 0;
}

struct program_control *exec_control(struct exec *exec)
{
    return &exec->control;
}

/* ---- start and end of exec ---- */

struct exec *exec_new(const struct exec_options *options)
{
    struct exec *exec = xcalloc(1, sizeof(*exec));
    exec->options = *options;
    exec->loop = programs_loop(options->programs);
    exec->control = (struct program_control){.ready = control_ready,
                                             .write = control_write,
                                             .hides = control_hides,
                                             .resize = control_resize,
                                             .kill = control_kill};
    return exec;
}

size_t exec_running(const struct exec *exec, struct strbuf *names)
{
    size_t count = 0;
    for (const struct exec_entry *entry = exec->entries; entry; entry = entry->next) {
        if (entry->ended_us)
            continue;
        if (names)
            strbuf_addf(names, "%s%s", count ? ", " : "", entry->id);
        count++;
    }
    return count;
}

void exec_free(struct exec *exec)
{
    if (!exec)
        return;
    while (exec->entries)
        drop_entry(exec->entries);
    while (exec->calls) {
        program_free(exec->calls->program);
        free_call(exec->calls);
    }
    free(exec);
}

/* ---- the arguments of a command ---- */

/* Reads the arguments of a command under the names that models use. */

/* The first of the two names that is present and not null. */
static const struct json *first_of(const struct json *args, const char *one, const char *two)
{
    const struct json *value = json_get(args, one);
    if (!value || value->type == JSON_NULL)
        value = json_get(args, two);
    return value && value->type != JSON_NULL ? value : NULL;
}

int exec_env_read(struct env_vars *env, struct arena *arena, const struct json *said,
                  const struct command_policy *policy, struct err *err)
{
    bool checked = command_policy_active(policy);
    struct env_var *vars = arena_calloc(arena, said ? said->count + 1 : 1, sizeof(*vars));
    *env = (struct env_vars){.items = vars};
    if (said && said->type != JSON_OBJECT && said->type != JSON_NULL)
        return err_set(err, "env must be an object of texts");
    json_each (var, said) {
        if (var->type != JSON_STRING)
            return err_set(err, "env.%.60s must be a text", var->key);
        if (!checked || !env_steers(var->key))
            vars[env->count++] = (struct env_var){var->key, var->text};
    }
    return 0;
}

/* ---- the starting folder: checked by its text; opening the folder checks it again in the kernel ---- */

/* Removes ".", ".." and empty parts. Returns -1 if a relative path climbs out; an absolute one stays at its root. */
static int clean_path(struct strbuf *out, const char *path)
{
    bool absolute = *path == '/';
    while (*path) {
        size_t len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            char *slash = out->len ? memrchr(out->buf, '/', out->len) : NULL;
            if (!out->len && !absolute)
                return -1;
            strbuf_set_len(out, slash ? (size_t)(slash - out->buf) : 0);
        } else if (len && !(len == 1 && *path == '.')) {
            if (out->len)
                strbuf_addch(out, '/');
            strbuf_add(out, path, len);
        }
        path += len;
        path += *path == '/';
    }
    return 0;
}

static bool is_ours(const char *path)
{
    for (size_t i = 0; i < LAYOUT_DIRS; i++) {
        size_t len = strlen(layout_rows[i].name);
        if (strncmp(path, layout_rows[i].name, len) == 0 && (!path[len] || path[len] == '/'))
            return true;
    }
    return false;
}

char *cwd_normalize(const char *raw, struct err *err)
{
    CLEANUP(free) char *plain = xstrdup(raw);
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    for (char *at = plain; *at; at++)
        if (*at == '\\')
            *at = '/';
    if (strpbrk(plain, "*?[")) {
        err_set(err, "the working folder must not be a pattern: %.200s", raw);
        return NULL;
    }
    CLEANUP(free) char *full = globs_normalize(plain);
    if (full && clean_path(&path, full)) {
        err_set(err, "the working folder must stay within the workspace: %.200s", raw);
        return NULL;
    }
    if (path.len && !is_ours(path.buf)) {
        err_set(err, "the working folder must be in skills, work, runs or out: %.200s", raw);
        return NULL;
    }
    if (!path.len)
        strbuf_addch(&path, '.');
    return strbuf_detach(&path, NULL);
}

/* Programs print "/workspace/work" for "work", so models pass that. */
static const char *below_root(const char *cwd, const char *root)
{
    size_t len = strlen(root);
    return strncmp(cwd, root, len) == 0 && (!cwd[len] || cwd[len] == '/') ? cwd + len : cwd;
}

int exec_request_read(struct exec_request *request, struct arena *arena, const struct json *args,
                      const struct command_policy *policy, const char *root, struct err *err)
{
    const char *command = json_str(json_get(args, "command"), "");
    int64_t timeout = json_int(first_of(args, "timeout_sec", "timeoutSec"), 0);
    if (timeout <= 0)
        timeout = json_int(json_get(args, "timeout"), 0);
    if (timeout > EXEC_TIMEOUT_MAX_S)
        timeout = EXEC_TIMEOUT_MAX_S;
    int64_t yield = json_int(first_of(args, "yield_time_ms", "yieldMs"), 0);
    *request = (struct exec_request){.command = arena_strdup(arena, command),
                                     .input = json_str(json_get(args, "stdin"), NULL),
                                     .timeout_ms = timeout > 0 ? timeout * 1000 : EXEC_TIMEOUT_MS,
                                     .yield_ms = yield,
                                     .background = json_bool(json_get(args, "background"), false),
                                     .tty = json_bool(first_of(args, "tty", "pty"), false)};
    request->one_shot = !request->background && !request->tty && yield == 0;
    if (!command[strspn(command, " \t\r\n")])
        return err_set(err, "command is required");
    if (command_policy_check(policy, command, err) ||
        exec_env_read(&request->env, arena, json_get(args, "env"), policy, err))
        return -1;
    CLEANUP(free) char *cwd = cwd_normalize(below_root(json_str(json_get(args, "cwd"), ""), root), err);
    if (!cwd)
        return -1;
    request->cwd = arena_strdup(arena, cwd);
    return 0;
}
