#pragma once
/* One way to write a test. Each registers itself, so a test file has no list of tests and no main:
 *
 *     #include "support/test.h"
 *
 *     TEST(expired_question_denies_the_write)
 *     {
 *         assert_int_equal(…);
 *     }
 *
 * TEST_WITH(name, setup, teardown) has cmocka's fixtures; `state` is theirs. A file that includes this header is linked
 * with test_main.c. The first argument of the program is a filter for names ('*' and '?'). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct test_case {
    const char *name;
    CMUnitTestFunction run;
    CMFixtureFunction setup, teardown;
};

/* The linker collects pointers and not structs: between structs it might leave padding. */
#define TEST_WITH(NAME, SETUP, TEARDOWN)                                                                              \
    static void test_##NAME(void **state);                                                                            \
    static const struct test_case case_##NAME = {#NAME, test_##NAME, SETUP, TEARDOWN};                                \
    static const struct test_case *const entry_##NAME __attribute__((used, section("keyturn_tests"))) = &case_##NAME; \
    static void test_##NAME(void **state __attribute__((unused)))
#define TEST(NAME) TEST_WITH(NAME, NULL, NULL)

/* What has to be set before the first test, such as an environment variable. A test file may define it. */
void test_begin(void);
