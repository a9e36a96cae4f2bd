/* Measures scripts in the harness: a warm script, a new harness, the rate of events, and a flood of output.
 *
 * The floor of a warm request is a byte between two plain processes on two cores, and back. Two other ways to run a
 * piece of Python are printed for comparison: a loop in one Python process, which isolates nothing, and a Jupyter
 * kernel. */

#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include "event/emitter.h"
#include "event/journal.h"
#include "sandbox/box.h"
#include "sandbox/script.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOOLS  20
#define WARM   2000
#define PACED  500 /* at 100 a second */
#define EVENTS 200000

static char *dir, *tools, *workspace, *harness;

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bench_script: %s\n", what);
    exit(2);
}

/* ---- a program joined by its stdin and stdout ---- */

struct peer {
    pid_t pid;
    int in;
    FILE *out;
    char *line;
    size_t room;
};

static struct peer peer_start(const char *const *argv)
{
    struct peer peer = {0};
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        give_up("no pipes");
    peer.pid = fork();
    if (peer.pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    peer.in = to[1];
    peer.out = fdopen(from[0], "r");
    return peer;
}

static const char *peer_line(struct peer *peer)
{
    return getline(&peer->line, &peer->room, peer->out) < 0 ? NULL : peer->line;
}

static void peer_wait_for(struct peer *peer, const char *type)
{
    CLEANUP(free) char *mark = xasprintf("\"%s\"", type);
    const char *line;
    do {
        line = peer_line(peer);
        if (!line)
            give_up("the harness ended early");
    } while (!strstr(line, mark));
}

static void peer_end(struct peer *peer)
{
    close(peer->in);
    while (peer_line(peer))
        ;
    fclose(peer->out);
    waitpid(peer->pid, NULL, 0);
    free(peer->line);
}

static void peer_send(struct peer *peer, const char *text)
{
    if (file_write_all(peer->in, text, strlen(text)) < 0)
        give_up("the harness takes no request");
}

/* ---- what is measured ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double share(double *values, size_t count, double at)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[(size_t)((double)(count - 1) * at)];
}

static const char request[] =
    "{\"execution_id\":\"e\",\"script\":\"emit_result(1)\",\"timeout\":10,\"mode\":\"PLAN\"}\n";

static double ask(struct peer *peer)
{
    double start = bench_now_s();
    peer_send(peer, request);
    peer_wait_for(peer, "script_done");
    return (bench_now_s() - start) * 1e6;
}

static void pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

/* Returns the median round trip of a byte to another process, in µs. */
static double ping_pong(void)
{
    double *times = xcalloc(WARM, sizeof(*times));
    int to[2], from[2];
    cpu_set_t all;
    char byte = 0;
    sched_getaffinity(0, sizeof(all), &all);
    if (pipe(to) < 0 || pipe(from) < 0)
        give_up("no pipes");
    pid_t pid = fork();
    if (pid == 0) {
        pin(1);
        close(to[1]);
        while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1)
            ;
        _exit(0);
    }
    pin(0);
    for (int i = 0; i < WARM; i++) {
        double start = bench_now_s();
        if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
            give_up("the pipe broke");
        times[i] = (bench_now_s() - start) * 1e6;
    }
    sched_setaffinity(0, sizeof(all), &all);
    close(to[0]);
    close(to[1]);
    close(from[0]);
    close(from[1]);
    waitpid(pid, NULL, 0);
    double median = share(times, WARM, 0.5);
    free(times);
    return median;
}

static const char *const *harness_argv(void)
{
    static const char *argv[6];
    argv[0] = harness;
    argv[1] = "--tools";
    argv[2] = tools;
    argv[3] = "--workspace";
    argv[4] = workspace;
    return argv;
}

/* Returns the median of consecutive requests. */
static double back_to_back(struct peer *peer, int count)
{
    double *times = xcalloc((size_t)count, sizeof(*times));
    for (int i = 0; i < count; i++)
        times[i] = ask(peer);
    double median = share(times, (size_t)count, 0.5);
    free(times);
    return median;
}

static void measure_warm(void)
{
    struct peer peer = peer_start(harness_argv());
    double paced[PACED], floor = ping_pong();
    peer_wait_for(&peer, "ready");
    for (int i = 0; i < PACED; i++) {
        struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
        nanosleep(&pause, NULL);
        paced[i] = ask(&peer);
    }
    double median = share(paced, PACED, 0.5);
    bench_report("script-warm", median, "us", 4 * floor + 250, 1);
    bench_report("script-warm-p99", share(paced, PACED, 0.99), "us", median, 4);
    bench_note("script-back-to-back", back_to_back(&peer, PACED), "us");
    peer_end(&peer);
}

/* For the reader; no limit. */
static void measure_others(void)
{
    CLEANUP(free) char *plain = xasprintf("%s/tests/bench/plain_harness.py", SOURCE_DIR);
    CLEANUP(free) char *jupyter = xasprintf("%s/tests/bench/jupyter_kernel.py", SOURCE_DIR);
    struct peer peer = peer_start((const char *const[]){"/usr/bin/python3", "-I", plain, NULL});
    double median;
    peer_wait_for(&peer, "ready");
    back_to_back(&peer, 50);
    bench_note("script-plain-python", back_to_back(&peer, WARM), "us");
    peer_end(&peer);
    peer = peer_start((const char *const[]){"/usr/bin/python3", jupyter, NULL});
    const char *line = peer_line(&peer);
    if (line && sscanf(line, "%lf", &median) == 1)
        bench_note("script-jupyter-kernel", median, "us");
    else
        printf("# no Jupyter kernel to compare with (python3-ipykernel)\n");
    peer_end(&peer);
}

static void start_harness(void *none)
{
    struct peer peer = peer_start(harness_argv());
    (void)none;
    peer_wait_for(&peer, "ready");
    kill(peer.pid, SIGKILL);
    peer_end(&peer);
}

static void start_python(void *none)
{
    (void)none;
    if (bench_run_program((const char *const[]){"/usr/bin/python3", "-I", "-c", "import asyncio, json", NULL}, 0) < 0)
        give_up("there is no python3");
}

/* ---- through sandbox, executor and journal ---- */

struct through {
    struct loop *loop;
    struct box *box;
    struct script_run *run;
    struct emitter emitter;
    struct journal *journal; /* NULL: events are not recorded */
    struct script_request request;
    double began, ended; /* of the script */
    bool success;
    size_t events, output_bytes;
};

/* As the turn does it. */
static int on_events(struct emitter *emitter, struct event *events, size_t count)
{
    struct through *t = CONTAINER_OF(emitter, struct through, emitter);
    t->events += count;
    if (t->journal && journal_append_all(t->journal, events, count, NULL) < 0)
        give_up("cannot write the journal");
    return 0;
}

static void on_done(void *user, struct script_result *take_result)
{
    struct through *t = user;
    t->ended = bench_now_s();
    t->success = take_result->success;
    t->output_bytes = take_result->output_bytes;
    script_result_release(take_result);
    box_free(t->box);
}

static void on_ready(void *user, struct box *box, const struct json *ready)
{
    struct through *t = user;
    struct script_listener listener = {.done = on_done, .user = t};
    (void)ready;
    t->began = bench_now_s();
    t->emitter = (struct emitter){.emit = on_events};
    t->request.emitter = &t->emitter;
    t->request.call = "c1";
    t->run = script_run_start(t->loop, box_channel(box), &t->request, &listener);
}

static void on_gone(void *user, struct box *box, const char *why)
{
    (void)user;
    (void)box;
    give_up(why);
}

static void run_through(struct through *t, const struct sandbox_engine *engine)
{
    struct box_options spec = {.engine = engine, .harness = harness, .tools = tools, .workspace = workspace};
    struct box_listener listener = {.ready = on_ready, .gone = on_gone, .user = t};
    t->loop = loop_new(clock_system());
    t->box = box_start(t->loop, &spec, "keyturn-bench", &listener, NULL);
    if (!t->box)
        give_up("no box");
    loop_run(t->loop);
    loop_free(t->loop);
}

/* Returns the seconds a plain Python program needs to print the same lines to this process. */
static double print_plainly(void)
{
    CLEANUP(free)
    char *program = xasprintf(
        "import json\nfor i in range(%d):\n    print(json.dumps({'type': 'intermediate', 'execution_id': 'e', "
        "'label': 'step', 'data': i}))\nprint('end')",
        EVENTS);
    struct peer peer = peer_start((const char *const[]){"/usr/bin/python3", "-I", "-c", program, NULL});
    const char *line = peer_line(&peer);
    double began = bench_now_s();
    while (line && strcmp(line, "end\n") != 0)
        line = peer_line(&peer);
    double took = bench_now_s() - began;
    peer_end(&peer);
    return took;
}

static void measure_events(const struct sandbox_engine *engine)
{
    CLEANUP(free)
    char *script = xasprintf("for i in range(%d):\n    emit_intermediate('step', i)\nemit_result(1)", EVENTS);
    CLEANUP(free) char *path = xasprintf("%s/journal.jsonl", dir);
    double value = 1e9, floor = 1e9;
    for (int i = 0; i < 5; i++) {
        struct through t = {.request = {.script = script, .mode = SCRIPT_PLAN, .max_output_bytes = 1u << 30}};
        double plain = print_plainly();
        unlink(path);
        t.journal = journal_create(path, clock_system(), NULL);
        run_through(&t, engine);
        journal_close(t.journal);
        if (!t.success || t.events < EVENTS)
            give_up("events were lost");
        value = t.ended - t.began < value ? t.ended - t.began : value;
        floor = plain < floor ? plain : floor;
    }
    bench_report("script-events", value * 1e3, "ms", floor * 1e3, 1);
}

/* A gigabyte of text must not grow the memory here. The real harness would stop much earlier, so this one is fake. */
static void measure_flood(void)
{
    static const char definition[] =
        "{\"flood\":{\"about\":\"floods\",\"argv\":[\"sh\",\"-c\",\"echo '{{\\\"type\\\":\\\"ready\\\"}}'; read "
        "request; "
        "exec yes {{\\\"type\\\":\\\"log\\\",\\\"execution_id\\\":\\\"e\\\",\\\"message\\\":\\\"a line of "
        "text\\\"}}\"]}}";
    struct through t = {.request = {.script = "", .mode = SCRIPT_PLAN, .timeout_s = 300, .max_output_bytes = 1u << 30}};
    struct sandbox_engines engines = {0};
    if (sandbox_engines_read(&engines, definition, sizeof(definition) - 1, true, NULL) < 0)
        give_up("the false engine cannot be read");
    int64_t before = bench_private_bytes();
    run_through(&t, &engines.items[0]);
    if (t.success || t.output_bytes < 1u << 30)
        give_up("that was no flood");
    bench_report_max("script-flood-memory", (double)(bench_private_bytes() - before) / 1e6, "MB", 4);
    sandbox_engines_release(&engines);
}

static void make_tools(void)
{
    for (int i = 0; i < TOOLS; i++) {
        CLEANUP(free) char *path = xasprintf("%s/tool%02d.py", tools, i);
        CLEANUP(free)
        char *text =
            xasprintf("def tool%02d(x):\n    \"\"\"A tool.\"\"\"\n    return ToolResult(True, x, 'fine')\n", i);

        if (file_replace(path, text, strlen(text), 0644, NULL) < 0)
            give_up("no tools");
    }
}

int main(void)
{
    CLEANUP(free) char *here = file_program_dir();
    struct sandbox_engines engines;
    signal(SIGPIPE, SIG_IGN);
    dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    tools = xasprintf("%s/tools", dir);
    workspace = xasprintf("%s/workspace", dir);
    harness = xasprintf("%s/../keyturn-harness", here);
    if (file_mkdirs(tools, 0755, NULL) < 0 || file_mkdirs(workspace, 0700, NULL) < 0)
        give_up("no folder");
    make_tools();
    measure_warm();
    measure_others();
    struct bench_pair pair = bench_compare(15, start_harness, start_python, NULL);
    bench_report("harness-cold", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.3);
    if (sandbox_engines_load(&engines, NULL, NULL) < 0)
        return 2;
    measure_events(sandbox_engines_find(&engines, "bwrap"));
    measure_flood();
    sandbox_engines_release(&engines);
    if (file_remove_tree(dir, NULL) < 0)
        return 2;
    free(dir);
    free(tools);
    free(workspace);
    free(harness);
    return bench_status();
}
