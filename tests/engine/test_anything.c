/* Tests any intent at any moment. Random turns with random settings get random intents, valid and outdated ones, and
 * some journals fail. Every promise holds, nothing is left over, and every turn ends. A failing run prints its seed:
 * KEYTURN_SEED=n runs only that one and prints the events. */

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/fake_tools.h"
#include "support/rich_turn.h"
#include "support/test.h"
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define SEEDS   400
#define INTENTS 60
#define TOOLS   6

struct chaos {
    struct turn_rig rig;
    struct fake_tool tools[TOOLS];
    uint64_t random;
    int left; /* intents still to come */
    int turns;
    char ask[24], digest[HASH_SHA256_HEX]; /* id of a question that was open before */
    struct loop_timer timer;
    struct sink sink;
    char *journal;    /* NULL: in memory */
    size_t breaks_at; /* journal writes fail after this event; 0: never */
};

static struct rlimit usual; /* limit on the size of files */

static uint64_t next_random(struct chaos *chaos)
{
    chaos->random ^= chaos->random << 13;
    chaos->random ^= chaos->random >> 7;
    chaos->random ^= chaos->random << 17;
    return chaos->random;
}

static int64_t below(struct chaos *chaos, int64_t limit)
{
    return (int64_t)(next_random(chaos) >> 11) % limit;
}

static bool chance(struct chaos *chaos, int percent)
{
    return below(chaos, 100) < percent;
}

#define ONE_OF(chaos, list) ((list)[below((chaos), (int64_t)COUNT_OF(list))])

/* ---- settings ---- */

static void make_tools(struct chaos *chaos)
{
    static const char *const names[TOOLS] = {"quick", "slow", "thread", "writer", "foreign", "broken"};
    static const enum effect effects[TOOLS] = {EFFECT_READ_ONLY,   EFFECT_READ_ONLY,   EFFECT_READ_ONLY,
                                               EFFECT_LOCAL_WRITE, EFFECT_LOCAL_WRITE, EFFECT_NETWORK};
    for (size_t i = 0; i < TOOLS; i++) {
        struct fake_tool *tool = &chaos->tools[i];
        fake_tool_init(tool, names[i], effects[i]);
        tool->takes_ms = chance(chaos, 30) ? 0 : below(chaos, 2000);
        tool->confirmed_ms = chance(chaos, 50) ? 0 : below(chaos, 3000);
        tool->heeds_cancel = chance(chaos, 50);
        tool->tool.spec.no_retry_on_timeout = chance(chaos, 30);
        tool->tool.spec.timeout_s = 5;
        if (i == 2)
            fake_tool_on_pool(tool);
        turn_rig_add_tool(&chaos->rig, &tool->tool);
    }
    chaos->tools[1].takes_ms = 4000 + below(chaos, 12000);
    chaos->tools[3].asks = FAKE_PROPOSES;
    chaos->tools[3].path = "w.txt";
    chaos->tools[3].text = "written\n";
    chaos->tools[3].path2 = chance(chaos, 50) ? "w2.txt" : NULL;
    chaos->tools[3].text2 = "written too\n";
    chaos->tools[4].asks = FAKE_ASKS_MESSAGE;
    chaos->tools[5].error = "broken";
    chaos->tools[5].final = chance(chaos, 30);
}

static void make_settings(struct chaos *chaos)
{
    struct engine_config *config = &chaos->rig.config;
    config->interactive = chance(chaos, 75);
    config->parallel = chance(chaos, 80);
    config->thinking = chance(chaos, 60) ? THINKING_LOW : THINKING_OFF;
    config->reflect_every = below(chaos, 3);
    config->clock_runs_while_asking = chance(chaos, 20);
    config->ask_timeout_ms = chance(chaos, 50) ? 0 : 1 + below(chaos, 8000);
    config->limits.wall_s = 5 + (double)below(chaos, 60);
    config->limits.steps = 1 + below(chaos, 6);
    config->limits.tool_calls = chance(chaos, 50) ? BUDGET_AS_STEPS : below(chaos, 12);
    config->limits.reflections = below(chaos, 3);
    config->limits.input_tokens = chance(chaos, 50) ? -1 : 50 + below(chaos, 300);
    if (chance(chaos, 20)) {
        rules_free(config->rules);
        config->rules = rules_new((enum rule_mode)below(chaos, 3), chance(chaos, 50));
    }
}

static void add_call(struct chaos *chaos, struct fake_answer *answer)
{
    static const struct {
        const char *tool, *arguments;
    } others[] = {
        {"read_file", "{\"path\":\"a.txt\"}"},
        {"read_file", "{\"path\":\"none\"}"},
        {"list_dir", "{}"},
        {"write_file", "{\"path\":\"a.txt\",\"content\":\"1\\n2\\n\"}"},
        {"write_file", "{\"path\":\"n/b.txt\",\"content\":\"b\\n\"}"},
        {"edit_file", "{\"path\":\"a.txt\",\"old\":\"1\",\"new\":\"one\"}"},
        {"delete_file", "{\"path\":\"a.txt\"}"},
        {"no_such_tool", "{}"},
        {"read_file", "{\"path\":"},
        {"read_file", "[]"},
    };
    static const char *const ids[] = {NULL, NULL, NULL, "", "same", "same"};
    const char *id = ONE_OF(chaos, ids);

    if (chance(chaos, 60)) {
        CLEANUP(free) char *arguments = xasprintf("{\"n\":%d}", (int)below(chaos, 3));
        fake_answer_call(answer, id, chaos->tools[below(chaos, TOOLS)].tool.spec.name, arguments);
    } else {
        size_t which = (size_t)below(chaos, (int64_t)COUNT_OF(others));
        fake_answer_call(answer, id, others[which].tool, others[which].arguments);
    }
}

static void make_answers(struct chaos *chaos)
{
    static const char *const pieces[] = {"one ", "two", NULL};
    for (int i = 0; i < 25; i++) {
        struct fake_answer *answer = fake_provider_answer(chaos->rig.model);
        answer->takes_us = chance(chaos, 30) ? 0 : below(chaos, 3000000);
        answer->usage = (struct usage){.input = below(chaos, 60), .output = below(chaos, 10)};
        answer->text = chance(chaos, 50) ? "one two" : NULL;
        answer->deltas = chance(chaos, 30) ? pieces : NULL;
        if (chance(chaos, 15)) {
            answer->error = "overloaded";
            answer->retryable = chance(chaos, 80);
            answer->retry_after_ms = chance(chaos, 50) ? -1 : below(chaos, 4000);
            continue;
        }
        for (int64_t calls = chance(chaos, 75) ? 1 + below(chaos, 6) : 0; calls > 0; calls--)
            add_call(chaos, answer);
        if (chance(chaos, 50)) {
            struct fake_answer *look = fake_provider_reflection(chaos->rig.model);
            look->text = chance(chaos, 80) ? "go on" : "STOP now";
            look->error = chance(chaos, 20) ? "no" : NULL;
            look->takes_us = chance(chaos, 15) ? -1 : below(chaos, 6000000);
        }
    }
}

/* ---- intents ---- */

static const struct event_hunk_choice in_a[] = {CHOICE("a.txt", 1, 1)}, in_w[] = {CHOICE("w.txt", 1, 1)};

static struct intent answer_intent(struct chaos *chaos, const struct question *question)
{
    static const struct decision yes[] = {
        {.kind = DECISION_APPROVED},
        {.kind = DECISION_APPROVED},
        {.kind = DECISION_PARTIAL, .hunks = {in_a, 0}},
        {.kind = DECISION_PARTIAL, .hunks = {in_a, 1}},
        {.kind = DECISION_PARTIAL, .hunks = {in_w, 1}},
        {.kind = DECISION_PARTIAL},
    };
    const char *ask = question && chance(chaos, 85) ? question->id : chaos->ask;
    const char *digest = question && chance(chaos, 85) ? question->digest : chaos->digest;
    struct intent intent = {.type = INTENT_ANSWER, .answer = {.question = ask, .digest = digest}};
    struct decision *decision = &intent.answer.decision;
    if (chance(chaos, 30)) {
        *decision = (struct decision){.kind = DECISION_DENIED, .reason = chance(chaos, 50) ? "no" : NULL};
        return intent;
    }
    *decision = ONE_OF(chaos, yes);
    if (question && chance(chaos, 10))
        *decision = (struct decision){.kind = DECISION_EDITED, .edited = question->changes};
    return intent;
}

static struct intent random_intent(struct chaos *chaos)
{
    static const char *const specs[] = {"gate=model",      "gate=tool",    "gate=write", "gate=wave",  "outcome=result",
                                        "outcome=failure", "tool=writer",  "path=*.txt", "budget=50%", "effect=NETWORK",
                                        "gate=finalize",   "gate=reflect", "nonsense",   "gate=budget"};
    static const char *const texts[] = {"{}", "{\"path\":\"a.txt\"}", "not json", "{\"n\":7}", ""};
    static const enum intent_type plain[] = {INTENT_STEP,     INTENT_STEP_WAVE, INTENT_CONTINUE, INTENT_CONTINUE,
                                             INTENT_CONTINUE, INTENT_PAUSE,     INTENT_UNDO,     INTENT_END};
    switch (below(chaos, 12)) {
    case 0:
        return (struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = ONE_OF(chaos, specs)}};
    case 1:
        return (struct intent){.type = INTENT_UNBREAK, .unbreak = {.id = (int)below(chaos, 6)}};
    case 2:
        return (struct intent){.type = INTENT_EDIT,
                               .edit = {.what = (enum edit_what)below(chaos, 3), .text = ONE_OF(chaos, texts)}};
    case 3:
        return (struct intent){
            .type = INTENT_EXTEND,
            .extend = {.key = (enum budget_key)below(chaos, BUDGET_KEY_COUNT), .share = (double)below(chaos, 4) / 2}};
    case 4:
        return (struct intent){.type = INTENT_ALLOW,
                               .allow = {.tool = "writer", .path = "w.txt", .revoke = chance(chaos, 50)}};
    case 5:
        return (struct intent){.type = chance(chaos, 25) ? INTENT_CANCEL : INTENT_CONTINUE};
    case 6:
    case 7:
    case 8:
        return answer_intent(chaos, engine_question(chaos->rig.engine));
    case 9:
        return (struct intent){.type = INTENT_UNDO, .undo = {.what = chance(chaos, 50) ? "cp_1" : NULL}};
    default:
        return (struct intent){.type = ONE_OF(chaos, plain)};
    }
}

static void note_question(struct chaos *chaos)
{
    const struct question *question = engine_question(chaos->rig.engine);
    if (!question || !chance(chaos, 50))
        return;
    snprintf(chaos->ask, sizeof(chaos->ask), "%s", question->id);
    snprintf(chaos->digest, sizeof(chaos->digest), "%s", question->digest);
}

static void meddle(struct loop_timer *timer)
{
    struct chaos *chaos = (struct chaos *)((char *)timer - offsetof(struct chaos, timer));
    struct turn_rig *rig = &chaos->rig;
    struct intent intent;
    note_question(chaos);
    if (chaos->left-- <= 0) {
        /* Enough intents: continue everything that is held. */
        if (engine_turn_running(rig->engine))
            turn_check_submit(rig, &(struct intent){.type = INTENT_CANCEL});
        return;
    }
    if (!engine_turn_running(rig->engine) && chaos->turns-- > 0) {
        turn_check_submit(rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "do something"}});
    } else {
        intent = random_intent(chaos);
        if (intent.type != INTENT_END || chaos->left < 5)
            turn_check_submit(rig, &intent);
        if (chance(chaos, 10)) /* another program works in the same folder */
            turn_rig_file(rig, "a.txt", chance(chaos, 50) ? "1\n" : "2\n1\n");
    }
    loop_timer_start(rig->loop, timer, loop_now_us(rig->loop) + (chance(chaos, 30) ? 0 : below(chaos, 1500000)),
                     meddle);
}

/* ---- running ---- */

static void hear(struct sink *sink, const struct event *event, const struct session *session)
{
    struct chaos *chaos = (struct chaos *)((char *)sink - offsetof(struct chaos, sink));
    struct rlimit full = usual;
    struct stat st;
    (void)event;
    (void)session;
    if (!chaos->breaks_at || chaos->rig.event_count != chaos->breaks_at)
        return;
    assert_int_equal(stat(chaos->journal, &st), 0);
    full.rlim_cur = (rlim_t)st.st_size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
}

static void open_journal(struct chaos *chaos)
{
    if (chance(chaos, 25)) {
        chaos->journal = scratch_path(&chaos->rig.scratch, "journal.jsonl");
        chaos->breaks_at = (size_t)(2 + below(chaos, 80));
        chaos->sink.event = hear;
        chaos->rig.sink.next = &chaos->sink;
    }
    turn_check_open(&chaos->rig, chaos->journal);
}

static void run_seed(uint64_t seed, bool show)
{
    struct chaos chaos = {.random = seed * 0x9E3779B97F4A7C15u + 1, .left = INTENTS, .turns = 3, .ask = "a1"};
    for (int i = 0; i < 8; i++)
        next_random(&chaos);
    turn_rig_init(&chaos.rig);
    make_tools(&chaos);
    make_settings(&chaos);
    make_answers(&chaos);
    turn_rig_file(&chaos.rig, "a.txt", "1\n");
    open_journal(&chaos);
    loop_timer_start(chaos.rig.loop, &chaos.timer, 0, meddle);
    turn_rig_run(&chaos.rig);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    if (show)
        for (size_t i = 0; i < chaos.rig.event_count; i++)
            printf("%.*s\n", (int)chaos.rig.events[i].raw_len, chaos.rig.events[i].raw);
    assert_false(engine_turn_running(chaos.rig.engine));
    assert_true(engine_idle(chaos.rig.engine));
    turn_check_promises(&chaos.rig, !engine_failed(chaos.rig.engine));
    turn_rig_release(&chaos.rig);
    free(chaos.journal);
    for (size_t i = 0; i < TOOLS; i++) {
        assert_int_equal(chaos.tools[i].finished, chaos.tools[i].executions);
        fake_tool_release(&chaos.tools[i]);
    }
}

static uint64_t running_seed;

static int tell_seed(void **state)
{
    (void)state;
    if (running_seed)
        print_message("KEYTURN_SEED=%llu\n", (unsigned long long)running_seed);
    return 0;
}

TEST_WITH(any_intent_at_any_moment_breaks_no_promise, NULL, tell_seed)
{
    const char *one = getenv("KEYTURN_SEED");
    if (one) {
        run_seed(strtoull(one, NULL, 10), true);
        return;
    }
    for (running_seed = 1; running_seed <= test_rounds(SEEDS); running_seed++)
        run_seed(running_seed, false);
    running_seed = 0;
}

void test_begin(void)
{

    rich_turn_in_memory();
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &usual) < 0)
        abort();
}
