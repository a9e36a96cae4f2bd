#pragma once
/* A real keyturn-harness with its own folder of tools and workspace; the test takes the part of the host. A harness
 * that does not answer aborts the test. */

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "scratch.h"
#include <stdbool.h>
#include <sys/types.h>

#define HARNESS_PATIENCE_MS 30000

struct harness_rig {
    const char *program;
    bool elsewhere;         /* KEYTURN_HARNESS is set: its process numbers and folders differ from ours */
    struct scratch scratch; /* "tools" and "work" are in it */
    const char *options[8]; /* additional options, NULL-terminated; set before the start */
    const char *env[8];     /* NAME=VALUE, besides PATH */
    void (*before)(void);   /* called in its process, before exec */
    pid_t pid;
    int in, out, err; /* -1: closed */
    struct strbuf pending;
    struct arena arena; /* of the events */
    const struct json *ready;
    unsigned count;                  /* requests sent by harness_says: the last has the id "r<count>" */
    const char *message, *traceback; /* of the last error */
};

/* Makes the folders. `program` is the path of keyturn-harness. KEYTURN_HARNESS can name another one to use instead,
 * which an engine starts elsewhere. */
void harness_rig_init(struct harness_rig *rig, const char *program);
/* Starts it and waits for ready. */
void harness_rig_start(struct harness_rig *rig);
/* Starts it without waiting. */
void harness_rig_launch(struct harness_rig *rig);
/* Ends it if it runs, and removes the folders. */
void harness_rig_release(struct harness_rig *rig);

void harness_rig_send(struct harness_rig *rig, const char *text, size_t len);
/* Returns the next event; NULL at the end of the stream. */
const struct json *harness_rig_event(struct harness_rig *rig);
/* Returns the next event if one comes in time. */
const struct json *harness_rig_event_within(struct harness_rig *rig, int ms);
/* Closes the harness's input and waits. Returns its exit status, or minus the signal. */
int harness_rig_end(struct harness_rig *rig);
/* Waits for its end. Returns its exit status, or minus the signal. */
int harness_rig_wait(struct harness_rig *rig);

/* Returns a request as a line, which the caller frees. `more` are members to add, e.g. "\"required_secrets\":[\"A\"]",
 * or NULL. */
char *harness_request(const char *id, const char *script, double timeout, const char *more);
/* One event as a line of text: "log info a", "intermediate p 1", "result 1", "error MESSAGE", "done". */
void harness_tell(struct strbuf *out, const struct json *event);
/* Runs a script and returns its events, one per line; every event must carry its id. Valid until the next call. */
const char *harness_says(struct harness_rig *rig, const char *script, double timeout);
const char *harness_says_with(struct harness_rig *rig, const char *script, double timeout, const char *more);
