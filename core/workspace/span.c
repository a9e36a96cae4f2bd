/* Attributes are written as they become known, into the object that is told at the end. */

#include "span.h"
#include "base/clock.h"

void span_begin(struct span *span, const struct workspace_observer *observer, struct clock *clock, const char *op)
{
    *span = (struct span){.observer = observer, .clock = clock, .op = op, .began_us = clock->now_us(clock)};
    strbuf_init(&span->text);
    span->attrs = json_begin(&span->text);
    json_open(&span->attrs, NULL, '{');
}

int span_end(struct span *span, int status, const struct err *own, struct err *err)
{
    json_close(&span->attrs, '}');
    if (span->observer && span->observer->done) {
        struct workspace_op op = {.op = span->op,
                                  .elapsed_ms = (span->clock->now_us(span->clock) - span->began_us) / 1000,
                                  .error = status < 0 ? own->text : NULL,
                                  .attrs = span->text.buf};
        span->observer->done(span->observer->user, &op);
    }
    strbuf_release(&span->text);
    if (status < 0 && err)
        *err = *own;
    return status;
}
