/* The write gate is closed before anything is finalized, however the turn ends (D47), and a write that is on its way when
 * the turn ends lands nowhere. The write is held at a place of the test's choosing: in the comparison that working out a
 * partial answer needs, or in the making of its checkpoint's folder. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/comparing.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include "turn/turn.h"
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a place where a pool thread can be held ---- */

enum where { NOWHERE, AT_COMPARING, AT_SAVING };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    enum where where;
    bool open;
    struct turn_rig *rig;
    void (*held)(void *rig); /* on the loop, once a thread is held */
    atomic_int passed;
} door = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void pass(enum where where)
{
    pthread_mutex_lock(&door.lock);
    if (door.where == where && !door.open) {
        loop_post_from_thread(door.rig->loop, door.held, door.rig);
        while (!door.open)
            pthread_cond_wait(&door.change, &door.lock);
        atomic_fetch_add(&door.passed, 1);
    }
    pthread_mutex_unlock(&door.lock);
}

static void open_door(void *rig)
{
    (void)rig;
    pthread_mutex_lock(&door.lock);
    door.open = true;
    pthread_cond_broadcast(&door.change);
    pthread_mutex_unlock(&door.lock);
}

static void before_comparing(void)
{
    pass(AT_COMPARING);
}

int mkdir(const char *path, mode_t mode)
{
    if (strstr(path, "/cp_"))
        pass(AT_SAVING);
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* ---- a turn with a write that is held ---- */

static const char before[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
static const char after[] = "A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n";

static void approve_part(struct turn_rig *rig, const struct question *question)
{
    pthread_mutex_lock(&door.lock);
    door.where = AT_COMPARING; /* from now on: the question itself is shown with a comparison too */
    pthread_mutex_unlock(&door.lock);
    turn_rig_submit(rig, &(struct intent){.type = INTENT_APPROVE,
                                          .approve = {.ask = question->ask,
                                                      .digest = question->digest,
                                                      .hunks = "[{\"path\":\"a.txt\",\"keep\":[1],\"of\":2}]"}});
}

static void approve_all(struct turn_rig *rig, const struct question *question)
{
    pthread_mutex_lock(&door.lock);
    door.where = AT_SAVING;
    pthread_mutex_unlock(&door.lock);
    turn_rig_say_yes(rig, question);
}

static void cancel_turn(void *rig)
{
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
}

/* More than the turn has: the call times out, and after it the budget has ended. Virtual time does not pass by itself
 * while a pool thread is out. */
static void let_time_pass(void *data)
{
    struct turn_rig *rig = data;

    fake_clock_advance(&rig->clock, (int64_t)600 * 1000000);
}

static void end_while_writing(void (*answer)(struct turn_rig *, const struct question *), void (*held)(void *rig),
                              const char *status)
{
    struct turn_rig rig;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    CLEANUP(free) char *content = NULL;
    CLEANUP(free) char *left = NULL;

    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", before);
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", "a.txt");
    json_add_str(&w, "content", after);
    json_close(&w, '}');
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", text.buf);
    rig.answer = answer;
    door.where = NOWHERE;
    door.open = false;
    door.rig = &rig;
    door.held = held;
    door.passed = 0;
    /* Only when the whole turn is over may the write go on. */
    engine_on_turn_end(rig.engine, open_door, &rig);
    turn_rig_turn(&rig, "write");

    assert_int_equal(door.passed, 1);
    assert_string_equal(turn_check_finished(&rig)->status, status);
    content = turn_rig_read(&rig, "a.txt");
    assert_string_equal(content, before);
    left = scratch_list(&rig.scratch, "work");
    assert_string_equal(left, "a.txt");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_APPLIED), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_LATE_SUPPRESSED), 1);
    assert_true(turn_check_place(&rig, EVENT_LATE_SUPPRESSED, "w", 0) >
                turn_check_place(&rig, EVENT_TURN_FINISHED, NULL, 0));
    turn_check_end(&rig);
}

static void test_cancelled_while_the_answer_is_checked(void **state)
{
    (void)state;
    end_while_writing(approve_part, cancel_turn, "cancelled");
}

static void test_cancelled_while_the_checkpoint_is_made(void **state)
{
    (void)state;
    end_while_writing(approve_all, cancel_turn, "cancelled");
}

static void test_budget_ends_while_the_answer_is_checked(void **state)
{
    (void)state;
    end_while_writing(approve_part, let_time_pass, "budget");
}

static void test_budget_ends_while_the_checkpoint_is_made(void **state)
{
    (void)state;
    end_while_writing(approve_all, let_time_pass, "budget");
}

/* ---- the gate as the finalizer sees it ---- */

static int look_at_gate(void *data, const struct finalize_input *input, struct err *err)
{
    const struct turn *turn = (const struct turn *)((const char *)input - offsetof(struct turn, final_input));
    int *seen = data;

    (void)err;
    *seen = trace_accepting_writes(&turn->state.trace) ? -1 : *seen + 1;
    return 0;
}

enum ending { END_DONE, END_BUDGET, END_CANCEL, END_ERROR };

static void cancel_at_once(struct loop_task *task)
{
    struct turn_rig *rig = door.rig;

    free(task);
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
}

static void test_gate_is_closed_when_the_finalizer_runs(void **state)
{
    static const char *const statuses[] = {
        [END_DONE] = "done", [END_BUDGET] = "budget", [END_CANCEL] = "cancelled", [END_ERROR] = "failed"};

    (void)state;
    for (int ending = END_DONE; ending <= END_ERROR; ending++) {
        struct turn_rig rig;
        int seen = 0;

        turn_rig_init(&rig);
        rig.harness.hooks = (struct finalize_hooks){.data = &seen,
                                                    .decision = look_at_gate,
                                                    .memory = look_at_gate,
                                                    .learner = look_at_gate,
                                                    .judges = look_at_gate};
        if (ending == END_BUDGET)
            rig.harness.limits.steps = 1;
        turn_rig_open(&rig);
        turn_rig_file(&rig, "a.txt", before);
        if (ending == END_BUDGET)
            fake_answer_call(fake_provider_answer(rig.model), "r", "read_file", "{\"path\":\"a.txt\"}");
        if (ending == END_ERROR) {
            struct fake_answer *a = fake_provider_answer(rig.model);

            a->error = "no such model";
        }
        turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
        if (ending == END_CANCEL) {
            door.rig = &rig;
            loop_post(rig.loop, xcalloc(1, sizeof(struct loop_task)), cancel_at_once);
        }
        turn_rig_run(&rig);
        assert_string_equal(turn_check_finished(&rig)->status, statuses[ending]);
        assert_true(seen > 0);
        turn_check_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancelled_while_the_answer_is_checked),
        cmocka_unit_test(test_cancelled_while_the_checkpoint_is_made),
        cmocka_unit_test(test_budget_ends_while_the_answer_is_checked),
        cmocka_unit_test(test_budget_ends_while_the_checkpoint_is_made),
        cmocka_unit_test(test_gate_is_closed_when_the_finalizer_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
