#include "trial.h"
#include "base/arena.h"
#include "base/child.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/rooms.h"
#include <stdio.h>
#include <string.h>

#define LIMIT_S     20
#define SCRIPT_S    10
#define OUTER_MB    256u /* limits that are small enough to be reached soon */
#define OUTER_PIDS  24u
#define SECOND_US   INT64_C(1000000)
#define NAME_FORMAT "keyturn-try-%s-%d%s"

/* What must not work. Each answers with how it was refused, or null when it was not. */
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

/* The engine's limits alone. The processes first: whoever holds the memory limit kills the script. */
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

static void begin_box(struct trial *trial);

static void tell(struct loop_task *task)
{
    struct trial *trial = CONTAINER_OF(task, struct trial, telling);
    trial->tried(trial->user);
}

static void end_box(struct trial *trial)
{
    loop_timer_stop(trial->loop, &trial->limit);
    box_free(trial->box);
    trial->box = NULL;
    free(trial->room);
    trial->room = NULL;
}

static void finish(struct trial *trial, enum trial_verdict verdict)
{
    end_box(trial);
    trial->verdict = verdict;
    trial->over = true;
    loop_post(trial->loop, &trial->telling, tell);
}

/* "a, b and c" */
static void add_to_list(struct strbuf *list, const char *name)
{
    strbuf_addf(list, "%s%s", list->len ? ", " : "", name);
}

static void tell_layers(struct trial *trial)
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

/* What the engine says although it works: a limit that it leaves out, above all. */
static void tell_complaints(struct trial *trial)
{
    const char *text = box_complaints(trial->box);
    size_t len = strcspn(text, "\n");
    if (len)
        strbuf_addf(&trial->text, "; %s says: %.*s", trial->engine->name, (int)(len < 200 ? len : 200), text);
}

static void inner_done(struct trial *trial, const struct script_result *result)
{
    if (!result->success) {
        strbuf_addf(&trial->text, "a script in it fails: %s", result->error);
        finish(trial, TRIAL_FAILED);
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
    trial->verdict = open.len || !held.len ? TRIAL_WEAK : TRIAL_WORKS;
    if (!sandbox_engine_uses(trial->engine, "pids")) {
        finish(trial, trial->verdict);
        return;
    }
    end_box(trial);
    trial->outer = true;
    begin_box(trial);
}

/* Killed by the engine is what ought to happen to the memory. */
static void outer_done(struct trial *trial, const struct script_result *result)
{
    bool processes = false, memory = true;
    for (size_t i = 0; i < result->intermediate_count; i++)
        processes |= result->intermediates[i].data[0] == '"';
    if (result->success)
        memory = result->final_data && result->final_data[0] == '"';
    if (processes && memory)
        strbuf_addstr(&trial->text, "; its own limits on memory and processes hold");
    else
        strbuf_addf(&trial->text, "; it IGNORES its limit on %s: only the harness's own holds",
                    processes ? "memory"
                    : memory  ? "processes"
                              : "memory and processes");
    finish(trial, trial->verdict == TRIAL_WORKS && processes && memory ? TRIAL_WORKS : TRIAL_WEAK);
}

static void on_done(void *user, struct script_result *result)
{
    struct trial *trial = user;
    trial->run = NULL;
    if (trial->ended)
        loop_stop(trial->loop);
    else if (trial->outer)
        outer_done(trial, result);
    else
        inner_done(trial, result);
}

static void on_ready(void *user, struct box *box, const struct json *ready)
{
    (void)ready;
    struct trial *trial = user;
    CLEANUP(free)
    char *script = trial->outer ? xasprintf(outer_script, OUTER_PIDS + 8, 2 * OUTER_MB)
                                : xasprintf(inner_script, 2 * BOX_MEMORY_MB);
    struct script_request request = {.script = script, .timeout_s = SCRIPT_S};
    struct script_listener listener = {.done = on_done, .user = trial};
    if (!trial->outer) {
        trial->ready_ms = (loop_now_us(trial->loop) - trial->started_us) / 1000;
        trial->layers = xstrdup(box_layers(box));
    }
    trial->run = script_run_start(trial->loop, box_channel(box), &request, &listener);
}

static void on_gone(void *user, struct box *box, const char *why)
{
    struct trial *trial = user;
    if (trial->run)
        return; /* which hears of it too */
    if (trial->outer) {
        strbuf_addf(&trial->text, "; its own limits could not be tried: %s", why);
        finish(trial, trial->verdict);
        return;
    }
    strbuf_addf(&trial->text, box_is_missing(box) ? "not installed (%s)" : "%s", why);
    finish(trial, TRIAL_FAILED);
}

static void too_long(struct loop_timer *timer)
{
    struct trial *trial = CONTAINER_OF(timer, struct trial, limit);
    if (trial->run) {
        script_run_cancel(trial->run, "it takes too long"); /* `done` follows */
        return;
    }
    strbuf_addf(&trial->text, "does not answer within %d s", LIMIT_S);
    finish(trial, TRIAL_FAILED);
}

/* The engine's own vector, or the same with the harness's layers off. */
static void begin_box(struct trial *trial)
{
    struct err err = ERR_INIT;
    struct box_spec spec = trial->spec;
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
    spec.folder = trial->room = rooms_make(trial->rooms, name, &err);
    if (sandbox_engine_uses(&engine, "workspace"))
        spec.workspace = trial->room;
    trial->started_us = loop_now_us(trial->loop);
    loop_timer_start(trial->loop, &trial->limit, trial->started_us + LIMIT_S * SECOND_US, too_long);
    struct box_listener listener = {.ready = on_ready, .gone = on_gone, .user = trial};
    if (!err.text[0])
        trial->box = box_start(trial->loop, &spec, name, &listener, &err);
    if (trial->box)
        return;
    strbuf_addf(&trial->text, "%s", err.text);
    finish(trial, TRIAL_FAILED);
}

void trial_start(struct trial *trial, struct loop *loop, struct rooms *rooms, const struct box_spec *spec, bool named,
                 void (*tried)(void *user), void *user)
{
    *trial = (struct trial){
        .engine = spec->engine, .loop = loop, .rooms = rooms, .spec = *spec, .tried = tried, .user = user};
    strbuf_init(&trial->text);
    CLEANUP(free) char *program = child_find_program(spec->engine->argv[0], NULL);
    if (!spec->engine->remote || named) {
        begin_box(trial);
        return;
    }
    if (program)
        strbuf_addf(&trial->text, "%s; not tried, since it runs elsewhere (keyturn engines NAME tries it)",
                    spec->engine->about);
    else
        strbuf_addf(&trial->text, "not installed (%s is not in PATH)", spec->engine->argv[0]);
    finish(trial, program ? TRIAL_UNTRIED : TRIAL_FAILED);
}

void trial_end(struct trial *trial)
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
