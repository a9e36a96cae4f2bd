#include "tool_streams.h"
#include "place.h"

static void print_stdout(void *user, const char *text, size_t len)
{
    struct tool_run *run = user;
    run->output(run, "stdout", text, len);
}

static void print_stderr(void *user, const char *text, size_t len)
{
    struct tool_run *run = user;
    run->output(run, "stderr", text, len);
}

void tool_streams_init(struct tool_streams *streams, struct tool_run *run)
{
    trickle_init(&streams->out, run->env->loop, PLACE_CALL_MAX, print_stdout, run);
    trickle_init(&streams->err, run->env->loop, PLACE_CALL_MAX, print_stderr, run);
}

void tool_streams_add(struct tool_streams *streams, enum process_stream stream, const char *bytes, size_t len)
{
    trickle_add(stream == PROCESS_STDERR ? &streams->err : &streams->out, bytes, len);
}

void tool_streams_end(struct tool_streams *streams)
{
    trickle_flush(&streams->out, true);
    trickle_flush(&streams->err, true);
}

void tool_streams_release(struct tool_streams *streams)
{
    trickle_release(&streams->out);
    trickle_release(&streams->err);
}
