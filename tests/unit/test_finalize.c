/* The finalizer: seven steps, none of which can fail the turn. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/test.h"
#include "turn/finalize.h"

/* Writes down which steps were called, and fails those of a set. */
struct recorder {
    struct strbuf calls;
    unsigned failing; /* bits of enum finalize_step */
};

static const char *step_name(enum finalize_step step)
{
    static const char *const names[FINALIZE_STEP_COUNT] = {
        [FINALIZE_CITATIONS] = "citations", [FINALIZE_USAGE] = "usage",   [FINALIZE_LOG] = "log",
        [FINALIZE_DECISION] = "decision",   [FINALIZE_MEMORY] = "memory", [FINALIZE_LEARNER] = "learner",
        [FINALIZE_JUDGES] = "judges",
    };
    return names[step];
}

static int called(struct recorder *recorder, enum finalize_step step, struct err *err)
{
    strbuf_addf(&recorder->calls, "%s ", step_name(step));
    return recorder->failing & 1u << step ? err_set(err, "no %s today", step_name(step)) : 0;
}

static int on_citations(void *data, struct err *err)
{
    return called(data, FINALIZE_CITATIONS, err);
}

static int on_usage(void *data, const struct usage *usage, struct err *err)
{
    assert_non_null(usage);
    return called(data, FINALIZE_USAGE, err);
}

static int on_log(void *data, const char *role, const char *text, struct err *err)
{
    assert_string_equal(role, "assistant");
    assert_non_null(text);
    return called(data, FINALIZE_LOG, err);
}

#define RECORD(name, step)                                                           \
    static int name(void *data, const struct finalize_input *input, struct err *err) \
    {                                                                                \
        assert_non_null(input);                                                      \
        return called(data, step, err);                                              \
    }
RECORD(on_decision, FINALIZE_DECISION)
RECORD(on_memory, FINALIZE_MEMORY)
RECORD(on_learner, FINALIZE_LEARNER)
RECORD(on_judges, FINALIZE_JUDGES)

static struct finalize_hooks hooks_of(struct recorder *recorder)
{
    strbuf_init(&recorder->calls);
    return (struct finalize_hooks){recorder,    on_citations, on_usage,   on_log,
                                   on_decision, on_memory,    on_learner, on_judges};
}

static struct citation citations[] = {
    {(char *)"src/a.c", false}, {(char *)"https://x", true}, {(char *)"src/a.c", false}, {(char *)"src/b.c", false}};

static const struct finalize_input input = {.session = "s",
                                            .project = "/p",
                                            .turn = 1,
                                            .prompt = "Fix it",
                                            .text = "the final text",
                                            .status = "done",
                                            .show_citations = true,
                                            .citations = citations,
                                            .citation_count = COUNT_OF(citations),
                                            .usage = {.input = 5}};

TEST(steps_run_in_order)
{
    struct recorder recorder = {0};
    struct finalize_hooks hooks = hooks_of(&recorder);
    struct finalization final = finalize_turn(&input, &hooks);
    assert_string_equal(recorder.calls.buf, "citations usage log decision memory learner judges ");
    for (int i = 0; i < FINALIZE_STEP_COUNT; i++) {
        assert_string_equal(final.status[i], "done");
        assert_null(final.reason[i]);
    }
    finalization_release(&final);
    strbuf_release(&recorder.calls);
}

TEST(every_step_may_fail_and_the_others_still_run)
{
    for (unsigned failing = 0; failing < 1u << FINALIZE_STEP_COUNT; failing++) {
        struct recorder recorder = {.failing = failing};
        struct finalize_hooks hooks = hooks_of(&recorder);
        struct finalization final = finalize_turn(&input, &hooks);
        assert_string_equal(recorder.calls.buf, "citations usage log decision memory learner judges ");
        for (int i = 0; i < FINALIZE_STEP_COUNT; i++) {
            bool failed = failing & 1u << i;
            assert_string_equal(final.status[i], failed ? "failed" : "done");
            assert_int_equal(final.reason[i] != NULL, failed);
        }
        assert_string_equal(final.text, "the final text");
        assert_int_equal(final.citation_count > 0, !(failing & 1u << FINALIZE_CITATIONS));
        finalization_release(&final);
        strbuf_release(&recorder.calls);
    }
}

TEST(parts_that_are_missing_are_skipped)
{
    struct finalize_input bare = input;
    bare.show_citations = false;
    const struct finalize_hooks none = {0};
    for (int i = 0; i < 2; i++) {
        struct finalization final = finalize_turn(&bare, i ? &none : NULL);
        for (int step = 0; step < FINALIZE_STEP_COUNT; step++)
            assert_string_equal(final.status[step], "skipped");
        assert_string_equal(final.text, "the final text");
        finalization_release(&final);
    }
    bare.text = NULL;
    struct finalization final = finalize_turn(&bare, NULL);
    assert_string_equal(final.text, "");
    finalization_release(&final);
}

TEST(citations_are_listed_once_only_if_configured_and_beside_the_text)
{
    struct finalization final = finalize_turn(&input, NULL);
    assert_string_equal(final.text, "the final text");
    assert_int_equal(final.citation_count, 3);
    assert_string_equal(final.status[FINALIZE_CITATIONS], "done");
    finalization_release(&final);

    struct finalize_input quiet = input;
    quiet.show_citations = false;
    final = finalize_turn(&quiet, NULL);
    assert_string_equal(final.text, "the final text");
    assert_int_equal(final.citation_count, 0);
    finalization_release(&final);

    quiet.show_citations = true;
    quiet.citation_count = 0;
    final = finalize_turn(&quiet, NULL);
    assert_string_equal(final.text, "the final text");
    finalization_release(&final);
}

TEST(at_most_eight_of_each_kind)
{
    struct citation many[21];
    struct finalize_input full = input;
    size_t shown[2] = {0};
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = (struct citation){.ref = xasprintf("ref %zu", i), .web = i % 2};
    full.citations = many;
    full.citation_count = COUNT_OF(many);
    struct finalization final = finalize_turn(&full, NULL);
    for (size_t i = 0; i < final.citation_count; i++)
        shown[final.citations[i].web]++;
    assert_int_equal(shown[0], 8);
    assert_int_equal(shown[1], 8);
    for (size_t i = 0; i < COUNT_OF(many); i++)
        free(many[i].ref);
    finalization_release(&final);
}

TEST(usage_is_reported_only_with_a_token)
{
    static const struct usage cases[] = {{0}, {.input = 5}, {.output = 7}, {.cache_read = 1}, {.cache_write = 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct recorder recorder = {0};
        struct finalize_hooks hooks = hooks_of(&recorder);
        struct finalize_input counted = input;
        counted.usage = cases[i];
        struct finalization final = finalize_turn(&counted, &hooks);
        assert_int_equal(strstr(recorder.calls.buf, "usage") != NULL, i > 0);
        assert_string_equal(final.status[FINALIZE_USAGE], i ? "done" : "skipped");
        finalization_release(&final);
        strbuf_release(&recorder.calls);
    }
}

TEST(the_fields_of_the_event)
{
    struct recorder recorder = {.failing = 1u << FINALIZE_MEMORY};
    struct finalize_hooks hooks = hooks_of(&recorder);
    hooks.judges = NULL;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct finalization final = finalize_turn(&input, &hooks);
    struct event event = {.type = EVENT_TURN_FINALIZED};
    finalization_to_event(&event.turn_finalized, &arena, &final);
    assert_string_equal(event_json(&event, "citations"),
                        "[{\"ref\":\"src/a.c\",\"kind\":\"local\"},{\"ref\":\"src/b.c\",\"kind\":\"local\"},"
                        "{\"ref\":\"https://x\",\"kind\":\"web\"}]");
    assert_string_equal(event_json(&event, "memory"), "{\"status\":\"failed\",\"reason\":\"no memory today\"}");
    assert_string_equal(event_json(&event, "decisions"), "{\"status\":\"done\"}");
    assert_string_equal(event_json(&event, "judges"), "{\"status\":\"skipped\"}");
    finalization_release(&final);
    strbuf_release(&recorder.calls);
}

TEST(the_store_remembers_a_turn)
{
    struct err err = ERR_INIT;
    struct store *store = store_open(":memory:", &err);
    if (!store)
        fail_msg("%s", err.text);
    struct finalize_hooks hooks = finalize_store_hooks(store, true);
    struct finalization final = finalize_turn(&input, &hooks);
    assert_string_equal(final.status[FINALIZE_MEMORY], "done");
    assert_string_equal(final.status[FINALIZE_DECISION], "skipped"); /* the journal has them */
    finalization_release(&final);
    struct store_memory *memories;
    size_t count;
    assert_int_equal(store_memory_search(store, "/p", "final", 5, &memories, &count, &err), 0);
    assert_true(count >= 1);
    assert_non_null(strstr(memories[0].text, "the final text"));
    store_memory_free(memories, count);
    store_close(store);
}

TEST(without_a_store_there_are_no_hooks)
{
    struct finalize_hooks hooks = finalize_store_hooks(NULL, true);
    assert_true(!hooks.citations && !hooks.usage && !hooks.log && !hooks.decision && !hooks.memory && !hooks.learner &&
                !hooks.judges);
}
