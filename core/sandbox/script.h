#pragma once
/* The script executor: runs one script in one harness and returns one result, whatever the harness does.
 *
 *   request line out → events of this execution id in → final_result, error, or (INTERACTIVE) script_done ends it
 *   silence         → "Timed out waiting for container response" after the timeout and 5 s more
 *   end of stream   → "Container stdout closed unexpectedly"
 *   too much output → a failure that names the limit; the channel is closed
 *   anything else (no event, another id, no id) → counted and skipped
 *
 * The functions never fail otherwise and never block, so they have no err: the result holds the error. The run
 * delivers its result exactly once, never during script_run_start. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel;
struct emitter;
struct err;
struct json;
struct loop;
struct script_run;
struct strbuf;

enum script_mode { SCRIPT_PLAN, SCRIPT_INTERACTIVE };
const char *script_mode_name(enum script_mode mode); /* "PLAN", "INTERACTIVE" */
int script_mode_from_name(const char *name);         /* any case; -1 when unknown */

#define SCRIPT_TIMEOUT_S     60.0
#define SCRIPT_TIMEOUT_MAX_S 604800 /* longest timeout that a harness accepts */
#define SCRIPT_OUTPUT_BYTES  (1u << 20)
#define SCRIPT_GRACE_S       5.0 /* beyond the timeout, so that the harness can report first */

/* A file in the script's workspace, which holds no other files. The script must not write to the copy. */
struct script_file {
    char *path; /* relative */
    char *bytes;
    size_t len;
    bool executable;
};

struct script_request {
    const char *execution_id; /* NULL: script_run_start makes one */
    const char *script;
    size_t script_len; /* 0: up to its NUL */
    enum script_mode mode;
    double timeout_s;           /* 0: SCRIPT_TIMEOUT_S */
    double named_timeout_s;     /* the timeout that error messages name, if part of it was already used; 0: timeout_s */
    size_t max_output_bytes;    /* 0: SCRIPT_OUTPUT_BYTES; reading strictly more is a failure */
    const char *const *secrets; /* names, NULL-terminated; NULL: none */
    const char *const *tools;   /* names of the tools that the script may see, NULL-terminated; NULL: all */
    const struct script_file *files;
    size_t file_count;
    /* Emits every event of this execution unchanged as script.event. Events that arrive together are emitted
     * together, so that the journal records them at once. NULL: not recorded. Emitter and call must live until the
     * run is done. */
    struct emitter *emitter;
    const char *call; /* the call of these events; NULL: none */
};

struct script_item {
    char *label; /* of an intermediate; the level of a log. Label and data share one allocation, which begins here */
    char *data;  /* JSON of an intermediate; the message of a log, as text */
};

struct script_result {
    bool success;
    bool step_done; /* INTERACTIVE: ended by script_done, without a result */
    bool reusable;  /* the harness answered in order and may run another script */
    char *execution_id;
    char *final_data; /* JSON, NULL when there is none */
    struct script_item *intermediates, *logs;
    size_t intermediate_count, log_count, intermediate_room, log_room;
    char *error, *traceback; /* NULL when none; traceback "" when the error has none */
    int64_t duration_ms;
    /* All bytes read, up to the end of the last line that counted. Does not depend on how the stream was split. */
    size_t output_bytes;
    size_t skipped; /* lines that were not events of this execution */
};
void script_result_release(struct script_result *result);
/* True if the box may run another script: false after any failure of the harness or of the script. */
bool script_result_keeps_box(const struct script_result *result);
/* Writes {"success":…,"execution_id":…,"final_data":…,"intermediates":[{"label","data"}…],
 * "logs":[{"message","level"}…],"error":…,"traceback":…,"step_done":…,"duration_ms":…,"output_bytes":…} on one line. */
void script_result_write(struct strbuf *out, const struct script_result *result);
/* The end of a traceback, at most 2000 bytes of whole lines, because the cause is at the end. Points into the text. */
const char *script_traceback_end(const char *traceback);

enum script_ack {
    SCRIPT_HEARD,
    SCRIPT_HEARD_LATER,  /* the run holds back what follows until script_run_go_on */
    SCRIPT_HEARD_FAILED, /* `err` has the reason: the run logs it and continues */
};

struct script_listener {
    /* Receives an intermediate. May be NULL. */
    enum script_ack (*intermediate)(void *user, const struct script_item *part, struct err *err);
    void (*done)(void *user, struct script_result *take_result);
    void *user;
};

/* Writes the request and listens on the channel until the run is done. The caller keeps the channel alive until
 * then. The run is freed when `done` has returned. The other callbacks may cancel the run. */
struct script_run *script_run_start(struct loop *loop, struct channel *channel, const struct script_request *request,
                                    const struct script_listener *listener);
void script_run_go_on(struct script_run *run);
/* Ends the run as failed with this error ("canceled"). The loop calls `done`. The harness is not reusable. */
void script_run_cancel(struct script_run *run, const char *error);

/* Emits lines of a script as script.event. Each line is a valid JSON object followed by a newline. */
void script_emit(struct emitter *emitter, const char *call, const char *lines, size_t len);
