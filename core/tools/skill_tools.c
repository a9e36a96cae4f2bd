/* skill_list, skill_load, skill_run: list, read and run the user's skills (folders with a SKILL.md).
 *
 * skill_run first stages the skill, read-only, as skills/<name> of the session's workspace, and again after it
 * changed. The command starts in that folder. The answer includes the files it left in out/, unless the call names
 * others. */

#include "base/arena.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "file_tools.h"
#include "output_limit.h"
#include "runtime.h"
#include "runtime_job.h"
#include "spool.h"
#include "workspace/exec.h"
#include "workspace/mime.h"
#include "workspace/skills.h"
#include "workspace/stage.h"
#include <errno.h>
#include <string.h>

#define SKILL_TIMEOUT_S 300               /* if the call gives none */
#define FILE_BYTES_MAX  ((size_t)1 << 20) /* of a skill file, for reading */
#define USUAL_FILES     20
#define LEFT_MAX        20    /* folders listed as invalid skills */
#define ANSWER_ROOM     11000 /* characters of printed text and collected files */
#define CONTENT_ROOM    4000  /* characters of collected files */

static const char *argument(const struct tool_run *run, const char *name)
{
    return json_str(json_get(run->arguments, name), "");
}

static void find_skills(struct skills *skills, const struct runtime *runtime)
{
    const struct runtime_options *said = runtime_said(runtime);
    skills_list_all(skills, said->project, said->skills);
}

/* Finds a skill by name; the error lists the names that exist. */
static const struct skill *find_skill(const struct skills *skills, const char *name, struct err *err)
{
    const struct skill *skill = skills_find(skills, name);
    if (skill)
        return skill;
    CLEANUP(strbuf) struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < skills->count; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", skills->items[i].name);
    err_set(err, "unknown skill %.80s (known: %.300s)", name, names.len ? names.buf : "none");
    return NULL;
}

/* ---- skill_list ---- */

/* Lists folders that look like skills but are not, so that a user can find out why a skill is missing. */
static void write_left(struct json_writer *w, const struct skills *skills)
{
    if (!skills->left_count)
        return;
    json_open(w, "left_out", '[');
    for (size_t i = 0; i < skills->left_count && i < LEFT_MAX; i++) {
        json_open(w, NULL, '{');
        json_add_str(w, "name", skills->left[i].name);
        json_add_str(w, "why", skills->left[i].why);
        json_close(w, '}');
    }
    json_close(w, ']');
}

static void list(struct tool_run *run, struct tool_reply *reply)
{
    struct skills skills = {0};
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    if (run->env->runtime)
        find_skills(&skills, run->env->runtime);
    json_open(&w, NULL, '{');
    json_open(&w, "skills", '[');
    for (size_t i = 0; i < skills.count; i++) {
        json_open(&w, NULL, '{');
        json_add_str(&w, "name", skills.items[i].name);
        json_add_str(&w, "description", skills.items[i].description);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    write_left(&w, &skills);
    json_close(&w, '}');
    for (size_t i = 0; i < skills.left_count; i++)
        log_warn("skills: %s", skills.left[i].text);
    skills_release(&skills);
    tool_reply_output(reply, strbuf_detach(&out, NULL));
}

const struct tool tool_skill_list = {
    .spec =
        {
            .name = "skill_list",
            .description =
                "List the user's skills: folders of instructions and programs for a kind of task, by name and purpose.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .real_time = true,
            .resource_keys = (const char *const[]){"skills", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
        },
    .work = list,
};

/* ---- skill_load ---- */

static int write_skill(struct strbuf *out, const struct tool_run *run, const struct skill *skill, struct err *err)
{
    const char *file = *argument(run, "file") ? argument(run, "file") : SKILL_FILE;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(out);
    struct stat st;
    struct beneath *root = skills_open(skill, err);
    int status = root ? beneath_read(root, file, &text, FILE_BYTES_MAX, &st, err) : -1;
    beneath_close(root);
    if (status)
        return err->code == EXDEV ? err_set(err, "%.300s leads out of the skill", file) : -1;
    const char *mime = mime_sniff(text.buf, text.len);
    json_open(&w, NULL, '{');
    json_add_str(&w, "name", skill->name);
    json_add_str(&w, "description", skill->description);
    json_add_str(&w, "file", file);
    if (mime_is_text(mime))
        output_limit_add_text(&w, "text", "", text.buf, text.len, LONG_TEXT_ROOM, run->env, run->tool->spec.name);
    else
        json_add_str(&w, "binary", mime);
    json_close(&w, '}');
    return 0;
}

static void load(struct tool_run *run, struct tool_reply *reply)
{
    struct skills skills = {0};
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (run->env->runtime)
        find_skills(&skills, run->env->runtime);
    const struct skill *skill = find_skill(&skills, argument(run, "name"), &err);
    if (skill && write_skill(&out, run, skill, &err) == 0) {
        tool_reply_page(reply, strbuf_detach(&out, NULL));
    } else {
        tool_reply_error(reply, "%s", err.text);
        strbuf_release(&out);
    }
    skills_release(&skills);
}

const struct tool tool_skill_load = {
    .spec =
        {
            .name = "skill_load",
            .description = "Read a skill: its SKILL.md, or another file of it.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = true,
            .real_time = true,
            .resource_keys = (const char *const[]){"skill:{name}:{file}", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{"
                          "\"name\":{\"type\":\"string\",\"minLength\":1},"
                          "\"file\":{\"type\":\"string\",\"description\":\"relative to the skill; default SKILL.md\"}},"
                          "\"required\":[\"name\"],\"additionalProperties\":false}",
        },
    .work = load,
};

/* ---- skill_run ---- */

struct skill_call {
    struct runtime_job job;
    struct program *program;
    struct program_result result;
    bool ran;
    char *name;             /* of the skill */
    struct strbuf left_out; /* its links that point outside of it */
    struct arena arena;     /* holds its variables */
    struct call_prints printed;
};

static void release(struct runtime_job *job)
{
    struct skill_call *call = CONTAINER_OF(job, struct skill_call, job);
    if (call->ran)
        program_result_release(&call->result);
    call_prints_release(&call->printed);
    strbuf_release(&call->left_out);
    arena_release(&call->arena);
    free(call->name);
    free(call);
}

/* Collects the files that the call names, or everything in out/. Skips empty files of a failed command. */
static int collect(struct skill_call *call, struct output_spec *spec, struct collected *files, struct err *err)
{
    const struct json *asked = json_get(call->job.run->arguments, "outputs");
    if (asked && output_spec_read(spec, asked, err))
        return -1;
    if (!spec->glob_count && !spec->max_files)
        spec->max_files = USUAL_FILES;
    if (!asked)
        spec->inline_content = true;
    output_spec_usual(spec);
    if (collect_outputs(call->job.ws, spec, files, err) && err->code != COLLECT_PARTIAL)
        return -1;
    if (call->result.end.exit_code == 0)
        return 0;
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (files->files[i].size > 0) {
            files->files[kept++] = files->files[i];
            continue;
        }
        free(files->files[i].name);
        free(files->files[i].content);
        free(files->files[i].saved_as);
    }
    files->count = kept;
    return 0;
}

/* The space for one of two texts: half of `room`, plus the part of the other half that `other` does not need. */
static size_t share(size_t room, const struct spool *other)
{
    size_t cost = spool_cost(other);
    return room - (cost < room / 2 ? cost : room / 2);
}

/* The specification allows 16 KB per stream. An answer has less than that in all, so each stream may use the space
 * that the other leaves. */
static void write_streams(struct skill_call *call, struct json_writer *w, size_t room)
{
    struct spool *kept = call->printed.kept;
    size_t out = share(room, &kept[1]), err = share(room, &kept[0]);
    spool_write(&kept[0], w, "stdout", "stdout_", out);
    spool_write(&kept[1], w, "stderr", "stderr_", err);
}

static void write_result(struct runtime_job *job)
{
    struct skill_call *call = CONTAINER_OF(job, struct skill_call, job);
    const struct process_end *end = &call->result.end;
    CLEANUP(output_spec) struct output_spec spec = {0};
    CLEANUP(collected) struct collected files = {0};
    struct err err = ERR_INIT;
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    bool collected = collect(call, &spec, &files, &err) == 0;
    json_open(&w, NULL, '{');
    json_add_str(&w, "skill", call->name);
    json_add_int(&w, "exit_code", end->exit_code);
    program_answer_end(&w, end->timed_out ? 0 : end->signum, call->result.left, end->left_count);
    json_add_bool(&w, "timed_out", end->timed_out);
    json_add_int(&w, "duration_ms", end->duration_ms);
    if (call->left_out.len)
        json_add_str(&w, "links_left_out", call->left_out.buf);
    if (call->result.why)
        json_add_str(&w, "error_text", call->result.why);
    write_streams(call, &w, files.count ? ANSWER_ROOM - CONTENT_ROOM : ANSWER_ROOM);
    if (collected)
        collected_write(&w, &files, spec.inline_content, CONTENT_ROOM, job->run);
    if (err.text[0])
        json_add_str(&w, "warning", err.text);
    else if (!call->result.why)
        runtime_warn(&w, job);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void on_skill_done(void *user, struct program_result *take_result)
{
    struct skill_call *call = user;
    call->program = NULL;
    call->result = *take_result;
    call->ran = true;
    call_prints_end(&call->printed);
    if (take_result->end.engine_failed) {
        runtime_job_refuse(&call->job, "%s", take_result->why);
        return;
    }
    runtime_job_answer(&call->job, write_result);
}

/* Finds the skill and stages it. On a pool thread. */
static void stage(struct runtime_job *job)
{
    struct skill_call *call = CONTAINER_OF(job, struct skill_call, job);
    struct skills skills = {0};
    /* A project from a third party may have skills with links to the user's files. */
    struct stage_options options = {
        .read_only = true, .strict = true, .allow_mount = true, .left_out = &call->left_out};
    find_skills(&skills, job->run->env->runtime);
    const struct skill *skill = find_skill(&skills, argument(job->run, "skill"), &job->err);
    job->failed = !skill || skills_stage(job->ws, skill, &options, NULL, &job->err) < 0;
    if (skill)
        call->name = xstrdup(skill->name);
    skills_release(&skills);
}

/* Sets the call's variables, and those that identify the skill. */
static int variables(struct env_vars *env, struct skill_call *call, const char *folder, struct err *err)
{
    const struct runtime_job *job = &call->job;
    struct env_vars said;
    if (exec_env_read(&said, &call->arena, json_get(job->run->arguments, "env"), &runtime_said(job->runtime)->commands,
                      err))
        return -1;
    struct env_var *vars = arena_calloc(&call->arena, said.count + 2, sizeof(*vars));
    size_t count = 0;
    for (size_t i = 0; i < said.count; i++)
        if (strcmp(said.items[i].name, "SKILL_NAME") != 0 && strcmp(said.items[i].name, "SKILL_DIR") != 0)
            vars[count++] = said.items[i];
    vars[count++] = (struct env_var){"SKILL_NAME", call->name};
    vars[count++] = (struct env_var){"SKILL_DIR", folder};
    *env = (struct env_vars){vars, count};
    return 0;
}

static void begin_skill(struct runtime_job *job)
{
    struct skill_call *call = CONTAINER_OF(job, struct skill_call, job);
    const char *command = argument(job->run, "command"), *input = argument(job->run, "stdin");
    struct err err = ERR_INIT;
    if (!runtime_job_goes_on(job))
        return;
    int64_t said_s = json_int(json_get(job->run->arguments, "timeout_sec"), SKILL_TIMEOUT_S);
    int64_t left_ms = runtime_job_time_ms(job, said_s * 1000);
    if (left_ms <= 0) {
        runtime_job_refuse(job, "no time left");
        return;
    }
    struct programs *programs = runtime_programs(job->runtime, &err);
    CLEANUP(free) char *cwd = xasprintf("skills/%s", call->name);
    CLEANUP(free) char *folder = programs ? xasprintf("%s/%s", programs_root(programs, job->ws->path), cwd) : NULL;
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", command, NULL},
                                .cwd = cwd,
                                .clean_env = true,
                                .input = *input ? input : NULL,
                                .input_len = strlen(input),
                                .timeout_ms = left_ms,
                                .call = job->run->call,
                                .prints = call_prints_for(&call->printed)};
    bool ready = programs && variables(&spec.env, call, folder, &err) == 0;
    call->program = ready ? program_run(programs, job->ws, &spec, on_skill_done, call, &err) : NULL;
    if (!call->program)
        runtime_job_refuse(job, "%s", err.text);
}

/* Refuses outputs that cannot be collected, before anything runs. */
static bool outputs_are_wrong(struct tool_run *run)
{
    CLEANUP(output_spec) struct output_spec spec = {0};
    const struct json *asked = json_get(run->arguments, "outputs");
    struct tool_reply reply = {0};
    struct err err = ERR_INIT;
    if (!asked || output_spec_read(&spec, asked, &err) == 0)
        return false;
    tool_reply_error(&reply, "outputs: %s", err.text);
    tool_run_finish(run, &reply);
    return true;
}

static void start_skill(struct tool_run *run)
{
    if (runtime_missing(run) || outputs_are_wrong(run))
        return;
    struct skill_call *call = xcalloc(1, sizeof(*call));
    call->job = (struct runtime_job){.run = run, .act = stage, .then = begin_skill, .release = release};
    strbuf_init(&call->left_out);
    call_prints_init(&call->printed, run, true);
    run->state = call;
    runtime_job_launch(&call->job, argument(run, "command"));
}

static void cancel_skill(struct tool_run *run)
{
    struct skill_call *call = run->state;
    if (!call || call->job.out || !call->program)
        return; /* the job runs on a thread and returns on its own */
    program_free(call->program);
    runtime_job_cancelled(&call->job);
}

const struct tool tool_skill_run = {
    .spec =
        {
            .name = "skill_run",
            .description = "Run a command of a skill in the session's workspace, in a sandbox. It starts in the "
                           "skill's folder, which "
                           "is read-only; $OUTPUT_DIR (out/) is for results, which come with the answer. $SKILL_NAME "
                           "and $SKILL_DIR "
                           "say which skill it is.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{"
                          "\"skill\":{\"type\":\"string\",\"minLength\":1},"
                          "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"for sh\"},"
                          "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
                          "\"stdin\":{\"type\":\"string\"},"
                          "\"timeout_sec\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3600,"
                          "\"description\":\"default 300\"},"
                          "\"outputs\":{\"type\":\"object\",\"description\":\"what to collect, as in collect_outputs; "
                          "default out/**\"}},"
                          "\"required\":[\"skill\",\"command\"],\"additionalProperties\":false}",
            .timeout_s = RUNTIME_LONGEST_S,
        },
    .effect = runtime_effect,
    .start = start_skill,
    .cancel = cancel_skill,
};
