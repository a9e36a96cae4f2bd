#pragma once
/* What an answer cost. Prices are what the user's config says and nothing else: a table of ours would be wrong the day
 * after it was made, and a wrong sum is worse than none. */

struct usage;

/* US dollars per million tokens; NaN: not said. */
struct prices {
    double input, output;
    double cache_read, cache_write; /* not said: as input */
};
#define PRICES_UNKNOWN                                                             \
    {                                                                              \
        __builtin_nan(""), __builtin_nan(""), __builtin_nan(""), __builtin_nan("") \
    }

/* NaN when the price of what was used is not known. */
double pricing_cost(const struct prices *prices, const struct usage *usage);
