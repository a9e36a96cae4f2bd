/* Tests writes when a turn ends, is canceled or runs out of time while the pool works on a question. Such work changes
 * no file, and the write gate closes before the turn is finalized. Most tests hold the write at a chosen step
 * (write_door.h). tests/cases has everything about writes that needs no such timing. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/fake_tools.h"
#include "support/test.h"
#include "support/turn_check.h"
#include "support/write_door.h"
#include "turn/turn.h"
#include <signal.h>
#include <sys/resource.h>

#define SECONDS(s) ((int64_t)((s)*1e6))

/* ---- a turn with a write that is held ---- */

static const char before[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
static const char after[] = "A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n";

static void approve_edited(struct turn_rig *rig, const struct question *question)
{
    struct change_set *version = change_set_copy(question->changes);
    change_side_set(&version->items[0].new, "mine\n", 5, 0644);
    struct intent mine = answer_edited(question, version);
    door_shut(rig, AT_COMPARING, door.held); /* from now on: opening the question compares too */
    turn_rig_submit(rig, &mine);
    change_set_free(version);
}

static void approve_all(struct turn_rig *rig, const struct question *question)
{
    door_shut(rig, AT_SAVING, door.held);
    turn_rig_say_yes(rig, question);
}

static void cancel_turn(void *rig)
{
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
}

/* More time than the turn has: the call times out, then the budget ends. Virtual time does not advance while a pool
 * thread is out. */
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
    CLEANUP(free) char *kept = NULL;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", before);
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", "a.txt");
    json_add_str(&w, "content", after);
    json_close(&w, '}');
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", text.buf);
    rig.answer = answer;
    door_shut(&rig, NOWHERE, held);
    /* The held write continues only when the turn is over. */
    engine_on_turn_end(rig.engine, door_open, NULL);
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
    kept = scratch_list(&rig.scratch, "checkpoints");
    assert_string_equal(kept, ""); /* a checkpoint that was made for it is useless */
    turn_check_end(&rig);
}

TEST(canceled_while_the_answer_is_checked)
{
    end_while_writing(approve_edited, cancel_turn, "cancelled");
}

TEST(canceled_while_the_checkpoint_is_made)
{
    end_while_writing(approve_all, cancel_turn, "cancelled");
}

TEST(budget_ends_while_the_answer_is_checked)
{
    end_while_writing(approve_edited, let_time_pass, "budget");
}

TEST(budget_ends_while_the_checkpoint_is_made)
{
    end_while_writing(approve_all, let_time_pass, "budget");
}

/* Writes that the gate refuses between the check and the commit */

/* The call is not settled: it is refused when its checkpoint exists, and then no event names that checkpoint. */
static void close_writes(void *data)
{
    struct turn_rig *rig = data;
    call_states_close_writes(&rig->engine->turn->tally.trace);
    door_open(NULL);
}

TEST(checkpoint_of_a_write_that_is_no_longer_accepted_is_removed)
{
    struct turn_rig rig;
    CLEANUP(free) char *content = NULL;
    CLEANUP(free) char *kept = NULL;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", before);
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\"}");
    rig.answer = approve_all;
    door_shut(&rig, NOWHERE, close_writes);
    turn_rig_turn(&rig, "write");
    assert_int_equal(door.passed, 1);
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:deadline");
    content = turn_rig_read(&rig, "a.txt");
    assert_string_equal(content, before);
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 0);
    kept = scratch_list(&rig.scratch, "checkpoints");
    assert_string_equal(kept, "");
    turn_check_end(&rig);
}

/* ---- the gate as the finalizer sees it ---- */

static int look_at_gate(void *data, const struct finalize_input *input, struct err *err)
{
    const struct turn *turn = (const struct turn *)((const char *)input - offsetof(struct turn, final_input));
    int *seen = data;
    (void)err;
    *seen = call_states_accepting_writes(&turn->tally.trace) ? -1 : *seen + 1;
    return 0;
}

enum ending { END_DONE, END_BUDGET, END_CANCEL, END_ERROR };

static void cancel_at_once(struct loop_task *task)
{
    struct turn_rig *rig = door.rig;
    free(task);
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
}

TEST(gate_is_closed_when_the_finalizer_runs)
{
    static const char *const statuses[] = {
        [END_DONE] = "done", [END_BUDGET] = "budget", [END_CANCEL] = "cancelled", [END_ERROR] = "failed"};
    for (int ending = END_DONE; ending <= END_ERROR; ending++) {
        struct turn_rig rig;
        int seen = 0;
        turn_rig_init(&rig);
        rig.config.hooks = (struct finalize_hooks){.data = &seen,
                                                   .decision = look_at_gate,
                                                   .memory = look_at_gate,
                                                   .learner = look_at_gate,
                                                   .judges = look_at_gate};
        if (ending == END_BUDGET)
            rig.config.limits.steps = 1;
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

/* ---- a question whose diff takes long ---- */

/* Runs a turn with two writes; the diff of the first keeps a pool thread busy for a while, and `act` happens then. */
struct big_diff {
    struct turn_rig rig;
    struct fake_tool tool;
    struct strbuf text;
    struct sink sink;
    struct loop_task task;
    int rounds;
    bool in_time; /* the diff was still in work; on a busy machine it may be faster than two rounds of the loop */
    void (*act)(struct big_diff *big);
};

static void act_soon(struct loop_task *task)
{
    struct big_diff *big = (struct big_diff *)((char *)task - offsetof(struct big_diff, task));
    if (big->rounds-- > 0) {
        loop_post(big->rig.loop, task, act_soon);
        return;
    }
    big->in_time = turn_rig_count(&big->rig, EVENT_WRITE_PROPOSED) == 0;
    big->act(big);
}

static void start_acting(struct sink *sink, const struct event *event, const struct session *session)
{
    struct big_diff *big = (struct big_diff *)((char *)sink - offsetof(struct big_diff, sink));
    (void)session;
    if (event->type == EVENT_TOOL_STARTED && strcmp(event->tool_started.call, "1") == 0) {
        big->rounds = 2; /* the call has proposed by then */
        loop_post(big->rig.loop, &big->task, act_soon);
    }
}

static void big_diff_run(struct big_diff *big, void (*act)(struct big_diff *big))
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    *big = (struct big_diff){.sink = {.event = start_acting}, .act = act, .text = STRBUF_INIT};
    turn_rig_init(&big->rig);
    for (unsigned i = 0; i < 60000; i++) {
        strbuf_addf(&old, "%u\n", i * 2654435761u);
        strbuf_addf(&big->text, "%u\n", (i + 7) * 2246822519u);
    }
    turn_rig_file(&big->rig, "big.txt", old.buf);
    fake_tool_init(&big->tool, "big", EFFECT_LOCAL_WRITE);
    big->tool.asks = FAKE_PROPOSES;
    big->tool.path = "big.txt";
    big->tool.text = big->text.buf;
    turn_rig_add_tool(&big->rig, &big->tool.tool);
    big->rig.config.clock_runs_while_asking = true;
    big->rig.config.limits.tool_cap_s = 10;
    big->rig.answer = turn_rig_say_no;
    big->rig.answer_after_us = SECONDS(1); /* once no thread is out any more */
    big->rig.sink.next = &big->sink;
    turn_rig_open(&big->rig);
    fake_answer_call(fake_provider_answer(big->rig.model), "1", "big", "{}");
    fake_answer_call(big->rig.model->answers.items[0], "2", "write_file", "{\"path\":\"small\",\"content\":\"s\"}");
    turn_rig_turn(&big->rig, "write");
}

static void big_diff_end(struct big_diff *big)
{
    turn_check_end(&big->rig);
    fake_tool_release(&big->tool);
    strbuf_release(&big->text);
}

static void cancel_big_diff(struct big_diff *big)
{
    turn_rig_submit(&big->rig, &(struct intent){.type = INTENT_CANCEL});
}

TEST(turn_that_ended_waits_for_the_diff_of_its_question)
{
    struct big_diff big;
    big_diff_run(&big, cancel_big_diff);
    assert_string_equal(turn_check_finished(&big.rig)->status, "cancelled");
    assert_int_equal(turn_rig_count(&big.rig, EVENT_WRITE_PROPOSED),
                     big.in_time ? 0 : 1); /* the question was not open yet */
    assert_int_equal(turn_rig_count(&big.rig, EVENT_WRITE_DECIDED), big.in_time ? 0 : 1);
    assert_string_equal(turn_check_outcome(&big.rig, "1"), "denied:write_denied");
    assert_string_equal(turn_check_outcome(&big.rig, "2"), "denied:blocked");
    big_diff_end(&big);
}

static void pass_time_of_big_diff(struct big_diff *big)
{
    fake_clock_advance(&big->rig.clock, SECONDS(10));
}

TEST(diff_of_an_expired_question_is_discarded)
{
    struct big_diff big;
    big_diff_run(&big, pass_time_of_big_diff);
    assert_string_equal(turn_check_outcome(&big.rig, "2"), "denied:write_denied");
    if (big.in_time) {
        assert_string_equal(turn_check_outcome(&big.rig, "1"), "timeout");
        assert_int_equal(turn_rig_count(&big.rig, EVENT_WRITE_PROPOSED), 1);
        assert_string_equal(turn_rig_event(&big.rig, EVENT_WRITE_PROPOSED, 0)->write_proposed.call, "2");
    }
    big_diff_end(&big);
}

/* ---- a second question about a write without undo ---- */

/* Cancels the turn while the second question is being made, or when it is open. */
static struct turn_rig *watched;
static bool caught; /* before its event */

static void cancel_second_question(struct loop_task *task)
{
    const struct question *question = watched->engine->turn ? watched->engine->turn->question : NULL;
    if (!question || !question->no_undo) {
        loop_post(watched->loop, task, cancel_second_question);
        return;
    }
    caught = question->state == Q_DIFFING;
    turn_rig_submit(watched, &(struct intent){.type = INTENT_CANCEL});
}

TEST(cancel_before_the_question_about_a_write_without_undo)
{
    struct turn_rig rig;
    struct loop_task task = {0};
    turn_rig_init(&rig);
    rig.config.interactive = true;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    scratch_remove(&rig.scratch, "checkpoints");
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    turn_rig_turn(&rig, "write");
    watched = &rig;
    struct intent intent = answer_yes(engine_question(rig.engine));
    turn_rig_submit(&rig, &intent);
    loop_post(rig.loop, &task, cancel_second_question);
    turn_rig_run(&rig);
    CLEANUP(free) char *content = turn_rig_read(&rig, "a.txt");
    assert_string_equal(content, "old\n");
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_PROPOSED), caught ? 1 : 2);
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_DECIDED), caught ? 1 : 2);
    assert_string_equal(turn_check_finished(&rig)->status, "cancelled");
    turn_check_end(&rig);
}

/* ---- undo ---- */

TEST(undo_is_refused_if_it_cannot_keep_the_replaced_bytes)
{
    struct turn_rig rig;
    struct rlimit usual;
    turn_rig_init(&rig);
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\"}");
    turn_rig_turn(&rig, "write");
    /* No file can grow any more. Removing a file needs no space; keeping its old content does. */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    struct rlimit none = usual;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    turn_check_do(&rig, INTENT_UNDO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    CLEANUP(free) char *content = turn_rig_read(&rig, "new.txt");
    assert_string_equal(content, "n");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_UNDONE), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_WORKSPACE_OP), 1);
    turn_check_end(&rig);
}
