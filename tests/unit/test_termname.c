/* Terminals that are not described on this machine. */

#include "termname.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

static void test_newer_terminals_are_taken_for_xterm(void **state)
{
    static const char *const names[] = {"alacritty",     "alacritty-direct", "xterm-kitty", "foot",        "foot-extra",
                                        "xterm-ghostty", "wezterm",          "st-256color", "vte-256color"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_string_equal(termname_alike(names[i], 0), "xterm-256color");
        assert_string_equal(termname_alike(names[i], 1), "xterm");
        assert_null(termname_alike(names[i], 2));
        assert_null(termname_alike(names[i], 3));
    }
    assert_string_equal(termname_alike("tmux-direct", 0), "screen-256color");
    assert_string_equal(termname_alike("screen.xterm-new", 1), "screen");
}

static void test_others_stay_unknown(void **state)
{
    static const char *const names[] = {"", "dumb", "nosuch", "football", "stranger", "xtermish", "-", "vt52"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_null(termname_alike(names[i], 0));
    assert_null(termname_alike(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newer_terminals_are_taken_for_xterm),
        cmocka_unit_test(test_others_stay_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
