#include "retry.h"
#include <sys/random.h>

#define BACKOFF_MS     500
#define BACKOFF_MAX_MS 60000

/* 0 … 1. */
static double chance(void)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
        return 0;
    return (double)random / (double)UINT32_MAX;
}

static int64_t backoff_ms(int attempt, double jitter)
{
    int64_t wait_ms = BACKOFF_MS;
    while (--attempt > 0 && wait_ms < BACKOFF_MAX_MS)
        wait_ms *= 2;
    if (wait_ms > BACKOFF_MAX_MS)
        wait_ms = BACKOFF_MAX_MS;
    return jitter > 0 ? wait_ms + (int64_t)((double)wait_ms * jitter * chance()) : wait_ms;
}

int64_t retry_delay_ms(const struct model_reply *reply, int attempt, double jitter)
{
    return reply->retry_after_ms >= 0 ? reply->retry_after_ms : backoff_ms(attempt, jitter);
}
