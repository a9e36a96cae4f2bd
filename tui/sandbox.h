#pragma once
/* The sandbox that the command line names: engines.json, --engine NAME[:HOST], --tools DIR, --secret NAME. */

#include "options.h"
#include "sandbox/pool.h"

struct sandbox {
    struct sandbox_engines engines;
    struct box_spec spec; /* its engine is NULL where none was named and none is installed */
    char *name, *host, *tools, **secrets;
};

/* 0, or the exit status after the error was said. In both cases sandbox_close takes down what is there. */
int sandbox_open(struct sandbox *sandbox, const struct options *options);
void sandbox_close(struct sandbox *sandbox);
/* A pool of such boxes, `size` of them kept warm from the first that is asked for. NULL: there is no engine. */
struct pool *sandbox_pool(const struct sandbox *sandbox, struct loop *loop, size_t size, size_t overflow);
