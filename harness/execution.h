#pragma once
/* One script in one child, seen by the supervisor: what is sent to it, what comes back, and when it is over. */

#include "base/arena.h"
#include "record.h"
#include "spawn.h"
#include "stream.h"
#include <poll.h>
#include <stdint.h>

struct event_sink;
struct request;

/* What a script may say in all, as bytes of events. */
#define EXECUTION_OUTPUT_MAX ((size_t)64 << 20)
/* How long a script that was told that its time is over may take to say where it was. */
#define EXECUTION_GRACE_MS 300
/* Descriptors to wait for, at most. */
#define EXECUTION_POLLS 4

struct execution {
    bool running; /* between begin and close */
    bool over;    /* script_done is written; nothing comes after it */
    struct event_sink *sink;
    struct spare child;
    struct record_reader records;
    struct stream streams[4]; /* printed, and written to descriptors 1 and 2 */
    struct arena arena;
    struct strbuf message; /* to the child */
    size_t sent, output;
    int64_t deadline_us; /* then the child is told; later: then it is killed */
    bool timed_out;
    unsigned cpu_s;
    char limit[32];
};

void execution_init(struct execution *execution, struct event_sink *sink);
void execution_release(struct execution *execution);
/* Sends the script to the child. `limit_cpu`: processor time is limited too. `secrets` are NAME=VALUE, each with its
 * NUL. */
void execution_begin(struct execution *execution, const struct request *request, struct spare *take_child,
                     const struct strbuf *secrets, bool limit_cpu, int64_t now_us);
/* What to wait for; `reading` is false while the host does not take what there is already. */
size_t execution_polls(const struct execution *execution, bool reading, struct pollfd *polls);
bool execution_serve(struct execution *execution, const struct pollfd *polls, size_t count);
/* The time has come that deadline_us says. */
void execution_tick(struct execution *execution, int64_t now_us);
/* The child ended, with this status. */
void execution_exited(struct execution *execution, int status);
/* Ends it with an error. */
void execution_fail(struct execution *execution, const char *message);
/* The same, and the child with it. */
void execution_kill(struct execution *execution, const char *message);
/* After the end: whatever is left of the child dies now. */
void execution_close(struct execution *execution);
