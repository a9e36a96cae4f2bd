/* The fold of calls: requested by an answer, planned in waves, started, waiting for approval, decided, finished.
 *
 * Every call of an answer gets exactly one tool.finished. A call that is refused early has no tool.started. A file
 * changes only after a decision that allows it. Events that break these rules are faults, so a recording with such a
 * gap shows it here.
 *
 * Ids come from models and repeat: "c1" is in every turn. A name leads to the newest call with that id, and
 * older_call leads from there to the earlier ones. An event of an older turn is about the call of that turn. */

#include "base/mem.h"
#include "session_fold.h"
#include "words.h"
#include <string.h>

const char *call_state_name(enum call_state state)
{
    static const char *const names[] = {
        [CALL_QUEUED] = "queued",   [CALL_RUNNING] = "running",     [CALL_WAITING] = "waiting",
        [CALL_DONE] = "done",       [CALL_FAILED] = "failed",       [CALL_DENIED] = "denied",
        [CALL_SKIPPED] = "skipped", [CALL_TIMED_OUT] = "timed out",
    };
    return (unsigned)state < COUNT_OF(names) ? names[state] : "";
}

static int16_t end_of(const struct json *program)
{
    const struct json *code = json_get(program, "exit_code");
    int64_t exit_code = json_int(code, 0), signum = json_int(json_get(program, "signal"), 0);
    if (json_bool(json_get(program, "timed_out"), false))
        return CALL_END_TIMED_OUT;
    if (exit_code >= 0)
        return exit_code > INT16_MAX ? INT16_MAX : (int16_t)exit_code;
    bool explained = json_get(program, "error") || json_get(program, "error_text");
    return !explained && signum > 0 && signum < -CALL_END_STOPPED ? (int16_t)-signum : CALL_END_STOPPED;
}

int16_t call_output_end(const struct json *output)
{
    int16_t end = end_of(output);
    json_each (block, json_get(output, "blocks"))
        end = end ? end : end_of(block);
    return end;
}

int16_t call_result_end(const struct event_result_info *result, struct arena *arena)
{
    /* Most results are long and not from a program, so search first. Inside a text the name would be escaped. */
    if (!result || !result->output || !strstr(result->output, "\"exit_code\""))
        return 0;
    return call_output_end(json_parse(arena, result->output, strlen(result->output), NULL));
}

static const char *shown(const char *id)
{
    return id && *id ? id : "(no id)";
}

/* ---- looking up ---- */

uint32_t fold_find_call(const struct fold *fold, const char *id)
{
    return session_find_call_in(fold->session, id, fold->event->turn);
}

static struct session_call *need_call(const struct fold *fold, const char *id)
{
    uint32_t row = fold_find_call(fold, id);
    if (row != SESSION_NONE)
        return &fold->session->calls[row];
    fold_fault(fold, "no answer requested call %.40s", shown(id));
    return NULL;
}

static struct session_question *ask_of(const struct fold *fold, const struct session_call *call)
{
    return call->ask == SESSION_NONE ? NULL : &fold->session->asks[call->ask];
}

static bool is_over(const struct session_call *call)
{
    return call->finished_seq != 0;
}

static bool is_open(const struct session *session, const struct session_question *ask)
{
    return !ask->decision && (ask->call == SESSION_NONE || !is_over(&session->calls[ask->call]));
}

/* After the open question was answered, opens the oldest one that waits. */
static void next_ask(struct session *session)
{
    uint32_t row = session->open_question;
    if (row == SESSION_NONE || is_open(session, &session->asks[row]))
        return;
    while (row < session->ask_count && !is_open(session, &session->asks[row]))
        row++;
    session->open_question = row < session->ask_count ? row : SESSION_NONE;
}

static bool allows(const struct session *session, const struct session_question *ask)
{
    return event_decided_as(session_name(session, ask->decision), ask->by) == DECIDED_APPROVED;
}

uint32_t fold_unfinished_calls(const struct session *session, const struct session_turn *turn)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < turn->call_count; i++)
        count += !is_over(&session->calls[turn->first_call + i]);
    return count;
}

/* The arguments of a call, for its row. */
static const char *args_text(const struct fold *fold, const char *arguments)
{
    struct strbuf *words = &fold->session->names->words;
    strbuf_reset(words);
    words_arguments(words, fold_json(fold, arguments));
    return text_pool_put(fold->session->texts, words->buf, SESSION_ARGS);
}

/* ---- planning ---- */

static void add_call(const struct fold *fold, struct session_turn *turn, uint32_t step,
                     const struct event_tool_request *call)
{
    struct session *session = fold->session;
    struct session_names *names = session->names;
    uint32_t id = session_intern(session, call->id);
    uint32_t older = names->names[id].call;
    if (!id) {
        fold_fault(fold, "a call has no id");
    } else if (older != SESSION_NONE && session->calls[older].turn == session->turn_count - 1 &&
               !is_over(&session->calls[older])) {
        /* Two calls with one id would share an outcome. */
        fold_fault(fold, "call %.40s was requested twice", session_name(session, id));
    }
    GROW(session->calls, session->call_count, session->call_room);
    if (names->older_room < session->call_room) {
        names->older_room = session->call_room;
        names->older_call = xreallocarray(names->older_call, names->older_room, sizeof(*names->older_call));
    }
    uint32_t row = session->call_count++;
    session->calls[row] = (struct session_call){.id = id,
                                                .tool = session_intern(session, call->name),
                                                .turn = session->turn_count - 1,
                                                .step = step,
                                                .wave = SESSION_NONE,
                                                .ask = SESSION_NONE,
                                                .responded_seq = fold->seq,
                                                .state = CALL_QUEUED,
                                                .bytes = -1,
                                                .args = args_text(fold, call->arguments),
                                                .outcome = ""};
    turn->call_count++;
    names->older_call[row] = older;
    if (id)
        names->names[id].call = row;
}

void fold_answer_calls(const struct fold *fold, struct session_turn *turn, uint32_t step)
{
    const struct event_tool_request_list *calls = &fold->event->model_responded.tool_calls;
    for (size_t i = 0; i < calls->count; i++)
        add_call(fold, turn, step, &calls->items[i]);
}

/* Puts one call into the wave being read; `after` is the row that must come before it. */
static bool plan_call(const struct fold *fold, const char *id, uint32_t wave, int64_t after, uint32_t *row)
{
    struct session *session = fold->session;
    struct session_call *call = need_call(fold, id);
    if (!call)
        return false;
    *row = (uint32_t)(call - session->calls);
    if (call->wave != SESSION_NONE)
        fold_fault(fold, "call %.40s has its wave already", shown(id));
    else if ((int64_t)*row <= after || call->turn != session->turn_count - 1)
        fold_fault(fold, "call %.40s is planned out of order", shown(id));
    else
        call->wave = wave;
    return call->wave == wave && (int64_t)*row > after;
}

/* Waves keep the order of the calls. A call that was refused before planning is in no wave: it may lie between two
 * calls of one, so the rows of a wave are a range and a call in it whose `wave` is SESSION_NONE does not belong. */
void fold_waves_planned(const struct fold *fold)
{
    struct session *session = fold->session;
    struct session_turn *turn = fold_turn(fold);
    uint32_t step = turn ? fold_step(fold, turn, fold->event->waves_planned.step) : SESSION_NONE;
    if (step == SESSION_NONE)
        return;
    const struct event_plan_wave_list *waves = &fold->event->waves_planned.waves;
    uint32_t number = 0;
    int64_t after = -1;
    for (size_t i = 0; i < waves->count; i++) {
        const struct event_plan_wave *item = &waves->items[i];
        uint32_t row = 0, count = 0;
        struct session_wave wave = {.turn = session->turn_count - 1, .step = step, .number = ++number};
        wave.planned_seq = fold->seq;
        wave.parallel = item->mode && strcmp(item->mode, "parallel") == 0;
        wave.why = fold_text(fold, item->why);
        wave.effect = fold_text(fold, item->effect);
        for (size_t k = 0; k < item->calls.count; k++) {
            if (!plan_call(fold, item->calls.items[k], session->wave_count, after, &row))
                continue;
            if (count++ == 0)
                wave.first_call = row;
            wave.call_count = row - wave.first_call + 1;
            after = row;
        }
        if (!count)
            continue;
        GROW(session->waves, session->wave_count, session->wave_room);
        session->waves[session->wave_count++] = wave;
        turn->wave_count++;
    }
}

/* ---- running ---- */

void fold_tool_started(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_tool_started *e = &fold->event->tool_started;
    struct session_call *call = need_call(fold, e->call);
    if (!call)
        return;
    if (call->started_seq || is_over(call)) {
        fold_fault(fold, "call %.40s has %s already", shown(e->call), is_over(call) ? "finished" : "started");
        return;
    }
    call->started_seq = fold->seq;
    call->started_t = fold->t;
    call->effect = session_intern(session, e->effect);
    call->args = args_text(fold, e->arguments);
    if (!call->tool)
        call->tool = session_intern(session, e->tool);
    if (call->state == CALL_QUEUED)
        call->state = CALL_RUNNING;
}

static void edited_prompt(const struct fold *fold)
{
    struct session_turn *turn = fold_turn(fold);
    const char *text = json_str(fold_json(fold, fold->event->edited.after), NULL);
    if (!turn || !text)
        return;
    turn->edited_seq = fold->seq;
    turn->prompt = fold_text(fold, text);
}

/* At a gate the user may edit the prompt, and the arguments of a call that has not started. */
void fold_edited(const struct fold *fold)
{
    const struct event_edited *e = &fold->event->edited;
    if (e->what && strcmp(e->what, "prompt") == 0)
        edited_prompt(fold);
    uint32_t row = e->what && strcmp(e->what, "arguments") == 0 ? fold_find_call(fold, e->call) : SESSION_NONE;
    struct session_call *call = row == SESSION_NONE ? NULL : &fold->session->calls[row];
    if (!call || call->started_seq)
        return;
    call->edited_seq = fold->seq;
    call->args = args_text(fold, e->after);
}

static struct session_call *add_output(const struct fold *fold, const char *id)
{
    struct session_call *call = need_call(fold, id);
    if (!call)
        return NULL;
    call->outputs++;
    call->output_seq = fold->seq;
    if (is_over(call))
        fold_fault(fold, "call %.40s has finished", shown(id));
    return call;
}

void fold_tool_output(const struct fold *fold)
{
    struct session_call *call = add_output(fold, fold->event->tool_output.call);
    if (call)
        call->printed_seq = fold->seq;
}

/* The last event of a script only reports the end. A newer harness may send events that this version does not know. */
void fold_script_event(const struct fold *fold)
{
    static const char *const printing[] = {"log", "intermediate", "final_result"};
    struct session_call *call = add_output(fold, fold->event->script_event.call);
    if (!call)
        return;
    const char *type = json_str(json_get(fold_json(fold, fold->event->script_event.event), "type"), "");
    if (strcmp(type, "error") == 0)
        call->error_seq = fold->seq;
    for (size_t i = 0; i < COUNT_OF(printing); i++)
        if (strcmp(type, printing[i]) == 0)
            call->printed_seq = fold->seq;
}

/* The outcome, for the row of the call. */
static void note_outcome(const struct fold *fold, struct session_call *call, const struct session_question *ask)
{
    const struct event_tool_finished *e = &fold->event->tool_finished;
    struct strbuf *words = &fold->session->names->words;
    const struct json *output = e->result ? fold_json(fold, e->result->output) : NULL;
    bool refused =
        ask && strcmp(ask->by, "key") == 0 && strcmp(session_name(fold->session, ask->decision), "denied") == 0;
    call->elapsed_ms = e->elapsed_ms;
    if (e->result) { /* from its line: a new event is not sanitized yet */
        size_t len = e->result->output ? strlen(e->result->output) : 0;
        call->bytes = (int64_t)(len && !fold->event->raw ? len + json_printable_growth(e->result->output, len) : len);
    }
    if (e->artifact)
        call->bytes = e->artifact->size > 0 ? e->artifact->size : 0;
    if (call->state == CALL_DONE)
        call->program_end = call_output_end(output);
    strbuf_reset(words);
    words_outcome(words, e, output, refused ? ask->reason : NULL);
    call->outcome = fold_text(fold, words->buf);
}

void fold_tool_finished(const struct fold *fold)
{
    static const struct {
        const char *name;
        enum call_state state;
    } outcomes[] = {
        {"result", CALL_DONE},   {"artifact", CALL_DONE},     {"failure", CALL_FAILED},
        {"denied", CALL_DENIED}, {"timeout", CALL_TIMED_OUT},
    };
    const struct event_tool_finished *e = &fold->event->tool_finished;
    struct session_call *call = need_call(fold, e->call);
    if (!call)
        return;
    if (is_over(call)) {
        fold_fault(fold, "call %.40s has its outcome already", shown(e->call));
        return;
    }
    struct session_question *ask = ask_of(fold, call);
    if (ask && is_open(fold->session, ask))
        fold_fault(fold, "call %.40s finished while its question was open", shown(e->call));
    call->finished_seq = fold->seq;
    call->finished_t = fold->t;
    if (!call->tool)
        call->tool = session_intern(fold->session, e->tool);
    next_ask(fold->session);
    call->state = CALL_FAILED;
    bool known = false;
    for (size_t i = 0; e->outcome && i < COUNT_OF(outcomes); i++) {
        if (strcmp(outcomes[i].name, e->outcome) == 0) {
            call->state = (uint8_t)outcomes[i].state;
            known = true;
        }
    }
    if (!known)
        fold_fault(fold, "call %.40s has the unknown outcome %.30s", shown(e->call),
                   e->outcome ? e->outcome : "(none)");
    bool canceled = ask && strcmp(ask->by, "cancel") == 0;
    if (call->state == CALL_DENIED && (canceled || words_skipped(e->denied)))
        call->state = CALL_SKIPPED;
    note_outcome(fold, call, ask);
}

void fold_late_suppressed(const struct fold *fold)
{
    const char *id = fold->event->late_suppressed.call;
    struct session_call *call = need_call(fold, id);
    if (!call)
        return;
    call->late = true;
    if (!is_over(call))
        fold_fault(fold, "call %.40s is not over", shown(id));
}

/* ---- writing ---- */

/* Adds lines of a file. A recording may claim any number. */
static void add_lines(uint32_t *sum, int64_t lines)
{
    uint32_t more = lines < 0 ? 0 : lines > UINT32_MAX ? UINT32_MAX : (uint32_t)lines;
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT32_MAX;
}

/* Adds file `index` of `count` of the question; the first one resets the list. */
static void note_file(const struct fold *fold, struct session_question *ask, size_t index, size_t count,
                      const char *path, int64_t added, int64_t removed)
{
    struct strbuf *paths = &fold->session->names->words;
    if (index == 0) {
        strbuf_reset(paths);
        ask->added = ask->removed = 0;
    }
    add_lines(&ask->added, added);
    add_lines(&ask->removed, removed);
    ask->files = (uint32_t)index + 1;
    if (path && paths->len <= 4 * SESSION_TEXT) /* the rest would be cut */
        strbuf_addf(paths, "%s%s", paths->len ? ", " : "", path);
    if (index + 1 == count)
        ask->paths = fold_text(fold, paths->buf);
}

void fold_write_proposed(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_write_proposed *e = &fold->event->write_proposed;
    uint32_t row = session->ask_count;
    struct session_call *call = need_call(fold, e->call);
    GROW(session->asks, session->ask_count, session->ask_room);
    session->asks[session->ask_count++] =
        (struct session_question){.id = session_intern(session, e->ask),
                                  .call = call ? (uint32_t)(call - session->calls) : SESSION_NONE,
                                  .before = call ? call->ask : SESSION_NONE,
                                  .proposed_seq = fold->seq,
                                  .proposed_t = fold->t,
                                  .paths = "",
                                  .by = "",
                                  .reason = ""};
    for (size_t i = 0; i < e->files.count; i++)
        note_file(fold, &session->asks[row], i, e->files.count, e->files.items[i].path, e->files.items[i].added,
                  e->files.items[i].removed);
    if (session->asks[row].id)
        session->names->names[session->asks[row].id].ask = row;
    else
        fold_fault(fold, "the question has no id");
    if (call && is_over(call)) {
        fold_fault(fold, "call %.40s has finished", shown(e->call));
        return;
    }
    if (call) {
        call->ask = row;
        call->proposed_seq = fold->seq;
        call->state = CALL_WAITING;
    }
    if (session->open_question == SESSION_NONE)
        session->open_question = row;
}

void fold_write_decided(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_write_decided *e = &fold->event->write_decided;
    uint32_t row = session_find_ask(session, e->ask);
    if (row == SESSION_NONE) {
        fold_fault(fold, "unknown question %.40s", shown(e->ask));
        return;
    }
    struct session_question *ask = &session->asks[row];
    if (ask->decided_seq) {
        fold_fault(fold, "question %.40s is decided already", shown(e->ask));
        return;
    }
    if (!e->decision || !*e->decision)
        fold_fault(fold, "question %.40s has no decision", shown(e->ask));
    ask->decided_seq = fold->seq;
    ask->decided_t = fold->t;
    ask->decision = session_intern(session, e->decision && *e->decision ? e->decision : "denied");
    ask->waited_ms = e->waited_ms;
    ask->by = fold_text(fold, e->by);
    ask->reason = fold_text(fold, e->reason);
    if (ask->call != SESSION_NONE && session->calls[ask->call].state == CALL_WAITING)
        session->calls[ask->call].state = CALL_RUNNING;
    next_ask(session);
}

void fold_checkpoint_saved(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_checkpoint_saved *e = &fold->event->checkpoint_saved;
    if (!e->call) { /* an undo saves what it replaces; the following write.undone names the write */
        session->names->kept_for_undo = session_intern(session, e->checkpoint);
        return;
    }
    struct session_call *call = need_call(fold, e->call);
    struct session_question *ask = call ? ask_of(fold, call) : NULL;
    if (!ask) {
        if (call)
            fold_fault(fold, "call %.40s has no question", shown(e->call));
        return;
    }
    ask->checkpoint = session_intern(session, e->checkpoint);
    ask->checkpoint_seq = fold->seq;
    if (ask->checkpoint)
        session->names->names[ask->checkpoint].checkpoint = call->ask;
}

void fold_write_applied(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_applied_file_list *files = &fold->event->write_applied.files;
    const char *id = fold->event->write_applied.call;
    struct session_call *call = need_call(fold, id);
    if (!call)
        return;
    struct session_question *ask = ask_of(fold, call);
    if (!ask || !allows(session, ask))
        fold_fault(fold, "call %.40s wrote without a decision that allows it", shown(id));
    if (session->turns[call->turn].writes_closed)
        fold_fault(fold, "call %.40s wrote after writes were closed", shown(id));
    if (is_over(call))
        fold_fault(fold, "call %.40s wrote after it finished", shown(id));
    if (!ask)
        return;
    ask->applied_seq = fold->seq;
    for (size_t i = 0; i < files->count; i++)
        note_file(fold, ask, i, files->count, files->items[i].path, files->items[i].added, files->items[i].removed);
}

/* Undone or redone. Older recordings have only write.undone: which one it was depends on who saved the checkpoint. */
static void restored(const struct fold *fold, const char *id, bool redone)
{
    struct session *session = fold->session;
    uint32_t row = session_find_checkpoint(session, id), kept = session->names->kept_for_undo;
    if (row == SESSION_NONE) {
        fold_fault(fold, "unknown checkpoint %.40s", shown(id));
        return;
    }
    struct session_question *ask = &session->asks[row];
    redone |= session->names->names[session_interned(session, id)].redoes;
    ask->restored_seq = fold->seq;
    ask->undone_seq = redone ? 0 : fold->seq;
    ask->redo = redone ? 0 : kept;
    if (ask->call != SESSION_NONE)
        session->calls[ask->call].undone = !redone;
    if (kept) {
        session->names->names[kept].checkpoint = row;
        session->names->names[kept].redoes = !redone;
    }
    session->names->kept_for_undo = 0;
}

void fold_write_undone(const struct fold *fold)
{
    restored(fold, fold->event->write_undone.checkpoint, false);
}

void fold_write_redone(const struct fold *fold)
{
    restored(fold, fold->event->write_redone.checkpoint, true);
}

/* ---- looking ---- */

uint32_t session_last_write(const struct session *session)
{
    uint32_t newest = SESSION_NONE, newest_seq = 0;
    for (uint32_t row = 0; row < session->ask_count; row++) {
        const struct session_question *ask = &session->asks[row];
        uint32_t seq = ask->restored_seq > ask->applied_seq ? ask->restored_seq : ask->applied_seq;
        if (!ask->applied_seq || !(ask->undone_seq ? ask->redo : ask->checkpoint) || seq <= newest_seq)
            continue;
        newest = row;
        newest_seq = seq;
    }
    return newest;
}

struct session_writes session_count_writes(const struct session *session)
{
    struct session_writes writes = {0};
    for (uint32_t row = 0; row < session->ask_count; row++) {
        writes.applied += session->asks[row].applied_seq != 0;
        writes.undone += session->asks[row].undone_seq != 0;
    }
    return writes;
}
