/* The fold of programs that outlive their call, and of their workspaces.
 *
 * A program is a row; its output stays in the journal. Each piece of output or input links to the previous piece of
 * the same program. So a view reads back from the newest piece and pays only for what it shows. Of a workspace only
 * the newest state counts, which is also one line. */

#include "base/mem.h"
#include "session_fold.h"
#include <string.h>

static const char *shown(const char *id)
{
    return id && *id ? id : "(no id)";
}

/* ---- workspaces ---- */

/* More deltas than a writer ever emits are not kept: the list stays unchanged. */
static void fold_workspace_delta(const struct fold *fold)
{
    struct session *session = fold->session;
    const char *id = fold->event->workspace_state.exec_id;
    uint32_t name = session_intern(session, id), row = session->names->names[name].workspace;
    if (row == SESSION_NONE) {
        fold_fault(fold, "a change of the workspace %.40s, whose state is unknown", shown(id));
        return;
    }
    struct session_workspace *workspace = &session->workspaces[row];
    if (workspace->delta_count == WORKSPACE_DELTAS_MAX) {
        fold_fault(fold, "too many changes of the workspace %.40s", shown(id));
        return;
    }
    workspace->deltas[workspace->delta_count++] = fold->seq;
    workspace->newest_seq = fold->seq;
    workspace->kept = fold->event->workspace_state.kept;
    session->newest_workspace = row;
}

void fold_workspace_state(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_workspace_state *e = &fold->event->workspace_state;
    if (e->delta) {
        fold_workspace_delta(fold);
        return;
    }
    uint32_t id = session_intern(session, e->exec_id), path = session_intern(session, e->path);
    uint32_t *row = &session->names->names[id].workspace;
    if (*row == SESSION_NONE) {
        GROW(session->workspaces, session->workspace_count, session->workspace_room);
        *row = session->workspace_count++;
    }
    struct session_workspace *workspace = &session->workspaces[*row];
    *workspace = (struct session_workspace){
        .id = id, .path = path, .state_seq = fold->seq, .newest_seq = fold->seq, .kept = e->kept};
    session->newest_workspace = *row;
}

/* A cleanup removes a workspace, unless it was kept or the removal failed. */
void fold_workspace_op(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_workspace_op *e = &fold->event->workspace_op;
    if (!e->op || strcmp(e->op, "workspace.cleanup") != 0 || e->error)
        return;
    const char *path = json_str(json_get(fold_json(fold, e->attrs), "path"), "");
    for (uint32_t row = 0; *path && row < session->workspace_count; row++) {
        struct session_workspace *workspace = &session->workspaces[row];
        if (!workspace->kept && strcmp(session_name(session, workspace->path), path) == 0)
            workspace->gone = true;
    }
}

/* ---- programs ---- */

static struct session_program *need_program(const struct fold *fold, const char *id)
{
    uint32_t row = session_find_program(fold->session, id);
    if (row != SESSION_NONE)
        return &fold->session->programs[row];
    fold_fault(fold, "unknown program %.40s", shown(id));
    return NULL;
}

void fold_program_started(const struct fold *fold)
{
    struct session *session = fold->session;
    const struct event_program_started *e = &fold->event->program_started;
    uint32_t id = session_intern(session, e->program), before = session_find_program(session, e->program);
    uint32_t call = e->call && *e->call ? fold_find_call(fold, e->call) : SESSION_NONE;
    if (!id)
        fold_fault(fold, "the program has no id");
    if (before != SESSION_NONE && session_program_running(session, before))
        fold_fault(fold, "program %.40s is already running", shown(e->program));
    if (e->call && *e->call && call == SESSION_NONE)
        fold_fault(fold, "unknown call %.40s", shown(e->call));
    GROW(session->programs, session->program_count, session->program_room);
    uint32_t row = session->program_count++;
    session->programs[row] = (struct session_program){.id = id,
                                                      .call = call,
                                                      .started_seq = fold->seq,
                                                      .started_t = fold->t,
                                                      .newest = SESSION_NONE,
                                                      .tty = e->tty,
                                                      .cmd = fold_text(fold, e->cmd),
                                                      .cwd = fold_text(fold, e->cwd)};
    if (id)
        session->names->names[id].program = row;
}

static uint32_t count_lines(const char *text)
{
    uint32_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

/* True for an unfinished line that ends like a question. A progress bar does not. */
static bool looks_like_a_question(const char *text)
{
    size_t len = strlen(text);
    while (len && text[len - 1] == ' ')
        len--;
    return len && strchr("?:>$#]", text[len - 1]);
}

/* Adds a piece of output or input, linked to the piece before it. */
static void add_piece(const struct fold *fold, struct session_program *program)
{
    struct session *session = fold->session;
    GROW(session->pieces, session->piece_count, session->piece_room);
    session->pieces[session->piece_count] = (struct session_output){.seq = fold->seq, .before = program->newest};
    program->newest = session->piece_count++;
}

void fold_program_output(const struct fold *fold)
{
    const struct event_program_output *e = &fold->event->program_output;
    struct session_program *program = need_program(fold, e->program);
    if (!program || !e->text || !*e->text)
        return;
    if (!program->first_output_seq)
        program->first_output_seq = fold->seq;
    program->last_output_seq = fold->seq;
    program->lines += count_lines(e->text);
    program->asks = looks_like_a_question(e->text);
    add_piece(fold, program);
}

void fold_program_input(const struct fold *fold)
{
    const struct event_program_input *e = &fold->event->program_input;
    struct session_program *program = need_program(fold, e->program);
    if (!program)
        return;
    if (program->ended_seq)
        fold_fault(fold, "program %.40s has ended", shown(e->program));
    program->inputs++;
    program->asks = false;
    add_piece(fold, program);
}

void fold_program_ended(const struct fold *fold)
{
    const struct event_program_ended *e = &fold->event->program_ended;
    struct session_program *program = need_program(fold, e->program);
    if (!program)
        return;
    if (program->ended_seq) {
        fold_fault(fold, "program %.40s has already ended", shown(e->program));
        return;
    }
    program->ended_seq = fold->seq;
    program->ended_t = fold->t;
    program->exit_code = e->exit_code;
    program->why = session_intern(fold->session, e->why);
    program->asks = program->left = false;
}

/* A program ends with its session. */
void fold_programs_left(struct session *session)
{
    for (uint32_t row = session->program_count; row-- > session->left_programs;)
        session->programs[row].left = !session->programs[row].ended_seq;
    session->left_programs = session->program_count;
}

/* ---- looking ---- */

uint32_t session_find_program(const struct session *session, const char *id)
{
    uint32_t name = session_interned(session, id);
    return name ? session->names->names[name].program : SESSION_NONE;
}

bool session_program_running(const struct session *session, uint32_t row)
{
    const struct session_program *program = &session->programs[row];
    return !program->ended_seq && !program->left;
}

uint32_t session_program_of_call(const struct session *session, uint32_t call)
{
    for (uint32_t row = session->program_count; call != SESSION_NONE && row-- > 0;)
        if (session->programs[row].call == call)
            return row;
    return SESSION_NONE;
}
