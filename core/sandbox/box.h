#pragma once
/* One running harness, started by an engine and joined by its pipes. It is a channel; who holds the box sets the
 * channel's listener for one script at a time.
 *
 * However the program ends, a box does not outlive it: the engine's process is in a group of its own and dies with its
 * parent, a harness leaves at the end of its stdin, and an engine that needs more has a `stop` vector. */

#include "channel.h"
#include "engines.h"

struct box;
struct json;
struct loop;

struct box_listener {
    /* The harness is ready. `ready` is its event, borrowed: tools[], pid, ordered, sandbox{…}. */
    void (*ready)(void *user, struct box *box, const struct json *ready);
    /* It is gone, before or after it was ready; one sentence says why, with what it wrote to stderr. Called once, and
     * the box may be freed from within. */
    void (*gone)(void *user, struct box *box, const char *why);
    void *user;
};

/* Starts it. `name` is unique on this machine ("keyturn-…"). What is wrong with the engine (not installed, refused)
 * comes through `gone`, never from within this call; err is for a vector that cannot be made. */
struct box *box_start(struct loop *loop, const struct box_spec *spec, const char *name,
                      const struct box_listener *listener, struct err *err) CHECKED;
struct channel *box_channel(struct box *box);
const char *box_name(const struct box *box);
const char *box_workspace(const struct box *box); /* folder on this machine; NULL for a remote one */
/* What took effect inside, as the harness told: JSON object. NULL before it was ready. */
const char *box_layers(const struct box *box);
/* Ends it: end of stdin, then the engine's stop vector, then a kill of the group. Nobody is called any more. */
void box_free(struct box *box);
