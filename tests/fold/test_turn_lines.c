/* Compares the journals of whole turns in virtual time, byte for byte: lines that the engine wrote, from events that
 * were never decoded. Each turn runs twice, and both runs must give the same bytes. */

#include "base/mem.h"
#include "support/answers.h"
#include "support/event_lines.h"
#include "support/fake_pool.h"
#include "support/rich_turn.h"
#include "support/script_rig.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

/* Not the default: its wording is not part of the format. */
#define SYSTEM_PROMPT "Be careful."

void test_begin(void)
{
    setenv("UV_THREADPOOL_SIZE", "1", 1); /* pool jobs end in the order in which they began */
    rich_turn_in_memory();
}

/* The digits of a random id; the same ones in each run. */
static void blank_ids(char *text, const char *prefix)
{
    for (char *at = text; (at = strstr(at, prefix)); at++) {
        char *digits = at + strlen(prefix);
        size_t len = strspn(digits, "0123456789abcdef");
        if (len >= 8)
            memset(digits, '0', len);
    }
}

/* All lines. A value that differs in each run is replaced by a fixed name: the rig's folder, and random ids. */
static void add_journal(struct strbuf *out, const struct turn_rig *rig)
{
    size_t len = strlen(rig->scratch.path), begin = out->len;
    for (size_t i = 0; i < rig->event_count; i++) {
        CLEANUP(free) char *line = xmemdup0(rig->events[i].raw, rig->events[i].raw_len);
        const char *at = line, *found;
        while ((found = strstr(at, rig->scratch.path))) {
            strbuf_add(out, at, (size_t)(found - at));
            strbuf_addstr(out, "/scratch");
            at = found + len;
        }
        strbuf_addstr(out, at);
        strbuf_addch(out, '\n');
    }
    blank_ids(out->buf + begin, "exec-");
    blank_ids(out->buf + begin, "art_");
}

/* The golden has what the engine wrote; decoding and encoding these lines again gives the same bytes. */
static void check_turn(const char *name, void (*run_turn)(struct strbuf *journal))
{
    CLEANUP(strbuf) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf second = STRBUF_INIT;
    CLEANUP(free) char *path = xasprintf(SOURCE_DIR "/tests/fold/lines/%s.jsonl", name);
    run_turn(&first);
    run_turn(&second);
    assert_string_equal(first.buf, second.buf);
    event_lines_golden(path, &first);
    event_lines_check(name, first.buf, first.len);
}

/* ---- every event once, each question approved ---- */

static void run_rich(struct strbuf *journal)
{
    struct rich_turn rich;
    rich_turn_init(&rich);
    rich.rig.config.system_prompt = SYSTEM_PROMPT;
    rich_turn_run(&rich);
    add_journal(journal, &rich.rig);
    rich_turn_release(&rich);
}

TEST(lines_of_a_rich_turn)
{
    check_turn("turn_rich", run_rich);
}

static void run_stepping(struct strbuf *journal)
{
    struct rich_turn rich;
    rich_turn_init(&rich);
    rich.rig.config.system_prompt = SYSTEM_PROMPT;
    rich.stepping = true;
    rich.rig.config.parallel = false; /* the order of a step and the end of a pool job is not defined */
    rich_turn_run(&rich);
    add_journal(journal, &rich.rig);
    rich_turn_release(&rich);
}

TEST(lines_of_a_stepped_turn)
{
    check_turn("turn_stepped", run_stepping);
}

/* ---- failures: denials, timeouts, a late thread, a limit, a second turn, undo ---- */

/* A denial with a reason, one of two hunks approved, no answer at all; the other writes are approved. */
static void answer_each_its_way(struct turn_rig *rig, const struct question *question)
{
    struct event_hunk_choice_list second = HUNKS("n.txt", 2, 2);
    struct intent intent = answer_yes(question);
    if (strcmp(question->call_id, "silent") == 0)
        return;
    if (strcmp(question->call_id, "no") == 0)
        intent = answer_no(question, "use tabs, not spaces");
    if (strcmp(question->call_id, "part") == 0)
        intent = answer_part(question, second);
    turn_rig_submit(rig, &intent);
}

static void init_trouble(struct turn_rig *rig, struct fake_tool *slow)
{
    turn_rig_init(rig);
    fake_tool_init(slow, "slow", EFFECT_READ_ONLY);
    slow->tool.spec.timeout_s = 10;
    slow->takes_ms = 20500;
    turn_rig_add_tool(rig, &slow->tool);
    rig->config.interactive = true;
    rig->config.system_prompt = SYSTEM_PROMPT;
    rig->config.reflect_on_tool_error = true;
    rig->config.limits.steps = 4;
    rig->config.limits.tool_calls = 20;
    rig->config.limits.cost_usd = 1.5;
    rig->config.ask_timeout_ms = 30000;
    rig->answer = answer_each_its_way;
    rig->answer_after_us = 1234567;
    turn_rig_file(rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n");
    turn_rig_file(rig, "sub/old.txt", "old\n");
    turn_rig_open(rig);
}

static void answer_with_trouble(struct fake_provider *model)
{
    struct fake_answer *a = fake_provider_answer(model);
    a->text = "First “this”.";
    a->thinking = "Which one?";
    a->usage = (struct usage){.input = 1200, .output = 34, .cache_read = 56, .cache_write = 7};
    a->cost_usd = 0.0123;
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "wrong", "read_file", "{\"path\":5}");
    fake_answer_call(a, "outside", "read_file", "{\"path\":\"../secret\"}");
    fake_answer_call(a, "again", "list_dir", "{\"path\":\".\"}");
    fake_answer_call(a, "twice", "list_dir", "{ \"path\": \".\" }");
    fake_answer_call(a, "broken", "list_dir", "{\"path\":");
    a = fake_provider_answer(model);
    a->cost_usd = 1.2;
    fake_answer_call(a, "no", "write_file", "{\"path\":\"a.txt\",\"content\":\"a\\n\"}");
    fake_answer_call(a, "part", "write_file",
                     "{\"path\":\"n.txt\",\"content\":"
                     "\"one\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\n12\\n13\\n14\\nfifteen\\n\"}");
    fake_answer_call(a, "silent", "delete_file", "{\"path\":\"n.txt\"}");
    fake_answer_call(a, "move", "move_file", "{\"from\":\"sub/old.txt\",\"to\":\"sub/new.txt\"}");
    a = fake_provider_answer(model);
    a->error = "the key is not valid";
    a = fake_provider_answer(model);
    a->text = "A second turn.";
}

static void run_trouble(struct strbuf *journal)
{
    struct turn_rig rig;
    struct fake_tool slow;
    init_trouble(&rig, &slow);
    answer_with_trouble(rig.model);
    turn_rig_turn(&rig, "do what goes wrong");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_UNDO});
    turn_rig_run(&rig);
    turn_rig_turn(&rig, "again");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_END});
    turn_rig_run(&rig);
    add_journal(journal, &rig);
    turn_check_end(&rig);
    fake_tool_release(&slow);
}

TEST(lines_of_a_turn_with_failures)
{
    check_turn("turn_trouble", run_trouble);
}

/* ---- a turn that is stopped at gates, edited, extended and canceled ---- */

static void hold_and_edit(struct turn_rig *rig)
{
    struct held_view view;
    turn_rig_submit(rig, &(struct intent){.type = INTENT_PAUSE});
    turn_rig_turn(rig, "go");
    assert_true(engine_held(rig->engine, &view));
    for (int i = 0; i < 4 && view.gate != GATE_TOOL; i++) {
        turn_check_do(rig, INTENT_STEP);
        assert_true(engine_held(rig->engine, &view));
    }
    turn_rig_submit(
        rig, &(struct intent){.type = INTENT_EDIT, .edit = {.what = EDIT_ARGUMENTS, .text = "{\"path\":\"sub\"}"}});
    turn_check_do(rig, INTENT_CONTINUE);
    turn_rig_submit(rig, &(struct intent){.type = INTENT_EXTEND, .extend = {.key = BUDGET_STEPS, .share = 1}});
    turn_rig_run(rig);
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(rig);
}

static void run_held(struct strbuf *journal)
{
    struct turn_rig rig;
    turn_rig_init(&rig);
    rig.config.interactive = true;
    rig.config.system_prompt = SYSTEM_PROMPT;
    rig.config.limits.steps = 1;
    turn_rig_file(&rig, "sub/old.txt", "old\n");
    turn_rig_open(&rig);
    fake_answer_call(fake_provider_answer(rig.model), "l", "list_dir", "{\"path\":\".\"}");
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}");
    hold_and_edit(&rig);
    add_journal(journal, &rig);
    turn_check_end(&rig);
}

TEST(lines_of_a_paused_turn)
{
    check_turn("turn_held", run_held);
}

/* ---- a script ---- */

static void run_script(struct strbuf *journal)
{
    void *state = NULL;
    set_up(&state);
    struct script_rig *f = state;
    f->answers = works;
    f->rig.config.system_prompt = SYSTEM_PROMPT;
    run(f, "{\"script\":\"emit_result({'answer': 42})\"}");
    add_journal(journal, &f->rig);
    tear_down(&state);
}

TEST(lines_of_a_turn_with_a_script)
{
    check_turn("turn_script", run_script);
}
