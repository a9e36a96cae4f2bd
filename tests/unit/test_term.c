/* Tests of terminals that this machine has no description for. */

#include "screen/term.h"
#include "support/test.h"
#include <stdint.h>

TEST(newer_terminals_are_taken_for_xterm)
{
    static const char *const names[] = {"alacritty",     "alacritty-direct", "xterm-kitty", "foot",        "foot-extra",
                                        "xterm-ghostty", "wezterm",          "st-256color", "vte-256color"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_string_equal(termname_alike(names[i], 0), "xterm-256color");
        assert_string_equal(termname_alike(names[i], 1), "xterm");
        assert_null(termname_alike(names[i], 2));
        assert_null(termname_alike(names[i], 3));
    }
    assert_string_equal(termname_alike("tmux-direct", 0), "screen-256color");
    assert_string_equal(termname_alike("screen.xterm-new", 1), "screen");
}

TEST(others_stay_unknown)
{
    static const char *const names[] = {"", "dumb", "nosuch", "football", "stranger", "xtermish", "-", "vt52"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_null(termname_alike(names[i], 0));
    assert_null(termname_alike(NULL, 0));
}
