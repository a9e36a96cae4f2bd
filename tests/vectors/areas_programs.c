/* Runs the vectors of programs that need no process: blocks of code, results, environments, folders, lines, prompts and
 * windows. areas_running.c has those that run programs. */

#include "areas.h"
#include "base/mem.h"
#include "sandbox/engines.h"
#include "sandbox/environment.h"
#include "sandbox/process_output.h"
#include "vector.h"
#include "workspace/codeblock.h"
#include "workspace/exec.h"
#include "workspace_rig.h"
#include <stdio.h>
#include <string.h>

/* ---- code ---- */

void area_codeblock_extract(struct vector *v)
{
    const char *text = in_text(v, "text", "");
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    struct code_block *blocks;
    size_t count = code_blocks_find(&v->arena, text, strlen(text), in_text(v, "start", CODE_FENCE),
                                    in_text(v, "end", CODE_FENCE), &blocks);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&w, NULL, '{');
        json_add_str(&w, "language", blocks[i].language);
        json_add_strn(&w, "code", blocks[i].code, blocks[i].len);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    got_part(v, "blocks", out.buf);
    got_int(v, "count", (int64_t)count);
}

void area_block_spec(struct vector *v)
{
    struct code_file file = {0};
    struct err err = ERR_INIT;
    const struct json *block = in_get(v, "block");
    const char *language = json_str(json_get(block, "language"), in_text(v, "language", ""));
    int failed = code_block_file(&file, (size_t)in_int(v, "index", 0), language, &err);
    in_get(v, "code"); /* not a part that matters */
    tell_error(v, &err, failed);
    if (failed)
        return;
    got_text(v, "file", file.name);
    got_text(v, "mode", arena_printf(&v->arena, "%04o", (unsigned)file.mode));
    got_text(v, "cmd", file.program);
    got_json(v, "args", "[]"); /* except the file, which is a value of its own */
}

void area_result_string(struct vector *v)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    const struct json *files = in_get(v, "files");
    const char **names = arena_calloc(&v->arena, files ? files->count + 1 : 1, sizeof(*names));
    size_t count = 0;
    json_each (file, files)
        names[count++] = file->type == JSON_OBJECT ? json_str(json_get(file, "name"), "") : json_str(file, "");
    code_result_text(&out, in_text(v, "output", ""), names, count);
    got_text(v, "text", out.buf);
}

/* ---- folders and variables ---- */

void area_cwd_normalize(struct vector *v)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *cwd = cwd_normalize(in_text(v, "raw", ""), &err);
    tell_error(v, &err, !cwd);
    got_text(v, "cwd", cwd);
}

static struct env_vars read_vars(struct vector *v, const char *name)
{
    const struct json *object = in_get(v, name);
    struct env_var *items = arena_calloc(&v->arena, object ? object->count + 1 : 1, sizeof(*items));
    size_t count = 0;
    json_each (member, object)
        items[count++] = (struct env_var){member->key, vector_substitute(v, json_str(member, ""))};
    return (struct env_vars){items, count};
}

static const char *env_as_json(struct vector *v, char **env)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    for (char **at = env; *at; at++)
        json_add_str(&w, arena_memdup0(&v->arena, *at, strcspn(*at, "=")), strchr(*at, '=') + 1);
    json_close(&w, '}');
    return arena_memdup0(&v->arena, out.buf, out.len);
}

/* Variables that must be missing, under either member name. */
static void tell_lacks(struct vector *v, char **env, const char *word)
{
    json_each (name, wants(v, word))
        if (env_value((const char *const *)env, json_str(name, "")))
            vector_fail(v, "expected no variable %s got one", json_str(name, ""));
}

static bool same_vars(struct vector *v, struct env_vars vars, const char *name)
{
    struct env_vars again = read_vars(v, name);
    bool same = vars.count == again.count;
    for (size_t i = 0; same && i < vars.count; i++)
        same = strcmp(vars.items[i].name, again.items[i].name) == 0 &&
               strcmp(vars.items[i].value, again.items[i].value) == 0;
    return same;
}

static struct env_vars given;

static struct env_vars provide(void *user)
{
    (void)user;
    return given;
}

/* Programs that run to their end and those that take input get the same variables from the same function, so `start`
 * changes nothing. Without an engine no variables are added. */
void area_env_merge(struct vector *v)
{
    static const char root[] = "/ws";
    struct err err = ERR_INIT;
    struct env_vars host = read_vars(v, "host"), call = read_vars(v, "spec");
    const char **below = arena_calloc(&v->arena, host.count + 1, sizeof(*below));
    vector_bind(v, "workspace", root);
    for (size_t i = 0; i < host.count; i++)
        below[i] = arena_printf(&v->arena, "%s=%s", host.items[i].name, host.items[i].value);
    given = read_vars(v, "provider");
    struct env_provider provider = {.variables = in_is_null(v, "provider") || !in_has(v, "provider") ? NULL : provide};
    const char *start = in_text(v, "start", "run");
    if (strcmp(start, "run") != 0 && strcmp(start, "interactive") != 0)
        vector_fail(v, "expected a start the runner understands got %s", start);
    struct env_layers layers = {.below = below,
                                .clean = in_bool(v, "clean_env", in_bool(v, "clean", false)),
                                .root = root,
                                .run = "runs/run_1",
                                .call = call,
                                .provider = provider.variables ? provider.variables(NULL) : (struct env_vars){0}};
    got_bool(v, "same_object", in_is_null(v, "engine") || !provider.variables);
    char **env = env_merge(&layers, &err);
    tell_error(v, &err, !env);
    if (!env)
        return;
    got_part(v, "env", env_as_json(v, env));
    got_bool(v, "caller_map_unchanged", same_vars(v, call, "spec"));
    tell_lacks(v, env, "env_lacks");
    tell_lacks(v, env, "env_unset");
    tell_lacks(v, env, "absent");
    argv_free(env);
}

/* ---- lines ---- */

/* null and a missing limit mean all of it; so does a limit that is not positive. */
static size_t read_limit(const struct json *op, const char *name)
{
    int64_t limit = json_int(json_get(op, name), 0);
    return limit > 0 ? (size_t)limit : 0;
}

static void add_status(struct json_writer *w, const struct output_lines *lines)
{
    json_add_str(w, "status", lines->exited ? "exited" : "running");
    if (lines->exited)
        json_add_int(w, "exit_code", lines->exit_code);
}

static void cursor_op(struct vector *v, struct output_lines *lines, const struct json *op, struct json_writer *w)
{
    static const char *const known[] = {"op", "text", "stream", "offset", "limit", "code", NULL};
    const char *name = json_str(json_get(op, "op"), ""), *text = json_str(json_get(op, "text"), "");
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    in_only(v, op, "ops", known);
    if (strcmp(name, "append") == 0) {
        output_lines_add(lines, text, strlen(text));
        return;
    }
    if (strcmp(name, "exit") == 0) {
        output_lines_end(lines, (int)json_int(json_get(op, "code"), 0));
        return;
    }
    json_open(w, NULL, '{');
    json_add_str(w, "op", name);
    bool poll = strcmp(name, "poll") == 0;
    if (poll || strcmp(name, "log") == 0) {
        struct line_range window =
            poll ? output_lines_poll(lines, read_limit(op, "limit"), &out)
                 : output_lines_log(lines, read_limit(op, "offset"), read_limit(op, "limit"), &out);
        json_add_str(w, "output", out.buf);
        json_add_int(w, "offset", (int64_t)window.offset);
        json_add_int(w, "next_offset", (int64_t)window.next);
    } else if (strcmp(name, "state") != 0) {
        vector_fail(v, "expected an operation the runner understands got %s", name);
    }
    add_status(w, lines);
    json_close(w, '}');
}

void area_session_cursor(struct vector *v)
{
    CLEANUP(strbuf) struct strbuf results = STRBUF_INIT;
    struct json_writer w = json_begin(&results);
    struct output_lines lines;
    output_lines_init(&lines, (size_t)in_int(v, "max_lines", OUTPUT_LINES_MAX));
    json_open(&w, NULL, '[');
    json_each (op, in_get(v, "ops"))
        cursor_op(v, &lines, op, &w);
    json_close(&w, ']');
    got_part(v, "results", results.buf);
    output_lines_release(&lines);
}

/* ---- output ---- */

void area_session_hint(struct vector *v)
{
    CLEANUP(strbuf) struct strbuf hint = STRBUF_INIT, out = STRBUF_INIT;
    const char *output = in_text(v, "output", "");
    bool running = strcmp(in_text(v, "status", "running"), "running") == 0;
    enum prompt_kind kind = running ? prompt_find(output, &hint) : PROMPT_NONE;
    struct json_writer w = json_begin(&out);
    if (kind == PROMPT_NONE) {
        got_json(v, "interaction", "null");
        return;
    }
    json_open(&w, NULL, '{');
    json_add_bool(&w, "needs_input", true);
    json_add_str(&w, "kind", prompt_kind_name(kind));
    json_add_str(&w, "hint", hint.buf);
    json_close(&w, '}');
    got_part(v, "interaction", out.buf);
}

void area_exec_window(struct vector *v)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    const char *output = in_text(v, "output", "");
    int64_t max = in_int(v, "max_bytes", 0);
    bool cut = window_text(&out, output, strlen(output), max > 0 ? (size_t)max : 0);
    got_text(v, "output", out.buf);
    got_bool(v, "truncated", cut);
    got_int(v, "total_bytes", (int64_t)strlen(output));
}
