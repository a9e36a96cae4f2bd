/* Self tests of a sandbox. A sandbox runs a script that tries what must not work (self_test_*). The sandbox for
 * programs runs a program that does nothing (program_self_test_*). */

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

static void begin_box(struct self_test *test);

static void report_tried(struct loop_task *task)
{
    struct self_test *test = CONTAINER_OF(task, struct self_test, telling);
    test->tried(test->user);
}

static void end_box(struct self_test *test)
{
    loop_timer_stop(test->loop, &test->limit);
    box_free(test->box);
    test->box = NULL;
    free(test->room);
    test->room = NULL;
}

static void finish_test(struct self_test *test, enum self_test_result result)
{
    end_box(test);
    test->result = result;
    test->over = true;
    loop_post(test->loop, &test->telling, report_tried);
}

/* Builds "a, b and c". */
static void add_to_list(struct strbuf *list, const char *name)
{
    strbuf_addf(list, "%s%s", list->len ? ", " : "", name);
}

static void tell_layers(struct self_test *test)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf on = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf off = STRBUF_INIT;
    const struct json *layers = json_parse(&arena, test->layers, strlen(test->layers), NULL);
    json_each (layer, layers) {
        if (layer->type == JSON_TRUE)
            add_to_list(&on, layer->key);
        else if (layer->type == JSON_NUMBER && json_int(layer, 0) > 0)
            add_to_list(&on, arena_printf(&arena, "%s %s", layer->key, layer->text));
        else if (layer->type == JSON_FALSE || layer->type == JSON_NUMBER)
            add_to_list(&off, layer->key);
    }
    if (on.len)
        strbuf_addf(&test->text, "; layers: %s", on.buf);
    if (off.len)
        strbuf_addf(&test->text, "; without: %s", off.buf);
    const char *degraded = json_str(json_get(layers, "degraded"), NULL);
    if (degraded)
        strbuf_addf(&test->text, " (%s)", degraded);
}

/* Adds warnings that the engine prints although it works, for example about a limit it leaves out. */
static void tell_complaints(struct self_test *test)
{
    const char *text = box_stderr(test->box);
    size_t len = strcspn(text, "\n");
    if (len)
        strbuf_addf(&test->text, "; %s says: %.*s", test->engine->name, (int)(len < 200 ? len : 200), text);
}

static void inner_done(struct self_test *test, const struct script_result *result)
{
    if (!result->success) {
        strbuf_addf(&test->text, "test script failed: %s", result->error);
        finish_test(test, SELF_TEST_FAILED);
        return;
    }
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf held = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf open = STRBUF_INIT;
    const struct json *found = json_parse(&arena, result->final_data, strlen(result->final_data), NULL);
    json_each (thing, found)
        add_to_list(thing->type == JSON_STRING ? &held : &open, thing->key);
    strbuf_addf(&test->text, "%s%s; ready in %lld ms; refused: %s", test->engine->unsafe ? "UNSAFE: " : "",
                test->engine->about, (long long)test->ready_ms, held.len ? held.buf : "nothing");
    if (open.len)
        strbuf_addf(&test->text, "; NOT refused: %s", open.buf);
    tell_layers(test);
    tell_complaints(test);
    test->result = open.len || !held.len ? SELF_TEST_WEAK : SELF_TEST_WORKS;
    if (!sandbox_engine_uses(test->engine, "pids")) {
        finish_test(test, test->result);
        return;
    }
    end_box(test);
    test->outer = true;
    begin_box(test);
}

/* The engine should kill the script for its memory, so that is a success. */
static void outer_done(struct self_test *test, const struct script_result *result)
{
    bool processes = false, memory = true;
    for (size_t i = 0; i < result->intermediate_count; i++)
        processes |= result->intermediates[i].data[0] == '"';
    if (result->success)
        memory = result->final_data && result->final_data[0] == '"';
    if (processes && memory)
        strbuf_addstr(&test->text, "; engine limits on memory and processes work");
    else
        strbuf_addf(&test->text, "; the engine IGNORES its limit on %s; only the harness enforces one",
                    processes ? "memory"
                    : memory  ? "processes"
                              : "memory and processes");
    finish_test(test, test->result == SELF_TEST_WORKS && processes && memory ? SELF_TEST_WORKS : SELF_TEST_WEAK);
}

static void on_self_test_script_done(void *user, struct script_result *result)
{
    struct self_test *test = user;
    test->run = NULL;
    if (test->ended)
        loop_stop(test->loop);
    else if (test->outer)
        outer_done(test, result);
    else
        inner_done(test, result);
}

static void on_box_ready(void *user, struct box *box, const struct json *ready)
{
    (void)ready;
    struct self_test *test = user;
    CLEANUP(free)
    char *script = test->outer ? xasprintf(outer_script, OUTER_PIDS + 8, 2 * OUTER_MB)
                               : xasprintf(inner_script, 2 * BOX_MEMORY_MB);
    struct script_request request = {.script = script, .timeout_s = SCRIPT_S};
    struct script_listener listener = {.done = on_self_test_script_done, .user = test};
    if (!test->outer) {
        test->ready_ms = (loop_now_us(test->loop) - test->started_us) / 1000;
        test->layers = xstrdup(box_layers(box));
    }
    test->run = script_run_start(test->loop, box_channel(box), &request, &listener);
}

static void on_box_gone(void *user, struct box *box, const char *why)
{
    struct self_test *test = user;
    if (test->run)
        return; /* the end of the run reports it */
    if (test->outer) {
        strbuf_addf(&test->text, "; cannot test its own limits: %s", why);
        finish_test(test, test->result);
        return;
    }
    strbuf_addf(&test->text, box_is_missing(box) ? "not installed (%s)" : "%s", why);
    finish_test(test, SELF_TEST_FAILED);
}

static void on_timeout(struct loop_timer *timer)
{
    struct self_test *test = CONTAINER_OF(timer, struct self_test, limit);
    if (test->run) {
        script_run_cancel(test->run, "timed out"); /* `done` follows */
        return;
    }
    strbuf_addf(&test->text, "does not answer within %d s", LIMIT_S);
    finish_test(test, SELF_TEST_FAILED);
}

/* Starts a sandbox with the engine's own command line, or with the harness's layers off. */
static void begin_box(struct self_test *test)
{
    struct err err = ERR_INIT;
    struct box_options spec = test->spec;
    struct sandbox_engine engine = *test->engine;
    CLEANUP(free) char **argv = NULL;
    CLEANUP(free)
    char *name = xasprintf(NAME_FORMAT, engine.name, (int)getpid(), test->outer ? "-limits" : "");
    if (test->outer) {
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
    spec.folder = test->room = scratch_dirs_make(test->scratch, name, &err);
    if (sandbox_engine_uses(&engine, "workspace"))
        spec.workspace = test->room;
    test->started_us = loop_now_us(test->loop);
    loop_timer_start(test->loop, &test->limit, test->started_us + LIMIT_S * SECOND_US, on_timeout);
    struct box_listener listener = {.ready = on_box_ready, .gone = on_box_gone, .user = test};
    if (!err.text[0])
        test->box = box_start(test->loop, &spec, name, &listener, &err);
    if (test->box)
        return;
    strbuf_addf(&test->text, "%s", err.text);
    finish_test(test, SELF_TEST_FAILED);
}

void self_test_start(struct self_test *test, struct loop *loop, struct scratch_dirs *scratch,
                     const struct box_options *spec, bool named, void (*tried)(void *user), void *user)
{
    *test = (struct self_test){
        .engine = spec->engine, .loop = loop, .scratch = scratch, .spec = *spec, .tried = tried, .user = user};
    strbuf_init(&test->text);
    CLEANUP(free) char *program = child_find_program(spec->engine->argv[0], NULL);
    if (!spec->engine->remote || named) {
        begin_box(test);
        return;
    }
    if (program)
        strbuf_addf(&test->text, "%s; not tested: remote engine (keyturn engines NAME tests it)", spec->engine->about);
    else
        strbuf_addf(&test->text, "not installed (%s is not in PATH)", spec->engine->argv[0]);
    finish_test(test, program ? SELF_TEST_UNTRIED : SELF_TEST_FAILED);
}

void self_test_end(struct self_test *test)
{
    test->ended = true;
    if (test->run) {
        script_run_cancel(test->run, "ended");
        while (test->run)
            loop_run(test->loop);
    }
    loop_unpost(test->loop, &test->telling);
    end_box(test);
    strbuf_release(&test->text);
    free(test->layers);
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

static int judge_program(struct program_self_test *test, struct running *running, struct err *err)
{
    const struct program_result *result = &running->result;
    const struct process_end *end = &result->end;
    CLEANUP(free)
    char *line = running->said ? steal(&running->said) : engine_stderr_line(result->err.buf, result->err.len);
    if (end->timed_out)
        return err_set(err, "the test program did not exit within %d s%s%s", LIMIT_MS / 1000, line ? ": " : "",
                       line ? line : "");
    if (end->why)
        return err_set(err, "%s", end->why);
    if (end->exit_code != 0)
        return err_set(err, "the test program failed%s%s", line ? ": " : "", line ? line : "");
    test->ignores = line && tells_of_limits(line);
    test->says = steal(&line);
    return 0;
}

static int run_in(struct program_self_test *test, struct workspace *ws, struct err *err)
{
    struct running running = {.loop = loop_new(clock_system())};
    struct programs *programs = programs_new(&(struct programs_options){.loop = running.loop,
                                                                        .engine = test->engine,
                                                                        .network = test->network,
                                                                        .limits = test->limits,
                                                                        .engine_says = on_said,
                                                                        .engine_user = &running},
                                             err);
    struct program_spec spec = {.cmd = "true", .timeout_ms = LIMIT_MS};
    int status = -1;
    if (programs && program_run(programs, ws, &spec, on_program_done, &running, err)) {
        while (!running.over)
            loop_run(running.loop);
        status = judge_program(test, &running, err);
        program_result_release(&running.result);
    }
    programs_free(programs);
    loop_free(running.loop);
    free(running.said);
    return status;
}

/* Uses the folder of session workspaces: if Keyturn is killed, leftovers are removed together with theirs. */
int program_self_test_run(struct program_self_test *test, struct err *err)
{
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "workspaces");
    struct scratch_dirs *scratch = scratch_dirs_open(folder, err);
    CLEANUP(free) char *base = scratch ? scratch_dirs_make(scratch, "test", err) : NULL;
    struct workspace_options options = {.base = base,
                                        .other_user = sandbox_program_is_other_user(test->engine),
                                        .seen_at = test->engine->program->workspace};
    struct workspace *ws =
        base ? workspace_create(&options, "test", &(struct workspace_policy){.isolated = !test->engine->unsafe}, err)
             : NULL;
    int status = ws ? run_in(test, ws, err) : -1;
    workspace_free(ws);
    if (scratch)
        scratch_dirs_close(scratch);
    return status;
}

void program_self_test_release(struct program_self_test *test)
{
    free(test->says);
}
