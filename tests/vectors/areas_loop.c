/* Runs loop.invariants and latewrite.effects: whole turns through the engine, in virtual time. */

#include "areas.h"
#include "base/mem.h"
#include "outcomes.h"
#include "support/event_json.h"
#include "tools/artifact.h"
#include "turn/engine.h"
#include "vector.h"
#include <math.h>
#include <stdio.h>

#define CALLS_MAX 64
#define TOOL_S    5.0 /* default limit of a tool that must time out: the shortest possible */

static int64_t ms_of(double seconds)
{
    return llround(seconds * 1000);
}

/* ---- loop.invariants ---- */

struct cast {
    struct vector *v;
    struct turn_rig rig;
    struct fake_tool tools[CALLS_MAX];
    size_t tool_count;
    struct fake_answer *answer; /* the answer with the calls */
    int64_t tool_ms;            /* duration of a successful call */
};

static struct fake_tool *add_tool(struct cast *cast, const char *name, enum effect effect)
{
    if (cast->tool_count == CALLS_MAX)
        BUG("too many tools");
    struct fake_tool *tool = &cast->tools[cast->tool_count++];
    fake_tool_init(tool, arena_strdup(&cast->v->arena, name), effect);
    return tool;
}

/* Adds a call with this outcome. Each has a tool of its own, so reads can share a wave; a duplicate repeats the newest
 * "ok". */
static void call_by_word(struct cast *cast, const char *word)
{
    const char *name = arena_printf(&cast->v->arena, "tool_%zu", cast->answer->call_count);
    if (strcmp(word, "unknown tool") == 0) {
        fake_answer_call(cast->answer, NULL, "no_such_tool", "{}");
        return;
    }
    if (strcmp(word, "duplicate") == 0) {
        for (size_t i = cast->answer->call_count; i > 0; i--)
            if (strcmp(cast->answer->calls[i - 1].arguments, "{\"as\":\"ok\"}") == 0)
                name = arena_strdup(&cast->v->arena, cast->answer->calls[i - 1].name);
        fake_answer_call(cast->answer, NULL, name, "{\"as\":\"ok\"}");
        return;
    }
    struct fake_tool *tool =
        add_tool(cast, name, strcmp(word, "denied write") == 0 ? EFFECT_LOCAL_WRITE : EFFECT_READ_ONLY);
    if (strcmp(word, "raises") == 0 || strcmp(word, "fails") == 0) {
        tool->error = "a failure of the test";
    } else if (strcmp(word, "times out") == 0) {
        tool->tool.spec.timeout_s = TOOL_S;
        tool->takes_ms = ms_of(TOOL_S) * 2;
    } else if (strcmp(word, "denied write") == 0) {
        tool->asks = FAKE_PROPOSES;
        tool->path = "file.txt";
        tool->text = "not to be written\n";
    } else if (strcmp(word, "bad arguments") == 0) {
        tool->tool.spec.parameters = "{\"type\":\"object\",\"required\":[\"path\"]}";
    } else if (strcmp(word, "ok") == 0) {
        tool->takes_ms = cast->tool_ms;
    } else {
        vector_fail(cast->v, "expected a call the runner understands got %s", word);
    }
    turn_rig_add_tool(&cast->rig, &tool->tool);
    fake_answer_call(cast->answer, NULL, name, strcmp(word, "ok") == 0 ? "{\"as\":\"ok\"}" : "{}");
}

static void call_by_object(struct cast *cast, const struct json *call)
{
    static const char *const known[] = {"tool", "takes_ms", "id", "safety", "fails", NULL};
    const char *name = json_str(json_get(call, "tool"), "tool");
    const char *safety = json_str(json_get(call, "safety"), effect_name(EFFECT_READ_ONLY));
    in_only(cast->v, call, "input.calls[]", known);
    if (!registry_find(cast->rig.config.registry, name)) {
        struct fake_tool *tool = add_tool(cast, name, effect_from_name(safety));
        tool->takes_ms = json_int(json_get(call, "takes_ms"), cast->tool_ms);
        tool->error = json_bool(json_get(call, "fails"), false) ? "a failure of the test" : NULL;
        turn_rig_add_tool(&cast->rig, &tool->tool);
    }
    fake_answer_call(cast->answer, json_str(json_get(call, "id"), NULL), name,
                     arena_printf(&cast->v->arena, "{\"n\":%zu}", cast->answer->call_count));
}

/* A number of successful calls, or a list of outcomes. */
static void make_calls(struct cast *cast, const struct json *calls)
{
    if (calls && calls->type == JSON_NUMBER)
        for (int64_t i = 0; i < json_int(calls, 0); i++)
            call_by_word(cast, "ok");
    json_each (call, calls) {
        if (call->type == JSON_OBJECT)
            call_by_object(cast, call);
        else
            call_by_word(cast, json_str(call, ""));
    }
}

static void make_model(struct cast *cast)
{
    struct vector *v = cast->v;
    const char *model = in_text(v, "model", NULL), *loop = in_text(v, "loop", NULL);
    cast->answer = fake_provider_answer(cast->rig.model);
    cast->answer->takes_us = ms_of(in_num(v, "step_takes_s", 0)) * 1000;
    if (model && strcmp(model, "always asks for a tool") == 0)
        cast->rig.model->repeat_last = true;
    else if (model && strcmp(model, "raises") != 0)
        vector_fail(v, "expected a model the runner understands got input.model = %s", model);
    if (loop && strcmp(loop, "raises") != 0)
        vector_fail(v, "expected a loop the runner understands got input.loop = %s", loop);
    /* C has no exceptions: the failure inside the loop is a model that fails for good. */
    if (loop || (model && strcmp(model, "raises") == 0))
        cast->answer->error = "a failure of the test";
}

static void set_limits(struct cast *cast)
{
    struct budget_limits *limits = &cast->rig.config.limits;
    struct vector *v = cast->v;
    limits->steps = in_int(v, "max_steps", limits->steps);
    limits->wall_s = in_num(v, "timeout_s", limits->wall_s);
    /* A case without tool calls is not about their limit. */
    if (in_has(v, "max_tool_calls"))
        limits->tool_calls = in_int(v, "max_tool_calls", 0);
    else if (!in_has(v, "max_steps"))
        limits->tool_calls = CALLS_MAX;
    cast->rig.config.parallel = in_bool(v, "parallel_enabled", true);
}

/* The parts of a turn that `order` can name, by their events. */
static const struct {
    const char *name;
    enum event_type type;
} parts[] = {
    {"thinking", EVENT_TURN_STARTED},      {"context", EVENT_CONTEXT_LOADED},  {"memory", EVENT_CONTEXT_LOADED},
    {"budget", EVENT_BUDGET_OPENED},       {"prepare", EVENT_TURN_PREPARED},   {"loop", EVENT_MODEL_REQUESTED},
    {"close_writes", EVENT_WRITES_CLOSED}, {"finalize", EVENT_TURN_FINALIZED}, {"result", EVENT_TURN_FINISHED},
};

static const struct event *first_of_part(const struct turn_rig *rig, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (strcmp(parts[i].name, name) == 0)
            return turn_rig_event(rig, parts[i].type, 0);
    return NULL;
}

/* "same as calls": the order of the messages; a list: the named parts, each present and in this order. */
static void got_order(struct cast *cast, const char *message_order)
{
    struct vector *v = cast->v;
    const struct json *want = wants(v, "order");
    int64_t seq = 0;
    if (!want)
        return;
    if (want->type == JSON_STRING) {
        const char **ids = arena_calloc(&v->arena, cast->answer->call_count + 1, sizeof(*ids));
        for (size_t i = 0; i < cast->answer->call_count; i++)
            ids[i] = cast->answer->calls[i].id ? cast->answer->calls[i].id : arena_printf(&v->arena, "c%zu", i + 1);
        if (strcmp(want->text, "same as calls") != 0)
            vector_fail(v, "expected an order the runner understands got expect.order = %s", want->text);
        else if (strcmp(message_order, vector_list(v, ids, cast->answer->call_count)) != 0)
            vector_fail(v, "expected order = \"same as calls\" got %s", message_order);
        return;
    }
    json_each (name, want) {
        const struct event *event = first_of_part(&cast->rig, json_str(name, ""));
        if (!event || event->seq <= seq)
            vector_fail(v, "expected order: %s in its place got it %s", json_str(name, "?"),
                        event ? "earlier" : "nowhere");
        seq = event ? event->seq : seq;
    }
}

static int64_t count_finished(const struct turn_rig *rig, const char *outcome)
{
    const struct event *event;
    int64_t count = 0;
    for (size_t n = 0; (event = turn_rig_event(rig, EVENT_TOOL_FINISHED, n)); n++)
        count += strcmp(event->tool_finished.outcome, outcome) == 0;
    return count;
}

static void got_turn(struct cast *cast, int64_t turns)
{
    struct vector *v = cast->v;
    const struct turn_rig *rig = &cast->rig;
    const struct event *end = turn_rig_event(rig, EVENT_TURN_FINISHED, 0);
    const char *messages = vector_message_order(v, rig);
    got_json(v, "message_order", messages);
    got_order(cast, messages);
    got_outcomes(v, "outcomes", rig, NULL);
    got_int(v, "tool_messages", (int64_t)vector_tool_messages(v, rig, NULL));
    got_int(v, "generations", (int64_t)fake_provider_steps(rig->model));
    got_int(v, "executed", (int64_t)turn_rig_count(rig, EVENT_TOOL_STARTED));
    got_int(v, "denied", count_finished(rig, "denied"));
    /* Ended by a budget when the turn's time was up. */
    got_bool(v, "timed_out",
             end && strcmp(end->turn_finished.status, "budget") == 0 &&
                 end->turn_finished.elapsed_ms >= ms_of(rig->config.limits.wall_s));
    got_bool(v, "finalized", (int64_t)turn_rig_count(rig, EVENT_TURN_FINALIZED) == turns);
    got_bool(v, "result_returned", (int64_t)turn_rig_count(rig, EVENT_TURN_FINISHED) == turns);
    got_text(v, "status", end ? end->turn_finished.status : NULL);
}

void area_loop_invariants(struct vector *v)
{
    struct cast *cast = arena_calloc(&v->arena, 1, sizeof(*cast));
    const struct json *calls = in_has(v, "wave") ? in_get(v, "wave") : in_get(v, "calls");
    int64_t turns = in_int(v, "turns", 1), changed = 0;
    struct engine_config before;
    if (in_has(v, "wave") && in_has(v, "calls"))
        vector_fail(v, "expected calls or a wave got both");
    cast->v = v;
    turn_rig_init(&cast->rig);
    turn_rig_no_tools(&cast->rig);
    turn_rig_file(&cast->rig, "file.txt", "original bytes\n");
    cast->rig.answer = turn_rig_say_no;
    cast->tool_ms = ms_of(in_num(v, "tool_takes_s", 0));
    set_limits(cast);
    make_model(cast);
    make_calls(cast, calls ? calls : vector_parse(v, "[\"ok\"]"));
    turn_rig_open(&cast->rig);
    memcpy(&before, &cast->rig.config, sizeof(before));
    for (int64_t i = 0; i < turns; i++)
        turn_rig_turn(&cast->rig, "do it");
    /* Counts the changed words of memory: the test fails if any changed. */
    for (size_t i = 0; i < sizeof(before) / sizeof(uintptr_t); i++)
        changed += memcmp((char *)&before + i * sizeof(uintptr_t), (char *)&cast->rig.config + i * sizeof(uintptr_t),
                          sizeof(uintptr_t)) != 0;
    got_int(v, "harness_fields_changed", changed);
    got_turn(cast, turns);
    turn_rig_release(&cast->rig);
    for (size_t i = 0; i < cast->tool_count; i++)
        fake_tool_release(&cast->tools[i]);
}

/* ---- latewrite.effects ---- */

#define LATE_FILE   "file.txt"
#define LATE_BEFORE "original bytes\n"
#define NEXT_CALL   "next" /* lets thinking run; not part of the case */

/* A turn with a tool that may return too late. Its result is made as useful as possible: a long output with a source (a
 * result, an artifact, a citation), and in a second run an error (which thinking would count). */
struct late {
    struct vector *v;
    struct turn_rig rig;
    struct sink sink;
    struct fake_tool tool, next;
    const char *late_output, *late_error;
    int64_t back_in_turn; /* the tool returns in this turn; 0: after its own time */
    int64_t turn;

    const char *answer; /* NULL: the tool needs no approval */
    int64_t answer_us;
    struct loop_timer answer_timer;
    char *ask, *digest; /* of the question, for an answer even after it closed */
};

struct late_facts {
    int64_t entries, results, artifacts, citations, messages, errors;
    bool changed;
};

static void give_late_answer(struct loop_timer *timer)
{
    struct late *late = (struct late *)((char *)timer - offsetof(struct late, answer_timer));
    bool yes = strcmp(late->answer, "yes") == 0;
    struct intent answer = {.type = INTENT_ANSWER,
                            .answer = {.question = late->ask,
                                       .digest = late->digest,
                                       .decision = {.kind = yes ? DECISION_APPROVED : DECISION_DENIED}}};
    struct err err = ERR_INIT;
    /* Refused if the question is closed: some cases test that. */
    if (engine_submit(late->rig.engine, &answer, &err) < 0 && engine_question(late->rig.engine))
        vector_fail(late->v, "expected an answer to the open question got it refused: %s", err.text);
}

static void late_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct late *late = (struct late *)((char *)sink - offsetof(struct late, sink));
    const struct question *question = late->rig.engine ? engine_question(late->rig.engine) : NULL;
    (void)session;
    if (event->type == EVENT_TOOL_FINISHED && strcmp(event->tool_finished.outcome, "timeout") == 0) {
        late->tool.output = late->late_output;
        late->tool.error = late->late_error;
        late->tool.cites = "late.txt";
    }
    if (event->type == EVENT_HELD && question && late->answer) {
        late->ask = arena_strdup(&late->v->arena, question->id);
        late->digest = arena_strdup(&late->v->arena, question->digest);
        loop_timer_start(late->rig.loop, &late->answer_timer, loop_now_us(late->rig.loop) + late->answer_us,
                         give_late_answer);
    }
}

static void on_asked(struct fake_provider *provider, const struct model_request *request, void *data)
{
    struct late *late = data;
    (void)provider;
    if (late->turn == late->back_in_turn && request->step == 1)
        fake_tool_let_go(&late->tool);
}

static void read_tool(struct late *late)
{
    static const char *const known[] = {"retry_on_timeout", "tool_timeout_s", NULL};
    struct vector *v = late->v;
    const struct json *metadata = in_get(v, "metadata");
    double cap_s = in_num(v, "per_tool_s", json_num(json_get(metadata, "tool_timeout_s"), TOOL_S));
    const char *during = in_text(v, "turn1_tool_ends_during", NULL);
    long long turn = 0;
    in_only(v, metadata, "input.metadata", known);
    late->answer = in_has(v, "confirm_delay_s") ? in_text(v, "answer", "yes") : in_text(v, "answer", NULL);
    late->answer_us = ms_of(in_num(v, "confirm_delay_s", 0)) * 1000;
    fake_tool_init(&late->tool, "late", late->answer ? EFFECT_LOCAL_WRITE : EFFECT_READ_ONLY);
    fake_tool_init(&late->next, "next", EFFECT_READ_ONLY);
    late->tool.tool.spec.timeout_s = cap_s;
    late->tool.tool.spec.no_retry_on_timeout = !json_bool(json_get(metadata, "retry_on_timeout"), true);
    /* A tool without a question and without a stated duration exceeds its time. */
    late->tool.takes_ms = ms_of(in_num(v, "tool_runs_s", late->answer ? 0 : cap_s + 3));
    if (late->answer) {
        late->tool.asks = FAKE_PROPOSES;
        late->tool.path = LATE_FILE;
        late->tool.text = "written\n";
    }
    if (during && (sscanf(during, "turn %lld", &turn) != 1 || turn < 2))
        vector_fail(v, "expected \"turn N\" got input.turn1_tool_ends_during = %s", during);
    late->back_in_turn = turn;
    late->tool.hangs = turn > 0;
    turn_rig_add_tool(&late->rig, &late->tool.tool);
    turn_rig_add_tool(&late->rig, &late->next.tool);
}

/* The answers of the model: the calls; after `watch_s` one more call, so that thinking runs; the end. */
static void script(struct late *late)
{
    struct fake_answer *answer = fake_provider_answer(late->rig.model);
    for (int64_t i = 0; i < in_int(late->v, "calls", 1); i++)
        fake_answer_call(answer, NULL, "late", arena_printf(&late->v->arena, "{\"n\":%lld}", (long long)i));
    answer = fake_provider_answer(late->rig.model);
    answer->takes_us = ms_of(in_num(late->v, "watch_s", 0)) * 1000;
    fake_answer_call(answer, NEXT_CALL, "next", "{}");
    fake_provider_answer(late->rig.model)->text = "done";
}

static int64_t reflections_after(const struct turn_rig *rig, const struct event *event)
{
    int64_t count = 0;
    for (size_t i = 0; event && i < rig->event_count; i++)
        count += rig->events[i].type == EVENT_REFLECTION && rig->events[i].seq > event->seq;
    return count;
}

/* The log entries of call "c1" besides its start and its timeout, and so on. */
static void late_facts(struct late *late, struct late_facts *facts)
{
    const struct turn_rig *rig = &late->rig;
    const struct event *finished = turn_rig_finished(rig, "c1");
    const char *outcome = finished ? finished->tool_finished.outcome : "";
    bool result = strcmp(outcome, "result") == 0 || strcmp(outcome, "artifact") == 0;
    CLEANUP(free) char *file = turn_rig_read(rig, LATE_FILE);
    const struct event *final = turn_rig_event(rig, EVENT_TURN_FINALIZED, 0);
    facts->entries = result || strcmp(outcome, "failure") == 0;
    for (size_t n = 0; turn_rig_event(rig, EVENT_TOOL_OUTPUT, n); n++)
        facts->entries++;
    facts->results = result;
    facts->artifacts = (int64_t)artifact_store_count(rig->config.artifacts, NULL);
    facts->citations = final ? vector_parse(late->v, event_json(final, "citations"))->count : 0;
    facts->messages = (int64_t)vector_tool_messages(late->v, rig, "c1");
    facts->errors = reflections_after(rig, turn_rig_event(rig, EVENT_LATE_SUPPRESSED, 0));
    facts->changed = !file || strcmp(file, LATE_BEFORE) != 0;
}

/* "turn2_tool_results", "turn2_trace_entries": for any turn. */
static void got_turns(struct late *late)
{
    const struct session *session = engine_session(late->rig.engine);
    struct vector *v = late->v;
    for (uint32_t t = 0; t < session->turn_count; t++) {
        const struct event *event;
        int64_t results = 0, turn = session->turns[t].number;
        for (size_t n = 0; (event = turn_rig_event(&late->rig, EVENT_TOOL_FINISHED, n)); n++)
            results += event->turn == turn;
        got_int(v, arena_printf(&v->arena, "turn%lld_tool_results", (long long)turn), results);
        got_int(v, arena_printf(&v->arena, "turn%lld_trace_entries", (long long)turn), session->turns[t].call_count);
    }
}

static void run_late(struct vector *v, const char *late_output, const char *late_error, struct late_facts *worst)
{
    struct late *late = arena_calloc(&v->arena, 1, sizeof(*late));
    struct late_facts facts;
    late->v = v;
    late->late_output = late_output;
    late->late_error = late_error;
    turn_rig_init(&late->rig);
    turn_rig_file(&late->rig, LATE_FILE, LATE_BEFORE);
    read_tool(late);
    late->sink.event = late_event;
    late->rig.sink.next = &late->sink;
    late->rig.model->asked = on_asked;
    late->rig.model->asked_data = late;
    late->rig.config.thinking = THINKING_LOW;
    late->rig.config.clock_runs_while_asking = !in_bool(v, "confirm_pauses_clock", true);
    turn_rig_open(&late->rig);
    if (late->back_in_turn == 0)
        script(late);
    else
        fake_answer_call(fake_provider_answer(late->rig.model), NULL, "late", "{}");
    for (late->turn = 1; late->turn == 1 || late->turn <= late->back_in_turn; late->turn++)
        turn_rig_turn(&late->rig, "do it");

    late_facts(late, &facts);
    worst->entries = facts.entries > worst->entries ? facts.entries : worst->entries;
    worst->results = facts.results > worst->results ? facts.results : worst->results;
    worst->artifacts = facts.artifacts > worst->artifacts ? facts.artifacts : worst->artifacts;
    worst->citations = facts.citations > worst->citations ? facts.citations : worst->citations;
    worst->messages = facts.messages > worst->messages ? facts.messages : worst->messages;
    worst->errors = facts.errors > worst->errors ? facts.errors : worst->errors;
    worst->changed = worst->changed || facts.changed;
    got_outcome(v, turn_rig_finished(&late->rig, "c1"));
    got_trace(v, &late->rig, "c1");
    got_turns(late);
    got_outcomes(v, "outcomes", &late->rig, NEXT_CALL);
    turn_rig_release(&late->rig);
    fake_tool_release(&late->tool);
    fake_tool_release(&late->next);
}

static const struct vector_field late_fields[] = {
    FIELD("event_log_entries", struct late_facts, entries),
    FIELD("tool_results", struct late_facts, results),
    FIELD("artifacts", struct late_facts, artifacts),
    FIELD("citations", struct late_facts, citations),
    FIELD("tool_messages", struct late_facts, messages),
    FIELD("thinking_errors_from_late_thread", struct late_facts, errors),
    FIELD("file_changed", struct late_facts, changed),
};

void area_latewrite_effects(struct vector *v)
{
    CLEANUP(strbuf) struct strbuf output = STRBUF_INIT;
    struct late_facts worst = {0};
    strbuf_addstr(&output, "{\"entries\":[");
    for (int i = 0; i < 200; i++)
        strbuf_addf(&output, "%s\"%0100d\"", i ? "," : "", i);
    strbuf_addstr(&output, "]}");
    run_late(v, output.buf, NULL, &worst);
    run_late(v, NULL, "too late", &worst);
    vector_compare(v, late_fields, &worst);
}
