/* How long a server wants to be left alone. */

#include "base/mem.h"
#include "model/wait.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_words_become_milliseconds(void **state)
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
        {"1e99", 1000, WAIT_MAX_MS},
        {"", 1000, -1},
        {"soon", 1000, -1},
        {"-3", 1000, -1},
        {"3 apples", 1000, -1},
        {"3s 4", 1000, -1},
        {"1m30", 1000, -1},
        {"nan", 1000, -1},
        {"Wed, 21 Oct 2015 07:28:00 GMT", 1000, -1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (wait_read(cases[i].text, cases[i].unit_ms) != cases[i].ms)
            fail_msg("\"%s\" is %lld", cases[i].text, (long long)wait_read(cases[i].text, cases[i].unit_ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_become_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
