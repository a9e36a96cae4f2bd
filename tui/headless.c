#include "headless.h"
#include "output.h"

static void send_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct output *output = ((struct headless *)sink)->output;
    (void)session;
    event_encode(&output->text, event);
    strbuf_addch(&output->text, '\n');
    output_flush(output);
}

void headless_init(struct headless *headless, struct output *output)
{
    *headless = (struct headless){.sink = {.event = send_event}, .output = output};
}
