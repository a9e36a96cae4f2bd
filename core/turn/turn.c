/* A turn from its prompt to turn.finished.
 *
 * The order is always: turn.started → memory and context pack, in parallel → budget → messages → steps → the write
 * gate closes → finalizer → turn.finished. turn_end is the only way out of the loop, so the write gate closes before
 * the finalizer, whatever ended the loop.
 *
 * The struct may outlive the turn, because a tool that timed out still runs on its thread. turn_maybe_free frees it
 * when the last thread has returned and its result was suppressed. */

#include "turn.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "prepare.h"
#include <string.h>

#define MEMORY_ITEMS  5
#define CONTEXT_ITEMS 5
#define WARN_SHARE    0.8

/* A late thread of this turn reports to this turn, even if another turn runs by then. */
static int emit_in_turn(struct emitter *emitter, struct event *events, size_t count)
{
    struct turn *turn = CONTAINER_OF(emitter, struct turn, emitter);
    return engine_record(turn->engine, turn->number, events, count);
}

void turn_soon(struct turn *turn, void (*run)(struct loop_task *task))
{
    loop_post(turn->config->loop, &turn->next, run);
}

/* ---- usage ---- */

static double largest_share(const struct budget *budget)
{
    double largest = 0;
    for (int key = 0; key < BUDGET_KEY_COUNT; key++) {
        double limit = budget_limit(budget, (enum budget_key)key);
        if (limit > 0 && budget_used(budget, (enum budget_key)key) / limit > largest)
            largest = budget_used(budget, (enum budget_key)key) / limit;
    }
    return largest;
}

void turn_charge(struct turn *turn)
{
    struct event_budget_values used = budget_used_to_event(&turn->budget);
    int key;
    emit(&turn->emitter, &(struct event){.type = EVENT_BUDGET_CHARGED, .budget_charged = {.used = &used}});
    while ((key = budget_warning(&turn->budget, WARN_SHARE)) >= 0) {
        enum budget_key which = (enum budget_key)key;
        emit(&turn->emitter, &(struct event){.type = EVENT_BUDGET_WARNED,
                                             .budget_warned = {.key = budget_key_name(which),
                                                               .used = budget_used(&turn->budget, which),
                                                               .limit = budget_limit(&turn->budget, which)}});
    }
}

static void deadline_passed(struct loop_timer *timer);

/* Uses microseconds, not rounded seconds: a timer that fires early would find the deadline not passed yet. */
void turn_watch_deadline(struct turn *turn)
{
    struct loop *loop = turn->config->loop;
    int64_t left_us = turn->budget.due_us - hold_clock_now(&turn->clock);
    loop_timer_start(loop, &turn->deadline_timer, loop_now_us(loop) + (left_us > 0 ? left_us : 0), deadline_passed);
}

void turn_clock_changed(struct turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++)
        if (turn->calls[i].running)
            bounded_clock_changed(turn->calls[i].running);
    if (turn->ending || !turn->budget.clock)
        return;
    if (turn->clock.depth > 0)
        loop_timer_stop(turn->config->loop, &turn->deadline_timer);
    else if (turn->deadline_timer.fire)
        turn_watch_deadline(turn);
}

/* ---- a limit is reached ----
 *
 * With a user the turn holds, and what was about to happen is parked until the limit is raised. If the user lets the
 * turn end instead, the limit can still be raised at the last gate, if there is one. After that the calls that wait
 * are skipped, and the turn ends. */

static void limit_answered(struct turn *turn, struct turn_call *held);

bool turn_at_limit(const struct turn *turn)
{
    for (const struct hold *hold = turn->holds; hold; hold = hold->next)
        if (hold->limit >= 0)
            return true;
    return false;
}

bool turn_reach_limit(struct turn *turn, enum budget_key key, struct turn_call *call, void (*parked)(struct turn *turn))
{
    turn->tally.timed_out |= key == BUDGET_WALL_MS;
    turn->reached = (int)key;
    if (!turn->config->interactive || turn->stopping || turn->cancelled)
        return false;
    turn->parked = parked;
    CLEANUP(free) char *why = xasprintf("limit: %s", budget_key_name(key));
    turn_hold(turn,
              &(struct hold){.gate = GATE_BUDGET, .why = why, .limit = (int)key, .call = call, .go = limit_answered});
    return true;
}

static void continue_parked(struct turn *turn)
{
    void (*parked)(struct turn *) = turn->parked;
    turn->parked = NULL;
    if (parked)
        parked(turn);
}

/* The parked calls are skipped one by one; the last one ends the turn. */
static void end_at_limit(struct turn *turn)
{
    turn->stopping = true;
    if (!turn->call_count) {
        turn_end(turn, "budget");
        return;
    }
    turn_calls_cancel(turn);
    continue_parked(turn);
}

/* Returns true if the hold at the limit is over because the turn was canceled or the limit was raised. */
static bool limit_gone(struct turn *turn)
{
    if (turn->cancelled && !turn->call_count) {
        turn_end(turn, "cancelled");
    } else if (turn->cancelled) {
        continue_parked(turn);
    } else if (budget_reached(&turn->budget, (enum budget_key)turn->reached)) {
        return false;
    } else {
        turn->reached = -1;
        turn->tally.timed_out = false;
        continue_parked(turn); /* what comes next asks about another limit that was reached meanwhile */
    }
    return true;
}

static void last_gate_passed(struct turn *turn, struct turn_call *held)
{
    (void)held; /* NULL: the last gate holds no call */
    if (!limit_gone(turn))
        end_at_limit(turn);
}

static void limit_answered(struct turn *turn, struct turn_call *held)
{
    struct gate_view view = {.gate = GATE_FINALIZE, .budget_share = largest_share(&turn->budget)};
    (void)held; /* NULL: the gate of a limit holds no call */
    if (!limit_gone(turn) && !turn_hold_at(turn, &view, NULL, last_gate_passed))
        end_at_limit(turn);
}

/* Ends the wait for the model, or holds. Running calls are not cut short: without a user they have deadlines of their
 * own, and with one they run on. A call with a write question keeps it: the next call asks about the limit. */
static void deadline_passed(struct loop_timer *timer)
{
    struct turn *turn = CONTAINER_OF(timer, struct turn, deadline_timer);
    turn_plan_now(turn);
    if (turn->holds || turn->stopping)
        return;
    if (turn->asking && !turn->reflecting && !turn_reach_limit(turn, BUDGET_WALL_MS, NULL, NULL))
        turn_end(turn, "budget");
    else if (turn->call_count && turn->config->interactive && !turn->question)
        turn_reach_limit(turn, BUDGET_WALL_MS, NULL, NULL);
}

/* ---- steps ---- */

void turn_drop_undo_note(struct turn *turn)
{
    if (!turn->noted)
        return;
    free(turn->messages.items[--turn->messages.count].text);
    turn->noted = false;
}

void turn_note_undone(struct turn *turn)
{
    turn_drop_undo_note(turn);
    turn->noted = undo_notes_write(&turn->engine->untold, &turn->messages);
}

static void step_begins(struct turn *turn)
{
    struct gate_view view = {.gate = GATE_MODEL, .budget_share = largest_share(&turn->budget)};
    turn_compact(turn);
    turn_note_undone(turn); /* now, because the gate shows the messages */
    if (!turn_hold_at(turn, &view, NULL, turn_ask_model))
        turn_ask_model(turn, NULL);
}

static void after_budget_break(struct turn *turn, struct turn_call *held)
{
    (void)held; /* NULL: the gate of a breakpoint holds no call */
    step_begins(turn);
}

static void undos_repeated(struct engine *engine)
{
    if (engine->turn && !engine->turn->ending)
        turn_next_step(engine->turn);
}

void turn_next_step(struct turn *turn)
{
    struct gate_view view = {.gate = GATE_BUDGET, .budget_share = largest_share(&turn->budget)};
    if (turn->cancelled) {
        turn_end(turn, "cancelled");
        return;
    }
    if (engine_repeat_undos(turn->engine, turn->number, turn->step + 1, undos_repeated))
        return;
    int key = budget_exhausted(&turn->budget);
    if (key >= 0) {
        if (!turn_reach_limit(turn, (enum budget_key)key, NULL, turn_next_step))
            turn_end(turn, "budget");
        return;
    }
    if (!turn_hold_at(turn, &view, NULL, after_budget_break))
        step_begins(turn);
}

/* ---- loading ---- */

static void prepare(struct turn *turn)
{
    const struct engine_config *config = turn->config;
    CLEANUP(strbuf) struct strbuf memory = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf pack = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    emit(&turn->emitter, &(struct event){.type = EVENT_CONTEXT_LOADED,
                                         .context_loaded = {.memory = memory_to_event(&arena, &turn->memory),
                                                            .pack = context_pack_to_event(&arena, &turn->context)}});

    budget_open(&turn->budget, &config->limits, &turn->clock);
    struct event_budget_values limits = budget_limits_to_event(&turn->budget);
    emit(&turn->emitter, &(struct event){.type = EVENT_BUDGET_OPENED, .budget_opened = {.limits = &limits}});
    turn_watch_deadline(turn);

    turn->tools = select_tools(config->registry, turn->prompt, config->select_tools, SELECT_MAX, &turn->tool_count);
    memory_prompt(&memory, &turn->memory);
    context_pack_write(&pack, &turn->context);
    prepare_turn(&turn->preparation,
                 &(struct prepare_input){
                     .system_prompt = config->system_prompt ? config->system_prompt : prepare_default_prompt,
                     .session = config->session,
                     .provider = engine_provider(turn->engine)->ops->name,
                     .model = engine_provider(turn->engine)->ops->model(engine_provider(turn->engine)),
                     .wall_us = loop_clock(config->loop)->wall_us(loop_clock(config->loop)),
                     .memory = memory.buf,
                     .instructions = turn->instructions,
                     .history = engine_history(turn->engine),
                     .context_pack = pack.buf,
                     .prompt = turn->prompt,
                 });
    struct message_list said = turn->messages; /* messages of a recording that lacks its first request */
    message_list_copy(&turn->messages, &turn->preparation.messages);

    const char **names = arena_calloc(&arena, turn->tool_count + 1, sizeof(*names));
    for (size_t i = 0; i < turn->tool_count; i++)
        names[i] = turn->tools[i]->spec.name;
    emit(&turn->emitter,
         &(struct event){.type = EVENT_TURN_PREPARED,
                         .turn_prepared = {.messages = message_list_to_event_briefly(&arena, &turn->messages),
                                           .tools = {names, turn->tool_count},
                                           .prompt_render_hash = turn->preparation.render_hash}});
    message_list_append(&turn->messages, &said);
}

static void loaded(struct turn *turn)
{
    turn->works--;
    if (--turn->loading > 0)
        return;
    if (!turn->cancelled)
        prepare(turn);
    turn_next_step(turn);
}

static void load_memory(struct loop_work *work)
{
    struct turn *turn = CONTAINER_OF(work, struct turn, memory_work);
    const struct engine_config *config = turn->config;
    turn->memory = memory_load(config->store, config->memory, config->project, turn->prompt, MEMORY_ITEMS);
}

static void memory_loaded(struct loop_work *work)
{
    loaded(CONTAINER_OF(work, struct turn, memory_work));
}

static void load_context(struct loop_work *work)
{
    struct turn *turn = CONTAINER_OF(work, struct turn, context_work);
    if (turn->config->project_instructions)
        turn->instructions = instructions_load(turn->config->root);
    turn->context = context_load(turn->config->root, turn->prompt, CONTEXT_ITEMS, &turn->context_cancelled);
}

static void context_loaded(struct loop_work *work)
{
    loaded(CONTAINER_OF(work, struct turn, context_work));
}

struct turn *turn_make(struct engine *engine, const struct engine_config *config, int64_t number, const char *prompt)
{
    struct turn *turn = xcalloc(1, sizeof(*turn));
    turn->engine = engine;
    turn->config = config;
    turn->number = number;
    turn->emitter = (struct emitter){.emit = emit_in_turn, .turn = number};
    turn->prompt = xstrdup(prompt);
    hold_clock_init(&turn->clock, loop_clock(config->loop));
    turn->started_us = hold_clock_now(&turn->clock);
    turn->reached = -1;
    tally_init(&turn->tally);
    message_list_init(&turn->messages);
    strbuf_init(&turn->delta_text);
    strbuf_init(&turn->delta_thinking);
    strbuf_init(&turn->partial);
    turn_host_init(turn);
    return turn;
}

void turn_load(struct turn *turn)
{
    struct loop *loop = turn->config->loop;
    turn->loading = 2;
    turn->works += 2;
    loop_work_start(loop, &turn->memory_work, load_memory, memory_loaded);
    loop_work_start(loop, &turn->context_work, load_context, context_loaded);
}

struct turn *turn_start(struct engine *engine, const struct engine_config *config, int64_t number, const char *prompt)
{
    struct turn *turn = turn_make(engine, config, number, prompt);
    struct thinking *thinking = engine_thinking(engine);
    thinking_on_turn_start(thinking);
    gates_turn_started(engine_gates_mutable(engine));
    struct event_thinking_info level = {.level = thinking_level_name(thinking->level), .counter = thinking->turn};
    emit(&turn->emitter,
         &(struct event){.type = EVENT_TURN_STARTED, .turn_started = {.prompt = turn->prompt, .thinking = &level}});
    turn_load(turn);
    return turn;
}

/* ---- the end ---- */

static void finished(struct turn *turn)
{
    struct event_usage usage = usage_to_event(&turn->tally.usage);
    bool at_limit = turn->reached >= 0 && strcmp(turn->status, "budget") == 0;
    enum budget_key key = at_limit ? (enum budget_key)turn->reached : BUDGET_WALL_MS;
    struct event_limit_info limit = {.key = budget_key_name(key),
                                     .limit = turn->budget.clock ? budget_limit(&turn->budget, key) : 0,
                                     .skipped = (int64_t)turn->skipped};
    emit(&turn->emitter,
         &(struct event){.type = EVENT_TURN_FINISHED,
                         .turn_finished = {.status = turn->status,
                                           .text = turn->final.text,
                                           .usage = &usage,
                                           .steps = turn->step,
                                           .tool_calls = turn->tally.tool_calls,
                                           .elapsed_ms = (hold_clock_now(&turn->clock) - turn->started_us) / 1000,
                                           .waited_ms = (hold_clock_held(&turn->clock) - turn->comparing_us) / 1000,
                                           .limit = at_limit ? &limit : NULL}});
    turn->finished = true;
    engine_turn_finished(turn->engine, turn);
    turn_maybe_free(turn);
}

static void run_finalizer(struct loop_work *work)
{
    struct turn *turn = CONTAINER_OF(work, struct turn, final_work);
    turn->final = finalize_turn(&turn->final_input, &turn->config->hooks);
}

static void finalized(struct loop_work *work)
{
    struct turn *turn = CONTAINER_OF(work, struct turn, final_work);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event = {.type = EVENT_TURN_FINALIZED};
    turn->works--;
    finalization_to_event(&event.turn_finalized, &arena, &turn->final);
    emit(&turn->emitter, &event);
    finished(turn);
}

static void finalize(struct turn *turn, struct turn_call *held)
{
    const struct tally *state = &turn->tally;
    (void)held; /* NULL: the gate before finalizing holds no call */
    turn->final_input = (struct finalize_input){
        .session = turn->config->session,
        .project = turn->config->project,
        .turn = turn->number,
        .prompt = turn->prompt,
        .text = state->final_text ? state->final_text : "",
        .status = turn->status,
        .show_citations = turn->config->show_citations,
        .citations = state->citations,
        .citation_count = state->citation_count,
        .usage = state->usage,
        .wall_us = loop_clock(turn->config->loop)->wall_us(loop_clock(turn->config->loop)),
    };
    turn->works++;
    loop_work_start(turn->config->loop, &turn->final_work, run_finalizer, finalized);
}

void turn_end(struct turn *turn, const char *status)
{
    struct gate_view view = {.gate = GATE_FINALIZE, .budget_share = largest_share(&turn->budget)};
    if (turn->ending)
        return;
    turn->ending = true;
    turn->status = turn->skipped && strcmp(status, "done") == 0 ? "budget" : status;
    turn_drop_undo_note(turn);
    turn_stop_asking(turn);
    loop_timer_stop(turn->config->loop, &turn->deadline_timer);
    call_states_close_writes(&turn->tally.trace);
    emit(&turn->emitter, &(struct event){.type = EVENT_WRITES_CLOSED});
    if (turn->stopping || !turn_hold_at(turn, &view, NULL, finalize)) /* stopping: the last gate was passed */
        finalize(turn, NULL);
}

void turn_cancel(struct turn *turn)
{
    bool in_calls = turn->call_count > 0;
    if (turn->cancelled || turn->finished)
        return;
    turn->cancelled = true;
    atomic_store(&turn->context_cancelled, true);
    write_cancel(turn);
    turn_calls_cancel(turn);
    turn_plan_now(turn);
    turn_release_all(turn, "cancel");
    /* While loading or in calls, the running work returns and finds the turn canceled. */
    if (!in_calls && turn->call_count == 0 && turn->loading == 0)
        turn_end(turn, "cancelled");
}

void turn_maybe_free(struct turn *turn)
{
    if (turn->finished && turn->host.pending == 0 && turn->works == 0)
        engine_turn_freed(turn->engine, turn);
}

void turn_free(struct turn *turn)
{
    if (!turn)
        return;
    struct loop *loop = turn->config->loop;
    loop_unpost(loop, &turn->next);
    loop_timer_stop(loop, &turn->delta_timer);
    loop_timer_stop(loop, &turn->wait_timer);
    loop_timer_stop(loop, &turn->deadline_timer);
    question_free(turn->question);
    turn_calls_release(turn);
    model_reply_release(&turn->reply);
    while (turn->holds) {
        struct hold *hold = turn->holds;
        turn->holds = hold->next;
        free(hold->why);
        free(hold);
    }
    memory_release(&turn->memory);
    context_pack_release(&turn->context);
    free(turn->instructions);
    preparation_release(&turn->preparation);
    message_list_release(&turn->messages);
    free((void *)turn->tools);
    finalization_release(&turn->final);
    tally_release(&turn->tally);
    strbuf_release(&turn->delta_text);
    strbuf_release(&turn->delta_thinking);
    strbuf_release(&turn->partial);
    arena_release(&turn->arena);
    free(turn->prompt);
    free(turn);
}
