/* Commands that nobody waits for, with a limit in real time. */

#include "loop.h"
#include "loop_private.h"
#include "mem.h"
#include "proc.h"
#include <uv.h>

struct aside {
    uv_timer_t limit;
    struct loop *loop;
    struct proc *proc;
};

static void on_limit_closed(uv_handle_t *limit)
{
    struct aside *aside = limit->data;
    loop_count_dying(aside->loop, -1);
    free(aside);
}

static void end_aside(struct aside *aside)
{
    proc_free(aside->proc);
    uv_close((uv_handle_t *)&aside->limit, on_limit_closed);
}

static void on_aside_over(uv_timer_t *limit)
{
    end_aside(limit->data);
}

static void on_aside_exit(void *data, int status, int signum)
{
    (void)status;
    (void)signum;
    end_aside(data);
}

int proc_run_aside(struct loop *loop, const char *const *argv, const char *const *env, unsigned limit_ms)
{
    struct aside *aside = xcalloc(1, sizeof(*aside));
    aside->loop = loop;
    struct proc_options options = {.argv = argv, .env = env, .on_exit = on_aside_exit, .data = aside};
    aside->proc = proc_start(loop, &options, NULL);
    if (!aside->proc) {
        free(aside);
        return -1;
    }
    uv_timer_init(loop_uv(loop), &aside->limit);
    aside->limit.data = aside;
    uv_timer_start(&aside->limit, on_aside_over, limit_ms, 0);
    loop_count_dying(loop, 1);
    return 0;
}
