/* Runs confirm.flow: one call that wants to write, in a turn, with real files in a scratch folder.
 *
 * A case that names a built-in tool gets that tool, with a counter around it; missing arguments are made from its
 * schema. Without a name, or with an unknown one, a fake tool writes: one that proposes and then writes itself, or, if
 * no preview can be made, a foreign tool that asks in words only.
 *
 * The file of a case is "file.txt" unless its arguments name another. It contains `before` (null: it does not exist),
 * or the text that an edit requires, or "original bytes". The user gives `answer` (default: yes) to the first question,
 * and denies a second one, for which no case has an answer. */

#include "areas.h"
#include "base/mem.h"
#include "outcomes.h"
#include "support/answers.h"
#include "support/event_json.h"
#include "tools/checkpoint.h"
#include "vector.h"
#include <stdio.h>

#define FILE_NAME     "file.txt"
#define FILE_BEFORE   "original bytes"
#define FILE_AFTER    "other bytes\n"
#define FILE_EXTERNAL "bytes of another program\n"

struct paragraph;

/* The real tool, with a counter around it. */
struct counted {
    struct tool tool;
    const struct tool *real;
    struct paragraph *flow;
};

struct paragraph {
    struct vector *v;
    struct turn_rig rig;
    struct sink sink;
    struct fake_tool fake;
    struct counted counted[32];
    size_t counted_count;
    struct checkpoints *store; /* of the rig, even if the case has no store */

    const char *tool, *path, *before, *after, *arguments;
    const char *answer, *reason, *external;
    bool raises;

    atomic_int saved; /* checkpoints so far */
    atomic_int executions;
    atomic_int confirmed;          /* of them with confirm_write */
    atomic_int saved_at_confirmed; /* checkpoints when it ran */
    const char *asked_tool;        /* the name in the question */

    bool tool_writes;      /* it runs a second time, confirmed, to write; otherwise its proposal is committed */
    bool allowed, applied; /* of the running call */
    int saved_before;
};

/* ---- tools ---- */

static void note_run(struct paragraph *flow, bool confirmed)
{
    atomic_fetch_add(&flow->executions, 1);
    if (!confirmed)
        return;
    atomic_fetch_add(&flow->confirmed, 1);
    atomic_store(&flow->saved_at_confirmed, atomic_load(&flow->saved));
}

static void counted_work(struct tool_run *run, struct tool_reply *reply)
{
    const struct counted *counted = run->tool->data;
    note_run(counted->flow, run->confirm_write);
    run->tool = counted->real;
    counted->real->work(run, reply);
    run->tool = &counted->tool;
}

static void add_counted(struct paragraph *flow, const struct tool *real)
{
    struct counted *counted = &flow->counted[flow->counted_count++];
    if (flow->counted_count > COUNT_OF(flow->counted))
        BUG("too many tools");
    *counted = (struct counted){.tool = *real, .real = real, .flow = flow};
    if (real->work) { /* a tool that runs on the loop is not wrapped: none of those write */
        counted->tool.work = counted_work;
        counted->tool.data = counted;
    }
    turn_rig_add_tool(&flow->rig, &counted->tool);
}

static const struct tool *builtin(const char *name)
{
    for (const struct tool *const *tool = builtin_tools; name && *tool; tool++)
        if (strcmp((*tool)->spec.name, name) == 0)
            return *tool;
    return NULL;
}

/* The required arguments of a built-in tool, by their names. */
static const char *make_arguments(struct paragraph *flow, const struct tool *tool)
{
    const struct {
        const char *name, *value;
    } known[] = {
        {"path", flow->path},  {"from", flow->path}, {"to", "moved.txt"},  {"content", flow->after},
        {"old", flow->before}, {"new", flow->after}, {"pattern", "bytes"}, {"query", "bytes"},
    };
    const struct json *schema = vector_parse(flow->v, tool->spec.parameters);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);

    json_open(&w, NULL, '{');
    json_each (name, json_get(schema, "required")) {
        for (size_t i = 0; i < COUNT_OF(known); i++)
            if (strcmp(json_str(name, ""), known[i].name) == 0)
                json_add_str(&w, known[i].name, known[i].value);
    }
    json_close(&w, '}');
    return arena_memdup0(&flow->v->arena, text.buf, text.len);
}

/* ---- the user ---- */

static void answer(struct turn_rig *rig, const struct question *question)
{
    struct paragraph *flow = rig->data;
    struct intent no = answer_no(question, flow->reason);
    struct err err = ERR_INIT;
    flow->asked_tool = arena_strdup(&flow->v->arena, question->tool);
    if (flow->external && !question->again)
        turn_rig_file(rig, flow->path, flow->external);
    if (flow->raises) {
        /* The user's answer does not count: it is for another question. */
        struct intent stray = answer_yes(question);
        stray.answer.digest = "none";
        if (engine_submit(rig->engine, &stray, &err) == 0)
            vector_fail(flow->v, "expected an answer to something else to be refused got it taken");
        return;
    }
    flow->fake.output = NULL; /* its result in the second run */
    if (!question->again && strcmp(flow->answer, "yes") == 0)
        turn_rig_say_yes(rig, question);
    else
        turn_rig_submit(rig, &no);
}

/* The proposal of a built-in tool is committed for it: that counts as its second execution, also if it fails. */
static void count(struct sink *sink, const struct event *event, const struct session *session)
{
    struct paragraph *flow = (struct paragraph *)((char *)sink - offsetof(struct paragraph, sink));
    (void)session;
    if (event->type == EVENT_CHECKPOINT_SAVED && event->checkpoint_saved.call)
        atomic_fetch_add(&flow->saved, 1);
    if (event->type == EVENT_TOOL_STARTED) {
        flow->allowed = flow->applied = false;
        flow->saved_before = atomic_load(&flow->saved);
    }
    if (event->type == EVENT_WRITE_DECIDED)
        flow->allowed = strcmp(event->write_decided.decision, "approved") == 0;
    if (event->type == EVENT_WRITE_APPLIED && !flow->tool_writes) {
        note_run(flow, true);
        flow->applied = true;
    }
    if (event->type == EVENT_TOOL_FINISHED && !flow->tool_writes && flow->allowed && !flow->applied &&
        strcmp(event->tool_finished.outcome, "failure") == 0 &&
        (!flow->rig.config.checkpoints || atomic_load(&flow->saved) > flow->saved_before))
        note_run(flow, true);
}

/* ---- a case ---- */

static void open_rig(struct paragraph *flow)
{
    struct vector *v = flow->v;
    bool no_store = in_has(v, "checkpoint_store") && !in_bool(v, "checkpoint_store", true);
    flow->rig.data = flow;
    flow->rig.answer = answer;
    flow->rig.sink.next = &flow->sink;
    flow->sink.event = count;
    flow->store = flow->rig.config.checkpoints;
    if (no_store)
        flow->rig.config.checkpoints = NULL;
    if (in_flag(v, "checkpoint_fails")) { /* a plain file takes the place of the store's folder */
        scratch_remove(&flow->rig.scratch, "checkpoints");
        scratch_write(&flow->rig.scratch, "checkpoints", "in the way");
    }
    flow->raises = in_flag(v, "callback_raises");
    if (flow->raises)
        flow->rig.config.ask_timeout_ms = 60000; /* a question that got no answer ends there */
    if (in_is_null(v, "callback")) {             /* no user */
        rules_free(flow->rig.config.rules);
        flow->rig.config.rules = rules_new(RULES_ASK, false);
    }
    turn_rig_open(&flow->rig);
}

static void close_rig(struct paragraph *flow)
{
    flow->rig.config.checkpoints = flow->store;
    turn_rig_release(&flow->rig);
    fake_tool_release(&flow->fake);
}

static void read_files(struct paragraph *flow)
{
    struct vector *v = flow->v;
    const struct json *args = in_get(v, "args");
    const char *old = json_str(json_get(args, "old"), NULL);
    const struct json *external = in_get(v, "external_change");
    flow->path = json_str(json_get(args, "path"), json_str(json_get(args, "from"), FILE_NAME));
    flow->before = old ? arena_printf(&v->arena, "%s\n", old) : FILE_BEFORE;
    if (!in_is_null(v, "before"))
        flow->before = in_text(v, "before", flow->before);
    flow->after = in_text(v, "after", FILE_AFTER);
    flow->answer = in_text(v, "answer", "yes");
    if (strcmp(flow->answer, "yes") != 0 && strcmp(flow->answer, "no") != 0)
        vector_fail(v, "expected an answer the runner understands got input.answer = %s", flow->answer);
    flow->reason = in_text(v, "reason", NULL);
    flow->external = json_str(external, json_bool(external, false) ? FILE_EXTERNAL : NULL);
    if (!in_is_null(v, "before"))
        turn_rig_file(&flow->rig, flow->path, flow->before);
}

/* Selects the tool and its arguments. */
static void choose_tool(struct paragraph *flow)
{
    struct vector *v = flow->v;
    const char *name = in_text(v, "tool", NULL);
    const struct json *args = in_get(v, "args");
    const struct tool *real = builtin(name);
    const struct json *result = in_get(v, "tool_result");
    bool foreign = in_flag(v, "diff_fails") || result, again = in_flag(v, "tool_always_asks");
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    turn_rig_no_tools(&flow->rig);
    fake_tool_init(&flow->fake, name ? name : "writes", EFFECT_LOCAL_WRITE);
    fake_tool_on_pool(&flow->fake);
    flow->fake.asks = result ? FAKE_ASKS_NOTHING : foreign ? FAKE_ASKS_FIELD : FAKE_PROPOSES;
    if (result) { /* first answer of a foreign tool, which may be a request to confirm */
        json_write(&text, result, JSON_COMPACT);
        flow->fake.output = arena_memdup0(&v->arena, text.buf, text.len);
        strbuf_reset(&text);
    }
    flow->fake.always_asks = again;
    flow->fake.path = flow->path;
    flow->fake.text = flow->after;
    if (!real || foreign || again)
        real = &flow->fake.tool;
    add_counted(flow, real);
    flow->tool_writes = real == &flow->fake.tool;
    flow->tool = real->spec.name;
    if (args)
        json_write(&text, args, JSON_COMPACT);
    flow->arguments = args ? arena_memdup0(&v->arena, text.buf, text.len) : make_arguments(flow, real);
}

/* The diffs of the questions, one after the other; NULL if no question had one. */
static const char *shown_diff(struct paragraph *flow)
{
    const struct event *proposed = turn_rig_event(&flow->rig, EVENT_WRITE_PROPOSED, 0);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    bool any = false;
    json_each (file, proposed ? vector_parse(flow->v, event_json(proposed, "files")) : NULL) {
        const char *diff = json_str(json_get(file, "diff"), NULL);
        any = any || diff;
        strbuf_addstr(&text, diff ? diff : "");
    }
    return any ? arena_memdup0(&flow->v->arena, text.buf, text.len) : NULL;
}

static void got_flow(struct paragraph *flow)
{
    struct vector *v = flow->v;
    const struct event *finished = turn_rig_finished(&flow->rig, "c1");
    const struct event *started = turn_rig_event(&flow->rig, EVENT_TOOL_STARTED, 0);
    const char *outcome = vector_outcome(v, finished, false);
    const char *recorded = started ? started->tool_started.arguments : "null";
    CLEANUP(free) char *file = turn_rig_read(&flow->rig, flow->path);
    CLEANUP(strbuf) struct strbuf args = STRBUF_INIT;
    struct json_writer w = json_begin(&args);
    int executions = atomic_load(&flow->executions), confirmed = atomic_load(&flow->confirmed);
    if (!flow->counted[0].real->work)
        vector_fail(v, "expected a tool whose executions can be counted got %s", flow->tool);
    json_open(&w, NULL, '[');
    json_add_str(&w, NULL, flow->asked_tool);
    json_add_raw(&w, NULL, recorded);
    json_close(&w, ']');
    got_outcome(v, finished);
    got_trace(v, &flow->rig, "c1");
    got_int(v, "confirm_calls", (int64_t)flow->rig.questions);
    got_int(v, "executions", executions);
    got_bool(v, "second_has_confirm_write", executions == 2 && confirmed == 1);
    got_int(v, "snapshots", atomic_load(&flow->saved));
    got_bool(v, "snapshot_before_second_execution", confirmed > 0 && atomic_load(&flow->saved_at_confirmed) > 0);
    got_text(v, "file", file);
    got_bool(v, "file_exists", file != NULL);
    got_json(v, "callback_args", args.buf);
    got_json(v, "recorded_args", recorded);
    got_text(v, "diff", shown_diff(flow));
    got_has(v, "diff_has", shown_diff(flow));
    got_bool(v, "asked_again_or_refused",
             flow->rig.questions > 1 || !outcome || strcmp(outcome, "ToolExecutionResult") != 0);
    if (flow->external)
        got_bool(v, "external_change_lost", !file || strcmp(file, flow->external) != 0);
    got_int(v, "tool_messages", (int64_t)vector_tool_messages(v, &flow->rig, NULL));
}

/* ---- several steps ---- */

/* "approve write of a new file", "refuse edit of an old file", "undo". */
static void run_step(struct paragraph *flow, const char *step)
{
    char verdict[16], what[16], which[8], rest[8] = "";
    struct err err = ERR_INIT;
    CLEANUP(free) char *name = NULL;
    const struct tool *tool;
    if (strcmp(step, "undo") == 0) {
        if (engine_submit(flow->rig.engine, &(struct intent){.type = INTENT_UNDO}, &err) < 0)
            vector_fail(flow->v, "expected an undo got it refused: %s", err.text);
        turn_rig_run(&flow->rig);
        return;
    }
    if (sscanf(step, "%15s %15s of %*[an] %7s file%7s", verdict, what, which, rest) < 3 || *rest ||
        (strcmp(which, "new") != 0 && strcmp(which, "old") != 0) ||
        (strcmp(verdict, "approve") != 0 && strcmp(verdict, "refuse") != 0 && strcmp(verdict, "deny") != 0) ||
        !(tool = builtin((name = xasprintf("%s_file", what))))) {
        vector_fail(flow->v, "expected a step the runner understands got input.steps[] = %s", step);
        return;
    }
    flow->path = which[0] == 'n' ? "new.txt" : "old.txt";
    flow->answer = strcmp(verdict, "approve") == 0 ? "yes" : "no";
    fake_answer_call(fake_provider_answer(flow->rig.model), NULL, tool->spec.name, make_arguments(flow, tool));
    turn_rig_turn(&flow->rig, step);
}

static void run_steps(struct paragraph *flow, const struct json *steps)
{
    CLEANUP(free) char *new_file = NULL;
    CLEANUP(free) char *old_file = NULL;
    flow->after = FILE_AFTER;
    flow->before = FILE_BEFORE;
    turn_rig_file(&flow->rig, "old.txt", FILE_BEFORE);
    turn_rig_no_tools(&flow->rig);
    fake_tool_init(&flow->fake, "writes", EFFECT_LOCAL_WRITE);
    for (const struct tool *const *tool = builtin_tools; *tool; tool++)
        add_counted(flow, *tool);
    open_rig(flow);
    json_each (step, steps) {
        run_step(flow, json_str(step, ""));
    }
    new_file = turn_rig_read(&flow->rig, "new.txt");
    old_file = turn_rig_read(&flow->rig, "old.txt");
    got_bool(flow->v, "new_file_exists", new_file != NULL);
    got_text(flow->v, "new_file", new_file);
    got_bool(flow->v, "old_file_exists", old_file != NULL);
    got_text(flow->v, "old_file", old_file);
    got_int(flow->v, "confirm_calls", (int64_t)flow->rig.questions);
    got_int(flow->v, "snapshots", atomic_load(&flow->saved));
}

void area_confirm_flow(struct vector *v)
{
    struct paragraph *flow = arena_calloc(&v->arena, 1, sizeof(*flow));
    flow->v = v;
    turn_rig_init(&flow->rig);
    if (in_has(v, "steps")) {
        run_steps(flow, in_get(v, "steps"));
    } else {
        read_files(flow);
        choose_tool(flow);
        open_rig(flow);
        fake_answer_call(fake_provider_answer(flow->rig.model), "c1", flow->tool, flow->arguments);
        turn_rig_turn(&flow->rig, "do it");
        got_flow(flow);
    }
    close_rig(flow);
}
