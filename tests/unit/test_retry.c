/* Tests of the delay before a request to a model is retried. */

#include "base/mem.h"
#include "model/provider.h"
#include "support/test.h"

TEST(words_become_milliseconds)
{
    static const struct {
        const char *text;
        double unit_ms;
        int64_t ms;
    } cases[] = {
        {"7", 1000, 7000},
        {"1250", 1, 1250},
        {"2.5", 1000, 2500},
        {" 7 ", 1000, 7000},
        {"3s", 1000, 3000},
        {"120ms", 1000, 120},
        {"1m2.5s", 1000, 62500},
        {"6m0s", 1000, 360000},
        {"1h1m1s", 1000, 3661000},
        {"250us", 1000, 1},
        {"0", 1000, 0},
        {"1e99", 1000, RETRY_MAX_MS},
        {"", 1000, -1},
        {"soon", 1000, -1},
        {"-3", 1000, -1},
        {"3 apples", 1000, -1},
        {"3s 4", 1000, -1},
        {"1m30", 1000, -1},
        {"nan", 1000, -1},
        {"Wed, 21 Oct 2015 07:28:00 GMT", 1000, -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (retry_parse_delay(cases[i].text, cases[i].unit_ms) != cases[i].ms)
            fail_msg("\"%s\" is %lld", cases[i].text, (long long)retry_parse_delay(cases[i].text, cases[i].unit_ms));
}
