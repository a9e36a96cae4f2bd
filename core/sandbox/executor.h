#pragma once
/* The script executor (S1): one script through one harness, one result, whatever the harness does.
 *
 *   request line out → events of this execution id in → final_result, error, or (INTERACTIVE) script_done ends it
 *   silence       → "Timed out waiting for container response" after the timeout and 5 s more
 *   end of stream → "Container stdout closed unexpectedly"
 *   too much      → a failure that names the limit, and the channel is closed
 *   anything that is no event of ours → counted and skipped; so are events of other ids, and of none (D2)
 *
 * Never fails otherwise, so there is no err: what went wrong is in the result. Never blocks. The result is delivered
 * exactly once, never from within script_run_start. */

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
#define SCRIPT_TIMEOUT_MAX_S 604800 /* that a harness takes */
#define SCRIPT_OUTPUT_BYTES  (1u << 20)
#define SCRIPT_GRACE_S       5.0 /* beyond the timeout, for the harness to tell */

/* A file for the script's workspace, which holds nothing else. The copy is not to be written to. */
struct script_file {
    char *path; /* relative */
    char *bytes;
    size_t len;
    bool executable;
};

struct script_request {
    const char *execution_id; /* NULL: made */
    const char *script;
    size_t script_len; /* 0: up to its NUL */
    enum script_mode mode;
    double timeout_s;           /* 0: SCRIPT_TIMEOUT_S */
    double named_timeout_s;     /* that an error names, where some of it is used up already; 0: timeout_s */
    size_t max_output_bytes;    /* 0: SCRIPT_OUTPUT_BYTES; a failure when strictly more is read (D5) */
    const char *const *secrets; /* names, NULL-terminated; NULL: none */
    const char *const *tools;   /* names of those it may see, NULL-terminated; NULL: all */
    const struct script_file *files;
    size_t file_count;
    /* Every event of this execution is emitted as script.event, as it came. Those that come together are emitted
     * together, so that they are recorded at once. NULL: nobody records them. Both live until it is done. */
    struct emitter *emitter;
    const char *call; /* that they belong to; NULL: none */
};

struct script_part {
    char *label; /* of an intermediate; the level of a log. The two texts are one piece of memory, which begins here */
    char *data;  /* JSON of an intermediate; the message of a log, as text */
};

struct script_result {
    bool success;
    bool step_done; /* INTERACTIVE: ended by script_done, without a result (D4) */
    bool reusable;  /* the harness answered in order and may serve another (D7) */
    char *execution_id;
    char *final_data; /* JSON, NULL when there is none */
    struct script_part *intermediates, *logs;
    size_t intermediate_count, log_count, intermediate_room, log_room;
    char *error, *traceback; /* NULL when none; traceback "" when the error has none */
    int64_t duration_ms;
    /* Every byte read, up to the end of the line that was the last to count: the same in whatever pieces they come. */
    size_t output_bytes;
    size_t skipped; /* lines that were no events of this execution */
};
void script_result_release(struct script_result *result);
/* Whether its box may go on to another: not after any failure, of the harness or of the script. */
bool script_result_keeps_box(const struct script_result *result);
/* {"success":…,"execution_id":…,"final_data":…,"intermediates":[{"label","data"}…],"logs":[{"message","level"}…],
 * "error":…,"traceback":…,"step_done":…,"duration_ms":…,"output_bytes":…}, on one line */
void script_result_write(struct strbuf *out, const struct script_result *result);
/* The end of a traceback, at most 2000 bytes of whole lines: that is where it says what went wrong. Within the text. */
const char *script_traceback_end(const char *traceback);

enum script_heard {
    SCRIPT_HEARD,
    SCRIPT_HEARD_LATER,  /* what follows is held back until script_run_go_on (S1: the callback is awaited) */
    SCRIPT_HEARD_FAILED, /* `err` says why: it is logged, and the run goes on (D13) */
};

struct script_listener {
    /* An intermediate. NULL: nobody cares. */
    enum script_heard (*intermediate)(void *user, const struct script_part *part, struct err *err);
    void (*done)(void *user, struct script_result *take_result);
    void *user;
};

/* Writes the request and listens on the channel until it is done; the caller keeps the channel alive until then. The
 * run is gone when `done` has returned; from within the other callbacks it may be cancelled. */
struct script_run *script_run_start(struct loop *loop, struct channel *channel, const struct script_request *request,
                                    const struct script_listener *listener);
void script_run_go_on(struct script_run *run);
/* Ends it as failed with this error ("cancelled"); `done` is called from the loop. The harness is not reusable. */
void script_run_cancel(struct script_run *run, const char *error);

/* Emits lines of a script as script.event: JSON objects, valid, each with a newline behind it. */
void script_emit(struct emitter *emitter, const char *call, const char *lines, size_t len);
/* The request line, newline included. */
void script_request_write(struct strbuf *out, const struct script_request *request, const char *execution_id);
