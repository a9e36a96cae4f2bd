/* Tests where a run diverges from its recording: other files, other events, another order, changed recordings. The
 * first difference is named; fields that do not count are ignored. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/scripted.h"
#include "support/event_json.h"
#include "support/replay_rig.h"
#include "support/test.h"
#include <string.h>

/* ---- divergences ---- */

static void record_read_and_writes(struct made *made)
{
    made_init(made);
    made->rig.answer = made_decide;
    turn_check_open(&made->rig, made->path);
    struct fake_answer *a = replay_answer(&made->rig);
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(a, "yes", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    fake_answer_call(a, "no", "write_file", "{\"path\":\"other.txt\",\"content\":\"o\\n\"}");
    replay_answer(&made->rig)->text = "over";
    turn_rig_turn(&made->rig, "go");
}

static const struct divergence *find(const struct again *again, int64_t seq, const char *type)
{
    for (size_t i = 0; i < divergences_count(again->divergences); i++) {
        const struct divergence *divergence = divergences_at(again->divergences, i);
        if (divergence->seq == seq && strcmp(divergence->type, type) == 0)
            return divergence;
    }
    fail_msg("nothing diverged at seq %lld in a %s", (long long)seq, type);
    return NULL;
}

TEST(changed_file_diverges_where_it_was_read)
{
    struct made made;
    struct again again;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    turn_rig_file(&again.rig, "a.txt", "changed\n");
    again_run(&again);
    const struct divergence *first = divergences_at(again.divergences, 0);
    assert_non_null(first);
    assert_int_equal(first->seq, turn_rig_finished(&made.rig, "r")->seq);
    assert_string_equal(first->type, "tool.finished");
    assert_string_equal(first->field, "result.output.size");
    assert_string_equal(first->recorded, "2");
    assert_string_equal(first->got, "8");
    again_release(&again);
    made_release(&made);
}

TEST(changed_file_diverges_at_its_write)
{
    struct made made;
    struct again again;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    again_copy_files(&again);
    turn_rig_file(&again.rig, "new.txt", "there already\n");
    again_run(&again);
    const struct divergence *first = divergences_at(again.divergences, 0);
    assert_non_null(first);
    assert_int_equal(first->seq, turn_rig_event(&made.rig, EVENT_WRITE_PROPOSED, 0)->seq);
    assert_string_equal(first->field, "files[0].old_digest");
    assert_string_equal(first->recorded, "\"absent\"");
    again_release(&again);
    made_release(&made);
}

TEST(a_missing_event_diverges)
{
    struct made made;
    struct again again;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    again_copy_files(&again);
    rules_free(again.rig.config.rules);
    again.rig.config.rules = rules_new(RULES_DENY, false);
    again_run(&again);
    const struct divergence *decided =
        find(&again, turn_rig_event(&made.rig, EVENT_WRITE_DECIDED, 0)->seq, "write.decided");
    assert_string_equal(decided->field, "decision");
    assert_string_equal(decided->recorded, "approved");
    assert_string_equal(decided->got, "denied");
    const struct divergence *saved =
        find(&again, turn_rig_event(&made.rig, EVENT_CHECKPOINT_SAVED, 0)->seq, "checkpoint.saved");
    assert_string_equal(saved->field, "event");
    assert_string_equal(saved->got, "nothing");
    find(&again, turn_rig_event(&made.rig, EVENT_WRITE_APPLIED, 0)->seq, "write.applied");
    /* in the order of the recording */
    for (size_t i = 1; i < divergences_count(again.divergences); i++)
        assert_true(divergences_at(again.divergences, i - 1)->seq <= divergences_at(again.divergences, i)->seq);
    again_release(&again);
    made_release(&made);
}

TEST(an_extra_event_diverges)
{
    struct made made;
    struct again again;
    int64_t decided;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    again_copy_files(&again);
    rules_free(again.rig.config.rules);
    again.rig.config.rules = rules_new(RULES_ALLOW, false);
    again_run(&again);
    /* A missing event is named by the event before it: write.decided came, write.applied did not. */
    decided = turn_rig_event(&made.rig, EVENT_WRITE_DECIDED, 1)->seq;
    const struct divergence *applied = find(&again, decided, "write.applied");
    assert_true(applied->unrecorded);
    assert_string_equal(applied->field, "event");
    assert_string_equal(applied->recorded, "nothing");
    find(&again, decided, "checkpoint.saved");
    /* The divergence refers to the event of the run and to its call. */
    const struct divergence *beside = NULL;
    size_t index = 0, of_call = 0;
    assert_int_equal(applied->got_seq, turn_rig_event(&again.rig, EVENT_WRITE_APPLIED, 1)->seq);
    beside = divergences_of_event(again.divergences, applied->got_seq, &index);
    assert_ptr_equal(beside, applied);
    assert_null(divergences_of_event(again.divergences, applied->got_seq, &index));
    for (index = 0; (beside = divergences_of_call(again.divergences, 1, applied->call, &index)); of_call++)
        assert_string_equal(beside->call, applied->call);
    assert_true(of_call > 1);
    index = 0;
    assert_null(divergences_of_call(again.divergences, 2, applied->call, &index));
    /* Divergences with a position in the recording come first. */
    assert_false(divergences_at(again.divergences, 0)->unrecorded);
    assert_string_equal(divergences_at(again.divergences, 0)->field, "decision");
    again_release(&again);
    made_release(&made);
}

/* ---- changed recordings ---- */

/* The n-th line of this type in `text`, with its newline. */
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

/* Replaces `from` by `to` in the first line of this type; without `from` removes the line. */
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

/* Moves the first line of one type right before the first of another type above it. */
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
    again_copy_files(again);
    again_run(again);
}

/* Expects this as the first divergence. */
static void check_first(const struct again *again, const char *type, const char *field)
{
    const struct divergence *first = divergences_at(again->divergences, 0);
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

/* Results that fill the context. */
static void record_compaction(struct made *made)
{
    static char output[4096];
    memset(output, 'x', sizeof(output) - 1);
    output[0] = output[sizeof(output) - 2] = '"';
    made_init(made);
    made->rig.config.limits.context_tokens = 9000;
    made->look.output = output;
    for (int i = 0; i < 8; i++) {
        CLEANUP(free) char *arguments = xasprintf("{\"n\":%d}", i);
        fake_answer_call(replay_answer(&made->rig), NULL, "look", arguments);
    }
    replay_answer(&made->rig)->text = "over";
    turn_check_open(&made->rig, made->path);
    turn_rig_turn(&made->rig, "go");
    assert_true(turn_rig_count(&made->rig, EVENT_CONTEXT_COMPACTED) > 0);
    turn_check_do(&made->rig, INTENT_END);
}

/* Other rules compact before other steps. That is no fault of the run. */
TEST(compactions_are_compared_if_the_rules_are_the_same)
{
    for (int other = 0; other < 2; other++) {
        struct made made;
        struct again again;
        record_compaction(&made);
        run_again(&made, &again);
        again_check_none(&again);
        again_release(&again);
        tamper(&made, "context.compacted", "\"step\":", "\"step\":1");
        if (other)
            tamper(&made, "context.compacted", "\"rules\":1", "\"rules\":9");
        run_again(&made, &again);
        if (other)
            again_check_none(&again);
        else
            check_first(&again, "context.compacted", "event");
        again_release(&again);
        made_release(&made);
    }
}

TEST(order_of_the_events_of_a_call_counts)
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

TEST(any_event_removed_from_a_full_recording_diverges)
{
    static const char *const types[] = {
        "context.loaded",   "budget.opened", "turn.prepared", "waves.planned", "tool.started",   "write.proposed",
        "checkpoint.saved", "write.applied", "tool.finished", "writes.closed", "turn.finalized", "turn.finished",
    };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct made made;
        struct again again;
        bool named = false;
        record_and_end(&made);
        tamper(&made, types[i], NULL, NULL);
        run_again(&made, &again);
        for (size_t k = 0; k < divergences_count(again.divergences); k++) {
            const struct divergence *each = divergences_at(again.divergences, k);
            assert_true(each->seq > 0);
            named |= strcmp(each->type, types[i]) == 0 && each->unrecorded;
        }
        if (!named)
            fail_msg("no divergence without the %s", types[i]);
        again_release(&again);
        made_release(&made);
    }
}

TEST(recording_that_ends_in_a_turn_is_compared_to_its_end)
{
    struct made made;
    struct again again;
    record_read_and_writes(&made);
    tamper(&made, "turn.finished", NULL, NULL);
    tamper(&made, "turn.finalized", NULL, NULL);
    run_again(&made, &again);
    again_check_none(&again);
    assert_true(divergences_cut_short(again.divergences));
    again_release(&again);
    made_release(&made);
}

TEST(context_and_messages_are_compared_and_dates_are_not)
{
    static const struct {
        const char *type, *from, *to, *field; /* without a field: no divergence */
    } cases[] = {
        {"context.loaded", "\"path\":\"a.txt\"", "\"path\":\"b.txt\"", "pack[0].path"},
        {"context.loaded", "\"excerpt\":\"A", "\"excerpt\":\"B", "pack[0].excerpt"},
        {"context.loaded", "\"score\":", "\"score\":1", NULL},
        {"turn.prepared", "\"text\":\"show a.txt\"", "\"text\":\"show b.txt\"", "messages[3].text"},
        {"turn.prepared", "\"text\":\"session_id: ", "\"text\":\"session_id: old", NULL},
        {"turn.prepared", "\"prompt_render_hash\":\"", "\"prompt_render_hash\":\"0", NULL}, /* of another model */
        {"turn.finished", "\"status\":\"done\"", "\"status\":\"failed\"", "status"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made made;
        struct again again;
        made_init(&made);
        turn_check_open(&made.rig, made.path);
        replay_answer(&made.rig)->text = "over";
        turn_rig_turn(&made.rig, "show a.txt");
        tamper(&made, cases[i].type, cases[i].from, cases[i].to);
        run_again(&made, &again);
        if (cases[i].field)
            check_first(&again, cases[i].type, cases[i].field);
        else
            again_check_none(&again);
        again_release(&again);
        made_release(&made);
    }
}

/* Adapts the callers in the recording to those of the present run. */
static void claim_model(struct made *made)
{
    struct again again;
    CLEANUP(free) char *was = xstrdup(event_json(turn_rig_event(&made->rig, EVENT_SESSION_STARTED, 0), "model"));
    run_again(made, &again);
    tamper(made, "session.started", was, event_json(turn_rig_event(&again.rig, EVENT_SESSION_STARTED, 0), "model"));
    again_release(&again);
}

TEST(same_program_renders_the_same_for_the_same_model)
{
    struct made made;
    struct again again;
    record_read_and_writes(&made);
    claim_model(&made);
    tamper(&made, "turn.prepared", "\"prompt_render_hash\":\"", "\"prompt_render_hash\":\"0");
    run_again(&made, &again);
    check_first(&again, "turn.prepared", "prompt_render_hash");
    again_release(&again);
    made_release(&made);
}

TEST(another_version_may_have_another_prompt)
{
    struct made made;
    struct again again;
    record_read_and_writes(&made);
    claim_model(&made);
    tamper(&made, "session.started", "\"app\":\"keyturn ", "\"app\":\"keyturn 9");
    tamper(&made, "turn.prepared", "\"prompt_render_hash\":\"", "\"prompt_render_hash\":\"0");
    run_again(&made, &again);
    again_check_none(&again);
    again_release(&again);
    made_release(&made);
}

/* Uses the answers of another file instead of the recorded ones. */
TEST(another_answer_diverges_by_its_text_and_its_end)
{
    static const struct {
        const char *from, *to, *field, *got;
    } cases[] = {
        {"\"text\":\"over\"", "\"text\":\"out\"", "text", "out"},
        {"\"stop\":\"end_turn\"", "\"stop\":\"max_tokens\"", "stop", "max_tokens"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct made made, other;
        struct again again;
        struct err err = ERR_INIT;
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf) struct strbuf expected = STRBUF_INIT;
        made_init(&made);
        turn_check_open(&made.rig, made.path);
        replay_answer(&made.rig)->text = "over";
        turn_rig_turn(&made.rig, "go");
        made_init(&other);
        turn_check_open(&other.rig, other.path);
        replay_answer(&other.rig)->text = "over";
        turn_rig_turn(&other.rig, "go");
        tamper(&other, "model.responded", cases[i].from, cases[i].to);
        again_init(&again, made.path);
        again_copy_files(&again);
        struct journal_reader *reader = journal_open(other.path, &err);
        assert_non_null(reader);
        provider_free(again.rig.config.provider);
        again.rig.config.provider = scripted_new(again.rig.loop, reader, 0);
        again_run(&again);
        check_first(&again, "model.responded", cases[i].field);
        divergence_write(&text, divergences_at(again.divergences, 0));
        strbuf_addf(&expected, "diverged at seq %lld: model.responded.%s: recorded %s, got %s",
                    (long long)turn_rig_event(&made.rig, EVENT_MODEL_RESPONDED, 0)->seq, cases[i].field,
                    i == 0 ? "over" : "end_turn", cases[i].got);
        assert_string_equal(text.buf, expected.buf);
        again_release(&again);
        journal_reader_free(reader);
        made_release(&other);
        made_release(&made);
    }
}

TEST(events_after_the_last_seq_do_not_count)
{
    struct made made;
    struct again again;
    record_and_end(&made);
    int64_t decided = turn_rig_event(&made.rig, EVENT_WRITE_DECIDED, 0)->seq;
    tamper(&made, "turn.finished", "\"status\":\"done\"", "\"status\":\"failed\"");
    again_init(&again, made.path);
    again_copy_files(&again);
    divergences_until(again.divergences, decided);
    assert_false(divergences_reached(again.divergences));
    again_run(&again);
    again_check_none(&again);
    assert_true(divergences_reached(again.divergences));
    again_release(&again);
    made_release(&made);
}

TEST(equal_events_are_counted)
{
    struct made made;
    struct again again;
    made_init(&made);
    turn_check_open(&made.rig, made.path);
    replay_answer(&made.rig)->text = "over";
    turn_rig_turn(&made.rig, "go");
    run_again(&made, &again);
    again_check_none(&again);
    /* started, context, budget, prepared, responded, closed, finalized, finished */
    assert_int_equal(divergences_compared(again.divergences), 8);
    again_release(&again);
    made_release(&made);
}

/* Records that a tool, which is missing in the second run, wrote `text` into made.bin. */
static void record_foreign_write(struct made *made, const char *text)
{
    made_init(made);
    made->rig.answer = made_decide;
    made->foreign.asks = FAKE_PROPOSES;
    made->foreign.path = "made.bin";
    made->foreign.text = text;
    turn_check_open(&made->rig, made->path);
    fake_answer_call(replay_answer(&made->rig), "yes", "foreign", "{}");
    replay_answer(&made->rig)->text = "over";
    turn_rig_turn(&made->rig, "go");
}

TEST(empty_file_is_created_again)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *there = NULL;
    record_foreign_write(&made, "");
    run_again(&made, &again);
    again_check_none(&again);
    assert_null(divergences_notice(again.divergences, 0));
    there = turn_rig_read(&again.rig, "made.bin");
    assert_string_equal(there, "");
    again_release(&again);
    made_release(&made);
}

TEST(fields_missing_in_the_recording_are_not_compared)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *notice = NULL;
    record_foreign_write(&made, "caf\xe9\n"); /* not UTF-8: the recording has a replacement for the byte */
    notice = xasprintf("cannot repeat the write of yes (seq %lld): the recorded diff of made.bin is incomplete",
                       (long long)turn_rig_event(&made.rig, EVENT_WRITE_PROPOSED, 0)->seq);
    run_again(&made, &again);
    again_check_none(&again);
    assert_string_equal(divergences_notice(again.divergences, 0), notice);
    assert_null(divergences_notice(again.divergences, 1));
    assert_false(scratch_exists(&again.rig.scratch, "work/made.bin"));
    again_release(&again);
    made_release(&made);
}

TEST(an_unexpected_file_diverges_with_any_recording)
{
    struct made made;
    struct again again;
    record_foreign_write(&made, "caf\xe9\n");
    again_init(&again, made.path);
    again_copy_files(&again);
    turn_rig_file(&again.rig, "made.bin", "there already\n");
    again_run(&again);
    assert_string_equal(divergences_at(again.divergences, 0)->type, "write.proposed");
    assert_null(divergences_notice(again.divergences, 0));
    again_release(&again);
    made_release(&made);
}

TEST(late_difference_of_long_texts_is_shown)
{
    struct made made;
    struct again again;
    CLEANUP(strbuf) struct strbuf was = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf is = STRBUF_INIT;
    for (int i = 0; i < 100; i++)
        strbuf_addstr(&was, "\xc3\xbc so ");
    strbuf_addstr(&is, was.buf);
    strbuf_addstr(&was, "it was");
    strbuf_addstr(&is, "it is");
    made_init(&made);
    turn_check_open(&made.rig, made.path);
    replay_answer(&made.rig)->text = was.buf;
    turn_rig_turn(&made.rig, "go");
    tamper(&made, "turn.finished", "it was", "it is");
    run_again(&made, &again);
    check_first(&again, "turn.finished", "text");
    assert_string_equal(divergences_at(again.divergences, 0)->recorded, "...\xc3\xbc so \xc3\xbc so \xc3\xbc so it is");
    assert_string_equal(divergences_at(again.divergences, 0)->got, "...\xc3\xbc so \xc3\xbc so \xc3\xbc so it was");
    again_release(&again);
    made_release(&made);
}
