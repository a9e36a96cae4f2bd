/* Self tests of a sandbox. A sandbox runs a script that tries what must not work (self_test_*). The sandbox for
 * programs runs a program that does nothing (program_trial_*). */

#include "self_test.h"
#include "base/arena.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/engines_program.h"
#include "sandbox/scratch_dirs.h"
#include "workspace/workspace.h"
#include <stdio.h>
#include <string.h>

#define LIMIT_S     20
#define SCRIPT_S    10
#define OUTER_MB    256u /* small limits, so that the test reaches them soon */
#define OUTER_PIDS  24u
#define SECOND_US   INT64_C(1000000)
#define NAME_FORMAT "keyturn-try-%s-%d%s"

/* Tries what must not work. Each test returns how it was refused, or null if it was not. */
static const char inner_script[] = "import os, socket\n"
                                   "def memory():\n"
                                   "    bytearray(%u << 20)\n"
                                   "def processes():\n"
                                   "    if os.fork() == 0: os._exit(0)\n"
                                   "def network():\n"
                                   "    socket.create_connection(('127.0.0.1', 9), 1)\n"
                                   "def files():\n"
                                   "    open('/etc/passwd').read()\n"
                                   "def tools():\n"
                                   "    open('/tools/.try', 'w')\n"
                                   "def native():\n"
                                   "    import ctypes\n"
                                   "found = {}\n"
                                   "for what in memory, processes, network, files, tools, native:\n"
                                   "    try:\n"
                                   "        what()\n"
                                   "        found[what.__name__] = None\n"
                                   "    except ConnectionRefusedError:\n"
                                   "        found[what.__name__] = None\n"
                                   "    except BaseException as wrong:\n"
                                   "        found[what.__name__] = type(wrong).__name__\n"
                                   "emit_result(found)\n";

/* Tests the limits of the engine alone. Processes come first, because the memory limit kills the script. */
static const char outer_script[] = "import os, time\n"
                                   "made = []\n"
                                   "try:\n"
                                   "    while len(made) < %u:\n"
                                   "        made.append(os.fork())\n"
                                   "        if made[-1] == 0:\n"
                                   "            time.sleep(5)\n"
                                   "            os._exit(0)\n"
                                   "    emit_intermediate('processes', None)\n"
                                   "except OSError as wrong:\n"
                                   "    emit_intermediate('processes', type(wrong).__name__)\n"
                                   "for pid in made:\n"
                                   "    os.kill(pid, 9)\n"
                                   "held = []\n"
                                   "try:\n"
                                   "    for i in range(%u // 16):\n"
                                   "        held.append(b'x' * (16 << 20))\n"
                                   "    emit_result(None)\n"
                                   "except MemoryError:\n"
                                   "    emit_result('MemoryError')\n";

static void begin_box(struct self_test *trial);

static void report_tried(struct loop_task *task)
{
    struct self_test *trial = CONTAINER_OF(task, struct self_test, telling);
    trial->tried(trial->user);
}

static void end_box(struct self_test *trial)
{
    loop_timer_stop(trial->loop, &trial->limit);
    box_free(trial->box);
    trial->box = NULL;
    free(trial->room);
    trial->room = NULL;
}

static void finish_test(struct self_test *trial, enum self_test_verdict verdict)
{
    end_box(trial);
    trial->verdict = verdict;
    trial->over = true;
    loop_post(trial->loop, &trial->telling, report_tried);
}

/* Builds "a, b and c". */
static void add_to_list(struct strbuf *list, const char *name)
{
    strbuf_addf(list, "%s%s", list->len ? ", " : "", name);
}

static void tell_layers(struct self_test *trial)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf on = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf off = STRBUF_INIT;
    const struct json *layers = json_parse(&arena, trial->layers, strlen(trial->layers), NULL);
    json_each (layer, layers) {
        if (layer->type == JSON_TRUE)
            add_to_list(&on, layer->key);
        else if (layer->type == JSON_NUMBER && json_int(layer, 0) > 0)
            add_to_list(&on, arena_printf(&arena, "%s %s", layer->key, layer->text));
        else if (layer->type == JSON_FALSE || layer->type == JSON_NUMBER)
            add_to_list(&off, layer->key);
    }
    if (on.len)
        strbuf_addf(&trial->text, "; layers: %s", on.buf);
    if (off.len)
        strbuf_addf(&trial->text, "; without: %s", off.buf);
    const char *degraded = json_str(json_get(layers, "degraded"), NULL);
    if (degraded)
        strbuf_addf(&trial->text, " (%s)", degraded);
}

/* Adds warnings that the engine prints although it works, for example about a limit it leaves out. */
static void tell_complaints(struct self_test *trial)
{
    const char *text = box_complaints(trial->box);
    size_t len = strcspn(text, "\n");
    if (len)
        strbuf_addf(&trial->text, "; %s says: %.*s", trial->engine->name, (int)(len < 200 ? len : 200), text);
}

static void inner_done(struct self_test *trial, const struct script_result *result)
{
    if (!result->success) {
        strbuf_addf(&trial->text, "a script in it fails: %s", result->error);
        finish_test(trial, SELF_TEST_FAILED);
        return;
    }
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf held = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf open = STRBUF_INIT;
    const struct json *found = json_parse(&arena, result->final_data, strlen(result->final_data), NULL);
    json_each (thing, found)
        add_to_list(thing->type == JSON_STRING ? &held : &open, thing->key);
    strbuf_addf(&trial->text, "%s%s; ready in %lld ms; refused: %s", trial->engine->unsafe ? "UNSAFE: " : "",
                trial->engine->about, (long long)trial->ready_ms, held.len ? held.buf : "nothing");
    if (open.len)
        strbuf_addf(&trial->text, "; NOT refused: %s", open.buf);
    tell_layers(trial);
    tell_complaints(trial);
    trial->verdict = open.len || !held.len ? SELF_TEST_WEAK : SELF_TEST_WORKS;
    if (!sandbox_engine_uses(trial->engine, "pids")) {
        finish_test(trial, trial->verdict);
        return;
    }
    end_box(trial);
    trial->outer = true;
    begin_box(trial);
}

/* The engine should kill the script for its memory, so that is a success. */
static void outer_done(struct self_test *trial, const struct script_result *result)
{
    bool processes = false, memory = true;
    for (size_t i = 0; i < result->intermediate_count; i++)
        processes |= result->intermediates[i].data[0] == '"';
    if (result->success)
        memory = result->final_data && result->final_data[0] == '"';
    if (processes && memory)
        strbuf_addstr(&trial->text, "; its own limits on memory and processes hold");
    else
        strbuf_addf(&trial->text, "; it IGNORES its limit on %s; only the limit of the harness works",
                    processes ? "memory"
                    : memory  ? "processes"
                              : "memory and processes");
    finish_test(trial, trial->verdict == SELF_TEST_WORKS && processes && memory ? SELF_TEST_WORKS : SELF_TEST_WEAK);
}

static void on_script_done(void *user, struct script_result *result)
{
    struct self_test *trial = user;
    trial->run = NULL;
    if (trial->ended)
        loop_stop(trial->loop);
    else if (trial->outer)
        outer_done(trial, result);
    else
        inner_done(trial, result);
}

static void on_box_ready(void *user, struct box *box, const struct json *ready)
{
    (void)ready;
    struct self_test *trial = user;
    CLEANUP(free)
    char *script = trial->outer ? xasprintf(outer_script, OUTER_PIDS + 8, 2 * OUTER_MB)
                                : xasprintf(inner_script, 2 * BOX_MEMORY_MB);
    struct script_request request = {.script = script, .timeout_s = SCRIPT_S};
    struct script_listener listener = {.done = on_script_done, .user = trial};
    if (!trial->outer) {
        trial->ready_ms = (loop_now_us(trial->loop) - trial->started_us) / 1000;
        trial->layers = xstrdup(box_layers(box));
    }
    trial->run = script_run_start(trial->loop, box_channel(box), &request, &listener);
}

static void on_box_gone(void *user, struct box *box, const char *why)
{
    struct self_test *trial = user;
    if (trial->run)
        return; /* the end of the run reports it */
    if (trial->outer) {
        strbuf_addf(&trial->text, "; cannot test its own limits: %s", why);
        finish_test(trial, trial->verdict);
        return;
    }
    strbuf_addf(&trial->text, box_is_missing(box) ? "not installed (%s)" : "%s", why);
    finish_test(trial, SELF_TEST_FAILED);
}

static void on_timeout(struct loop_timer *timer)
{
    struct self_test *trial = CONTAINER_OF(timer, struct self_test, limit);
    if (trial->run) {
        script_run_cancel(trial->run, "it takes too long"); /* `done` follows */
        return;
    }
    strbuf_addf(&trial->text, "does not answer within %d s", LIMIT_S);
    finish_test(trial, SELF_TEST_FAILED);
}

/* Starts a sandbox with the engine's own command line, or with the harness's layers off. */
static void begin_box(struct self_test *trial)
{
    struct err err = ERR_INIT;
    struct box_options spec = trial->spec;
    struct sandbox_engine engine = *trial->engine;
    CLEANUP(free) char **argv = NULL;
    CLEANUP(free)
    char *name = xasprintf(NAME_FORMAT, engine.name, (int)getpid(), trial->outer ? "-limits" : "");
    if (trial->outer) {
        size_t count = 0;
        while (engine.argv[count])
            count++;
        argv = xcalloc(count + 3, sizeof(*argv));
        memcpy(argv, engine.argv, count * sizeof(*argv));
        argv[count] = (char *)"--no-rlimits";
        argv[count + 1] = (char *)"--no-seccomp";
        engine.argv = argv;
        spec.memory_mb = OUTER_MB;
        spec.pids = OUTER_PIDS;
    }
    spec.engine = &engine;
    spec.folder = trial->room = scratch_dirs_make(trial->rooms, name, &err);
    if (sandbox_engine_uses(&engine, "workspace"))
        spec.workspace = trial->room;
    trial->started_us = loop_now_us(trial->loop);
    loop_timer_start(trial->loop, &trial->limit, trial->started_us + LIMIT_S * SECOND_US, on_timeout);
    struct box_listener listener = {.ready = on_box_ready, .gone = on_box_gone, .user = trial};
    if (!err.text[0])
        trial->box = box_start(trial->loop, &spec, name, &listener, &err);
    if (trial->box)
        return;
    strbuf_addf(&trial->text, "%s", err.text);
    finish_test(trial, SELF_TEST_FAILED);
}

void self_test_start(struct self_test *trial, struct loop *loop, struct scratch_dirs *rooms,
                     const struct box_options *spec, bool named, void (*tried)(void *user), void *user)
{
    *trial = (struct self_test){
        .engine = spec->engine, .loop = loop, .rooms = rooms, .spec = *spec, .tried = tried, .user = user};
    strbuf_init(&trial->text);
    CLEANUP(free) char *program = child_find_program(spec->engine->argv[0], NULL);
    if (!spec->engine->remote || named) {
        begin_box(trial);
        return;
    }
    if (program)
        strbuf_addf(&trial->text, "%s; not tested: it runs elsewhere (keyturn engines NAME tests it)",
                    spec->engine->about);
    else
        strbuf_addf(&trial->text, "not installed (%s is not in PATH)", spec->engine->argv[0]);
    finish_test(trial, program ? SELF_TEST_UNTRIED : SELF_TEST_FAILED);
}

void self_test_end(struct self_test *trial)
{
    trial->ended = true;
    if (trial->run) {
        script_run_cancel(trial->run, "ended");
        while (trial->run)
            loop_run(trial->loop);
    }
    loop_unpost(trial->loop, &trial->telling);
    end_box(trial);
    strbuf_release(&trial->text);
    free(trial->layers);
}

/* ---- the sandbox for programs ---- */

#define LIMIT_MS 10000

struct running {
    struct loop *loop;
    struct program_result result;
    bool over;
    char *said; /* output of the engine */
};

static void on_program_done(void *user, struct program_result *take_result)
{
    struct running *running = user;
    running->result = *take_result;
    running->over = true;
    loop_stop(running->loop);
}

/* True for the warnings of podman and docker about limits. Neither of them fails for a missing limit. */
static bool tells_of_limits(const char *text)
{
    return strcasestr(text, "limit") &&
           (strstr(text, "ignored") || strstr(text, "discarded") || strstr(text, "not support"));
}

static void on_said(void *user, const char *line)
{
    struct running *running = user;
    free(running->said);
    running->said = xstrdup(line);
}

static int judge_program(struct program_trial *trial, struct running *running, struct err *err)
{
    const struct program_result *result = &running->result;
    const struct process_end *end = &result->end;
    CLEANUP(free)
    char *line = running->said ? steal(&running->said) : engine_stderr_line(result->err.buf, result->err.len);
    if (end->timed_out)
        return err_set(err, "a program in it does not end within %d s%s%s", LIMIT_MS / 1000, line ? ": " : "",
                       line ? line : "");
    if (end->why)
        return err_set(err, "%s", end->why);
    if (end->exit_code != 0)
        return err_set(err, "a program in it fails%s%s", line ? ": " : "", line ? line : "");
    trial->ignores = line && tells_of_limits(line);
    trial->says = steal(&line);
    return 0;
}

static int run_in(struct program_trial *trial, struct workspace *ws, struct err *err)
{
    struct running running = {.loop = loop_new(clock_system())};
    struct programs *programs = programs_new(&(struct programs_options){.loop = running.loop,
                                                                        .engine = trial->engine,
                                                                        .network = trial->network,
                                                                        .limits = trial->limits,
                                                                        .engine_says = on_said,
                                                                        .engine_user = &running},
                                             err);
    struct program_spec spec = {.cmd = "true", .timeout_ms = LIMIT_MS};
    int status = -1;
    if (programs && program_run(programs, ws, &spec, on_program_done, &running, err)) {
        while (!running.over)
            loop_run(running.loop);
        status = judge_program(trial, &running, err);
        program_result_release(&running.result);
    }
    programs_free(programs);
    loop_free(running.loop);
    free(running.said);
    return status;
}

/* Uses the folder of session workspaces: if Keyturn is killed, leftovers are removed together with theirs. */
int program_trial_run(struct program_trial *trial, struct err *err)
{
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "workspaces");
    struct scratch_dirs *rooms = scratch_dirs_open(folder, err);
    CLEANUP(free) char *base = rooms ? scratch_dirs_make(rooms, "trial", err) : NULL;
    struct workspace_options options = {.base = base,
                                        .other_user = sandbox_program_is_other_user(trial->engine),
                                        .seen_at = trial->engine->program->workspace};
    struct workspace *ws =
        base ? workspace_create(&options, "trial", &(struct workspace_policy){.isolated = !trial->engine->unsafe}, err)
             : NULL;
    int status = ws ? run_in(trial, ws, err) : -1;
    workspace_free(ws);
    if (rooms)
        scratch_dirs_close(rooms);
    return status;
}

void program_trial_release(struct program_trial *trial)
{
    free(trial->says);
}
