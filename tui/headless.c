#include "headless.h"
#include "output.h"
#include <stddef.h>

#define BATCH_BYTES (64u << 10)

static void flush(struct loop_task *task)
{
    output_flush(((struct headless *)((char *)task - offsetof(struct headless, flush)))->output);
}

static void send_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct headless *headless = (struct headless *)sink;
    struct output *output = headless->output;
    (void)session;
    event_encode(&output->text, event);
    strbuf_addch(&output->text, '\n');
    if (headless->loop && output->text.len < BATCH_BYTES)
        loop_post(headless->loop, &headless->flush, flush);
    else
        output_flush(output);
}

void headless_init(struct headless *headless, struct output *output)
{
    *headless = (struct headless){.sink = {.event = send_event}, .output = output};
}

void headless_run(struct headless *headless, struct loop *loop)
{
    if (headless->loop)
        loop_unpost(headless->loop, &headless->flush);
    headless->loop = loop;
    if (headless->output)
        output_flush(headless->output);
}
