#pragma once
/* How much processor time the loop's callbacks use: a peer must not keep the loop from keys, signals and deadlines.
 *
 * The meter is off unless the environment asks for it. Tests set it:
 *   KEYTURN_LOOP_LIMIT_MS=500   a callback that uses more thread CPU time aborts the program with a sentence
 *   KEYTURN_LOOP_REPORT=file    at exit a line with the longest callback is appended to the file
 * While it is on, it also tells the interposer of the tests (tests/preload/blocking.c) when a callback runs, so that
 * calls which may block are found there.
 *
 * Every call from libuv into our code goes through LOOP_CALL. Callbacks within callbacks count as one. */

#include <stdbool.h>
#include <stdint.h>

extern bool loop_metered;

/* Reads the environment, once. */
void loop_meter_start(void);
void loop_meter_enter(const char *kind, uintptr_t callback);
void loop_meter_leave(void);

/* The user has the terminal, for example in an editor: waiting for that may block. */
void loop_meter_away(bool away);

/* `kind` and `callback` name it in the sentence; `call` is the call itself. */
#define LOOP_CALL(kind, callback, call)                    \
    do {                                                   \
        bool metered_ = loop_metered;                      \
        if (metered_)                                      \
            loop_meter_enter(kind, (uintptr_t)(callback)); \
        call;                                              \
        if (metered_)                                      \
            loop_meter_leave();                            \
    } while (0)
