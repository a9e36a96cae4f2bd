/* Runs the vectors of running programs: to their end, block by block, in sessions, and by tools. The cases describe
 * programs on this machine, with its environment and its paths, so they use the engine without isolation. */

#include "areas.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "support/program_rig.h"
#include "vector.h"
#include "workspace/exec.h"
#include "workspace/inline.h"
#include "workspace/running_program.h"
#include "workspace/workspace.h"
#include "workspace_rig.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct program_rig rig;
static struct env_vars provided;

static struct env_vars provide(void *user)
{
    (void)user;
    return provided;
}

static struct env_vars read_vars(struct vector *v, const char *name)
{
    const struct json *object = in_get(v, name);
    struct env_var *vars = arena_calloc(&v->arena, (object ? object->count : 0) + 1, sizeof(*vars));
    struct env_vars all = {.items = vars};
    json_each (var, object)
        vars[all.count++] = (struct env_var){var->key, vector_substitute(v, json_str(var, ""))};
    return all;
}

/* The workspace before anything runs: tree dirs symlinks modes, and a file that blocks a folder. */
static void fill_rig(struct vector *v)
{
    const char *path = rig.ws->path, *file = in_text(v, "file_at", NULL);
    if (file) {
        if (file_remove_tree(arena_printf(&v->arena, "%s/%s", path, file), NULL))
            BUG("cannot remove %s", file);
        rig_write(v, path, file, "a file", 6);
    }
    rig_write_tree(v, path, in_get(v, "tree"));
    rig_make_dirs(v, path, in_get(v, "dirs"));
    rig_make_links(v, path, in_get(v, "symlinks"));
    rig_set_modes(v, path, in_get(v, "modes"));
}

static void open_rig(struct vector *v)
{
    struct programs_options options = {.provider = {.variables = in_has(v, "provider") ? provide : NULL},
                                       .host_env = true};
    program_rig_open(&rig, "none", &options);
    vector_bind(v, "workspace", rig.ws->path);
    provided = read_vars(v, "provider");
    fill_rig(v);
}

/* "stdout", "stdout_contains", "stdout_lacks", "stdout_starts_with" and "stdout_ends_with". */
static void got_stream(struct vector *v, const char *name, const char *text)
{
    const char *end = json_str(wants(v, arena_printf(&v->arena, "%s_ends_with", name)), "");
    const struct json *lacks = wants(v, arena_printf(&v->arena, "%s_lacks", name));
    size_t len = strlen(text), tail = strlen(end);
    got_text(v, name, text);
    got_has(v, arena_printf(&v->arena, "%s_contains", name), text);
    got_prefix(v, arena_printf(&v->arena, "%s_starts_with", name), text);
    if (tail > len || strcmp(text + len - tail, end) != 0)
        vector_fail(v, "expected %s to end with %s got %s", name, end, text);
    if (lacks && lacks->type == JSON_STRING && strstr(text, lacks->text))
        vector_fail(v, "expected %s without %s got %s", name, lacks->text, text);
    json_each (part, lacks && lacks->type == JSON_ARRAY ? lacks : NULL)
        if (strstr(text, json_str(part, "")))
            vector_fail(v, "expected %s without %s got %s", name, json_str(part, ""), text);
}

static void got_time(struct vector *v, int64_t ms)
{
    static const struct {
        const char *name;
        bool least;
    } limits[] = {
        {"within_ms", false}, {"duration_below_ms", false}, {"return_before_ms", false}, {"not_before_ms", true}};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const struct json *limit = wants(v, limits[i].name);
        if (limit && (limits[i].least ? ms < json_int(limit, 0) : ms > json_int(limit, 0)))
            vector_fail(v, "expected %s %s got %lld", limits[i].name, limit->text, (long long)ms);
    }
    const struct json *between = wants(v, "return_between_ms");
    if (between && (ms < json_int(json_at(between, 0), 0) || ms > json_int(json_at(between, 1), 0)))
        vector_fail(v, "expected a return between %lld and %lld ms got %lld",
                    (long long)json_int(json_at(between, 0), 0), (long long)json_int(json_at(between, 1), 0),
                    (long long)ms);
}

static const struct vector_field spec_fields[] = {
    FIELD("clean_env", struct program_spec, clean_env),
    FIELD("cwd", struct program_spec, cwd),
    FIELD("tty", struct program_spec, tty),
    FIELD("timeout_ms", struct program_spec, timeout_ms),
};

/* The members of a case about a program. */
static struct program_spec read_spec(struct vector *v)
{
    const struct json *args = in_get(v, "args"), *limits = in_get(v, "limits");
    const char *program = in_text(v, "program", NULL), *input = in_text(v, "stdin", NULL);
    const char **list = arena_calloc(&v->arena, (args ? args->count : 0) + 3, sizeof(*list));
    size_t count = 0;
    in_only(v, limits, "limits", (const char *const[]){"cpu_percent", "memory_mb", "max_pids", NULL});
    if (program) {
        list[count++] = "-c";
        list[count++] = program;
    }
    json_each (arg, args)
        list[count++] = vector_substitute(v, json_str(arg, ""));
    struct program_spec spec = {.cmd = program ? "sh" : in_text(v, "cmd", NULL),
                                .args = list,
                                .env = read_vars(v, "env"),
                                .limits = {.cpu_percent = (unsigned)json_int(json_get(limits, "cpu_percent"), 0),
                                           .memory_mb = (unsigned)json_int(json_get(limits, "memory_mb"), 0),
                                           .pids = (unsigned)json_int(json_get(limits, "max_pids"), 0)},
                                .input = input,
                                .input_len = input ? strlen(input) : 0,
                                .timeout_ms = 1000 * in_int(v, "timeout_s", 0)};
    vector_fill(v, spec_fields, &spec);
    return spec;
}

static const struct vector_field end_fields[] = {
    FIELD("exit_code", struct process_end, exit_code),
    FIELD("timed_out", struct process_end, timed_out),
};

/* ---- run.* ---- */

/* The value of a variable in the output of `env`. */
static const char *printed_value(struct vector *v, const char *output, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = output; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return arena_memdup0(&v->arena, at + len + 1, strcspn(at + len + 1, "\n"));
    return NULL;
}

static void got_environment(struct vector *v, const char *output)
{
    json_each (name, wants(v, "env_set"))
        if (!printed_value(v, output, json_str(name, "")))
            vector_fail(v, "expected a variable %s got none", json_str(name, ""));
    json_each (name, wants(v, "env_unset"))
        if (printed_value(v, output, json_str(name, "")))
            vector_fail(v, "expected no variable %s got one", json_str(name, ""));
    const char *run = printed_value(v, output, "RUN_DIR");
    size_t root = strlen(rig.ws->path) + 1;
    struct stat st;
    got_prefix(v, "run_dir_prefix", run && strlen(run) > root ? run + root : NULL);
    got_bool(v, "run_dir_exists", run && stat(run, &st) == 0 && S_ISDIR(st.st_mode));
}

/* The folders of the runs; each run has its own. */
static void got_runs(struct vector *v, int64_t runs)
{
    struct dirent **names = NULL;
    int found = scandir(arena_printf(&v->arena, "%s/runs", rig.ws->path), &names, NULL, NULL);
    for (int i = 0; i < found; i++)
        free(names[i]);
    free(names);
    got_bool(v, "run_dirs_distinct", found == runs + 2); /* "." and ".." */
}

void area_run_program(struct vector *v)
{
    struct err err = ERR_INIT;
    open_rig(v);
    struct program_spec spec = read_spec(v);
    int64_t runs = in_int(v, "runs", 1);
    bool begun = false;
    for (int64_t i = 0; i < runs; i++)
        begun = program_rig_run(&rig, &spec, &err);
    tell_error(v, &err, !begun);
    got_runs(v, runs);
    got_int(v, "effective_timeout_ms", program_timeout_ms(spec.timeout_ms));
    if (begun) {
        vector_compare(v, end_fields, &rig.result.end);
        got_stream(v, "stdout", rig.result.out.buf);
        got_stream(v, "stderr", rig.result.err.buf);
        got_environment(v, rig.result.out.buf);
        got_int(v, "survivors", program_rig_count_within(rig.ws->path));
        got_time(v, rig.result.end.duration_ms);
    }
    tell_files(v, rig.ws->path);
    program_rig_close(&rig);
}

static struct inline_result inlined;

static void on_inlined(void *user, struct inline_result *take_result)
{
    (void)user;
    inlined = *take_result;
    loop_stop(rig.loop);
}

void area_run_inline(struct vector *v)
{
    struct err err = ERR_INIT;
    open_rig(v);
    const struct json *list = in_get(v, "blocks");
    struct code_block *blocks = arena_calloc(&v->arena, (list ? list->count : 0) + 1, sizeof(*blocks));
    size_t count = 0;
    json_each (block, list) {
        const char *code = vector_substitute(v, json_str(json_get(block, "code"), ""));
        in_only(v, block, "blocks", (const char *const[]){"language", "code", NULL});
        blocks[count++] = (struct code_block){json_str(json_get(block, "language"), ""), code, strlen(code)};
    }
    struct workspace_options workspaces = {.base = rig.folder};
    struct inline_options options = {
        .programs = rig.programs, .workspace = &workspaces, .timeout_ms = in_int(v, "timeout_ms", 0)};
    if (!inline_run(&options, blocks, count, on_inlined, NULL, &err))
        BUG("%s", err.text);
    loop_run(rig.loop);
    CLEANUP(strbuf) struct strbuf codes = STRBUF_INIT;
    strbuf_addch(&codes, '[');
    for (size_t i = 0; i < inlined.count; i++)
        strbuf_addf(&codes, "%s%d", i ? "," : "", inlined.ends[i].exit_code);
    strbuf_addch(&codes, ']');
    got_stream(v, "stdout", inlined.out.buf);
    got_stream(v, "stderr", inlined.err.buf);
    got_int(v, "exit_code", inlined.exit_code);
    got_bool(v, "timed_out", inlined.timed_out);
    got_json(v, "per_block_exit", codes.buf);
    got_text(v, "error", NULL);
    inline_result_release(&inlined);
    program_rig_close(&rig);
}

/* ---- session.* ---- */

static struct running_program *session;

static bool has_exited(void *user)
{
    (void)user;
    return running_program_exited(session);
}

static bool has_printed(void *user)
{
    return running_program_lines(session)->added >= *(size_t *)user;
}

static void start_session(struct vector *v, const struct program_spec *spec)
{
    struct err err = ERR_INIT;
    session = running_program_start(rig.programs, rig.ws, spec, NULL, NULL, &err);
    if (!session)
        BUG("%s", err.text);
    got_text(v, "start_error", NULL);
}

static void start_shell(struct vector *v, const char *command)
{
    start_session(v, &(struct program_spec){
                         .cmd = "sh", .args = (const char *const[]){"-c", command, NULL}, .timeout_ms = 60000});
}

static void close_session(void)
{
    running_program_free(session);
    session = NULL;
    program_rig_close(&rig);
}

void area_session_write(struct vector *v)
{
    struct err err = ERR_INIT;
    const char *data = in_text(v, "data", "");
    bool newline = in_flag(v, "newline"), exited = strcmp(in_text(v, "state", "running"), "exited") == 0;
    open_rig(v);
    start_shell(v, exited ? "exit 0" : "cat");
    if (exited)
        program_rig_await(&rig, has_exited, NULL);
    if (in_is_null(v, "stdin"))
        running_program_close(session);
    int failed = running_program_write(session, data, strlen(data), newline, &err);
    size_t sent = failed ? 0 : strlen(data) + newline;
    if (!exited && !failed)
        program_rig_await(&rig, has_printed, &sent);
    const struct strbuf *came = running_program_stream(session, PROCESS_STDOUT);
    tell_error(v, &err, failed);
    got_text(v, "bytes_written", came->buf);
    got_int(v, "bytes", (int64_t)came->len);
    close_session();
}

/* Waits until the shell's children exist, so that no input is sent before the shell has read its first line. */
static bool is_busy(void *user)
{
    (void)user;
    return running_program_exited(session) || program_rig_count_within(rig.ws->path) >= 2;
}

void area_session_kill(struct vector *v)
{
    const char *program = in_text(v, "program", "sleep 60");
    bool exited = strcmp(in_text(v, "state", "running"), "exited") == 0;
    int64_t grace = in_int(v, "grace_ms", PROGRAM_GRACE_MS);
    open_rig(v);
    start_shell(v, exited ? "exit 0" : arena_printf(&v->arena, "%s\n:", program));
    program_rig_await(&rig, exited ? has_exited : is_busy, NULL);
    int64_t began = loop_now_us(rig.loop);
    for (int64_t calls = in_int(v, "calls", 1); calls > 0; calls--)
        running_program_kill(session, grace);
    program_rig_await(&rig, has_exited, NULL);
    const struct process_end *end = running_program_end(session);
    got_time(v, (loop_now_us(rig.loop) - began) / 1000);
    got_text(v, "status", "exited");
    got_int(v, "exit_code", end->exit_code);
    got_text(v, "error", NULL);
    got_json(v, "signal_sent",
             end->asked && end->forced ? "[\"TERM\",\"KILL\"]"
             : end->asked              ? "[\"TERM\"]"
             : end->forced             ? "[\"KILL\"]"
                                       : "[]");
    got_int(v, "survivors", program_rig_count_within(rig.ws->path));
    close_session();
}

static void got_session(struct vector *v)
{
    CLEANUP(strbuf) struct strbuf output = STRBUF_INIT;
    const struct process_end *end = running_program_end(session);
    running_program_poll(session, 0, &output);
    got_text(v, "status", running_program_exited(session) ? "exited" : "running");
    if (wants(v, "error")) { /* a program that could not start has ended at once, and has the error */
        struct err err = ERR_INIT;
        err_set(&err, "%s", end->why ? end->why : "");
        tell_error(v, &err, end->why != NULL);
    }
    got_stream(v, "output", output.buf);
    got_stream(v, "stdout", running_program_stream(session, PROCESS_STDOUT)->buf);
    got_stream(v, "stderr", running_program_stream(session, PROCESS_STDERR)->buf);
    vector_compare(v, end_fields, end);
    got_time(v, end->duration_ms);
    got_text(v, "stdin_bytes", running_program_stream(session, PROCESS_STDOUT)->buf);
}

/* [text, newline] */
static void type_text(struct vector *v, const struct json *write)
{
    struct err err = ERR_INIT;
    const char *text = json_str(json_at(write, 0), "");
    if (running_program_write(session, text, strlen(text), json_bool(json_at(write, 1), false), &err))
        vector_fail(v, "expected a write got %s", err.text);
}

void area_session_start(struct vector *v)
{
    open_rig(v);
    struct program_spec spec = read_spec(v);
    const struct json *write = in_get(v, "write"), *writes = in_get(v, "writes");
    const char *echoed = json_str(wants(v, "stdin_bytes"), NULL);
    got_int(v, "effective_timeout_s", program_timeout_ms(spec.timeout_ms) / 1000);
    got_int(v, "retained_lines", OUTPUT_LINES_MAX);
    got_int(v, "kill_grace_ms", PROGRAM_GRACE_MS);
    if (!spec.cmd) {
        program_rig_close(&rig);
        return;
    }
    start_session(v, &spec);
    if (write) {
        program_rig_await(&rig, has_printed, &(size_t){1});
        type_text(v, write);
    }
    json_each (each, writes)
        type_text(v, each);
    size_t bytes = echoed ? strlen(echoed) : 0;
    program_rig_await(&rig, echoed ? has_printed : has_exited, &bytes);
    got_session(v);
    close_session();
}

void area_session_close(struct vector *v)
{
    int64_t calls = in_int(v, "calls", 1);
    const char *write = in_text(v, "write", "");
    struct err err = ERR_INIT;
    open_rig(v);
    start_shell(v, "cat; echo closed");
    for (int64_t i = 0; i < calls; i++)
        running_program_close(session);
    int failed = running_program_write(session, write, strlen(write), false, &err);
    program_rig_await(&rig, has_exited, NULL);
    got_int(v, "closes", (int64_t)running_program_lines(session)->count);
    tell_error(v, &err, failed);
    close_session();
}

/* ---- session.wait: the waiting alone, in virtual time ---- */

static void wait_through(struct vector *v, const struct json *events)
{
    static const char *const known[] = {"at_ms", "text", "exit", NULL};
    struct output_lines lines;
    struct output_wait waiter;
    const struct json *event = events ? events->child : NULL;
    int64_t now = 0, look = 0;
    output_lines_init(&lines, OUTPUT_LINES_MAX);
    output_wait_begin(&waiter, 0, in_int(v, "yield_ms", 0), (size_t)in_int(v, "limit", OUTPUT_POLL_LINES));
    for (bool done = false; !done && now < 600000;) {
        int64_t next = event ? json_int(json_get(event, "at_ms"), 0) : INT64_MAX;
        now = next <= look ? next : look;
        if (next <= look) {
            const char *text = json_str(json_get(event, "text"), "");
            in_only(v, event, "events", known);
            output_lines_add(&lines, text, strlen(text));
            if (json_get(event, "exit"))
                output_lines_end(&lines, (int)json_int(json_get(event, "exit"), 0));
            event = event->next;
        }
        if (now == look || lines.exited) {
            done = output_wait_look(&waiter, &lines, now * 1000);
            look = now + OUTPUT_POLL_MS;
        }
    }
    got_text(v, "output", waiter.seen.output.buf);
    got_text(v, "status", waiter.seen.exited ? "exited" : "running");
    if (waiter.seen.exited)
        got_int(v, "exit_code", waiter.seen.exit_code);
    got_int(v, "offset", (int64_t)waiter.seen.window.offset);
    got_int(v, "next_offset", (int64_t)waiter.seen.window.next);
    got_time(v, now);
    output_wait_release(&waiter);
    output_lines_release(&lines);
}

void area_session_wait(struct vector *v)
{
    const struct json *events = in_get(v, "events"), *list = in_get(v, "ms");
    static const struct {
        const char *name;
        int64_t value;
    } defaults[] = {{"exec_yield_ms", OUTPUT_EXEC_YIELD_MS}, {"io_yield_ms", OUTPUT_IO_YIELD_MS},
                    {"poll_lines", OUTPUT_POLL_LINES},       {"poll_interval_ms", OUTPUT_POLL_MS},
                    {"settle_ms", OUTPUT_SETTLE_MS},         {"exited_session_ttl_s", OUTPUT_KEPT_S},
                    {"kill_grace_ms", PROGRAM_GRACE_MS}};
    for (size_t i = 0; i < COUNT_OF(defaults); i++)
        got_int(v, defaults[i].name, defaults[i].value);
    if (events)
        wait_through(v, events);
    if (!list)
        return;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    json_each (ms, list)
        strbuf_addf(&out, "%c%lld", out.len ? ',' : '[',
                    (long long)output_yield_ms(json_int(ms, 0), in_int(v, "fallback", OUTPUT_EXEC_YIELD_MS)));
    strbuf_addch(&out, ']');
    got_json(v, "effective_ms", out.buf);
}
