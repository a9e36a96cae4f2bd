#pragma once
/* The rows of the waves pane, and the time axis of a step. Both are derived only from the rows of the session. */

#include "event/session.h"
#include <stdbool.h>
#include <stddef.h>

enum waverow_kind { WAVEROW_TURN, WAVEROW_MODEL, WAVEROW_CALL, WAVEROW_WHY };

struct waverow {
    enum waverow_kind kind;
    uint32_t index; /* of the turn, step, call or wave */
    uint32_t wave;  /* wave of a call; else SESSION_NONE */
};

/* A block of rows: a turn's head, the model's time before a step, or a wave with its calls. */
struct waverow_block {
    enum waverow_kind kind; /* WAVEROW_CALL: a wave */
    uint32_t index;
    size_t row;
    uint32_t rows;
};

struct wave_rows {
    struct waverow_block *blocks;
    size_t count, room;
    uint32_t steps, waves; /* steps and waves that have a block */
    char session[64];      /* the session they belong to */
};

void wave_rows_release(struct wave_rows *rows);
/* Adds what is new in the session, or removes what is gone. The cost depends only on the change. */
void wave_rows_update(struct wave_rows *rows, const struct session *session);
size_t wave_rows_count(const struct wave_rows *rows);
struct waverow wave_rows_at(const struct wave_rows *rows, const struct session *session, size_t row);
/* The number of rows, from the first, that can no longer change: those before the last step. */
size_t wave_rows_settled(const struct wave_rows *rows, const struct session *session);

/* Time within a step, counted from the model's answer, without waiting for the user: time held, and idle time longer
 * than WAVE_IDLE_CUT_US, are cut out. */
#define WAVE_CUTS        32
#define WAVE_IDLE_CUT_US 1000000
struct wave_axis {
    uint32_t step;
    int64_t origin, span;
    struct wave_cut {
        int64_t from, to;
        bool idle;
    } cuts[WAVE_CUTS];
    size_t cut_count;
};
void wave_axis_make(struct wave_axis *axis, const struct session *session, uint32_t wave, int64_t now_t);
int64_t wave_axis_at(const struct wave_axis *axis, int64_t t);

/* When a call ended; `now_t` while it runs. */
int64_t wave_call_end(const struct session *session, const struct session_call *call, int64_t now_t);
/* The newest question of a call, and the question before it; NULL: none. */
const struct session_question *wave_last_question(const struct session *session, const struct session_call *call);
const struct session_question *wave_ask_before(const struct session *session, const struct session_question *ask);
/* Microseconds it waited at its questions. */
int64_t wave_call_held(const struct session *session, const struct session_call *call, int64_t now_t);
/* Microseconds it ran, without that wait. */
int64_t wave_call_ran(const struct session *session, const struct session_call *call, int64_t now_t);
/* The slowest call of a turn. SESSION_NONE if there are fewer than two calls, or if it is not slow enough to
 * mention. */
#define WAVE_SLOW_US 5000
uint32_t wave_slowest(const struct session *session, uint32_t turn);
