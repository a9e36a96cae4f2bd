/* A recorded session, run again: the recorded model, the recorded decisions, real tools where there are any and
 * stand-ins where there are none. On the same files nothing departs; on others, the first difference is named. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/scripted.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include "turn/departure.h"
#include "turn/replay.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

/* ---- running again ---- */

struct again {
    struct turn_rig rig;
    struct recording *recording;
    struct departures *departures;
    struct sink sink;
};

static void compare(struct sink *sink, const struct event *event, const struct session *session)
{
    (void)session;
    departures_see(((struct again *)((char *)sink - offsetof(struct again, sink)))->departures, event);
}

/* Everything as the program sets it up, up to the files. */
static void again_init(struct again *again, const char *path)
{
    struct err err = ERR_INIT;
    struct harness *harness = &again->rig.harness;

    turn_rig_init(&again->rig);
    again->recording = recording_open(path, &err);
    if (!again->recording)
        fail_msg("%s", err.text);
    provider_free(harness->provider);
    again->rig.model = NULL;
    harness->provider = scripted_new(again->rig.loop, recording_reader(again->recording), 0);
    recording_limits(again->recording, &harness->limits);
    harness->thinking = recording_thinking(again->recording);
    approval_free(harness->approval);
    harness->approval = approval_new(APPROVE_ASK, false);
    if (recording_decisions(again->recording, harness->approval, &err) < 0 ||
        recording_stand_ins(again->recording, harness->registry, &err) < 0)
        fail_msg("%s", err.text);
    again->departures = departures_new(recording_reader(again->recording));
    again->sink = (struct sink){.event = compare};
    again->rig.sink.next = &again->sink;
}

static void again_run(struct again *again)
{
    turn_rig_open(&again->rig);
    for (size_t i = 0; i < recording_turn_count(again->recording); i++) {
        scripted_turn(again->rig.harness.provider, recording_turn_number(again->recording, i));
        turn_rig_turn(&again->rig, recording_prompt(again->recording, i));
    }
    departures_end(again->departures);
}

static void again_release(struct again *again)
{
    turn_check_end(&again->rig);
    departures_free(again->departures);
    recording_free(again->recording);
}

static void check_none(const struct again *again)
{
    const struct departure *first = departures_at(again->departures, 0);

    if (first) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;

        departure_write(&text, first);
        fail_msg("%s", text.buf);
    }
    assert_int_equal(departures_count(again->departures), 0);
}

/* ---- what is recorded ---- */

struct made {
    struct turn_rig rig;
    struct fake_tool look, slow, bad, foreign;
    char *path;
};

static void made_init(struct made *made)
{
    struct turn_rig *rig = &made->rig;

    turn_rig_init(rig);
    fake_tool_init(&made->look, "look", EFFECT_READ_ONLY);
    made->look.takes_ms = 300;
    made->look.output = "{\"seen\":[1,2,3]}";
    fake_tool_init(&made->slow, "slow", EFFECT_READ_ONLY);
    made->slow.tool.spec.timeout_s = 5;
    made->slow.takes_ms = 7000;
    fake_tool_init(&made->bad, "bad", EFFECT_NETWORK);
    made->bad.error = "it broke";
    made->bad.final = true;
    fake_tool_init(&made->foreign, "foreign", EFFECT_LOCAL_WRITE);
    made->foreign.asks = FAKE_ASKS_FIELD;
    made->foreign.takes_ms = 20;
    made->foreign.confirmed_ms = 40;
    turn_rig_add_tool(rig, &made->look.tool);
    turn_rig_add_tool(rig, &made->slow.tool);
    turn_rig_add_tool(rig, &made->bad.tool);
    turn_rig_add_tool(rig, &made->foreign.tool);
    made->path = scratch_path(&rig->scratch, "recorded.jsonl");
    rig->harness.limits.tool_calls = 40;
    rig->harness.limits.steps = 12;
    turn_rig_file(rig, "a.txt", "A\n");
    turn_rig_file(rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
}

static void made_release(struct made *made)
{
    turn_check_end(&made->rig);
    fake_tool_release(&made->look);
    fake_tool_release(&made->slow);
    fake_tool_release(&made->bad);
    fake_tool_release(&made->foreign);
    free(made->path);
}

static void copy_files(struct again *again)
{
    turn_rig_file(&again->rig, "a.txt", "A\n");
    turn_rig_file(&again->rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
}

/* Answers by the name of the call. */
static void decide(struct turn_rig *rig, const struct question *question)
{
    struct intent intent = {.type = INTENT_APPROVE, .approve = {.ask = question->ask, .digest = question->digest}};
    struct change_set *edited = NULL;

    if (strncmp(question->call, "no", 2) == 0)
        intent = (struct intent){.type = INTENT_DENY, .deny = {.ask = question->ask, .reason = "not like this"}};
    if (strncmp(question->call, "part", 4) == 0)
        intent.approve.hunks = "[{\"path\":\"n.txt\",\"keep\":[2],\"of\":2}]";
    if (strncmp(question->call, "edit", 4) == 0) {
        edited = change_set_copy(question->changes);
        change_side_set(&edited->items[0].new, "mine\n", 5, 0600);
        intent.approve.edited = edited;
    }
    if (strncmp(question->call, "late", 4) != 0) /* nobody answers that one */
        turn_rig_submit(rig, &intent);
    change_set_free(edited);
}

static void say_everything(struct turn_rig *rig)
{
    struct fake_answer *a = answer(rig);

    a->takes_us = 1200000;
    a->usage = (struct usage){.input = 100, .output = 10, .cache_read = 3};
    fake_answer_call(a, "l", "look", "{\"at\":1}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "yes", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    fake_answer_call(a, "no", "write_file", "{\"path\":\"a.txt\",\"content\":\"X\\n\"}");
    fake_answer_call(a, "part", "write_file",
                     "{\"path\":\"n.txt\",\"content\":\"ONE\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\nTWELVE\\n\"}");
    fake_answer_call(a, "edit", "write_file", "{\"path\":\"e.txt\",\"content\":\"theirs\\n\"}");
    fake_answer_call(a, "late", "write_file", "{\"path\":\"l.txt\",\"content\":\"l\\n\"}");
    fake_answer_call(a, "nof", "foreign", "{}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}"); /* the id once more, and a duplicate */
    fake_answer_call(a, "u", "unknown_tool", "{}");
    a = answer(rig);
    a->error = "overloaded";
    a->retryable = true;
    a = answer(rig);
    fake_answer_call(a, "b", "bad", "{}");
    fake_answer_call(a, "b2", "bad", "{\"again\":1}");
    answer(rig)->text = "first is over";
    a = answer(rig);
    fake_answer_call(a, "nof", "foreign", "{\"second\":1}"); /* the ids of the first turn, with other outcomes */
    fake_answer_call(a, "l", "look", "{\"at\":2}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"new.txt\"}");
    answer(rig)->text = "second is over";
}

static void record_everything(struct made *made)
{
    struct turn_rig *rig = &made->rig;
    struct fake_answer *look;

    made_init(made);
    rig->harness.thinking = THINKING_LOW;
    rig->harness.ask_timeout_ms = 9000;
    rig->answer = decide;
    rig->answer_after_us = 800000;
    turn_check_open(rig, made->path);
    say_everything(rig);
    look = fake_provider_reflection(rig->model);
    look->text = "I see.";
    look->usage = (struct usage){.input = 40, .output = 4};
    fake_provider_reflection(rig->model)->text = "I see that too.";
    turn_rig_turn(rig, "do everything");
    rig->answer = turn_rig_say_yes;
    turn_rig_turn(rig, "and again");
    turn_check_do(rig, INTENT_END);
}

static void test_recorded_session_run_again_on_the_same_files_departs_nowhere(void **state)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *edited = NULL;

    (void)state;
    record_everything(&made);
    assert_string_equal(turn_check_finished(&made.rig)->text, "second is over\n\nSources:\n- new.txt\n");
    assert_int_equal(turn_rig_count(&made.rig, EVENT_LATE_SUPPRESSED), 1);
    assert_int_equal(turn_rig_count(&made.rig, EVENT_REFLECTION), 2);
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    check_none(&again);
    edited = turn_rig_read(&again.rig, "e.txt");
    assert_string_equal(edited, "mine\n");
    assert_int_equal(scratch_mode(&again.rig.scratch, "work/e.txt"), 0600);
    assert_false(engine_nobody_asked(again.rig.engine));
    again_release(&again);
    made_release(&made);
}

static void test_recording_is_left_as_it_was(void **state)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *before = NULL;
    CLEANUP(free) char *after = NULL;

    (void)state;
    record_everything(&made);
    before = scratch_read(&made.rig.scratch, "recorded.jsonl", NULL);
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    again_release(&again);
    after = scratch_read(&made.rig.scratch, "recorded.jsonl", NULL);
    assert_string_equal(before, after);
    made_release(&made);
}

/* ---- departures ---- */

static void record_read_and_writes(struct made *made)
{
    struct fake_answer *a;

    made_init(made);
    made->rig.answer = decide;
    turn_check_open(&made->rig, made->path);
    a = answer(&made->rig);
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(a, "yes", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    fake_answer_call(a, "no", "write_file", "{\"path\":\"other.txt\",\"content\":\"o\\n\"}");
    answer(&made->rig)->text = "over";
    turn_rig_turn(&made->rig, "go");
}

static const struct departure *find(const struct again *again, int64_t seq, const char *type)
{
    for (size_t i = 0; i < departures_count(again->departures); i++) {
        const struct departure *departure = departures_at(again->departures, i);

        if (departure->seq == seq && strcmp(departure->type, type) == 0)
            return departure;
    }
    fail_msg("nothing departed at seq %lld in a %s", (long long)seq, type);
    return NULL;
}

static void test_changed_file_departs_where_it_was_read(void **state)
{
    struct made made;
    struct again again;
    const struct departure *first;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    turn_rig_file(&again.rig, "a.txt", "changed\n");
    again_run(&again);
    first = departures_at(again.departures, 0);
    assert_non_null(first);
    assert_int_equal(first->seq, turn_rig_finished(&made.rig, "r")->seq);
    assert_string_equal(first->type, "tool.finished");
    assert_string_equal(first->field, "result.output.size");
    assert_string_equal(first->recorded, "2");
    assert_string_equal(first->got, "8");
    again_release(&again);
    made_release(&made);
}

static void test_changed_file_departs_where_it_was_to_be_written(void **state)
{
    struct made made;
    struct again again;
    const struct departure *first;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    copy_files(&again);
    turn_rig_file(&again.rig, "new.txt", "there already\n");
    again_run(&again);
    first = departures_at(again.departures, 0);
    assert_non_null(first);
    assert_int_equal(first->seq, turn_rig_event(&made.rig, EVENT_WRITE_PROPOSED, 0)->seq);
    assert_string_equal(first->field, "files[0].old_digest");
    assert_string_equal(first->recorded, "\"absent\"");
    again_release(&again);
    made_release(&made);
}

static void test_what_was_recorded_and_did_not_happen_departs(void **state)
{
    struct made made;
    struct again again;
    const struct departure *decided, *saved;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    copy_files(&again);
    approval_free(again.rig.harness.approval);
    again.rig.harness.approval = approval_new(APPROVE_DENY, false);
    again_run(&again);
    decided = find(&again, turn_rig_event(&made.rig, EVENT_WRITE_DECIDED, 0)->seq, "write.decided");
    assert_string_equal(decided->field, "decision");
    assert_string_equal(decided->recorded, "approved");
    assert_string_equal(decided->got, "denied");
    saved = find(&again, turn_rig_event(&made.rig, EVENT_CHECKPOINT_SAVED, 0)->seq, "checkpoint.saved");
    assert_string_equal(saved->field, "event");
    assert_string_equal(saved->got, "nothing");
    find(&again, turn_rig_event(&made.rig, EVENT_WRITE_APPLIED, 0)->seq, "write.applied");
    /* In the order of the recording. */
    for (size_t i = 1; i < departures_count(again.departures); i++)
        assert_true(departures_at(again.departures, i - 1)->seq <= departures_at(again.departures, i)->seq);
    again_release(&again);
    made_release(&made);
}

static void test_what_happened_and_was_not_recorded_departs(void **state)
{
    struct made made;
    struct again again;
    const struct departure *applied;
    int64_t decided;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    copy_files(&again);
    approval_free(again.rig.harness.approval);
    again.rig.harness.approval = approval_new(APPROVE_ALLOW, false);
    again_run(&again);
    /* It is named by what it came after: the second write was decided, and then it was done. */
    decided = turn_rig_event(&made.rig, EVENT_WRITE_DECIDED, 1)->seq;
    applied = find(&again, decided, "write.applied");
    assert_true(applied->unrecorded);
    assert_string_equal(applied->field, "event");
    assert_string_equal(applied->recorded, "nothing");
    find(&again, decided, "checkpoint.saved");
    /* It can be found beside the event of the run, and beside its call. */
    const struct departure *beside = NULL;
    size_t index = 0, of_call = 0;
    assert_int_equal(applied->got_seq, turn_rig_event(&again.rig, EVENT_WRITE_APPLIED, 1)->seq);
    beside = departures_of_event(again.departures, applied->got_seq, &index);
    assert_ptr_equal(beside, applied);
    assert_null(departures_of_event(again.departures, applied->got_seq, &index));
    for (index = 0; (beside = departures_of_call(again.departures, 1, applied->call, &index)); of_call++)
        assert_string_equal(beside->call, applied->call);
    assert_true(of_call > 1);
    index = 0;
    assert_null(departures_of_call(again.departures, 2, applied->call, &index));
    /* First what has a place in the recording. */
    assert_false(departures_at(again.departures, 0)->unrecorded);
    assert_string_equal(departures_at(again.departures, 0)->field, "decision");
    again_release(&again);
    made_release(&made);
}

/* ---- recordings that somebody changed ---- */

/* The line of this type in `text`, the n-th of them; its newline belongs to it. */
static char *line_of(char *text, const char *type, int n, size_t *len)
{
    CLEANUP(strbuf) struct strbuf name = STRBUF_INIT;

    strbuf_addf(&name, "\"type\":\"%s\"", type);
    for (char *line = text; *line; line += *len) {
        char *found = strstr(line, name.buf);

        *len = strcspn(line, "\n") + 1;
        if (found && found < line + *len && n-- == 0)
            return line;
    }
    fail_msg("there is no %s", type);
    return NULL;
}

/* In the first line of this type, `to` for `from`; without `from` the line goes. */
static void tamper(struct made *made, const char *type, const char *from, const char *to)
{
    CLEANUP(free) char *text = scratch_read(&made->rig.scratch, "recorded.jsonl", NULL);
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    size_t len;
    char *line = line_of(text, type, 0, &len);
    char *rest = line + len;

    strbuf_add(&out, text, (size_t)(line - text));
    if (from) {
        char *at = strstr(line, from);

        assert_true(at && at < rest);
        strbuf_add(&out, line, (size_t)(at - line));
        strbuf_addstr(&out, to);
        strbuf_add(&out, at + strlen(from), (size_t)(rest - at) - strlen(from));
    }
    strbuf_addstr(&out, rest);
    scratch_write(&made->rig.scratch, "recorded.jsonl", out.buf);
}

/* Puts the first line of one type right before the first of another, which stands above it. */
static void lift(struct made *made, const char *type, const char *above)
{
    CLEANUP(free) char *text = scratch_read(&made->rig.scratch, "recorded.jsonl", NULL);
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    size_t len, above_len;
    char *line = line_of(text, type, 0, &len);
    char *to = line_of(text, above, 0, &above_len);

    assert_true(to < line);
    strbuf_add(&out, text, (size_t)(to - text));
    strbuf_add(&out, line, len);
    strbuf_add(&out, to, (size_t)(line - to));
    strbuf_addstr(&out, line + len);
    scratch_write(&made->rig.scratch, "recorded.jsonl", out.buf);
}

static void run_again(struct made *made, struct again *again)
{
    again_init(again, made->path);
    copy_files(again);
    again_run(again);
}

/* The first departure is this one. */
static void check_first(const struct again *again, const char *type, const char *field)
{
    const struct departure *first = departures_at(again->departures, 0);

    if (!first)
        fail_msg("%s.%s did not depart", type, field);
    assert_string_equal(first->type, type);
    assert_string_equal(first->field, field);
}

static void record_and_end(struct made *made)
{
    record_read_and_writes(made);
    turn_check_do(&made->rig, INTENT_END);
}

static void test_order_of_what_happens_to_a_call_counts(void **state)
{
    static const struct {
        const char *line, *above, *departs;
    } cases[] = {
        {"write.decided", "write.proposed", "write.decided"},
        {"checkpoint.saved", "write.decided", "checkpoint.saved"},
        {"write.applied", "checkpoint.saved", "write.applied"},
        {"write.applied", "write.proposed", "write.applied"},
        {"tool.finished", "tool.started", "tool.finished"},
        {"turn.finalized", "writes.closed", "turn.finalized"},
        {"turn.finished", "turn.finalized", "turn.finished"},
        {"writes.closed", "model.responded", "writes.closed"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made made;
        struct again again;

        record_and_end(&made);
        lift(&made, cases[i].line, cases[i].above);
        run_again(&made, &again);
        check_first(&again, cases[i].departs, "order");
        again_release(&again);
        made_release(&made);
    }
}

static void test_whatever_a_full_recording_lacks_departs(void **state)
{
    static const char *const types[] = {
        "context.loaded",   "budget.opened", "turn.prepared", "waves.planned", "tool.started",   "write.proposed",
        "checkpoint.saved", "write.applied", "tool.finished", "writes.closed", "turn.finalized", "turn.finished",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct made made;
        struct again again;
        bool named = false;

        record_and_end(&made);
        tamper(&made, types[i], NULL, NULL);
        run_again(&made, &again);
        for (size_t k = 0; k < departures_count(again.departures); k++) {
            const struct departure *each = departures_at(again.departures, k);

            assert_true(each->seq > 0);
            named |= strcmp(each->type, types[i]) == 0 && each->unrecorded;
        }
        if (!named)
            fail_msg("nobody missed the %s", types[i]);
        again_release(&again);
        made_release(&made);
    }
}

static void test_recording_that_ends_in_a_turn_is_compared_up_to_there(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    record_read_and_writes(&made);
    tamper(&made, "turn.finished", NULL, NULL);
    tamper(&made, "turn.finalized", NULL, NULL);
    run_again(&made, &again);
    check_none(&again);
    assert_true(departures_cut_short(again.departures));
    again_release(&again);
    made_release(&made);
}

static void test_context_and_messages_are_compared_and_what_is_of_the_day_is_not(void **state)
{
    static const struct {
        const char *type, *from, *to, *field; /* without a field nothing departs */
    } cases[] = {
        {"context.loaded", "\"path\":\"a.txt\"", "\"path\":\"b.txt\"", "pack[0].path"},
        {"context.loaded", "\"excerpt\":\"A", "\"excerpt\":\"B", "pack[0].excerpt"},
        {"context.loaded", "\"score\":", "\"score\":1", NULL},
        {"turn.prepared", "\"text\":\"show a.txt\"", "\"text\":\"show b.txt\"", "messages[3].text"},
        {"turn.prepared", "\"text\":\"session_id: ", "\"text\":\"session_id: old", NULL},
        {"turn.prepared", "\"prompt_render_hash\":\"", "\"prompt_render_hash\":\"0", "prompt_render_hash"},
        {"turn.finished", "\"status\":\"done\"", "\"status\":\"failed\"", "status"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made made;
        struct again again;

        made_init(&made);
        turn_check_open(&made.rig, made.path);
        answer(&made.rig)->text = "over";
        turn_rig_turn(&made.rig, "show a.txt");
        tamper(&made, cases[i].type, cases[i].from, cases[i].to);
        run_again(&made, &again);
        if (cases[i].field)
            check_first(&again, cases[i].type, cases[i].field);
        else
            check_none(&again);
        again_release(&again);
        made_release(&made);
    }
}

static void test_another_version_may_have_another_prompt(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    record_read_and_writes(&made);
    tamper(&made, "session.started", "\"app\":\"keyturn ", "\"app\":\"keyturn 9");
    tamper(&made, "turn.prepared", "\"prompt_render_hash\":\"", "\"prompt_render_hash\":\"0");
    run_again(&made, &again);
    check_none(&again);
    again_release(&again);
    made_release(&made);
}

/* The answers of another file instead of the recorded ones. */
static void test_another_answer_departs_by_its_text_and_its_end(void **state)
{
    static const struct {
        const char *from, *to, *field, *got;
    } cases[] = {
        {"\"text\":\"over\"", "\"text\":\"out\"", "text", "out"},
        {"\"stop\":\"end_turn\"", "\"stop\":\"max_tokens\"", "stop", "max_tokens"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made made, other;
        struct again again;
        struct journal_reader *reader;
        struct err err = ERR_INIT;
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf) struct strbuf expected = STRBUF_INIT;

        made_init(&made);
        turn_check_open(&made.rig, made.path);
        answer(&made.rig)->text = "over";
        turn_rig_turn(&made.rig, "go");
        made_init(&other);
        turn_check_open(&other.rig, other.path);
        answer(&other.rig)->text = "over";
        turn_rig_turn(&other.rig, "go");
        tamper(&other, "model.responded", cases[i].from, cases[i].to);
        again_init(&again, made.path);
        copy_files(&again);
        reader = journal_open(other.path, &err);
        assert_non_null(reader);
        provider_free(again.rig.harness.provider);
        again.rig.harness.provider = scripted_new(again.rig.loop, reader, 0);
        again_run(&again);
        check_first(&again, "model.responded", cases[i].field);
        departure_write(&text, departures_at(again.departures, 0));
        strbuf_addf(&expected, "departed at seq %lld: model.responded.%s: recorded %s, got %s",
                    (long long)turn_rig_event(&made.rig, EVENT_MODEL_RESPONDED, 0)->seq, cases[i].field,
                    i == 0 ? "over" : "end_turn", cases[i].got);
        assert_string_equal(text.buf, expected.buf);
        again_release(&again);
        journal_reader_free(reader);
        made_release(&other);
        made_release(&made);
    }
}

static void test_nothing_behind_the_last_seq_counts(void **state)
{
    struct made made;
    struct again again;
    int64_t decided;

    (void)state;
    record_and_end(&made);
    decided = turn_rig_event(&made.rig, EVENT_WRITE_DECIDED, 0)->seq;
    tamper(&made, "turn.finished", "\"status\":\"done\"", "\"status\":\"failed\"");
    again_init(&again, made.path);
    copy_files(&again);
    departures_until(again.departures, decided);
    assert_false(departures_reached(again.departures));
    again_run(&again);
    check_none(&again);
    assert_true(departures_reached(again.departures));
    again_release(&again);
    made_release(&made);
}

static void test_what_agrees_is_counted(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    made_init(&made);
    turn_check_open(&made.rig, made.path);
    answer(&made.rig)->text = "over";
    turn_rig_turn(&made.rig, "go");
    run_again(&made, &again);
    check_none(&again);
    /* started, context, budget, prepared, responded, closed, finalized, finished */
    assert_int_equal(departures_compared(again.departures), 8);
    again_release(&again);
    made_release(&made);
}

static void test_recorded_end_by_budget_ends_by_budget_again(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    made_init(&made);
    made.rig.harness.limits.steps = 2;
    made.rig.model->repeat_last = true;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(answer(&made.rig), "l", "look", "{}");
    turn_rig_turn(&made.rig, "for ever");
    assert_string_equal(turn_check_finished(&made.rig)->status, "budget");
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->status, "budget");
    again_release(&again);
    made_release(&made);
}

static void test_recorded_end_by_a_failing_model_fails_again(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    made_init(&made);
    turn_check_open(&made.rig, made.path);
    fake_answer_call(answer(&made.rig), "l", "look", "{}");
    answer(&made.rig)->error = "gone";
    turn_rig_turn(&made.rig, "try");
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    check_none(&again);
    again_release(&again);
    made_release(&made);
}

static void test_hand_written_recording_is_compared_as_far_as_it_goes(void **state)
{
    static const char lines[] =
        "{\"type\":\"session.started\",\"v\":1}\n"
        "{\"type\":\"turn.started\",\"prompt\":\"look\"}\n"
        "{\"type\":\"model.responded\",\"tool_calls\":[{\"name\":\"list_dir\",\"arguments\":{}}]}\n"
        "{\"type\":\"model.responded\",\"text\":\"seen\"}\n";
    struct made made;
    struct again again;

    (void)state;
    made_init(&made);
    turn_rig_open(&made.rig);
    scratch_write(&made.rig.scratch, "recorded.jsonl", lines);
    again_init(&again, made.path);
    again_run(&again);
    check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->text, "seen");
    assert_int_equal(turn_rig_count(&again.rig, EVENT_TOOL_FINISHED), 1);
    again_release(&again);
    made_release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_session_run_again_on_the_same_files_departs_nowhere),
        cmocka_unit_test(test_recording_is_left_as_it_was),
        cmocka_unit_test(test_changed_file_departs_where_it_was_read),
        cmocka_unit_test(test_changed_file_departs_where_it_was_to_be_written),
        cmocka_unit_test(test_what_was_recorded_and_did_not_happen_departs),
        cmocka_unit_test(test_what_happened_and_was_not_recorded_departs),
        cmocka_unit_test(test_order_of_what_happens_to_a_call_counts),
        cmocka_unit_test(test_whatever_a_full_recording_lacks_departs),
        cmocka_unit_test(test_recording_that_ends_in_a_turn_is_compared_up_to_there),
        cmocka_unit_test(test_context_and_messages_are_compared_and_what_is_of_the_day_is_not),
        cmocka_unit_test(test_another_version_may_have_another_prompt),
        cmocka_unit_test(test_another_answer_departs_by_its_text_and_its_end),
        cmocka_unit_test(test_nothing_behind_the_last_seq_counts),
        cmocka_unit_test(test_what_agrees_is_counted),
        cmocka_unit_test(test_recorded_end_by_budget_ends_by_budget_again),
        cmocka_unit_test(test_recorded_end_by_a_failing_model_fails_again),
        cmocka_unit_test(test_hand_written_recording_is_compared_as_far_as_it_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
