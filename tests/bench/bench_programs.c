/* Measures a program in a warm workspace, from the call to its result, against the same bubblewrap command without
 * Keyturn. */

#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "bench.h"
#include "sandbox/engines_program.h"
#include "support/program_rig.h"
#include "workspace/workspace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 40

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

int main(void)
{
    measure("program-bwrap", "bwrap");
    measure("program-none", "none");
    return bench_status();
}
