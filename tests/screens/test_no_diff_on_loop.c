/* Tests that no files are compared on the loop while the workbench shows a question and takes its answers: a large file
 * would freeze the screen. The whole workbench runs, with an engine, real files and keys. A stand-in for the compare
 * function counts the comparisons. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/comparing.h"
#include "support/screen_rig.h"
#include "support/screen_stage.h"
#include "support/test.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int on_pool, on_loop;
static pthread_t loop_thread;

static void before_comparing(void)
{
    atomic_fetch_add(pthread_equal(pthread_self(), loop_thread) ? &on_loop : &on_pool, 1);
}

/* Runs the script; expects this many comparisons, none of them on the loop. */
static void run(const char *script, int times, const char *intent)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    loop_thread = pthread_self();
    on_pool = on_loop = 0;
    screen_source = SOURCE_DIR;
    screen_rig_run(&out, SOURCE_DIR "/tests/screens/cases", script, 120, 40);
    if (!strstr(out.buf, intent))
        fail_msg("nothing says \"%s\":\n%s", intent, out.buf);
    assert_int_equal(on_loop, 0);
    assert_int_equal(on_pool, times);
}

TEST(approving_computes_no_diff_on_the_loop)
{
    run("fixture edited-approval\nlive\nkeys y\n", 1, "intent approve everything");
}

TEST(choosing_hunks_computes_no_diff_on_the_loop)
{
    run("fixture partial-approval\nlive\nkeys ] Space [ y\n", 1, "intent approve [");
}

/* The proposal, the user's version, and both with each other for the model. */
TEST(the_users_own_version)
{
    run("fixture edited-approval\nlive\neditor A description of my own\\n\nkeys e y\n", 3, ", edited");
}

TEST(the_users_own_version_without_a_hunk)
{
    run("fixture edited-approval\nlive\neditor A description of my own\\n\nkeys e Space y\n", 2, "intent revise");
}

/* The same, and the result for the model once more. */
TEST(a_question_about_undo_computes_no_diff_on_the_loop)
{
    run("fixture edited-approval\nlive\nno-undo\neditor A description of my own\\n\nkeys e y\nwait 1\nkeys y\n", 4,
        ", edited");
}

TEST(a_repeated_question_computes_no_diff_on_the_loop)
{
    run("fixture partial-approval\nlive\nfile TODO.md # To do\\n\nkeys y\nwait 1\nkeys y\n", 2,
        "intent approve everything");
}
