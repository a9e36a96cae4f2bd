#pragma once
/* How to write a test. Each test registers itself, so a test file has no list of tests and no main:
 *
 *     #include "support/test.h"
 *
 *     TEST(expired_question_denies_the_write)
 *     {
 *         assert_int_equal(…);
 *     }
 *
 * TEST_WITH(name, setup, teardown) has cmocka's fixtures and their `state`. TEST_GROUP(setup, teardown) runs before the
 * first and after the last test of a file. Tests run in the order of the file. The program takes a filter for names
 * ('*' and '?') and its own arguments, all optional. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct test_case {
    const char *name;
    int line;
    CMUnitTestFunction run;
    CMFixtureFunction setup, teardown;
};

struct test_group {
    CMFixtureFunction setup, teardown;
};

/* The linker collects pointers, not structs: it might leave padding between structs. */
#define TEST_WITH(NAME, SETUP, TEARDOWN)                                                                              \
    static void test_##NAME(void **state);                                                                            \
    static const struct test_case case_##NAME = {#NAME, __LINE__, test_##NAME, SETUP, TEARDOWN};                      \
    static const struct test_case *const entry_##NAME __attribute__((used, section("keyturn_tests"))) = &case_##NAME; \
    static void test_##NAME(void **state __attribute__((unused)))
#define TEST(NAME) TEST_WITH(NAME, NULL, NULL)

extern const struct test_group test_group;
#define TEST_GROUP(SETUP, TEARDOWN) const struct test_group test_group = {SETUP, TEARDOWN};

/* Runs before the first test, to set environment variables and the like. A test file may define it. */
void test_begin(void);

/* The arguments after the filter; NULL after the last. */
extern char **test_program_arguments;

/* Returns how many rounds a sweep makes: `usual`, times $KEYTURN_TEST_ROUNDS. */
unsigned test_rounds(unsigned usual);
