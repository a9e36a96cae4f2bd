#pragma once
/* The rows of the waves pane, and the time axis of a step. Both follow from the rows of the session alone. */

#include "event/session.h"
#include <stdbool.h>
#include <stddef.h>

enum waverow_kind { WAVEROW_TURN, WAVEROW_MODEL, WAVEROW_CALL, WAVEROW_WHY };

struct waverow {
    enum waverow_kind kind;
    uint32_t index; /* of the turn, step, call or wave */
    uint32_t wave;  /* of a call: its wave; SESSION_NONE else */
};

/* A turn's head, the model's time before a step, or a wave with its calls: where its rows begin. */
struct waverow_block {
    enum waverow_kind kind; /* WAVEROW_CALL: a wave */
    uint32_t index;
    size_t row;
    uint32_t rows;
};

struct waverows {
    struct waverow_block *blocks;
    size_t count, room;
    uint32_t steps, waves; /* that have a block */
    char session[64];      /* whose they are */
};

void waverows_release(struct waverows *rows);
/* Takes in what is new in the session, or takes off what is no longer there. Costs what changed. */
void waverows_update(struct waverows *rows, const struct session *session);
size_t waverows_count(const struct waverows *rows);
struct waverow waverows_at(const struct waverows *rows, const struct session *session, size_t row);
/* How many rows, from the first on, stay as they are: those before the last step. */
size_t waverows_settled(const struct waverows *rows, const struct session *session);

/* Time within a step, from the model's answer on, without what was spent waiting for a person: time held and idle time
 * longer than WAVE_IDLE_CUT_US are cut out. */
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

/* When a call ended; `now_t` while it has not. */
int64_t wave_call_end(const struct session *session, const struct session_call *call, int64_t now_t);
/* The question that a call asked last, and the one that it asked before that one; NULL: none. */
const struct session_ask *wave_last_ask(const struct session *session, const struct session_call *call);
const struct session_ask *wave_ask_before(const struct session *session, const struct session_ask *ask);
/* Microseconds it stood at its questions. */
int64_t wave_call_held(const struct session *session, const struct session_call *call, int64_t now_t);
/* Microseconds it ran: all of its time but that. */
int64_t wave_call_ran(const struct session *session, const struct session_call *call, int64_t now_t);
/* The call of a turn that took longest, SESSION_NONE unless there are two to compare and it is worth a word. */
#define WAVE_SLOW_US 5000
uint32_t wave_slowest(const struct session *session, uint32_t turn);
