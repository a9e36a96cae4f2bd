/* Tests of themes: every shipped one parses, missing entries are inherited, and an error names its line. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "screen/theme.h"
#include "support/test.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char *const shipped[] = {"default", "light", "mono", "high-contrast", "solarized"};

static struct theme parse(const char *text)
{
    struct theme theme;
    struct err err = ERR_INIT;
    if (theme_parse(&theme, "test", text, strlen(text), &err))
        fail_msg("line %ld: %s", err.line, err.text);
    return theme;
}

static void refuses(const char *text, long line, const char *part)
{
    struct theme theme;
    struct err err = ERR_INIT;
    memset(&theme, 7, sizeof(theme));
    struct theme before = theme;
    assert_int_equal(theme_parse(&theme, "test", text, strlen(text), &err), -1);
    if (err.line != line || !strstr(err.text, part))
        fail_msg("line %ld: %s", err.line, err.text);
    assert_memory_equal(&theme, &before, sizeof(theme));
}

static struct theme load_shipped(const char *name)
{
    CLEANUP(free) char *path = xasprintf("%s/themes/%s.theme", SOURCE_DIR, name);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct theme theme = {0};
    struct err err = ERR_INIT;
    if (file_read(path, &text, 0, &err) || theme_parse(&theme, name, text.buf, text.len, &err))
        fail_msg("%s:%ld: %s", path, err.line, err.text);
    return theme;
}

static bool same_style(const struct style *a, const struct style *b)
{
    return a->fg == b->fg && a->bg == b->bg && a->bold == b->bold && a->dim == b->dim && a->italic == b->italic &&
           a->underline == b->underline && a->reverse == b->reverse;
}

TEST(lines_of_a_theme_are_parsed)
{
    struct theme theme =
        parse("# a theme\n\n  text\tWhite,black+bold   # with a comment\r\n"
              "frame #1a2B3c,17\nerror 196+bold+Underline+reverse+dim+italic\nwarn bright-yellow,default");
    assert_string_equal(theme.name, "test");
    assert_int_equal(theme.styles[LOOK_TEXT].fg, 7);
    assert_int_equal(theme.styles[LOOK_TEXT].bg, 0);
    assert_true(theme.styles[LOOK_TEXT].bold);
    assert_int_equal(theme.styles[LOOK_FRAME].fg, COLOR_RGB | 0x1a2b3c);
    assert_int_equal(theme.styles[LOOK_FRAME].bg, 17);
    struct style error = theme.styles[LOOK_ERROR];
    assert_int_equal(error.fg, 196);
    assert_true(error.bold && error.dim && error.italic && error.underline && error.reverse);
    assert_int_equal(theme.styles[LOOK_WARN].fg, 11);
    assert_int_equal(theme.styles[LOOK_WARN].bg, COLOR_DEFAULT);
}

TEST(roles_inherit_from_their_parents)
{
    struct theme theme = parse("diff blue,black\ndiff.add green+bold\ntext 250,235+italic\nwave.held +reverse\n");
    struct style *gutter = &theme.styles[LOOK_DIFF_ADD_GUTTER];
    assert_int_equal(gutter->fg, 2);
    assert_int_equal(gutter->bg, 0);
    assert_true(gutter->bold && !gutter->italic);
    assert_int_equal(theme.styles[LOOK_DIFF_HUNK].fg, 4);
    assert_false(theme.styles[LOOK_DIFF_HUNK].italic);
    /* `wave` is not a role: its children inherit from text. Attributes are those of the line. */
    struct style *held = &theme.styles[LOOK_WAVE_HELD];
    assert_int_equal(held->fg, 250);
    assert_int_equal(held->bg, 235);
    assert_true(held->reverse && !held->italic);
    assert_true(theme.styles[LOOK_WAVE_BAR].italic);
    struct theme empty = parse("");
    assert_int_equal(empty.styles[LOOK_JSON_KEY].fg, COLOR_DEFAULT);
    assert_int_equal(empty.styles[LOOK_JSON_KEY].bg, COLOR_DEFAULT);
}

TEST(roles_have_names_and_parents)
{
    assert_int_equal(look_parent(LOOK_TEXT), LOOK_TEXT);
    assert_int_equal(look_parent(LOOK_DIFF_ADD_GUTTER), LOOK_DIFF_ADD);
    assert_int_equal(look_parent(LOOK_DIFF_ADD), LOOK_DIFF);
    assert_int_equal(look_parent(LOOK_WAVE_BAR), LOOK_TEXT);
    assert_int_equal(look_from_name("diff.ad"), -1);
    assert_int_equal(look_from_name(""), -1);
    for (enum look look = 0; look < LOOK_COUNT; look++) {
        assert_int_equal(look_from_name(look_name(look)), look);
        assert_true(*look_doc(look));
    }
}

TEST(errors_name_their_line)
{
    refuses("text default\ndiff.ad green\n", 2, "did you mean diff.add?");
    refuses("\n\ntext gren", 3, "did you mean green?");
    refuses("text default,blu", 1, "did you mean blue?");
    refuses("text default+blod", 1, "did you mean bold?");
    refuses("text default+", 1, "attribute");
    refuses("text 256", 1, "unknown color 256");
    refuses("text -1", 1, "unknown color -1");
    refuses("text #12345", 1, "#rrggbb");
    refuses("text #12345g", 1, "#rrggbb");
    refuses("text #+12345", 1, "color");
    refuses("text", 1, "text has no color");
    refuses("zzzzzzzzz red", 1, "unknown role zzzzzzzzz");
    refuses("text red\nframe blue\ntext green", 3, "duplicate role");
    refuses("text red blue", 1, "unexpected word");

    struct theme theme;
    struct err err = ERR_INIT;
    assert_int_equal(theme_parse(&theme, "x", "text re\0d", 9, &err), -1);
    assert_int_equal(err.line, 1);
}

TEST(important_roles_of_shipped_themes_stand_out)
{
    for (size_t i = 0; i < COUNT_OF(shipped); i++) {
        struct theme theme = load_shipped(shipped[i]);
        const struct style *styles = theme.styles;
        /* Important roles stand out: they never look like ordinary text. */
        static const enum look apart[] = {LOOK_STATUS_WAIT, LOOK_SELECT,       LOOK_SEARCH,
                                          LOOK_ERROR,       LOOK_CALL_WAITING, LOOK_DIFF_HOSTILE,
                                          LOOK_FRAME_FOCUS, LOOK_GAUGE_FULL,   LOOK_INPUT_CURSOR};
        for (size_t j = 0; j < COUNT_OF(apart); j++)
            if (same_style(&styles[apart[j]], &styles[LOOK_TEXT]))
                fail_msg("%s: %s looks like text", shipped[i], look_name(apart[j]));
        assert_false(same_style(&styles[LOOK_FRAME_FOCUS], &styles[LOOK_FRAME]));
        assert_false(same_style(&styles[LOOK_DIFF_ADD], &styles[LOOK_DIFF_REMOVE]));
        assert_false(same_style(&styles[LOOK_STATUS_WAIT], &styles[LOOK_STATUS]));
        /* Dialogs are painted with many roles: another background would show as patches. */
        assert_int_equal(styles[LOOK_MODAL].bg, styles[LOOK_TEXT].bg);
        for (enum look look = 0; look < LOOK_COUNT; look++) {
            bool colored = styles[look].fg != COLOR_DEFAULT || styles[look].bg != COLOR_DEFAULT;
            assert_false(colored && strcmp(shipped[i], "mono") == 0);
            assert_false(styles[look].fg >= 0 && styles[look].fg == styles[look].bg);
        }
    }
}

/* Relative luminance after WCAG, of colors whose value is known. */
static double channel(int32_t value)
{
    double part = value / 255.0;
    return part <= 0.03928 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

static double luminance(int32_t color)
{
    return 0.2126 * channel(color >> 16 & 0xFF) + 0.7152 * channel(color >> 8 & 0xFF) + 0.0722 * channel(color & 0xFF);
}

TEST(colors_of_the_painted_themes_can_be_read)
{
    static const char *const painted[] = {"light", "solarized"};
    for (size_t i = 0; i < COUNT_OF(painted); i++) {
        struct theme theme = load_shipped(painted[i]);
        for (enum look look = 0; look < LOOK_COUNT; look++) {
            const struct style *style = &theme.styles[look];
            assert_true((style->fg & COLOR_RGB) && (style->bg & COLOR_RGB));
            double a = luminance(style->fg);
            double b = luminance(style->bg);
            double contrast = a > b ? (a + 0.05) / (b + 0.05) : (b + 0.05) / (a + 0.05);
            /* Lines, discarded hunks and gaps may be dim; everything else has at least the contrast that WCAG requires
             * of large text, and body text much more. */
            bool quiet = look == LOOK_FRAME || look == LOOK_DIFF_DISCARDED || look == LOOK_WAVE_GAP ||
                         look == LOOK_TIMELINE || look == LOOK_DIFF_GUTTER || look == LOOK_WAVE_HELD;
            if (contrast < (quiet ? 1.6 : 3.0))
                fail_msg("%s: %s has a contrast of %.2f", painted[i], look_name(look), contrast);
        }
    }
}

/* This test has no folder of themes beside it, so theme_load uses the built-in ones. */
TEST(builtin_themes_equal_their_files)
{
    static const char *const names[] = {"default", "mono"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct theme built, file = load_shipped(names[i]);
        assert_int_equal(theme_load(&built, names[i], NULL), 0);
        for (enum look look = 0; look < LOOK_COUNT; look++)
            if (!same_style(&built.styles[look], &file.styles[look]))
                fail_msg("the built-in theme and %s.theme differ in %s", names[i], look_name(look));
    }
}

static char *config_home;

static int make_home(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    config_home = file_make_temp_dir(NULL, "themes-", &err);
    assert_non_null(config_home);
    CLEANUP(free) char *themes = xasprintf("%s/keyturn/themes", config_home);
    assert_int_equal(file_mkdirs(themes, 0700, &err), 0);
    setenv("XDG_CONFIG_HOME", config_home, 1);
    setenv("KEYTURN_THEMES", SOURCE_DIR "/themes", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLORFGBG");
    return 0;
}

static int drop_home(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_int_equal(file_remove_tree(config_home, &err), 0);
    free(config_home);
    return 0;
}

static void put_theme(const char *name, const char *text)
{
    CLEANUP(free) char *path = xasprintf("%s/keyturn/themes/%s", config_home, name);
    struct err err = ERR_INIT;
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

TEST_WITH(themes_are_loaded_by_name, make_home, drop_home)
{
    struct theme theme;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < COUNT_OF(shipped); i++) {
        assert_int_equal(theme_load(&theme, shipped[i], &err), 0);
        assert_string_equal(theme.name, shipped[i]);
    }
    put_theme("mine.theme", "text red\n");
    put_theme("light.theme", "text blue\n");
    put_theme("broken.theme", "text red\nframe blu\n");
    put_theme("not-a-theme", "text red\n");
    assert_int_equal(theme_load(&theme, "mine", &err), 0);
    assert_int_equal(theme.styles[LOOK_ERROR].fg, 1);
    assert_int_equal(theme_load(&theme, "light", &err), 0);
    assert_int_equal(theme.styles[LOOK_TEXT].fg, 4);
    assert_int_equal(theme_load(&theme, "broken", &err), -1);
    assert_non_null(strstr(err.text, "broken.theme:2: unknown color blu; did you mean blue?"));
    assert_int_equal(theme_load(&theme, "solarised", &err), -1);
    assert_non_null(strstr(err.text, "did you mean solarized?"));
    assert_int_equal(theme_load(&theme, "../keyturn/themes/mine", &err), -1);
    assert_int_equal(theme_load(&theme, "", &err), -1);

    char **names = theme_names();
    CLEANUP(strbuf) struct strbuf all = STRBUF_INIT;
    for (size_t i = 0; names[i]; i++)
        strbuf_addf(&all, "%s ", names[i]);
    theme_names_free(names);
    assert_string_equal(all.buf, "broken default high-contrast light mine mono solarized ");
}

TEST_WITH(the_environment_selects_a_theme, make_home, drop_home)
{
    struct theme theme;
    struct err err = ERR_INIT;
    assert_int_equal(theme_load(&theme, NULL, &err), 0);
    assert_string_equal(theme.name, "default");
    setenv("COLORFGBG", "0;15", 1);
    assert_int_equal(theme_load(&theme, NULL, &err), 0);
    assert_string_equal(theme.name, "light");
    setenv("COLORFGBG", "15;default;0", 1);
    assert_int_equal(theme_load(&theme, NULL, &err), 0);
    assert_string_equal(theme.name, "default");
    setenv("NO_COLOR", "", 1);
    assert_int_equal(theme_load(&theme, NULL, &err), 0);
    assert_string_equal(theme.name, "default");
    setenv("NO_COLOR", "1", 1);
    assert_int_equal(theme_load(&theme, NULL, &err), 0);
    assert_string_equal(theme.name, "mono");
    assert_int_equal(theme_load(&theme, "solarized", &err), 0);
    assert_string_equal(theme.name, "solarized");
    setenv("KEYTURN_THEMES", "/nowhere", 1);
    assert_int_equal(theme_load(&theme, NULL, &err), 0);
    assert_string_equal(theme.name, "mono");
}

TEST(colors_are_reduced_for_the_terminal)
{
    assert_int_equal(color_reduce(COLOR_DEFAULT, 256), COLOR_DEFAULT);
    assert_int_equal(color_reduce(COLOR_DEFAULT, 8), COLOR_DEFAULT);
    assert_int_equal(color_reduce(5, 0), COLOR_DEFAULT);
    assert_int_equal(color_reduce(200, 256), 200);
    assert_int_equal(color_reduce(COLOR_RGB | 0xff0000, 256), 196);
    assert_int_equal(color_reduce(COLOR_RGB | 0x808080, 256), 244);
    assert_int_equal(color_reduce(COLOR_RGB, 256), 16);
    assert_int_equal(color_reduce(COLOR_RGB | 0xffffff, 256), 231);
    assert_int_equal(color_reduce(COLOR_RGB | 0xff0000, 16), 9);
    assert_int_equal(color_reduce(COLOR_RGB | 0xffffff, 16), 15);
    assert_int_equal(color_reduce(196, 16), 9);
    assert_int_equal(color_reduce(244, 16), 8);
    assert_int_equal(color_reduce(14, 16), 14);
    assert_int_equal(color_reduce(14, 8), 6);
    assert_int_equal(color_reduce(8, 8), 7);
    assert_int_equal(color_reduce(COLOR_RGB | 0x00c000, 8), 2);
    for (int32_t color = 0; color < 256; color++) {
        assert_in_range(color_reduce(color, 16), 0, 15);
        assert_in_range(color_reduce(color, 8), 0, 7);
        assert_int_equal(color_reduce(color, 256), color);
    }
}

TEST(colors_stay_distinct_on_small_terminals)
{
    static const int terminals[] = {8, 16, 256};
    for (size_t i = 0; i < COUNT_OF(shipped); i++) {
        struct theme theme = load_shipped(shipped[i]);
        for (enum look look = 0; look < LOOK_COUNT; look++) {
            for (size_t j = 0; j < COUNT_OF(terminals); j++) {
                struct style style = style_reduce(&theme.styles[look], terminals[j]);
                assert_true(style.fg < 0 || style.fg != style.bg);
            }
        }
    }
    /* A diff keeps its two hues down to eight colors. */
    for (size_t j = 0; j < COUNT_OF(terminals); j++) {
        struct theme theme = load_shipped("default");
        assert_int_not_equal(style_reduce(&theme.styles[LOOK_DIFF_ADD], terminals[j]).fg,
                             style_reduce(&theme.styles[LOOK_DIFF_REMOVE], terminals[j]).fg);
    }
    struct style dim = {.fg = COLOR_RGB | 0x303030, .bg = COLOR_RGB | 0x101010};
    struct style reduced = style_reduce(&dim, 8);
    assert_int_equal(reduced.fg, 7);
    assert_int_equal(reduced.bg, 0);
}
