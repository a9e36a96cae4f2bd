/* The main function of test programs whose tests are written with TEST(). */

#include "base/mem.h"
#include "support/test.h"
#include <string.h>

extern const struct test_case *const __start_keyturn_tests[], *const __stop_keyturn_tests[];

__attribute__((weak)) void test_begin(void)
{
}

int main(int argc, char **argv)
{
    size_t count = (size_t)(__stop_keyturn_tests - __start_keyturn_tests);
    CLEANUP(free) struct CMUnitTest *tests = xcalloc(count, sizeof(*tests));

    for (size_t i = 0; i < count; i++) {
        const struct test_case *test = __start_keyturn_tests[i];
        tests[i] = (struct CMUnitTest){
            .name = test->name, .test_func = test->run, .setup_func = test->setup, .teardown_func = test->teardown};
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    test_begin();
    const char *slash = strrchr(argv[0], '/');
    return _cmocka_run_group_tests(slash ? slash + 1 : argv[0], tests, count, NULL, NULL);
}
