/* Writes a session as text: all of it, one row per line, each row under its turn.
 *
 * Goldens hold this text, and tests compare two folds by it. So no test sees a field that is missing here. Numbers
 * that are 0 for "not yet" are left out, which keeps lines readable and loses nothing. */

#include "session_dump.h"
#include "base/json.h"
#include "base/utf8.h"
#include "event/session_fold.h"
#include <math.h>

static void add_text(struct strbuf *out, const char *text)
{
    utf8_sanitize(out, text, strlen(text), UTF8_KEEP_NOTHING);
}

static void add_label(struct strbuf *out, const char *label)
{
    strbuf_addch(out, ' ');
    strbuf_addstr(out, label);
    strbuf_addch(out, ' ');
}

static void add_name(struct strbuf *out, const struct session *session, const char *label, uint32_t name)
{
    if (!name)
        return;
    add_label(out, label);
    add_text(out, session_name(session, name));
}

static void add_number(struct strbuf *out, const char *label, int64_t number)
{
    if (!number)
        return;
    add_label(out, label);
    strbuf_addf(out, "%lld", (long long)number);
}

static void add_quoted(struct strbuf *out, const char *label, const char *text)
{
    if (!*text)
        return;
    add_label(out, label);
    json_write_str(out, text, strlen(text), JSON_COMPACT);
}

static void add_flag(struct strbuf *out, const char *label, bool flag)
{
    if (flag)
        strbuf_addf(out, " %s", label);
}

static void add_id(struct strbuf *out, const struct session *session, uint32_t name)
{
    add_text(out, name ? session_name(session, name) : "(none)");
}

static void dump_head(struct strbuf *out, const struct session *session)
{
    strbuf_addstr(out, "session");
    add_name(out, session, "id", session->id);
    add_name(out, session, "created", session->created);
    add_name(out, session, "app", session->app);
    add_name(out, session, "workspace", session->workspace);
    add_name(out, session, "provider", session->provider);
    add_name(out, session, "model", session->model);
    add_name(out, session, "engine", session->engine);
    add_number(out, "started", session->started_seq);
    add_number(out, "ended", session->ended_seq);
    if (session->tools_seq != session->started_seq)
        add_number(out, "tools", session->tools_seq);
    strbuf_addf(out, "\nevents %u last seq %lld t %lld names %u\n", session->event_count, (long long)session->last_seq,
                (long long)session->last_t, session->names_count);
    for (int type = 0; type < EVENT_TYPE_COUNT; type++)
        if (session->counts[type])
            strbuf_addf(out, "count %s %u\n", type ? event_type_name((enum event_type)type) : "(other)",
                        session->counts[type]);
}

static void dump_step(struct strbuf *out, const struct session *session, uint32_t row)
{
    const struct session_step *step = &session->steps[row];
    strbuf_addf(out, "  step %u row %u turn %u", step->number, row, step->turn);
    add_number(out, "requested", step->requested_seq);
    add_number(out, "t", step->requested_t);
    add_number(out, "responded", step->responded_seq);
    add_number(out, "t", step->responded_t);
    add_number(out, "reflection", step->reflection_seq);
    add_number(out, "compacted", step->compacted_seq);
    add_number(out, "deltas from", step->first_delta_seq);
    add_number(out, "to", step->last_delta_seq);
    add_number(out, "input", step->input_tokens);
    add_number(out, "output", step->output_tokens);
    if (!isnan(step->cost_usd)) {
        add_label(out, "cost");
        json_write_num(out, step->cost_usd);
    }
    add_quoted(out, "text", step->text);
    strbuf_addch(out, '\n');
}

static void dump_wave(struct strbuf *out, const struct session *session, uint32_t row)
{
    const struct session_wave *wave = &session->waves[row];
    strbuf_addf(out, "  wave %u row %u turn %u step %u %s planned %u calls %u+%u:", wave->number, row, wave->turn,
                wave->step, wave->parallel ? "parallel" : "sequential", wave->planned_seq, wave->first_call,
                wave->call_count);
    for (uint32_t i = 0; i < wave->call_count; i++) {
        if (session->calls[wave->first_call + i].wave != row)
            continue;
        strbuf_addch(out, ' ');
        add_id(out, session, session->calls[wave->first_call + i].id);
    }
    add_quoted(out, "why", wave->why);
    add_quoted(out, "effect", wave->effect);
    strbuf_addch(out, '\n');
}

static void dump_call(struct strbuf *out, const struct session *session, uint32_t row)
{
    const struct session_call *call = &session->calls[row];
    strbuf_addstr(out, "  call ");
    add_id(out, session, call->id);
    strbuf_addf(out, " row %u turn %u step %u %s", row, call->turn, call->step,
                call_state_name((enum call_state)call->state));
    add_name(out, session, "tool", call->tool);
    add_name(out, session, "effect", call->effect);
    if (call->wave != SESSION_NONE)
        strbuf_addf(out, " wave %u", call->wave);
    if (call->ask != SESSION_NONE)
        strbuf_addf(out, " ask %u", call->ask);
    add_number(out, "responded", call->responded_seq);
    add_number(out, "started", call->started_seq);
    add_number(out, "t", call->started_t);
    add_number(out, "proposed", call->proposed_seq);
    add_number(out, "finished", call->finished_seq);
    add_number(out, "t", call->finished_t);
    add_number(out, "outputs", call->outputs);
    add_flag(out, "late", call->late);
    add_flag(out, "undone", call->undone);
    if (call->program_end)
        strbuf_addf(out, " program %d", call->program_end);
    if (session->names->older_call[row] != SESSION_NONE)
        strbuf_addf(out, " older %u", session->names->older_call[row]);
    add_number(out, "edited", call->edited_seq);
    add_number(out, "told", call->printed_seq);
    add_number(out, "error", call->error_seq);
    add_number(out, "elapsed", call->elapsed_ms);
    if (call->bytes >= 0)
        strbuf_addf(out, " bytes %lld", (long long)call->bytes);
    add_quoted(out, "args", call->args);
    add_quoted(out, "outcome", call->outcome);
    strbuf_addch(out, '\n');
}

static void dump_turn(struct strbuf *out, const struct session *session, uint32_t row)
{
    const struct session_turn *turn = &session->turns[row];
    strbuf_addf(out, "turn %u row %u", turn->number, row);
    add_name(out, session, "status", turn->status);
    add_number(out, "started", turn->started_seq);
    add_number(out, "t", turn->started_t);
    add_number(out, "prepared", turn->prepared_seq);
    add_number(out, "edited", turn->edited_seq);
    add_number(out, "finalized", turn->finalized_seq);
    add_number(out, "finished", turn->finished_seq);
    add_number(out, "t", turn->finished_t);
    add_number(out, "held", turn->held_us);
    add_flag(out, "writes closed", turn->writes_closed);
    strbuf_addf(out, " steps %u+%u waves %u+%u calls %u+%u", turn->first_step, turn->step_count, turn->first_wave,
                turn->wave_count, turn->first_call, turn->call_count);
    add_number(out, "elapsed", turn->elapsed_ms);
    add_quoted(out, "prompt", turn->prompt);
    strbuf_addch(out, '\n');
    for (uint32_t i = 0; i < turn->step_count; i++)
        dump_step(out, session, turn->first_step + i);
    for (uint32_t i = 0; i < turn->wave_count; i++)
        dump_wave(out, session, turn->first_wave + i);
    for (uint32_t i = 0; i < turn->call_count; i++)
        dump_call(out, session, turn->first_call + i);
}

static void dump_ask(struct strbuf *out, const struct session *session, uint32_t row)
{
    const struct session_question *ask = &session->asks[row];
    strbuf_addstr(out, "ask ");
    add_id(out, session, ask->id);
    strbuf_addf(out, " row %u", row);
    if (ask->call != SESSION_NONE)
        strbuf_addf(out, " call %u", ask->call);
    add_name(out, session, "decision", ask->decision);
    add_number(out, "proposed", ask->proposed_seq);
    add_number(out, "decided", ask->decided_seq);
    add_name(out, session, "checkpoint", ask->checkpoint);
    add_number(out, "saved", ask->checkpoint_seq);
    add_number(out, "applied", ask->applied_seq);
    add_number(out, "undone", ask->undone_seq);
    add_number(out, "restored", ask->restored_seq);
    add_name(out, session, "redo", ask->redo);
    strbuf_addf(out, " files %u +%u -%u", ask->files, ask->added, ask->removed);
    add_quoted(out, "paths", ask->paths);
    add_quoted(out, "by", ask->by);
    add_quoted(out, "reason", ask->reason);
    add_number(out, "waited", ask->waited_ms);
    strbuf_addch(out, '\n');
}

static void dump_pieces(struct strbuf *out, const struct session *session, uint32_t piece)
{
    strbuf_addstr(out, " pieces");
    for (; piece != SESSION_NONE; piece = session->pieces[piece].before)
        strbuf_addf(out, " %u", session->pieces[piece].seq);
}

static void dump_program(struct strbuf *out, const struct session *session, uint32_t row)
{
    const struct session_program *program = &session->programs[row];
    strbuf_addstr(out, "program ");
    add_id(out, session, program->id);
    strbuf_addf(out, " row %u %s", row, session_program_running(session, row) ? "runs" : "over");
    if (program->call != SESSION_NONE)
        strbuf_addf(out, " call %u", program->call);
    add_number(out, "started", program->started_seq);
    add_number(out, "t", program->started_t);
    add_number(out, "output", program->first_output_seq);
    add_number(out, "to", program->last_output_seq);
    add_number(out, "lines", program->lines);
    add_number(out, "inputs", program->inputs);
    add_number(out, "ended", program->ended_seq);
    add_number(out, "t", program->ended_t);
    if (program->ended_seq && program->exit_code != EVENT_NULL_INT)
        strbuf_addf(out, " exit %lld", (long long)program->exit_code);
    add_flag(out, "tty", program->tty);
    add_flag(out, "asks", program->asks);
    add_flag(out, "left", program->left);
    add_name(out, session, "why", program->why);
    dump_pieces(out, session, program->newest);
    add_quoted(out, "cmd", program->cmd);
    add_quoted(out, "cwd", program->cwd);
    strbuf_addch(out, '\n');
}

static void dump_workspace(struct strbuf *out, const struct session *session, uint32_t row)
{
    const struct session_workspace *workspace = &session->workspaces[row];
    strbuf_addstr(out, "workspace ");
    add_id(out, session, workspace->id);
    strbuf_addf(out, " row %u state %u%s%s", row, workspace->state_seq,
                row == session->newest_workspace ? " newest" : "", workspace->gone ? " gone" : "");
    for (uint32_t i = 0; i < workspace->delta_count; i++)
        strbuf_addf(out, "%s %u", i ? "" : " deltas", workspace->deltas[i]);
    strbuf_addch(out, '\n');
}

static void dump_budget(struct strbuf *out, const struct session *session)
{
    for (int key = 0; key < BUDGET_KEY_COUNT; key++) {
        double limit = session->budget.limit[key], used = session->budget.used[key];
        bool warned = session->budget.warned[key];
        if (isnan(limit) && used == 0 && !warned)
            continue;
        strbuf_addf(out, "budget %s used ", budget_key_name((enum budget_key)key));
        json_write_num(out, used);
        strbuf_addstr(out, " limit ");
        json_write_num(out, limit);
        add_flag(out, "warned", warned);
        strbuf_addch(out, '\n');
    }
}

static void dump_partial(struct strbuf *out, const char *label, const struct strbuf *partial)
{
    if (!partial->len)
        return;
    strbuf_addf(out, "partial %s ", label);
    utf8_sanitize(out, partial->buf, partial->len, UTF8_KEEP_NOTHING);
    strbuf_addch(out, '\n');
}

void session_dump(struct strbuf *out, const struct session *session)
{
    dump_head(out, session);
    for (uint32_t row = 0; row < session->turn_count; row++)
        dump_turn(out, session, row);
    for (uint32_t row = 0; row < session->ask_count; row++)
        dump_ask(out, session, row);
    for (uint32_t row = 0; row < session->program_count; row++)
        dump_program(out, session, row);
    for (uint32_t row = 0; row < session->workspace_count; row++)
        dump_workspace(out, session, row);
    dump_budget(out, session);
    dump_partial(out, "text", &session->partial_text);
    dump_partial(out, "thinking", &session->partial_thinking);
    if (session->held_seq) {
        strbuf_addstr(out, "held");
        add_name(out, session, "gate", session->held_gate);
        add_name(out, session, "call", session->held_call);
        add_number(out, "seq", session->held_seq);
        add_number(out, "t", session->held_t);
        strbuf_addch(out, '\n');
    }
    if (session->open_question != SESSION_NONE)
        strbuf_addf(out, "open ask %u\n", session->open_question);
    if (session->last_model_failure_seq)
        strbuf_addf(out, "model failed %u again %lld\n", session->last_model_failure_seq,
                    (long long)session->model_retry_t);
    for (uint32_t i = 0; i < session->fault_count && i < SESSION_FAULTS_KEPT; i++) {
        strbuf_addf(out, "fault %u ", session->faults[i].seq);
        add_text(out, session->faults[i].text);
        strbuf_addch(out, '\n');
    }
    if (session->fault_count > SESSION_FAULTS_KEPT)
        strbuf_addf(out, "faults %u in all\n", session->fault_count);
}
