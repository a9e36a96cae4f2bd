/* Tests of keys: names convert both ways, the most specific context wins, and no two actions share a key of one
 * context. */

#include "app/keymap.h"
#include "base/mem.h"
#include "support/test.h"
#include <string.h>

static struct key key(const char *name)
{
    struct key parsed;
    struct err err = ERR_INIT;
    if (key_parse(&parsed, name, &err))
        fail_msg("%s: %s", name, err.text);
    return parsed;
}

static void assert_written(const char *name, const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct key parsed = key(name);
    key_write(&out, &parsed);
    assert_string_equal(out.buf, expected);
    struct key again = key(out.buf);
    assert_true(key_same(&parsed, &again));
}

static void refuses_key(const char *name, const char *part)
{
    struct key parsed;
    struct err err = ERR_INIT;
    assert_int_equal(key_parse(&parsed, name, &err), -1);
    if (!strstr(err.text, part))
        fail_msg("%s: %s", name, err.text);
}

TEST(keys_have_names)
{
    static const char *const pairs[][2] = {
        {"x", "x"},
        {"X", "X"},
        {"Shift-x", "X"},
        {"ctrl-c", "Ctrl-C"},
        {"CTRL-C", "Ctrl-C"},
        {"pgup", "PgUp"},
        {"PageDown", "PgDn"},
        {"shift-tab", "Shift-Tab"},
        {"BackTab", "Shift-Tab"},
        {"space", "Space"},
        {"ESCAPE", "Esc"},
        {"return", "Enter"},
        {"Ctrl-m", "Enter"},
        {"Ctrl-J", "Enter"},
        {"Ctrl-I", "Tab"},
        {"Ctrl-[", "Esc"},
        {"-", "-"},
        {"+", "+"},
        {"Ctrl--", "Ctrl--"},
        {"Alt--", "Alt--"},
        {"alt-x", "Alt-x"},
        {"Alt-X", "Alt-X"},
        {"alt-ctrl-up", "Ctrl-Alt-Up"},
        {"Shift-Left", "Shift-Left"},
        {"f1", "F1"},
        {"F12", "F12"},
        {"é", "é"},
        {"日", "日"},
        {"Del", "Delete"},
        {"?", "?"},
        {"Ctrl-Space", "Ctrl-Space"},
        {"Alt-Enter", "Alt-Enter"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        assert_written(pairs[i][0], pairs[i][1]);
    refuses_key("PgUpp", "did you mean PgUp?");
    refuses_key("Ctrl-Dwon", "did you mean Down?");
    refuses_key("", "empty key name");
    refuses_key("xy", "unknown key xy");
    refuses_key("F13", "unknown key F13");
    refuses_key("Ctrl-", "unknown key");
    refuses_key("\x01", "unknown key");
    refuses_key("\xFF", "unknown key");
    refuses_key("\xE2\x80\xAE", "unknown key");
    refuses_key("Ctrl-é", "no terminal sends");
}

TEST(keys_that_terminals_send_alike_are_equal)
{
    struct key shifted = {.code = 'G', .shift = true};
    struct key plain = {.code = 'G'};
    struct key tab = {.code = KEYSYM_TAB, .shift = true};
    struct key back = {.code = KEYSYM_BACKTAB};
    struct key upper = {.code = 'C', .ctrl = true};
    struct key lower = {.code = 'c', .ctrl = true};
    struct key bare = {.code = 'c'};
    assert_true(key_same(&shifted, &plain));
    assert_true(key_same(&tab, &back));
    assert_true(key_same(&upper, &lower));
    assert_false(key_same(&lower, &bare));
}

static enum action find(const struct keymap *keymap, unsigned contexts, const char *name)
{
    struct key parsed = key(name);
    return keymap_find(keymap, contexts, &parsed);
}

TEST(actions_are_bound_by_context)
{
    struct keymap *keymap = keymap_new();
    assert_int_equal(find(keymap, IN_ALL, "n"), ACTION_SEARCH_NEXT);
    assert_int_equal(find(keymap, IN_ALL | IN_STEP | IN_QUESTION, "n"), ACTION_DENY);
    assert_int_equal(find(keymap, IN_STEP, "e"), ACTION_EDIT_GATE);
    assert_int_equal(find(keymap, IN_STEP | IN_QUESTION, "e"), ACTION_EDIT_WRITE);
    assert_int_equal(find(keymap, IN_STEP | IN_QUESTION, "u"), ACTION_UNDO);
    assert_int_equal(find(keymap, IN_REPLAY, "Space"), ACTION_PLAY);
    assert_int_equal(find(keymap, IN_ALL, "Space"), ACTION_NONE);
    assert_int_equal(find(keymap, 0, "q"), ACTION_QUIT);
    assert_int_equal(find(keymap, IN_REPLAY, "s"), ACTION_NONE);
    assert_int_equal(find(keymap, IN_REPLAY, "Left"), ACTION_EVENT_PREVIOUS);
    assert_int_equal(find(keymap, IN_PROGRAM, "x"), ACTION_PROGRAM_END);
    assert_int_equal(find(keymap, IN_PROGRAM, "I"), ACTION_PROGRAM_INTERRUPT);
    assert_int_equal(find(keymap, IN_REPLAY, "x"), ACTION_NEXT_ERROR);
    assert_int_equal(find(keymap, IN_ALL, "Ctrl-C"), ACTION_CANCEL);
    assert_int_equal(find(keymap, IN_ALL, "Shift-Tab"), ACTION_PANE_PREVIOUS);
    keymap_free(keymap);
}

TEST(binding)
{
    struct keymap *keymap = keymap_new();
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf keys = STRBUF_INIT;
    assert_int_equal(keymap_bind(keymap, "step", "  f5   ctrl-s ", &err), 0);
    assert_string_equal(keymap_key(keymap, ACTION_STEP), "F5");
    keymap_keys(keymap, ACTION_STEP, &keys);
    assert_string_equal(keys.buf, "F5 Ctrl-S");
    assert_int_equal(find(keymap, IN_STEP, "s"), ACTION_NONE);
    assert_int_equal(find(keymap, IN_STEP, "Ctrl-S"), ACTION_STEP);
    assert_int_equal(keymap_bind(keymap, "quit", "", &err), 0);
    assert_string_equal(keymap_key(keymap, ACTION_QUIT), "");
    assert_string_equal(keymap_key(keymap, ACTION_NONE), "");
    keymap_free(keymap);
}

static void refuses(const char *action, const char *keys, const char *part)
{
    struct keymap *keymap = keymap_new();
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    struct err err = ERR_INIT;
    keymap_table(keymap, &before);
    assert_int_equal(keymap_bind(keymap, action, keys, &err), -1);
    if (!strstr(err.text, part))
        fail_msg("%s on %s: %s", action, keys, err.text);
    keymap_table(keymap, &after);
    assert_string_equal(before.buf, after.buf);
    keymap_free(keymap);
}

TEST(wrong_bindings_are_refused)
{
    refuses("stepp", "s", "did you mean step?");
    refuses("xyzzy", "s", "keyturn keys");
    refuses("none", "s", "unknown action");
    refuses("step", "c", "c is on both step and continue");
    refuses("zoom", "q", "q is on both zoom and quit");
    refuses("zoom", "x x", "twice");
    refuses("zoom", "PgUpp", "zoom: unknown key");
    refuses("zoom", "a b c d e f g h i", "more than");
    refuses("approve", "Enter", "Enter and Space never");
    refuses("approve", "y Space", "Enter and Space never");
    refuses("allow", "Ctrl-M", "Enter and Space never");
    refuses("allow", "Alt-Enter", "Enter and Space never");
}

TEST(two_can_swap)
{
    struct keymap *keymap = keymap_new();
    struct err err = ERR_INIT;
    struct keymap_binding swap[] = {{"step", "c"}, {"continue", "s"}};
    assert_int_equal(keymap_bind_all(keymap, swap, COUNT_OF(swap), &err), 0);
    assert_int_equal(find(keymap, IN_STEP, "c"), ACTION_STEP);
    assert_int_equal(find(keymap, IN_STEP, "s"), ACTION_CONTINUE);
    struct keymap_binding half[] = {{"zoom", "Z"}, {"step", "s"}};
    assert_int_equal(keymap_bind_all(keymap, half, COUNT_OF(half), &err), -1);
    assert_int_equal(find(keymap, IN_ALL, "z"), ACTION_ZOOM);
    keymap_free(keymap);
}

TEST(actions_have_names_and_help)
{
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
        assert_int_equal(action_from_name(action_name(action)), action);
        assert_true(*action_help(action));
        assert_true(action_contexts(action) != 0);
    }
    assert_int_equal(action_from_name("none"), ACTION_NONE);
    assert_string_equal(action_help(ACTION_COUNT), "");
    assert_string_equal(action_short(ACTION_QUIT), "quit");
    assert_int_equal(action_contexts(ACTION_NONE), 0);
}

TEST(nothing_approves_by_accident)
{
    struct keymap *keymap = keymap_new();
    static const char *const keys[] = {"Enter", "Space", "Alt-Enter", "Tab", "Esc"};
    for (unsigned contexts = 0; contexts < 16; contexts++) {
        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            enum action action = find(keymap, contexts, keys[i]);
            assert_true(action != ACTION_APPROVE && action != ACTION_ALLOW);
        }
    }
    keymap_free(keymap);
}

TEST(the_table_lists_every_action)
{
    struct keymap *keymap = keymap_new();
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_int_equal(keymap_bind(keymap, "zoom", "| `", &err), 0);
    assert_int_equal(keymap_bind(keymap, "theme", "", &err), 0);
    keymap_table(keymap, &text);
    assert_non_null(strstr(text.buf, "Everywhere\n  Tab              pane-next        Go to the next pane\n"));
    assert_non_null(strstr(text.buf, "\n\nIn a live turn\n  s  "));
    assert_non_null(strstr(text.buf, "  -                theme "));
    assert_non_null(strstr(text.buf, "\n  | `              zoom "));
    assert_non_null(strstr(text.buf, "\n  PgUp Ctrl-B      page-up          Move up one page\n"));
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
        CLEANUP(free) char *cell = xasprintf(" %-16s %s\n", action_name(action), action_help(action));
        assert_non_null(strstr(text.buf, cell));
    }
    keymap_free(keymap);
}
