#pragma once
/* A box: one running harness, started by an engine and connected by pipes.
 *
 * A box is a channel. The holder of the box sets the channel's listener for one script at a time.
 *
 * A box never outlives the program, however the program ends. The engine's process has its own group and dies with
 * its parent. A harness exits at the end of its stdin. An engine that needs more has a `stop` vector. */

#include "channel.h"
#include "engines.h"
#include "wire.h"
#include <stddef.h>

struct box;
struct json;
struct loop;

#define BOX_READY_S 30 /* a harness must report `ready` within this time */

struct box_listener {
    /* The harness is ready. `ready` is its event, borrowed: tools[], pid, ordered, sandbox{…}. The callback may free
     * the box. */
    void (*ready)(void *user, struct box *box, const struct json *ready);
    /* The box has ended, before or after it was ready. `why` is one sentence with the cause and the stderr output.
     * Called once. The callback may free the box. */
    void (*gone)(void *user, struct box *box, const char *why);
    /* The last request got its script_done while the channel had no listener. A script may run on after its result;
     * this reports its end. May be NULL. The callback may free the box. */
    void (*idle)(void *user, struct box *box);
    void *user;
};

/* Starts a box. `name` is unique on this machine ("keyturn-…"). Failures of the engine (not installed, refused)
 * arrive through `gone`, never during this call. err reports only an argument vector that cannot be built. */
struct box *box_start(struct loop *loop, const struct box_options *spec, const char *name,
                      const struct box_listener *listener, struct err *err) CHECKED;
struct channel *box_channel(struct box *box);
const char *box_name(const struct box *box);
/* True if the box ended because the engine's program is not in PATH. */
bool box_is_missing(const struct box *box);
/* The restrictions that took effect inside, as the harness reported them: a JSON object. NULL before the box was
 * ready. */
const char *box_layers(const struct box *box);
/* The last part of what the engine and the harness wrote to stderr, and of the notes. */
const char *box_stderr(const struct box *box);
/* The last of the complaints on one line; NULL: none. */
char *box_complaints_line(const struct box *box);
/* Messages of the harness about loading the tools, outside any script: its `log` events, one line each. They follow
 * `ready` at once, but the last may arrive after the `ready` callback. */
const char *box_notes(const struct box *box);
/* True if every request got its script_done. */
bool box_is_idle(const struct box *box);
/* True if nothing arrived without a request since the last call. An idle harness sends nothing. Notes do not count. */
bool box_kept_still(struct box *box);
/* Ends the box: closes stdin, runs the engine's stop vector, kills the group. No callback runs after this. */
void box_free(struct box *box);

/* ---- what an engine wrote before it failed ---- */
