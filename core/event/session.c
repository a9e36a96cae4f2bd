/* The fold of sessions, turns, steps, budget and gates. session_calls.c folds calls and questions,
 * session_programs.c programs and their workspaces.
 *
 * A table has one function per type of event. Each function finds the rows of its event, checks that the event can
 * be true of them, and sets numbers. An event that cannot be true is recorded as a fault and changes as little as
 * possible, because a recording with a mistake must still be readable. The fold depends only on the session and the
 * event. Otherwise a replay would show another run than the recorded one.
 *
 * Rows of a turn are contiguous, because rows are added only to the newest turn. Events about existing rows (an
 * undo, a call that returns late) may name an older turn. */

#include "base/mem.h"
#include "session_fold.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Limit of the text of an unfinished answer; the answer itself has all of it. */
#define PARTIAL_MAX ((size_t)1 << 20)
#define VALUES_MAX  60000 /* three times the limit for the calls of an answer */

static const char *const budget_names[BUDGET_KEY_COUNT] = {
    [BUDGET_WALL_MS] = "wall_ms",
    [BUDGET_STEPS] = "steps",
    [BUDGET_TOOL_CALLS] = "tool_calls",
    [BUDGET_REFLECTIONS] = "reflections",
    [BUDGET_CONTEXT_TOKENS] = "context_tokens",
    [BUDGET_INPUT_TOKENS] = "input_tokens",
    [BUDGET_OUTPUT_TOKENS] = "output_tokens",
    [BUDGET_COST_USD] = "cost_usd",
};

const char *budget_key_name(enum budget_key key)
{
    return (unsigned)key < BUDGET_KEY_COUNT ? budget_names[key] : "";
}

int budget_key_from_name(const char *name)
{
    for (int key = 0; key < BUDGET_KEY_COUNT; key++)
        if (strcmp(budget_names[key], name) == 0)
            return key;
    return -1;
}

void fold_fault(const struct fold *fold, const char *fmt, ...)
{
    struct session *session = fold->session;
    uint32_t at = session->fault_count++;
    if (at >= SESSION_FAULTS_KEPT)
        return;
    struct session_fault *fault = &session->faults[at];
    const char *name = fold->event->type_name ? fold->event->type_name : event_type_name(fold->event->type);
    fault->seq = fold->seq;
    int used = snprintf(fault->text, sizeof(fault->text), "%.40s: ", name ? name : "event");
    va_list args;
    va_start(args, fmt);
    if (used > 0 && (size_t)used < sizeof(fault->text))
        vsnprintf(fault->text + used, sizeof(fault->text) - (size_t)used, fmt, args);
    va_end(args);
}

const struct json *fold_json(const struct fold *fold, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (!text || (len > VALUES_MAX && json_count_values(text, len) > VALUES_MAX))
        return NULL; /* more than an answer may hold: a foreign recording must not block the loop */
    return json_parse(&fold->session->names->scratch, text, len, NULL);
}

const char *fold_text(const struct fold *fold, const char *text)
{
    return text_pool_put(fold->session->texts, text, SESSION_TEXT);
}

/* ---- turns and steps ---- */

static struct session_turn *newest_turn(const struct session *session)
{
    return session->turn_count ? &session->turns[session->turn_count - 1] : NULL;
}

static void reset_partial(struct session *session)
{
    strbuf_reset(&session->partial_text);
    strbuf_reset(&session->partial_thinking);
}

/* The newest step of the newest turn, if it has no answer. */
static struct session_step *interrupted_step(struct session *session)
{
    struct session_turn *turn = newest_turn(session);
    struct session_step *step = turn && turn->step_count ? &session->steps[session->step_count - 1] : NULL;
    return step && !step->responded_seq ? step : NULL;
}

/* The turn is over, and no more of the answer will arrive. */
static void keep_partial(const struct fold *fold)
{
    struct session *session = fold->session;
    struct session_step *step = interrupted_step(session);
    if (step && session->partial_text.len)
        step->text = fold_text(fold, session->partial_text.buf);
    reset_partial(session);
}

static void reset_budget(struct session *session)
{
    for (int key = 0; key < BUDGET_KEY_COUNT; key++) {
        session->budget.limit[key] = NAN;
        session->budget.used[key] = 0;
        session->budget.warned[key] = false;
    }
    session->budget.charged_seq = 0;
    session->budget.charged_t = session->budget.charged_held_us = 0;
}

static struct session_turn *add_turn(const struct fold *fold, uint32_t number)
{
    struct session *session = fold->session;
    keep_partial(fold);
    GROW(session->turns, session->turn_count, session->turn_room);
    struct session_turn *turn = &session->turns[session->turn_count++];
    *turn = (struct session_turn){.number = number,
                                  .first_call = session->call_count,
                                  .first_step = session->step_count,
                                  .first_wave = session->wave_count,
                                  .started_t = fold->t,
                                  .prompt = ""};
    reset_budget(session);
    session->held_gate = session->held_call = session->held_seq = 0;
    session->open_question = SESSION_NONE;
    session->last_model_failure_seq = 0;
    session->model_retry_t = 0;
    return turn;
}

struct session_turn *fold_turn(const struct fold *fold)
{
    struct session_turn *turn = newest_turn(fold->session);
    int64_t number = fold->event->turn;
    if (number < 0 || number >= UINT32_MAX) {
        fold_fault(fold, "invalid turn number %lld", (long long)number);
        return NULL;
    }
    if (number == 0) {
        if (!turn)
            fold_fault(fold, "no turn has started");
    } else if (!turn || number > turn->number) {
        fold_fault(fold, "turn %lld never started", (long long)number);
        turn = add_turn(fold, (uint32_t)number);
    } else if (number < turn->number) {
        fold_fault(fold, "turn %lld is over, turn %u has started", (long long)number, turn->number);
        return NULL;
    }
    if (turn && turn->finished_seq) {
        fold_fault(fold, "turn %u has finished", turn->number);
        return NULL;
    }
    return turn;
}

uint32_t fold_step(const struct fold *fold, struct session_turn *turn, int64_t number)
{
    struct session *session = fold->session;
    uint32_t end = turn->first_step + turn->step_count;
    uint32_t last = turn->step_count ? session->steps[end - 1].number : 0;
    if (number == 0)
        number = last && !session->steps[end - 1].responded_seq ? last : (int64_t)last + 1;
    if (number < 0 || number >= UINT32_MAX) {
        fold_fault(fold, "invalid step number %lld", (long long)number);
        return SESSION_NONE;
    }
    if (number > last) {
        GROW(session->steps, session->step_count, session->step_room);
        session->steps[session->step_count++] = (struct session_step){
            .turn = session->turn_count - 1, .number = (uint32_t)number, .cost_usd = NAN, .text = ""};
        turn->step_count++;
        return end;
    }
    /* Numbers ascend within a turn. */
    for (uint32_t low = turn->first_step, high = end; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (session->steps[middle].number == number)
            return middle;
        if (session->steps[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    fold_fault(fold, "step %lld comes after step %u", (long long)number, last);
    return SESSION_NONE;
}

/* ---- one function per event ---- */

static void note_model(struct session *session, const struct event_model_info *model)
{
    session->provider = session_intern(session, model ? model->provider : NULL);
    session->model = session_intern(session, model ? model->name : NULL);
}

static void session_started(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_session_started *e = &fold->event->session_started;
    if (session->started_seq) {
        fold_fault(fold, "the session has already started");
        return;
    }
    session->started_seq = session->tools_seq = fold->seq;
    session->id = session_intern(session, e->session);
    session->created = session_intern(session, e->created);
    session->app = session_intern(session, e->app);
    session->workspace = session_intern(session, e->workspace);
    note_model(session, e->model);
    session->engine = session_intern(session, e->engine);
}

static void session_ended(const struct fold *fold)
{
    if (!fold->session->ended_seq)
        fold->session->ended_seq = fold->seq;
    fold_programs_left(fold->session);
}

static void session_resumed(const struct fold *fold)
{
    fold->session->ended_seq = 0;
    fold->session->turn_left = true;
}

static void session_named(const struct fold *fold)
{
    fold->session->title = session_intern(fold->session, fold->event->session_named.name);
}

static void turn_started(const struct fold *fold)
{
    struct session *session = fold->session;
    struct session_turn *turn = newest_turn(session);
    uint32_t last = turn ? turn->number : 0;
    int64_t number = fold->event->turn;
    if (number == 0) /* written by hand */
        number = turn && !turn->started_seq ? last : (int64_t)last + 1;
    if (number < 0 || number >= UINT32_MAX) {
        fold_fault(fold, "invalid turn number %lld", (long long)number);
        return;
    }
    if (number > last) {
        turn = add_turn(fold, (uint32_t)number);
    } else if (number < last || turn->started_seq) {
        fold_fault(fold, "turn %lld has already started", (long long)number);
        return;
    }
    turn->started_seq = fold->seq;
    turn->started_t = fold->t;
    turn->prompt = fold_text(fold, fold->event->turn_started.prompt);
}

static void turn_prepared(const struct fold *fold)
{
    struct session_turn *turn = fold_turn(fold);
    if (turn)
        turn->prepared_seq = fold->seq;
}

/* A missing key keeps its value; null means unknown, or no limit. */
static void read_budget(const struct event_budget_values *budget, double values[BUDGET_KEY_COUNT])
{
    struct event_layout layout = event_record_layout(EVENT_RECORD_budget_values);
    for (size_t i = 0; budget && i < layout.count; i++) {
        int key = budget_key_from_name(layout.fields[i].name);
        bool given = budget->present & (uint64_t)1 << i;
        if (key >= 0 && given)
            values[key] = *(const double *)((const char *)budget + layout.fields[i].offset);
    }
}

static void note_charge(const struct fold *fold)
{
    struct session *session = fold->session;
    session->budget.charged_seq = fold->seq;
    session->budget.charged_t = fold->t;
    session->budget.charged_held_us = session->turn_count ? session->turns[session->turn_count - 1].held_us : 0;
}

static void budget_opened(const struct fold *fold)
{
    if (!fold_turn(fold))
        return;
    reset_budget(fold->session);
    read_budget(fold->event->budget_opened.limits, fold->session->budget.limit);
    note_charge(fold);
}

static void budget_charged(const struct fold *fold)
{
    if (!fold_turn(fold))
        return;
    read_budget(fold->event->budget_charged.used, fold->session->budget.used);
    note_charge(fold);
}

static void budget_warned(const struct fold *fold)
{
    const char *name = fold->event->budget_warned.key;
    int key = name ? budget_key_from_name(name) : -1;
    if (fold_turn(fold) && key >= 0)
        fold->session->budget.warned[key] = true;
}

/* The row of a step without an answer; SESSION_NONE and a fault if it has one. */
static uint32_t unanswered_step(const struct fold *fold, struct session_turn *turn, int64_t number)
{
    uint32_t row = turn ? fold_step(fold, turn, number) : SESSION_NONE;
    if (row == SESSION_NONE || !fold->session->steps[row].responded_seq)
        return row;
    fold_fault(fold, "step %u was already answered", fold->session->steps[row].number);
    return SESSION_NONE;
}

static void model_requested(const struct fold *fold)
{
    struct session *session = fold->session;
    struct session_turn *turn = fold_turn(fold);
    uint32_t row = unanswered_step(fold, turn, fold->event->model_requested.step);
    if (row == SESSION_NONE)
        return;
    struct session_step *step = &session->steps[row];
    step->requested_seq = fold->seq;
    step->requested_t = fold->t;
    step->first_delta_seq = step->last_delta_seq = 0;
    session->model_retry_t = 0;
    reset_partial(session);
}

static void model_changed(const struct fold *fold)
{
    note_model(fold->session, fold->event->model_changed.model);
}

static void tools_changed(const struct fold *fold)
{
    fold->session->tools_seq = fold->seq;
}

static void context_compacted(const struct fold *fold)
{
    struct session_turn *turn = fold_turn(fold);
    uint32_t row = turn ? fold_step(fold, turn, fold->event->context_compacted.step) : SESSION_NONE;
    if (row != SESSION_NONE)
        fold->session->steps[row].compacted_seq = fold->seq;
}

static void add_partial(struct strbuf *partial, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (len && len <= PARTIAL_MAX - partial->len)
        strbuf_add(partial, text, len);
}

static void model_delta(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_model_delta *e = &fold->event->model_delta;
    uint32_t row = unanswered_step(fold, fold_turn(fold), e->step);
    if (row == SESSION_NONE)
        return;
    struct session_step *step = &session->steps[row];
    step->first_delta_seq = step->first_delta_seq ? step->first_delta_seq : fold->seq;
    step->last_delta_seq = fold->seq;
    add_partial(&session->partial_text, e->text);
    add_partial(&session->partial_thinking, e->thinking);
}

static void model_responded(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_model_responded *e = &fold->event->model_responded;
    struct session_turn *turn = fold_turn(fold);
    uint32_t row = unanswered_step(fold, turn, e->step);
    if (row == SESSION_NONE)
        return;
    struct session_step *step = &session->steps[row];
    step->responded_seq = fold->seq;
    step->responded_t = fold->t;
    step->first_delta_seq = step->last_delta_seq = 0;
    step->input_tokens = e->usage ? e->usage->input : 0;
    step->output_tokens = e->usage ? e->usage->output : 0;
    step->cost_usd = e->cost_usd;
    step->text = fold_text(fold, e->text);
    session->last_model_failure_seq = 0;
    session->model_retry_t = 0;
    reset_partial(session);
    fold_answer_calls(fold, turn, row);
}

static void model_failed(const struct fold *fold)
{
    if (!fold_turn(fold))
        return;
    int64_t wait_ms = fold->event->model_failed.retry_in_ms;
    fold->session->last_model_failure_seq = fold->seq;
    /* A recording may hold any number: ignore times that do not fit. */
    if (wait_ms == EVENT_NULL_INT || wait_ms < 0 ||
        __builtin_mul_overflow(wait_ms, 1000, &fold->session->model_retry_t) ||
        __builtin_add_overflow(fold->t, fold->session->model_retry_t, &fold->session->model_retry_t))
        fold->session->model_retry_t = 0;
}

static void reflection(const struct fold *fold)
{
    struct session_turn *turn = fold_turn(fold);
    uint32_t row = turn ? fold_step(fold, turn, fold->event->reflection.step) : SESSION_NONE;
    if (row != SESSION_NONE)
        fold->session->steps[row].reflection_seq = fold->seq;
}

static void held(const struct fold *fold)
{
    struct session *session = fold->session;
    session->held_gate = session_intern(session, fold->event->held.gate);
    session->held_call = session_intern(session, fold->event->held.call);
    session->held_seq = fold->seq;
    session->held_t = fold->t;
}

/* Times come from a file and may be anything: skip those that would overflow. */
static void end_hold(const struct fold *fold)
{
    struct session *session = fold->session;
    struct session_turn *turn = session->turn_count ? &session->turns[session->turn_count - 1] : NULL;
    int64_t gap, sum;
    if (session->held_seq && turn && !__builtin_sub_overflow(fold->t, session->held_t, &gap) && gap > 0 &&
        !__builtin_add_overflow(turn->held_us, gap, &sum))
        turn->held_us = sum;
    session->held_gate = session->held_call = session->held_seq = 0;
    session->held_t = 0;
}

static void released(const struct fold *fold)
{
    struct session *session = fold->session;
    if (!session->held_seq)
        fold_fault(fold, "the turn is not paused");
    end_hold(fold);
}

static void writes_closed(const struct fold *fold)
{
    struct session_turn *turn = fold_turn(fold);
    if (turn)
        turn->writes_closed = true;
}

static void turn_finalized(const struct fold *fold)
{
    struct session_turn *turn = fold_turn(fold);
    if (!turn)
        return;
    turn->finalized_seq = fold->seq;
    if (!turn->writes_closed)
        fold_fault(fold, "the write gate of turn %u is still open", turn->number);
}

/* A request that was not answered was not charged, but its time has passed. */
static void charge_interrupted(struct session *session, const struct event_turn_finished *finished)
{
    double *used = session->budget.used;
    if (!interrupted_step(session))
        return;
    if ((double)finished->elapsed_ms > used[BUDGET_WALL_MS])
        used[BUDGET_WALL_MS] = (double)finished->elapsed_ms;
    if ((double)finished->steps > used[BUDGET_STEPS])
        used[BUDGET_STEPS] = (double)finished->steps;
}

static void turn_finished(const struct fold *fold)
{
    struct session *session = fold->session;
    const char *status = fold->event->turn_finished.status;
    struct session_turn *turn = fold_turn(fold);
    if (!turn)
        return;
    turn->finished_seq = fold->seq;
    turn->finished_t = fold->t;
    turn->elapsed_ms = fold->event->turn_finished.elapsed_ms;
    turn->status = session_intern(session, status && *status ? status : "unknown");
    uint32_t unfinished = fold_unfinished_calls(session, turn);
    if (unfinished)
        fold_fault(fold, "%u of the calls of turn %u have no outcome", unfinished, turn->number);
    end_hold(fold);
    charge_interrupted(session, &fold->event->turn_finished);
    session->open_question = SESSION_NONE;
    keep_partial(fold);
}

/* Types without a function are counted and change nothing else. */
static void (*const folds[EVENT_TYPE_COUNT])(const struct fold *fold) = {
    [EVENT_SESSION_STARTED] = session_started,
    [EVENT_TURN_STARTED] = turn_started,
    [EVENT_BUDGET_OPENED] = budget_opened,
    [EVENT_TURN_PREPARED] = turn_prepared,
    [EVENT_MODEL_REQUESTED] = model_requested,
    [EVENT_MODEL_DELTA] = model_delta,
    [EVENT_MODEL_RESPONDED] = model_responded,
    [EVENT_MODEL_FAILED] = model_failed,
    [EVENT_MODEL_CHANGED] = model_changed,
    [EVENT_TOOLS_CHANGED] = tools_changed,
    [EVENT_CONTEXT_COMPACTED] = context_compacted,
    [EVENT_WAVES_PLANNED] = fold_waves_planned,
    [EVENT_TOOL_STARTED] = fold_tool_started,
    [EVENT_TOOL_OUTPUT] = fold_tool_output,
    [EVENT_SCRIPT_EVENT] = fold_script_event,
    [EVENT_EDITED] = fold_edited,
    [EVENT_WRITE_PROPOSED] = fold_write_proposed,
    [EVENT_WRITE_DECIDED] = fold_write_decided,
    [EVENT_CHECKPOINT_SAVED] = fold_checkpoint_saved,
    [EVENT_WRITE_APPLIED] = fold_write_applied,
    [EVENT_WRITE_UNDONE] = fold_write_undone,
    [EVENT_WRITE_REDONE] = fold_write_redone,
    [EVENT_TOOL_FINISHED] = fold_tool_finished,
    [EVENT_WORKSPACE_OP] = fold_workspace_op,
    [EVENT_WORKSPACE_STATE] = fold_workspace_state,
    [EVENT_PROGRAM_STARTED] = fold_program_started,
    [EVENT_PROGRAM_OUTPUT] = fold_program_output,
    [EVENT_PROGRAM_INPUT] = fold_program_input,
    [EVENT_PROGRAM_ENDED] = fold_program_ended,
    [EVENT_LATE_SUPPRESSED] = fold_late_suppressed,
    [EVENT_REFLECTION] = reflection,
    [EVENT_BUDGET_CHARGED] = budget_charged,
    [EVENT_BUDGET_WARNED] = budget_warned,
    [EVENT_HELD] = held,
    [EVENT_RELEASED] = released,
    [EVENT_WRITES_CLOSED] = writes_closed,
    [EVENT_TURN_FINALIZED] = turn_finalized,
    [EVENT_TURN_FINISHED] = turn_finished,
    [EVENT_SESSION_ENDED] = session_ended,
    [EVENT_SESSION_RESUMED] = session_resumed,
    [EVENT_SESSION_NAMED] = session_named,
};

/* Rows hold seq in 32 bits, with 0 for "not yet". An event without a valid seq gets the next one. */
static void check_seq(struct fold *fold)
{
    struct session *session = fold->session;
    int64_t seq = fold->event->seq, last = session->last_seq;
    bool fits = seq >= 1 && seq < UINT32_MAX;
    fold->seq = fits ? (uint32_t)seq : last + 1 < UINT32_MAX ? (uint32_t)(last + 1) : UINT32_MAX - 1;
    if (!fits)
        fold_fault(fold, "invalid seq %lld", (long long)seq);
    else if (seq <= last)
        fold_fault(fold, "seq %lld comes after %lld", (long long)seq, (long long)last);
    if (fold->seq > last)
        session->last_seq = fold->seq;
}

static void check_time(struct fold *fold)
{
    struct session *session = fold->session;
    if (fold->t < 0) /* not recorded */
        fold->t = session->last_t;
    if (fold->t < session->last_t)
        fold_fault(fold, "its time is earlier than that of the previous event");
    else
        session->last_t = fold->t;
}

/* True for events that resume a session which had ended: a turn, or an undo. */
static bool is_taken_up(const struct event *event)
{
    return event->type == EVENT_TURN_STARTED ||
           (event->type == EVENT_CHECKPOINT_SAVED && !event->checkpoint_saved.call);
}

void session_apply(struct session *session, const struct event *event)
{
    struct fold fold = {session, event, 0, event->t};
    enum event_type type = (unsigned)event->type < EVENT_TYPE_COUNT ? event->type : EVENT_OTHER;
    check_seq(&fold);
    check_time(&fold);
    if (session->event_count == 0 && type != EVENT_SESSION_STARTED)
        fold_fault(&fold, "the first event is not session.started");
    if (is_taken_up(event))
        session->ended_seq = 0;
    if (session->ended_seq && type != EVENT_LATE_SUPPRESSED) /* a thread may return even after the end */
        fold_fault(&fold, "the session has ended");
    session->turn_left &= event->turn == 0; /* the turn continues, or another begins */
    session->event_count++;
    session->counts[type]++;
    if (folds[type]) {
        folds[type](&fold);
        arena_reset(&session->names->scratch);
    }
}

static void init_with(struct session *session, struct text_pool *texts)
{
    memset(session, 0, sizeof(*session));
    session->texts = texts;
    session->names = session_names_new();
    strbuf_init(&session->partial_text);
    strbuf_init(&session->partial_thinking);
    session->open_question = session->newest_workspace = SESSION_NONE;
    reset_budget(session);
}

void session_init(struct session *session)
{
    init_with(session, text_pool_new());
}

void session_init_like(struct session *session, const struct session *like)
{
    init_with(session, text_pool_share(like->texts));
}

void session_release(struct session *session)
{
    session_names_free(session->names);
    text_pool_free(session->texts);
    free(session->turns);
    free(session->steps);
    free(session->calls);
    free(session->waves);
    free(session->asks);
    free(session->programs);
    free(session->pieces);
    free(session->workspaces);
    strbuf_release(&session->partial_text);
    strbuf_release(&session->partial_thinking);
    memset(session, 0, sizeof(*session));
}

const struct session_turn *session_turn(const struct session *session)
{
    return newest_turn(session);
}

bool session_turn_left(const struct session *session)
{
    const struct session_turn *turn = newest_turn(session);
    return turn && !turn->finished_seq && session->turn_left;
}

bool session_turn_running(const struct session *session)
{
    const struct session_turn *turn = newest_turn(session);
    return turn && !turn->finished_seq && !session->turn_left;
}
