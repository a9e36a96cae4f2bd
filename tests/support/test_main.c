/* The main function of test programs whose tests are written with TEST(). */

#include "base/mem.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

extern const struct test_case *const __start_keyturn_tests[], *const __stop_keyturn_tests[];

char **test_program_arguments;
__attribute__((weak)) const struct test_group test_group = {NULL, NULL};

__attribute__((weak)) void test_begin(void)
{
}

unsigned test_rounds(unsigned usual)
{
    const char *more = getenv("KEYTURN_TEST_ROUNDS");
    unsigned long times = more ? strtoul(more, NULL, 10) : 1;
    return times > 0 && times <= 1000 ? usual * (unsigned)times : usual;
}

static int compare_lines(const void *a, const void *b)
{
    const struct test_case *const *left = a, *const *right = b;
    return (*left)->line - (*right)->line;
}

int main(int argc, char **argv)
{
    size_t count = (size_t)(__stop_keyturn_tests - __start_keyturn_tests);
    CLEANUP(free) const struct test_case **sorted = xcalloc(count, sizeof(*sorted));
    CLEANUP(free) struct CMUnitTest *tests = xcalloc(count, sizeof(*tests));
    /* The compiler may have put them in any order. Two tests of one line, made by a macro, keep their order. */
    memcpy(sorted, __start_keyturn_tests, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_lines);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = sorted[i]->name,
                                       .test_func = sorted[i]->run,
                                       .setup_func = sorted[i]->setup,
                                       .teardown_func = sorted[i]->teardown};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    test_program_arguments = argc > 1 ? argv + 2 : argv + argc;
    test_begin();
    const char *slash = strrchr(argv[0], '/');
    return _cmocka_run_group_tests(slash ? slash + 1 : argv[0], tests, count, test_group.setup, test_group.teardown);
}
