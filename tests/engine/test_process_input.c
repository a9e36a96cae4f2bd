/* Tests typing into programs and killing them by key: recorded before it is done, refused with a reason if it cannot be
 * done. */

#include "base/mem.h"
#include "support/fake_tools.h"
#include "support/test.h"
#include "support/turn_check.h"
#include "turn/turn.h"
#include "workspace/program_control.h"
#include <string.h>

/* A fake owner of programs: records its calls and the number of events at that time. */
struct fake_programs {
    struct program_control control;
    struct turn_rig *rig;
    const char *busy; /* why the program takes no input; NULL: it takes input */
    bool hides;
    struct strbuf log;
};

static struct fake_programs *programs_of(struct program_control *control)
{
    return (struct fake_programs *)control;
}

static int fake_ready(struct program_control *control, const char *program, struct err *err)
{
    (void)program;
    return programs_of(control)->busy ? err_set(err, "%s", programs_of(control)->busy) : 0;
}

static void fake_write(struct program_control *control, const char *program, const char *text, size_t len)
{
    struct fake_programs *programs = programs_of(control);
    strbuf_addf(&programs->log, "%s<%.*s (%zu recorded)", program, (int)len, text,
                turn_rig_count(programs->rig, EVENT_PROGRAM_INPUT));
}

static bool fake_hides(struct program_control *control, const char *program)
{
    (void)program;
    return programs_of(control)->hides;
}

static int fake_kill(struct program_control *control, const char *program, struct err *err)
{
    (void)err;
    strbuf_addf(&programs_of(control)->log, "kill %s", program);
    return 0;
}

struct process_input {
    struct turn_rig rig;
    struct fake_tool look;
    struct fake_programs programs;
};

static void process_input_init(struct process_input *typing)
{
    struct turn_rig *rig = &typing->rig;
    turn_rig_init(rig);
    typing->programs = (struct fake_programs){
        .control = {.ready = fake_ready, .write = fake_write, .hides = fake_hides, .kill = fake_kill},
        .rig = rig,
        .log = STRBUF_INIT};
    fake_tool_init(&typing->look, "look", EFFECT_READ_ONLY);
    turn_rig_add_tool(rig, &typing->look.tool);
    rig->config.interactive = true;
    rig->config.programs = &typing->programs.control;
    turn_rig_open(rig);
    fake_answer_call(fake_provider_answer(rig->model), "c1", "look", "{}");
    fake_provider_answer(rig->model)->text = "done";
}

static void process_input_end(struct process_input *typing)
{
    turn_check_end(&typing->rig);
    fake_tool_release(&typing->look);
    strbuf_release(&typing->programs.log);
}

static void tell(struct process_input *typing, struct event event)
{
    assert_int_equal(emit(engine_emitter(typing->rig.engine), &event), 0);
}

static void start(struct process_input *typing)
{
    tell(typing, (struct event){.type = EVENT_PROGRAM_STARTED, .program_started = {.program = "p1", .cmd = "sh"}});
}

static const char *type(struct process_input *typing, const char *program, const char *text)
{
    return turn_check_submit(&typing->rig,
                             &(struct intent){.type = INTENT_PROGRAM_INPUT, .program_input = {program, text}});
}

static const char *kill_it(struct process_input *typing, const char *program)
{
    return turn_check_submit(&typing->rig, &(struct intent){.type = INTENT_PROGRAM_KILL, .program_kill = {program}});
}

TEST(input_is_recorded_before_it_is_written)
{
    struct process_input typing;
    process_input_init(&typing);
    start(&typing);
    assert_string_equal(type(&typing, "p1", "yes\n"), "");
    assert_string_equal(typing.programs.log.buf, "p1<yes\n (1 recorded)");
    const struct event *event = turn_rig_event(&typing.rig, EVENT_PROGRAM_INPUT, 0);
    assert_string_equal(event->program_input.text, "yes\n");
    assert_string_equal(event->program_input.by, "key");
    assert_int_equal(event->turn, 0);
    process_input_end(&typing);
}

/* A password goes only to the program; a key is not recorded as text. */
TEST(input_without_echo_is_not_recorded)
{
    struct process_input typing;
    process_input_init(&typing);
    start(&typing);
    typing.programs.hides = true;
    assert_string_equal(type(&typing, "p1", "open sesame\n"), "");
    assert_string_equal(type(&typing, "p1", "\x03"), "");
    assert_string_equal(typing.programs.log.buf, "p1<open sesame\n (1 recorded)p1<\x03 (2 recorded)");
    assert_string_equal(turn_rig_event(&typing.rig, EVENT_PROGRAM_INPUT, 0)->program_input.text, "[not echoed]\n");
    assert_string_equal(turn_rig_event(&typing.rig, EVENT_PROGRAM_INPUT, 1)->program_input.text, "\x03");
    process_input_end(&typing);
}

TEST(input_is_accepted_at_a_gate)
{
    struct process_input typing;
    struct held_view held;
    process_input_init(&typing);
    turn_rig_submit(&typing.rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {"tool=look"}});
    turn_rig_turn(&typing.rig, "go");
    assert_true(engine_held(typing.rig.engine, &held));
    start(&typing);
    assert_string_equal(type(&typing, "p1", "1\n"), "");
    assert_int_equal(turn_rig_event(&typing.rig, EVENT_PROGRAM_INPUT, 0)->turn, 1);
    turn_check_do(&typing.rig, INTENT_CONTINUE);
    turn_rig_run(&typing.rig);
    process_input_end(&typing);
}

TEST(while_the_agent_works_only_ending_a_program_is_accepted)
{
    struct process_input typing;
    process_input_init(&typing);
    start(&typing);
    turn_rig_submit(&typing.rig, &(struct intent){.type = INTENT_START, .start = {"go"}});
    assert_true(engine_turn_running(typing.rig.engine));
    assert_string_equal(type(&typing, "p1", "1\n"), "the agent is running; pause the turn, then type");
    assert_string_equal(kill_it(&typing, "p1"), "");
    assert_string_equal(typing.programs.log.buf, "kill p1");
    assert_int_equal(turn_rig_count(&typing.rig, EVENT_PROGRAM_INPUT), 0);
    turn_rig_run(&typing.rig);
    process_input_end(&typing);
}

TEST(bad_input_is_refused_with_a_reason)
{
    struct process_input typing;
    process_input_init(&typing);
    assert_string_equal(type(&typing, "p1", "x\n"), "unknown program p1");
    assert_string_equal(type(&typing, NULL, "x\n"), "unknown program without a name");
    assert_string_equal(kill_it(&typing, "p1"), "unknown program p1");
    start(&typing);
    assert_string_equal(type(&typing, "p1", ""), "nothing was typed");
    typing.programs.busy = "the program reads nothing";
    assert_string_equal(type(&typing, "p1", "x\n"), "the program reads nothing");
    tell(&typing, (struct event){.type = EVENT_PROGRAM_ENDED, .program_ended = {.program = "p1", .exit_code = 0}});
    assert_string_equal(type(&typing, "p1", "x\n"), "program p1 has ended");
    assert_string_equal(kill_it(&typing, "p1"), "program p1 has ended");
    assert_int_equal(turn_rig_count(&typing.rig, EVENT_PROGRAM_INPUT), 0);
    assert_int_equal(typing.programs.log.len, 0);
    process_input_end(&typing);
}

TEST(input_is_refused_without_programs)
{
    struct process_input typing;
    process_input_init(&typing);
    start(&typing);
    typing.rig.config.programs = NULL; /* as in a resumed session without a sandbox */
    assert_string_equal(type(&typing, "p1", "x\n"), "this session runs no programs");
    assert_string_equal(kill_it(&typing, "p1"), "this session runs no programs");
    process_input_end(&typing);
}

/* The programs of an interrupted session did not survive it; the resumed journal starts with that. */
TEST(programs_of_an_interrupted_session_have_ended)
{
    static const char recorded[] =
        "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"s\"}\n"
        "{\"seq\":2,\"t\":0,\"turn\":0,\"type\":\"program.started\",\"program\":\"p1\",\"cmd\":\"sh\"}\n"
        "{\"seq\":3,\"t\":0,\"turn\":0,\"type\":\"program.started\",\"program\":\"p2\",\"cmd\":\"sh\"}\n"
        "{\"seq\":4,\"t\":0,\"turn\":0,\"type\":\"program.ended\",\"program\":\"p2\",\"exit_code\":0}\n";
    struct turn_rig rig;
    struct err err = ERR_INIT;
    turn_rig_init(&rig);
    scratch_write(&rig.scratch, "s.jsonl", recorded);
    CLEANUP(free) char *path = scratch_path(&rig.scratch, "s.jsonl");
    struct journal_reader *reader = journal_open(path, &err);
    struct journal *journal = journal_resume(path, &rig.clock.base, &err);
    assert_non_null(reader);
    assert_non_null(journal);
    rig.engine = engine_resume(&rig.config, journal, reader, &rig.sink, &err);
    assert_non_null(rig.engine);
    journal_reader_free(reader);
    assert_int_equal(rig.event_count, 0);
    fake_provider_answer(rig.model)->text = "done";
    turn_rig_turn(&rig, "on");
    assert_int_equal(turn_rig_count(&rig, EVENT_PROGRAM_ENDED), 1);
    assert_int_equal(rig.events[0].type, EVENT_PROGRAM_ENDED);
    assert_string_equal(rig.events[0].program_ended.program, "p1");
    assert_string_equal(rig.events[0].program_ended.why, "ended with its session");
    assert_false(session_program_running(engine_session(rig.engine), 0));
    fake_provider_answer(rig.model)->text = "done";
    turn_rig_turn(&rig, "and on");
    assert_int_equal(turn_rig_count(&rig, EVENT_PROGRAM_ENDED), 1);
    turn_rig_release(&rig);
}
