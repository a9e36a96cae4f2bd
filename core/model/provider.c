/* What every model has in common: the reply it gives, its cost, and the delay before a retry.
 *
 * A server may ask for a delay ("7", "120ms", "1m2.5s"): retry_parse_delay reads it into the reply, and retry_delay_ms
 * obeys it. Otherwise the delay doubles from 500 ms to 60 s. Jitter spreads clients that failed at the same moment. */

#include "provider.h"
#include "base/mem.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BACKOFF_MS     500
#define BACKOFF_MAX_MS 60000

void model_reply_release(struct model_reply *reply)
{
    free(reply->error);
    free(reply->text);
    free(reply->thinking);
    free(reply->opaque);
    free(reply->stop);
    tool_calls_free(reply->calls, reply->call_count);
    *reply = (struct model_reply){0};
}

/* Zero tokens cost nothing, even if the price is unknown. */
static double price_of_tokens(int64_t tokens, double price)
{
    return tokens > 0 ? (double)tokens * price / 1e6 : 0;
}

double prices_cost(const struct prices *prices, const struct usage *usage)
{
    if (isnan(prices->input) || isnan(prices->output))
        return NAN;
    double read = isnan(prices->cache_read) ? prices->input : prices->cache_read;
    double write = isnan(prices->cache_write) ? prices->input : prices->cache_write;
    return price_of_tokens(usage->input - usage->cache_read - usage->cache_write, prices->input) +
           price_of_tokens(usage->cache_read, read) + price_of_tokens(usage->cache_write, write) +
           price_of_tokens(usage->output, prices->output);
}

int64_t retry_delay_ms(const struct model_reply *reply, int attempt, double jitter)
{
    if (reply->retry_after_ms >= 0)
        return reply->retry_after_ms;
    int64_t delay = BACKOFF_MS;
    while (--attempt > 0 && delay < BACKOFF_MAX_MS)
        delay *= 2;
    if (delay > BACKOFF_MAX_MS)
        delay = BACKOFF_MAX_MS;
    uint32_t random = 0;
    if (jitter > 0 && getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random))
        delay += (int64_t)((double)delay * jitter * (double)random / (double)UINT32_MAX);
    return delay;
}

/* Returns the unit at the beginning of the text in milliseconds; NaN if none. */
static double parse_unit(char **text)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1}, {"us", 1e-3}, {"µs", 1e-3}, {"ns", 1e-6}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t len = strlen(units[i].name);
        if (strncmp(*text, units[i].name, len) == 0) {
            *text += len;
            return units[i].ms;
        }
    }
    return NAN;
}

int64_t retry_parse_delay(const char *text, double unit_ms)
{
    double sum = 0;
    text += strspn(text, " \t");
    for (const char *at = text; at == text || *at;) {
        if (!isdigit((unsigned char)*at)) /* strtod would also accept "-1" and "inf" */
            return -1;
        char *end;
        double number = strtod(at, &end);
        bool bare = at == text && !end[strspn(end, " \t")];
        double unit = bare ? unit_ms : parse_unit(&end);
        if (isnan(unit))
            return -1;
        sum += number * unit;
        at = bare ? "" : end;
    }
    return sum < (double)RETRY_MAX_MS ? (int64_t)ceil(sum) : RETRY_MAX_MS;
}
