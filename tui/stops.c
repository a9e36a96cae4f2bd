#include "stops.h"
#include "base/loop.h"
#include "base/mem.h"
#include "say.h"

static void tell(void *data, int status)
{
    struct stops *stops = data;
    stops->stopped(stops->user, status);
}

static void interrupted(void *data)
{
    tell(data, STATUS_INTERRUPTED);
}

static void terminated(void *data)
{
    tell(data, STATUS_TERMINATED);
}

static void hung_up(void *data)
{
    tell(data, STATUS_HUNG_UP);
}

static const struct {
    int signum;
    void (*caught)(void *data);
} signals[] = {{SIGINT, interrupted}, {SIGTERM, terminated}, {SIGHUP, hung_up}};

void stops_watch(struct stops *stops, struct loop *loop)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        stops->watches[i] = loop_watch_signal(loop, signals[i].signum, signals[i].caught, stops);
}

void stops_unwatch(struct stops *stops)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_watch_free(stops->watches[i]);
}
