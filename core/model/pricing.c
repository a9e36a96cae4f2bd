#include "pricing.h"
#include "message.h"
#include <math.h>

/* Tokens times price; nothing costs nothing, whatever its price. */
static double share(int64_t tokens, double price)
{
    return tokens > 0 ? (double)tokens * price / 1e6 : 0;
}

double pricing_cost(const struct prices *prices, const struct usage *usage)
{
    double read = isnan(prices->cache_read) ? prices->input : prices->cache_read;
    double write = isnan(prices->cache_write) ? prices->input : prices->cache_write;
    if (isnan(prices->input) || isnan(prices->output))
        return NAN;
    return share(usage->input - usage->cache_read - usage->cache_write, prices->input) +
           share(usage->cache_read, read) + share(usage->cache_write, write) + share(usage->output, prices->output);
}
