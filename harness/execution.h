#pragma once
/* One script in one child, as the supervisor sees it: its input, its output and its end. */

#include "base/arena.h"
#include "record.h"
#include "spawn.h"
#include "stream.h"
#include <poll.h>
#include <stdint.h>

struct event_sink;
struct request;

/* Limit on all output of a script, in bytes of events. */
#define EXECUTION_OUTPUT_MAX ((size_t)64 << 20)
/* After the timeout, how long a script may take to report where it was. */
#define EXECUTION_GRACE_MS 300
/* Maximum number of descriptors that execution_polls fills in. */
#define EXECUTION_POLLS 4

struct execution {
    bool running; /* between execution_begin and execution_close */
    bool over;    /* script_done is written; no event follows it */
    struct event_sink *sink;
    struct spare child;
    struct record_reader records;
    struct stream streams[4]; /* print() output, and bytes written to descriptors 1 and 2 */
    struct arena arena;
    struct strbuf message; /* bytes still to be sent to the child */
    size_t sent, output;
    int64_t deadline_us; /* first the timeout signal; after that, the kill */
    bool timed_out;
    unsigned cpu_s;
    char limit[32];
};

void execution_init(struct execution *execution, struct event_sink *sink);
void execution_release(struct execution *execution);
/* Sends the script to the child. `limit_cpu` also limits processor time. `secrets` are NAME=VALUE, each with its
 * NUL. */
void execution_begin(struct execution *execution, const struct request *request, struct spare *take_child,
                     const struct strbuf *secrets, bool limit_cpu, int64_t now_us);
/* Fills in the descriptors to poll. `reading` is false while the host does not read the output it already has. */
size_t execution_polls(const struct execution *execution, bool reading, struct pollfd *polls);
bool execution_serve(struct execution *execution, const struct pollfd *polls, size_t count);
/* Call when deadline_us is reached. */
void execution_tick(struct execution *execution, int64_t now_us);
/* Call when the child ended with this status. */
void execution_exited(struct execution *execution, int status);
/* Ends the execution with an error. */
void execution_fail(struct execution *execution, const char *message);
/* Ends the execution with an error and kills the child. */
void execution_kill(struct execution *execution, const char *message);
/* Call after the end: kills whatever is left of the child. */
void execution_close(struct execution *execution);
