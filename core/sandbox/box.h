#pragma once
/* One running harness, started by an engine and joined by its pipes. It is a channel; who holds the box sets the
 * channel's listener for one script at a time.
 *
 * However the program ends, a box does not outlive it: the engine's process is in a group of its own and dies with its
 * parent, a harness leaves at the end of its stdin, and an engine that needs more has a `stop` vector. */

#include "channel.h"
#include "engines.h"
#include "toolset.h"

struct box;
struct json;
struct loop;

#define BOX_READY_S 30 /* until a harness must have said that it is ready */

struct box_listener {
    /* The harness is ready. `ready` is its event, borrowed: tools[], pid, ordered, sandbox{…}. The box may be freed
     * from within. */
    void (*ready)(void *user, struct box *box, const struct json *ready);
    /* It is gone, before or after it was ready; one sentence says why, with what it wrote to stderr. Called once, and
     * the box may be freed from within. */
    void (*gone)(void *user, struct box *box, const char *why);
    /* The last request has had its script_done while nobody listened to the channel. A script goes on after its result,
     * and only then is it over. NULL: nobody cares. The box may be freed from within. */
    void (*idle)(void *user, struct box *box);
    void *user;
};

/* Starts it. `name` is unique on this machine ("keyturn-…"). What is wrong with the engine (not installed, refused)
 * comes through `gone`, never from within this call; err is for a vector that cannot be made. */
struct box *box_start(struct loop *loop, const struct box_spec *spec, const char *name,
                      const struct box_listener *listener, struct err *err) CHECKED;
struct channel *box_channel(struct box *box);
const char *box_name(const struct box *box);
/* Its folder on this machine; NULL where the engine gives the harness one that we cannot see. */
const char *box_workspace(const struct box *box);
/* It is gone because the engine's program is nowhere in PATH. */
bool box_is_missing(const struct box *box);
/* What took effect inside, as the harness told: JSON object. NULL before it was ready. */
const char *box_layers(const struct box *box);
/* What the engine and the harness wrote to stderr so far and what the notes say, the end of it. */
const char *box_complaints(const struct box *box);
/* The last of it on one line; NULL: there is nothing. */
char *box_complaints_line(const struct box *box);
/* What the harness told of loading the tools, which belongs to no script: its `log` events, a line each. They follow
 * `ready` at once, but the last of them may come only after it was told. */
const char *box_notes(const struct box *box);
/* Every request had its script_done. */
bool box_is_idle(const struct box *box);
/* Since this was asked last nothing came without a request: a harness that is left alone keeps still. Notes do
 * not count. */
bool box_kept_still(struct box *box);
/* Ends it: end of stdin, the engine's stop vector, a kill of the group. Nobody is called any more. */
void box_free(struct box *box);
