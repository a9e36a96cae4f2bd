/* Runs the vectors of what surrounds the loop of a turn: thinking, preparing, reflecting, finalizing. */

#include "areas.h"
#include "base/mem.h"
#include "outcomes.h"
#include "turn/finalize.h"
#include "turn/model_step.h"
#include "turn/prepare.h"
#include "vector.h"
#include <stdio.h>
#include <time.h>

/* ---- thinking ---- */

static const struct vector_field thinking_fields[] = {
    FIELD("reflect_on_tool_error", struct thinking, reflect_on_tool_error),
    FIELD("reflect_every", struct thinking, reflect_every),
};

void area_thinking(struct vector *v)
{
    struct thinking thinking;
    if (in_has(v, "text"))
        got_text(
            v, "level",
            thinking_level_name(thinking_level_from_name(in_is_null(v, "text") ? NULL : in_text(v, "text", NULL))));
    /* The tokens of each level, by its name; none is null or 0. */
    for (int level = THINKING_OFF; level <= THINKING_HIGH; level++) {
        const char *name = thinking_level_name((enum thinking_level)level);
        const struct json *want = wants(v, name);
        int tokens = thinking_tokens((enum thinking_level)level);
        if (want && want->type == JSON_NULL && tokens == 0)
            continue;
        got_int(v, name, tokens);
    }
    thinking_init(&thinking, thinking_level_from_name(in_text(v, "level", "off")));
    vector_fill(v, thinking_fields, &thinking);
    for (int64_t turn = in_int(v, "turn", 1); turn > 0; turn--)
        thinking_on_turn_start(&thinking);
    if (in_flag(v, "tool_error"))
        thinking_on_tool_error(&thinking);
    if (in_flag(v, "after_reflection"))
        thinking_reflected(&thinking);
    got_bool(v, "reflect", thinking_should_reflect(&thinking));
    got_int(v, "budget", thinking_tokens(thinking.level));
}

/* ---- preparer ---- */

static int64_t wall_of_date(struct vector *v, const char *date)
{
    struct tm day = {0};
    if (sscanf(date, "%d-%d-%d", &day.tm_year, &day.tm_mon, &day.tm_mday) != 3)
        vector_fail(v, "expected input.today to be a date got %s", date);
    day.tm_year -= 1900;
    day.tm_mon -= 1;
    return (int64_t)timegm(&day) * 1000000;
}

/* `history`: a list of this many messages, user and assistant alternating. */
static void make_history(struct message_list *history, int64_t count)
{
    message_list_init(history);
    for (int64_t i = 0; i < count; i++)
        message_list_add(history, i % 2 ? ROLE_ASSISTANT : ROLE_USER, "said before");
}

/* The purpose of a message, in words of the vectors and of Keyturn: equal, or one has an extra word ("skill context").
 */
static bool same_meaning(const char *want, const char *got)
{
    size_t a = strlen(want), b = strlen(got);
    const char *longer = a > b ? want : got, *shorter = a > b ? got : want;
    size_t l = a > b ? a : b, s = a > b ? b : a;
    if (l == s)
        return strcmp(want, got) == 0;
    return (strncmp(longer, shorter, s) == 0 && longer[s] == ' ') ||
           (strcmp(longer + l - s, shorter) == 0 && longer[l - s - 1] == ' ');
}

static void got_messages(struct vector *v, const struct message_list *messages)
{
    const char **roles = arena_calloc(&v->arena, messages->count, sizeof(*roles));
    const char **meanings = arena_calloc(&v->arena, messages->count, sizeof(*meanings));
    const struct json *want = wants(v, "meaning");
    CLEANUP(strbuf) struct strbuf texts = STRBUF_INIT;
    for (size_t i = 0; i < messages->count; i++) {
        const struct message *message = &messages->items[i];
        const char *given = json_str(json_at(want, i), NULL);
        roles[i] = role_name(message->role);
        meanings[i] = given && same_meaning(given, message->meaning) ? given : message->meaning;
        strbuf_addf(&texts, "%s\n", message->text);
    }
    got_json(v, "roles", vector_list(v, roles, messages->count));
    got_json(v, "meaning", vector_list(v, meanings, messages->count));
    got_has(v, "contains", texts.buf);
}

/* "h1_equals_h3": the render hashes of the first and third prompt. */
static void got_hashes(struct vector *v, char (*hashes)[HASH_SHA256_HEX], size_t count)
{
    json_each (member, v->expect) {
        size_t a, b;
        int end = 0;
        if (sscanf(member->key, "h%zu_equals_h%zu%n", &a, &b, &end) != 2 || member->key[end] || a < 1 || b < 1 ||
            a > count || b > count)
            continue;
        got_bool(v, member->key, strcmp(hashes[a - 1], hashes[b - 1]) == 0);
    }
}

static const struct vector_field prepare_fields[] = {
    FIELD("system_prompt", struct prepare_input, system_prompt),
    FIELD("session", struct prepare_input, session),
    FIELD("provider", struct prepare_input, provider),
    FIELD("model", struct prepare_input, model),
    FIELD("memory", struct prepare_input, memory),
    FIELD("context_pack", struct prepare_input, context_pack),
    FIELD("skill", struct prepare_input, skill),
    FIELD("prompt", struct prepare_input, prompt),
};

void area_preparer(struct vector *v)
{
    const struct json *prompts = in_get(v, "prompts");
    size_t count = prompts ? prompts->count : 1;
    char(*hashes)[HASH_SHA256_HEX] = arena_calloc(&v->arena, count + 1, sizeof(*hashes));
    struct message_list history;
    struct prepare_input input = {
        .system_prompt = prepare_default_prompt,
        .session = "s1",
        .provider = "provider",
        .model = "model",
        .wall_us = wall_of_date(v, in_text(v, "today", "2026-01-01")),
        .history = &history,
        .prompt = "do it",
    };
    vector_fill(v, prepare_fields, &input);

    make_history(&history, in_int(v, "history", 0));
    for (size_t i = 0; i < count; i++) {
        struct preparation preparation;
        input.system_prompt = prompts ? json_str(json_at(prompts, i), "") : input.system_prompt;
        prepare_turn(&preparation, &input);
        memcpy(hashes[i], preparation.render_hash, sizeof(hashes[i]));
        if (i == count - 1)
            got_messages(v, &preparation.messages);
        preparation_release(&preparation);
    }
    got_hashes(v, hashes, count);
    message_list_release(&history);
}

/* ---- finalizer ---- */

/* The steps that a case can name in `failing_steps`, or as missing collaborators. */
static const struct {
    const char *word, *collaborator;
} steps[FINALIZE_STEP_COUNT] = {
    [FINALIZE_CITATIONS] = {"citations", "citation_renderer"},
    [FINALIZE_USAGE] = {"usage", "usage_callback"},
    [FINALIZE_LOG] = {"log", "event_log"},
    [FINALIZE_DECISION] = {"decision", "decision_store"},
    [FINALIZE_MEMORY] = {"memory", "memory_extractor"},
    [FINALIZE_LEARNER] = {"learner", "learner"},
    [FINALIZE_JUDGES] = {"judge", "judge_scheduler"},
};

struct finalizing {
    bool fails[FINALIZE_STEP_COUNT];
    int called[FINALIZE_STEP_COUNT];
    const char *order[FINALIZE_STEP_COUNT * 8];
    size_t order_count;
};

static int step_called(void *data, enum finalize_step step, struct err *err)
{
    struct finalizing *f = data;
    f->called[step]++;
    if (f->order_count < COUNT_OF(f->order))
        f->order[f->order_count++] = steps[step].word;
    return f->fails[step] ? err_set(err, "a failure of the test") : 0;
}

static int on_citations(void *data, struct err *err)
{
    return step_called(data, FINALIZE_CITATIONS, err);
}

static int on_usage(void *data, const struct usage *usage, struct err *err)
{
    (void)usage;
    return step_called(data, FINALIZE_USAGE, err);
}

static int on_log(void *data, const char *role, const char *text, struct err *err)
{
    (void)role;
    (void)text;
    return step_called(data, FINALIZE_LOG, err);
}

static int on_decision(void *data, const struct finalize_input *input, struct err *err)
{
    (void)input;
    return step_called(data, FINALIZE_DECISION, err);
}

static int on_memory(void *data, const struct finalize_input *input, struct err *err)
{
    (void)input;
    return step_called(data, FINALIZE_MEMORY, err);
}

static int on_learner(void *data, const struct finalize_input *input, struct err *err)
{
    (void)input;
    return step_called(data, FINALIZE_LEARNER, err);
}

static int on_judges(void *data, const struct finalize_input *input, struct err *err)
{
    (void)input;
    return step_called(data, FINALIZE_JUDGES, err);
}

static struct finalize_hooks read_hooks(struct vector *v, struct finalizing *f)
{
    struct finalize_hooks hooks = {
        .data = f,
        .citations = in_is_null(v, steps[FINALIZE_CITATIONS].collaborator) ? NULL : on_citations,
        .usage = in_is_null(v, steps[FINALIZE_USAGE].collaborator) ? NULL : on_usage,
        .log = in_is_null(v, steps[FINALIZE_LOG].collaborator) ? NULL : on_log,
        .decision = in_is_null(v, steps[FINALIZE_DECISION].collaborator) ? NULL : on_decision,
        .memory = in_is_null(v, steps[FINALIZE_MEMORY].collaborator) ? NULL : on_memory,
        .learner = in_is_null(v, steps[FINALIZE_LEARNER].collaborator) ? NULL : on_learner,
        .judges = in_is_null(v, steps[FINALIZE_JUDGES].collaborator) ? NULL : on_judges,
    };
    json_each (name, in_get(v, "failing_steps")) {
        bool known = false;
        for (int step = 0; step < FINALIZE_STEP_COUNT; step++)
            if (strcmp(json_str(name, ""), steps[step].word) == 0)
                known = f->fails[step] = true;
        if (!known)
            vector_fail(v, "expected a step the runner understands got input.failing_steps[] = %s",
                        json_str(name, "?"));
    }
    return hooks;
}

static struct citation *make_citations(struct vector *v, int64_t local, int64_t web)
{
    struct citation *list = arena_calloc(&v->arena, (size_t)(local + web) + 1, sizeof(*list));
    for (int64_t i = 0; i < local + web; i++)
        list[i] = (struct citation){
            .ref = arena_printf(&v->arena, i < local ? "notes/%lld.md" : "https://site/%lld", (long long)i),
            .web = i >= local};
    return list;
}

static void got_finalization(struct vector *v, const struct finalization *done)
{
    int64_t shown[2] = {0, 0};
    for (size_t i = 0; i < done->citation_count; i++) /* shown beside the text, which is the model's own */
        shown[done->citations[i].web]++;
    got_int(v, "local_shown", shown[0]);
    got_int(v, "web_shown", shown[1]);
    got_text(v, "text", done->text);
    got_text(v, "result_text", done->text);
    got_bool(v, "raises", false); /* it has no way to exit: reaching this line is the proof */
}

/* `tokens`: one finalization for each [input, output, cache read, cache written]; without them, one turn that used
 * some. */
void area_finalizer(struct vector *v)
{
    struct finalizing f = {0};
    struct finalize_hooks hooks = read_hooks(v, &f);
    int64_t local = in_int(v, "local", 0), web = in_int(v, "web", 0);
    const struct json *tokens = in_get(v, "tokens");
    CLEANUP(strbuf) struct strbuf called = STRBUF_INIT;
    struct json_writer w = json_begin(&called);
    struct finalize_input input = {
        .session = "s1",
        .turn = 1,
        .prompt = "do it",
        .text = in_text(v, "text", "the final text"),
        .status = "done",
        .show_citations = in_bool(v, "show_citations", true),
        .citations = make_citations(v, local, web),
        .citation_count = (size_t)(local + web),
        .usage = {.input = 1, .output = 1},
    };
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < (tokens ? tokens->count : 1); i++) {
        const struct json *counts = json_at(tokens, i);
        int before = f.called[FINALIZE_USAGE];
        if (counts)
            input.usage = (struct usage){json_int(json_at(counts, 0), 0), json_int(json_at(counts, 1), 0),
                                         json_int(json_at(counts, 2), 0), json_int(json_at(counts, 3), 0)};
        f.order_count = 0;
        struct finalization done = finalize_turn(&input, &hooks);
        json_add_bool(&w, NULL, f.called[FINALIZE_USAGE] > before);
        got_finalization(v, &done);
        finalization_release(&done);
    }
    json_close(&w, ']');
    got_json(v, "called", called.buf);
    got_json(v, "order", vector_list(v, f.order, f.order_count));
}

/* ---- reflection ---- */

/* Runs a turn in which a tool fails, so that the engine reflects. At that moment `remaining_s` of the turn are left
 * (less than none with `expired`), and `max_reflections` may be used. */
void area_reflection(struct vector *v)
{
    struct turn_rig rig;
    struct fake_tool fails;
    const char *model = in_text(v, "model", NULL), *says = in_text(v, "answer", NULL);
    bool expired = in_flag(v, "expired");
    double left_s = in_num(v, "remaining_s", expired ? -1 : 30);
    const struct fake_request *request = NULL;
    int64_t asked = 0;
    turn_rig_init(&rig);
    fake_tool_init(&fails, "fails", EFFECT_READ_ONLY);
    fails.error = "a failure of the test";
    /* The tool uses up the turn's time, at most 2 s, to stay within its own deadline. */
    fails.takes_ms = left_s < 0 ? 2000 : 1000;
    turn_rig_add_tool(&rig, &fails.tool);
    rig.config.thinking = THINKING_LOW;
    rig.config.limits.wall_s = left_s < 0 ? 1 : left_s + 1;
    rig.config.limits.reflections = in_int(v, "max_reflections", rig.config.limits.reflections);
    turn_rig_open(&rig);
    fake_answer_call(fake_provider_answer(rig.model), NULL, "fails", "{}");
    if (says)
        fake_provider_reflection(rig.model)->text = says;
    if (model && strcmp(model, "raises") == 0)
        fake_provider_reflection(rig.model)->error = "a failure of the test";
    else if (model && strcmp(model, "times out") == 0)
        fake_provider_reflection(rig.model)->takes_us = -1;
    else if (model)
        vector_fail(v, "expected a model the runner understands got input.model = %s", model);
    turn_rig_turn(&rig, "do it");

    for (size_t i = 0; i < rig.model->request_count; i++) {
        request = rig.model->requests[i].reflection ? &rig.model->requests[i] : request;
        asked += rig.model->requests[i].reflection;
    }
    const struct event *reflection = turn_rig_event(&rig, EVENT_REFLECTION, 0);
    got_text(v, "reflection", reflection ? reflection->reflection.text : NULL);
    got_bool(v, "should_continue", reflection && reflection->reflection.should_continue);
    got_bool(v, "is_result", reflection != NULL);
    got_bool(v, "raises", turn_rig_count(&rig, EVENT_TURN_FINISHED) != 1);
    got_int(v, "model_calls", asked);
    if (wants(v, "timeout_s") && !request)
        vector_fail(v, "expected timeout_s of a question to the model got none asked");
    else if (request)
        got_num(v, "timeout_s", (double)request->timeout_ms / 1000);
    turn_rig_release(&rig);
    fake_tool_release(&fails);
}
