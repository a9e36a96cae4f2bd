/* Runs exec.tool: commands, sessions by name and their end, as tools of a turn use them. */

#include "areas.h"
#include "base/loop.h"
#include "base/mem.h"
#include "support/program_rig.h"
#include "support/shortcuts.h"
#include "vector.h"
#include "workspace/exec.h"
#include "workspace/workspace.h"
#include "workspace_rig.h"
#include <string.h>

static struct program_rig rig;
static struct exec *exec;
static struct exec_options options;
static const struct json *result; /* of the last call; NULL if it failed */
static struct err failure;

static void on_result(void *user, const char *text)
{
    result = vector_parse(user, text);
    loop_stop(rig.loop);
}

static bool has_ended(void *user)
{
    (void)user;
    return recorder_last(&rig.recorder, EVENT_PROGRAM_ENDED) != NULL;
}

/* Bytes of all sessions. */
static size_t printed(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < rig.recorder.count; i++)
        if (rig.recorder.events[i]->type == EVENT_PROGRAM_OUTPUT)
            bytes += strlen(rig.recorder.events[i]->program_output.text);
    return bytes;
}

enum call { CALL_EXEC, CALL_WRITE, CALL_KILL };

static void call(struct vector *v, enum call what, const struct json *args)
{
    failure = (struct err)ERR_INIT;
    result = NULL;
    int failed = what == CALL_EXEC    ? exec_command(exec, &options, rig.ws, args, on_result, v, &failure)
                 : what == CALL_WRITE ? exec_write_within(exec, args, INT64_MAX, on_result, v, &failure)
                                      : exec_kill(exec, args, on_result, v, &failure);
    if (!failed)
        loop_run(rig.loop);
}

static void start_background(struct vector *v, const char *command)
{
    CLEANUP(strbuf) struct strbuf args = STRBUF_INIT;
    struct json_writer w = json_begin(&args);
    json_open(&w, NULL, '{');
    json_add_str(&w, "command", command);
    json_add_bool(&w, "background", true);
    json_close(&w, '}');
    call(v, CALL_EXEC, vector_parse(v, args.buf));
}

static const struct json *session_args(struct vector *v, const char *id)
{
    return vector_parse(v, arena_printf(&v->arena, "{\"session_id\":\"%s\"}", id));
}

static const char *status_of_kill(struct vector *v, const char *command, bool wait_for_end)
{
    recorder_forget(&rig.recorder);
    start_background(v, command);
    const char *id = json_str(json_get(result, "session_id"), "");
    if (wait_for_end)
        program_rig_await(&rig, has_ended, NULL);
    call(v, CALL_KILL, session_args(v, id));
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!result)
        return arena_printf(&v->arena, "\"%s\"", failure.text);
    json_write(&text, result, JSON_COMPACT);
    return arena_memdup0(&v->arena, text.buf, text.len);
}

/* Steps in words: "start background COMMAND", "poll until exited", "write_stdin again", "kill_session". */
static void take_steps(struct vector *v, const struct json *steps)
{
    static const char begin[] = "start background ";
    const char *id = "";
    json_each (step, steps) {
        const char *text = json_str(step, "");
        if (strncmp(text, begin, sizeof(begin) - 1) == 0) {
            start_background(v, text + sizeof(begin) - 1);
            id = arena_strdup(&v->arena, json_str(json_get(result, "session_id"), ""));
        } else if (strcmp(text, "poll until exited") == 0) {
            while (!result || strcmp(json_str(json_get(result, "status"), ""), "exited") != 0)
                call(v, CALL_WRITE, session_args(v, id));
        } else if (strncmp(text, "write_stdin", 11) == 0) {
            call(v, CALL_WRITE, session_args(v, id));
        } else if (strncmp(text, "kill_session", 12) == 0) {
            call(v, CALL_KILL, session_args(v, id));
        } else {
            vector_fail(v, "expected a step the runner understands got %s", text);
        }
    }
}

/* Placeholders in the arguments; <id> stands for a session that reads input. */
static const struct json *fill_args(struct vector *v, const struct json *args)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    json_write(&text, args, JSON_COMPACT);
    if (strstr(text.buf, "<id>")) {
        start_background(v, "cat");
        vector_bind(v, "id", json_str(json_get(result, "session_id"), ""));
    }
    return vector_parse(v, vector_substitute(v, text.buf));
}

static void got_call(struct vector *v)
{
    static const char *const members[] = {"status",      "output",    "exit_code",   "offset",
                                          "next_offset", "truncated", "total_bytes", "ok"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (wants(v, members[i]))
            got_value(v, members[i], json_get(result, members[i]));
    got_text(v, "session_id", json_str(json_get(result, "session_id"), NULL));
    tell_error(v, &failure, !result && *failure.text);
    got_has(v, "output_contains", json_str(json_get(result, "output"), NULL));
    if (wants(v, "interaction"))
        got_value(v, "interaction", json_get(result, "interaction"));
    got_int(v, "bytes_written", (int64_t)printed());
    got_int(v, "default_yield_ms", EXEC_WRITE_YIELD_MS);
}

static void run_tool(struct vector *v, const char *tool, const struct json *args)
{
    struct exec_request request = {0};
    bool write = strstr(tool, "write_stdin") != NULL, kill = strstr(tool, "kill_session") != NULL;
    args = fill_args(v, args);
    if (!write && !kill && wants(v, "effective_timeout_s") &&
        exec_request_read(&request, &v->arena, args, NULL, rig.ws->path, &failure) == 0)
        got_int(v, "effective_timeout_s", request.timeout_ms / 1000);
    call(v, write ? CALL_WRITE : kill ? CALL_KILL : CALL_EXEC, args);
}

void area_exec_tool(struct vector *v)
{
    const char *tool = in_text(v, "tool", "workspace_exec");
    const struct json *args = in_get(v, "args"), *steps = in_get(v, "steps");
    program_rig_open(&rig, "none", NULL);
    vector_bind(v, "workspace", rig.ws->path);
    rig_write_tree(v, rig.ws->path, in_get(v, "tree"));
    rig_make_dirs(v, rig.ws->path, in_get(v, "dirs"));
    rig_set_modes(v, rig.ws->path, in_get(v, "modes"));
    options = (struct exec_options){.programs = rig.programs, .max_output = (size_t)in_int(v, "max_output_bytes", 0)};
    exec = exec_new(&options);
    if (steps)
        take_steps(v, steps);
    if (args)
        run_tool(v, tool, args);
    if (wants(v, "running"))
        got_part(v, "running", status_of_kill(v, "sleep 60", false));
    if (wants(v, "ended"))
        got_part(v, "ended", status_of_kill(v, "exit 0", true));
    got_call(v);
    tell_files(v, rig.ws->path);
    exec_free(exec);
    program_rig_close(&rig);
}
