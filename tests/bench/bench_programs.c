/* Measures a program in a warm workspace, from the call to its result, against the same bubblewrap command without
 * Keyturn. Also the time from a call to its result in a recording, when the model takes 100 ms between commands. */

#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "bench.h"
#include "sandbox/engines_program.h"
#include "support/program_rig.h"
#include "support/runtime_rig.h"
#include "workspace/workspace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 40

#define TURNS    6
#define CALLS    8
#define THINK_US 100000

static struct program_rig rig;
static char **by_hand;

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "bench_programs: %s\n", why);
    exit(2);
}

static void run_program(void *none)
{
    struct err err = ERR_INIT;
    (void)none;
    if (!program_rig_run(&rig, &(struct program_spec){.cmd = "/bin/true"}, &err) || rig.result.end.exit_code != 0)
        give_up(err.text[0] ? err.text : "it fails");
}

static void run_by_hand(void *none)
{
    (void)none;
    if (bench_run_program((const char *const *)by_hand, 0) < 0)
        give_up("there is no bubblewrap");
}

/* Our own argument vector up to the launcher, then the program itself. */
static void make_floor(const struct sandbox_engine *engine)
{
    /* Bubblewrap gets small files of /etc through descriptors; this run leaves them out. */
    struct sandbox_program plain = *engine->program;
    struct sandbox_engine bare = *engine;
    plain.etc = NULL;
    bare.program = &plain;
    struct program_vector vector = {
        .engine = &bare, .workspace = rig.ws->path, .name = "bench", .argv = (const char *const[]){"x", NULL}};
    size_t i = 0;
    by_hand = sandbox_program_argv(&vector, false, NULL);
    for (i = 0; by_hand[i] && strcmp(by_hand[i], "/run/keyturn-launch") != 0; i++)
        ;
    for (i++; by_hand[i] && strcmp(by_hand[i], "/run/keyturn-launch") != 0; i++)
        ;
    if (!by_hand[i])
        give_up("the vector has changed");
    free(by_hand[i]);
    by_hand[i] = xstrdup("/bin/true");
    for (i++; by_hand[i]; i++) {
        free(by_hand[i]);
        by_hand[i] = NULL;
    }
}

static void measure(const char *name, const char *engine_name)
{
    struct sandbox_engines engines;
    program_rig_open(&rig, engine_name, NULL);
    if (sandbox_engines_load(&engines, NULL, NULL))
        give_up("no engines");
    make_floor(sandbox_engines_find(&engines, "bwrap"));
    struct bench_pair pair = bench_compare(ROUNDS, run_program, run_by_hand, NULL);
    if (strcmp(engine_name, "bwrap") == 0)
        bench_report(name, pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 2.5);
    else
        bench_note(name, pair.value_s * 1e3, "ms");
    argv_free(by_hand);
    sandbox_engines_release(&engines);
    program_rig_close(&rig);
}

/* ---- the gap ---- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

/* Milliseconds from tool.started to tool.finished of each call of the turn. */
static void run_turn(struct runtime_rig *session, int turn, double gaps[CALLS])
{
    for (int i = 0; i < CALLS; i++) {
        CLEANUP(free) char *call = xasprintf("t%d-%d", turn, i);
        struct fake_answer *answer = fake_provider_answer(session->turn.model);
        answer->takes_us = THINK_US;
        fake_answer_call(answer, call, "workspace_exec", "{\"command\":\"true\"}");
    }
    size_t seen = session->turn.event_count, count = 0;
    int64_t started = 0;
    runtime_rig_turn(session);
    for (size_t i = seen; i < session->turn.event_count && count < CALLS; i++) {
        const struct event *event = &session->turn.events[i];
        if (event->type == EVENT_TOOL_STARTED)
            started = event->t;
        else if (event->type == EVENT_TOOL_FINISHED)
            gaps[count++] = (double)(event->t - started) / 1e3;
    }
    if (count != CALLS)
        give_up("a command fails");
}

/* By hand and in the session in turns, so that a busy moment hits both. */
static void measure_gap(void)
{
    double gaps[TURNS * CALLS], floors[TURNS * CALLS];
    struct runtime_rig session;
    struct sandbox_engines engines;
    if (sandbox_engines_load(&engines, NULL, NULL))
        give_up("no engines");
    program_rig_open(&rig, "bwrap", NULL);
    make_floor(sandbox_engines_find(&engines, "bwrap"));
    runtime_rig_init(&session);
    runtime_rig_open(&session);
    run_turn(&session, 0, gaps); /* the first command starts cold */
    for (int turn = 0; turn < TURNS; turn++) {
        run_turn(&session, turn + 1, gaps + (ptrdiff_t)turn * CALLS);
        for (int i = 0; i < CALLS; i++) {
            double before = bench_now_s();
            run_by_hand(NULL);
            floors[turn * CALLS + i] = (bench_now_s() - before) * 1e3;
        }
    }
    bench_report("program-gap", median(gaps, COUNT_OF(gaps)), "ms", median(floors, COUNT_OF(floors)), 0.6);
    runtime_rig_release(&session);
    argv_free(by_hand);
    sandbox_engines_release(&engines);
    program_rig_close(&rig);
}

int main(void)
{
    measure_gap();
    measure("program-bwrap", "bwrap");
    measure("program-none", "none");
    return bench_status();
}
