#pragma once
/* A real keyturn-harness with a folder of tools and a workspace of its own, spoken to as a host does. Nothing fails
 * softly: a harness that does not answer aborts the test. */

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include <stdbool.h>
#include <sys/types.h>

#define HARNESS_PATIENCE_MS 30000

struct harness_rig {
    const char *program;
    bool elsewhere;         /* KEYTURN_HARNESS: it has other process numbers and folders than we */
    struct scratch scratch; /* "tools" and "work" are in it */
    const char *options[8]; /* more of them, NULL-terminated; set before the start */
    const char *env[8];     /* NAME=VALUE, besides PATH */
    void (*before)(void);   /* in its process, before it becomes the harness */
    pid_t pid;
    int in, out, err; /* -1: closed */
    struct strbuf pending;
    struct arena arena; /* of the events */
    const struct json *ready;
    unsigned count;                  /* requests sent by harness_says: the last has the id "r<count>" */
    const char *message, *traceback; /* of the last error */
};

/* Makes the folders. `program` is the path of keyturn-harness, unless KEYTURN_HARNESS names another that takes its
 * place: one that an engine starts elsewhere. */
void harness_rig_init(struct harness_rig *rig, const char *program);
/* Starts it and waits for ready. */
void harness_rig_start(struct harness_rig *rig);
/* Starts it and waits for nothing. */
void harness_rig_launch(struct harness_rig *rig);
/* Ends it if it runs, and removes the folders. */
void harness_rig_release(struct harness_rig *rig);

void harness_rig_send(struct harness_rig *rig, const char *text, size_t len);
/* The next event; NULL at the end of the stream. */
const struct json *harness_rig_event(struct harness_rig *rig);
/* The next event if one comes in time. */
const struct json *harness_rig_event_within(struct harness_rig *rig, int ms);
/* Closes the harness's input and waits: its exit status, or minus the signal. */
int harness_rig_end(struct harness_rig *rig);
/* Waits for its end: exit status or minus the signal. */
int harness_rig_wait(struct harness_rig *rig);

/* A request as a line; the caller's. `more` are members to add, e.g. "\"required_secrets\":[\"A\"]", or NULL. */
char *harness_request(const char *id, const char *script, double timeout, const char *more);
/* One event as a line of text: "log info a", "intermediate p 1", "result 1", "error MESSAGE", "done". */
void harness_tell(struct strbuf *out, const struct json *event);
/* Runs a script and tells what came of it, an event a line; every event must carry its id. Valid until the next call.
 */
const char *harness_says(struct harness_rig *rig, const char *script, double timeout);
const char *harness_says_with(struct harness_rig *rig, const char *script, double timeout, const char *more);
