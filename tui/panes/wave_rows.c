/* The index of the rows of the waves pane. It grows at its end with the session, and shrinks there when a replay goes
 * back. A wave has one row per call. If another wave of the step follows, one more row says why the wave ended. */

#include "wave_rows.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

void wave_rows_release(struct wave_rows *rows)
{
    free(rows->blocks);
    *rows = (struct wave_rows){0};
}

static bool has_next(const struct session *session, uint32_t wave)
{
    return wave + 1 < session->wave_count && session->waves[wave + 1].step == session->waves[wave].step;
}

static uint32_t wave_rows(const struct session *session, uint32_t wave)
{
    return session->waves[wave].call_count + (has_next(session, wave) ? 1 : 0);
}

static void add_block(struct wave_rows *rows, enum waverow_kind kind, uint32_t index, uint32_t count)
{
    size_t row = wave_rows_count(rows);
    GROW(rows->blocks, rows->count, rows->room);
    rows->blocks[rows->count++] = (struct waverow_block){kind, index, row, count};
}

/* Adds the model's rows of the steps before `end`. */
static void add_steps(struct wave_rows *rows, const struct session *session, uint32_t end)
{
    for (; rows->steps < end; rows->steps++) {
        const struct session_step *step = &session->steps[rows->steps];
        if (session->turns[step->turn].first_step == rows->steps && step->turn > 0)
            add_block(rows, WAVEROW_TURN, step->turn, 1);
        add_block(rows, WAVEROW_MODEL, rows->steps, 1);
    }
}

static bool is_gone(const struct waverow_block *block, const struct session *session)
{
    return block->kind == WAVEROW_TURN    ? block->index >= session->turn_count
           : block->kind == WAVEROW_MODEL ? block->index >= session->step_count
                                          : block->index >= session->wave_count;
}

static void take_off(struct wave_rows *rows, const struct session *session)
{
    while (rows->count && is_gone(&rows->blocks[rows->count - 1], session))
        rows->count--;
    /* Remove a turn's head without a first step: it is added again with the step. */
    while (rows->count && rows->blocks[rows->count - 1].kind == WAVEROW_TURN)
        rows->count--;
    rows->steps = rows->steps < session->step_count ? rows->steps : session->step_count;
    rows->waves = rows->waves < session->wave_count ? rows->waves : session->wave_count;
}

void wave_rows_update(struct wave_rows *rows, const struct session *session)
{
    const char *id = session_name(session, session->id);
    if (strncmp(rows->session, id, sizeof(rows->session) - 1) != 0) {
        rows->count = rows->steps = rows->waves = 0;
        snprintf(rows->session, sizeof(rows->session), "%s", id);
    }
    if (rows->steps > session->step_count || rows->waves > session->wave_count)
        take_off(rows, session);
    /* Recount the last wave, because the wave after it may have appeared or disappeared. */
    if (rows->count && rows->blocks[rows->count - 1].kind == WAVEROW_CALL)
        rows->blocks[rows->count - 1].rows = wave_rows(session, rows->blocks[rows->count - 1].index);
    for (; rows->waves < session->wave_count; rows->waves++) {
        uint32_t step = session->waves[rows->waves].step;
        add_steps(rows, session, step < session->step_count ? step + 1 : session->step_count);
        add_block(rows, WAVEROW_CALL, rows->waves, wave_rows(session, rows->waves));
    }
    add_steps(rows, session, session->step_count);
}

size_t wave_rows_count(const struct wave_rows *rows)
{
    const struct waverow_block *last = rows->count ? &rows->blocks[rows->count - 1] : NULL;
    return last ? last->row + last->rows : 0;
}

size_t wave_rows_settled(const struct wave_rows *rows, const struct session *session)
{
    for (size_t i = rows->count; i-- > 0;) {
        const struct waverow_block *block = &rows->blocks[i];
        if (block->kind == WAVEROW_MODEL && block->index + 1 == session->step_count)
            return block->row;
    }
    return 0;
}

struct waverow wave_rows_at(const struct wave_rows *rows, const struct session *session, size_t row)
{
    size_t low = 0, high = rows->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rows->blocks[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    const struct waverow_block *block = &rows->blocks[low];
    if (block->kind != WAVEROW_CALL)
        return (struct waverow){block->kind, block->index, SESSION_NONE};
    const struct session_wave *wave = &session->waves[block->index];
    size_t offset = row - block->row;
    if (offset < wave->call_count)
        return (struct waverow){WAVEROW_CALL, wave->first_call + (uint32_t)offset, block->index};
    return (struct waverow){WAVEROW_WHY, block->index, block->index};
}

/* ---- time ---- */

int64_t wave_call_end(const struct session *session, const struct session_call *call, int64_t now_t)
{
    if (call->finished_seq)
        return call->finished_t;
    /* A call that outlives its turn ends with the turn at the latest. */
    const struct session_turn *turn = &session->turns[call->turn];
    return turn->finished_seq ? turn->finished_t : now_t;
}

const struct session_question *wave_last_question(const struct session *session, const struct session_call *call)
{
    return call->ask < session->ask_count ? &session->asks[call->ask] : NULL;
}

const struct session_question *wave_ask_before(const struct session *session, const struct session_question *ask)
{
    return ask->before < session->ask_count ? &session->asks[ask->before] : NULL;
}

static int64_t ask_held(const struct session *session, const struct session_call *call,
                        const struct session_question *ask, int64_t now_t)
{
    int64_t end = ask->decided_seq ? ask->decided_t : wave_call_end(session, call, now_t);
    return end > ask->proposed_t ? end - ask->proposed_t : 0;
}

int64_t wave_call_held(const struct session *session, const struct session_call *call, int64_t now_t)
{
    int64_t held = 0;
    for (const struct session_question *ask = wave_last_question(session, call); ask;
         ask = wave_ask_before(session, ask))
        if (__builtin_add_overflow(held, ask_held(session, call, ask, now_t), &held))
            return INT64_MAX; /* the times of a recording may have any value */
    return held;
}

int64_t wave_call_ran(const struct session *session, const struct session_call *call, int64_t now_t)
{
    int64_t all = wave_call_end(session, call, now_t) - call->started_t;
    int64_t held = wave_call_held(session, call, now_t);
    return all > held ? all - held : 0;
}

static void add_cut(struct wave_axis *axis, int64_t from, int64_t to, bool idle)
{
    if (to > from && axis->cut_count < WAVE_CUTS)
        axis->cuts[axis->cut_count++] = (struct wave_cut){from, to, idle};
}

int64_t wave_axis_at(const struct wave_axis *axis, int64_t t)
{
    int64_t at = t - axis->origin;
    for (size_t i = 0; i < axis->cut_count && at > 0; i++) {
        const struct wave_cut *cut = &axis->cuts[i];
        if (t > cut->from)
            at -= (t < cut->to ? t : cut->to) - cut->from;
    }
    return at > 0 ? at : 0;
}

void wave_axis_make(struct wave_axis *axis, const struct session *session, uint32_t wave, int64_t now_t)
{
    uint32_t step = session->waves[wave].step;
    uint32_t first = wave;
    int64_t reached; /* the end of the last call so far */
    *axis = (struct wave_axis){.step = step, .origin = session->steps[step].responded_t};
    while (first > 0 && session->waves[first - 1].step == step)
        first--;
    reached = axis->origin;
    for (uint32_t w = first; w < session->wave_count && session->waves[w].step == step; w++)
        for (uint32_t i = 0; i < session->waves[w].call_count; i++) {
            const struct session_call *call = &session->calls[session->waves[w].first_call + i];
            if (!call->started_seq)
                continue;
            int64_t end = wave_call_end(session, call, now_t);
            if (call->started_t - reached > WAVE_IDLE_CUT_US)
                add_cut(axis, reached, call->started_t, true);
            for (const struct session_question *ask = wave_last_question(session, call); ask;
                 ask = wave_ask_before(session, ask))
                add_cut(axis, ask->proposed_t, ask->proposed_t + ask_held(session, call, ask, now_t), false);
            reached = end > reached ? end : reached;
        }
    axis->span = wave_axis_at(axis, reached);
}

uint32_t wave_slowest(const struct session *session, uint32_t turn)
{
    const struct session_turn *of = &session->turns[turn];
    uint32_t slowest = SESSION_NONE, finished = 0;
    int64_t longest = WAVE_SLOW_US;
    for (uint32_t i = of->first_call; i < of->first_call + of->call_count && i < session->call_count; i++) {
        const struct session_call *call = &session->calls[i];
        if (!call->started_seq || !call->finished_seq)
            continue;
        int64_t took = wave_call_ran(session, call, call->finished_t);
        finished++;
        if (took > longest) {
            longest = took;
            slowest = i;
        }
    }
    return finished > 1 ? slowest : SESSION_NONE;
}
