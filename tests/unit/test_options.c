/* The command line. Compiled in here, because the tests link the core and not the program. */

#include "../../tui/options.c"
#include "base/strbuf.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ARGS_MAX 16

/* "run --step x" → argv; words are split at spaces. */
static int parse(struct options *options, const char *line, struct err *err)
{
    static char text[512];
    char *argv[ARGS_MAX] = {(char *)"keyturn"};
    int argc = 1;
    snprintf(text, sizeof(text), "%s", line);
    for (char *at = text; *at && argc < ARGS_MAX;) {
        argv[argc++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    return options_parse(options, argc, argv, err);
}

static struct options good(const char *line)
{
    struct options options;
    struct err err = ERR_INIT;
    if (parse(&options, line, &err))
        fail_msg("%s: %s", line, err.text);
    return options;
}

static void refuses(const char *line, const char *part)
{
    struct options options;
    struct err err = ERR_INIT;
    assert_int_equal(parse(&options, line, &err), -1);
    if (!strstr(err.text, part))
        fail_msg("%s: \"%s\" does not say \"%s\"", line, err.text, part);
    options_release(&options);
}

static void commands_and_operands(void **state)
{
    (void)state;
    struct options options = good("");
    assert_int_equal(options.command, COMMAND_NONE);
    options = good("run fix");
    assert_int_equal(options.command, COMMAND_RUN);
    assert_string_equal(options.operand, "fix");
    options = good("replay --headless -- --odd.jsonl");
    assert_int_equal(options.command, COMMAND_REPLAY);
    assert_string_equal(options.operand, "--odd.jsonl");
    options = good("run -");
    assert_string_equal(options.operand, "-");
    refuses("replay", "needs FILE");
    refuses("replay a b", "takes one FILE");
    refuses("run a b", "quotes");
    refuses("demo x", "nothing but options");
    assert_true(good("replay --help").help);
    assert_true(good("--help").help);
    assert_true(good("-h").help);
    assert_true(good("doctor --version").version);
}

static void every_way_to_give_a_value(void **state)
{
    (void)state;
    struct options options = good("run --workspace a --record=b --model scripted:x --web off --approve=allow "
                                  "--engine none --theme t x");
    assert_string_equal(options.workspace, "a");
    assert_string_equal(options.record, "b");
    assert_string_equal(options.model, "scripted:x");
    assert_string_equal(options.web, "off");
    assert_string_equal(options.approve, "allow");
    assert_string_equal(options.engine, "none");
    assert_string_equal(options.theme, "t");
    assert_string_equal(options.operand, "x");
    options = good("run x --break tool=a --break=path=b --budget steps=3 --budget wall_s=1 --step --serial");
    assert_int_equal(options.breaks.count, 2);
    assert_string_equal(options.breaks.items[0], "tool=a");
    assert_string_equal(options.breaks.items[1], "path=b");
    assert_int_equal(options.budgets.count, 2);
    assert_true(options.step);
    assert_true(options.serial);
    assert_false(options.headless);
    options_release(&options);
    /* The value may look like an option: that is what was asked for. */
    assert_string_equal(good("run --record --odd x").record, "--odd");
    /* The last one counts. */
    assert_string_equal(good("run --model a --model b x").model, "b");
}

static void numbers(void **state)
{
    (void)state;
    assert_true(good("replay f --speed 2").speed == 2);
    assert_true(good("replay f --speed 0").speed == 0);
    assert_true(good("replay f --speed .5").speed == 0.5);
    assert_true(good("replay f --speed 1.").speed == 1);
    assert_true(good("replay f --speed 007").speed == 7);
    assert_true(isnan(good("replay f").speed));
    assert_int_equal(good("replay f --until 58").until, 58);
    assert_int_equal(good("replay f").until, -1);
    static const char *const bad[] = {"-1", "x", "1e3", "inf", "nan", "0x10", ".", "1.2.3", "+1"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(free) char *line = xasprintf("replay f --speed %s", bad[i]);
        refuses(line, "--speed must be a number");
    }
    refuses("replay f --until 0", "whole number");
    refuses("replay f --until 1.5", "whole number");
    refuses("replay f --until 99999999999999999999", "whole number");
}

static void what_was_meant(void **state)
{
    (void)state;
    refuses("run --aprove allow x", "did you mean --approve");
    refuses("run --work x", "did you mean --workspace");
    refuses("run --headles", "did you mean --headless");
    refuses("run --zzzzzzzz", "keyturn run --help lists them");
    refuses("--hlep", "did you mean --help");
    refuses("run -x", "unknown option -x");
    refuses("rnu", "did you mean keyturn run");
    refuses("reply f", "did you mean keyturn replay");
    refuses("frobnicate", "keyturn --help lists them");
    refuses("run --speed 1 x", "belongs to keyturn replay");
    refuses("sessions --step", "belongs to");
    refuses("--step", "needs a command");
}

static void values_that_are_missing_or_wrong(void **state)
{
    (void)state;
    refuses("run --workspace", "--workspace DIR");
    refuses("run --workspace= x", "--workspace DIR");
    refuses("run --step=yes x", "takes no value");
    refuses("run --web maybe x", "off|auto|on");
    refuses("run --approve al x", "ask|deny|allow");
    refuses("run --approve ask|deny x", "ask|deny|allow");
}

static void the_pages_hold_every_name(void **state)
{
    (void)state;
    CLEANUP(strbuf) struct strbuf all = STRBUF_INIT;
    options_help(&all);
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        CLEANUP(free) char *name = xasprintf("keyturn %s", command_name((enum command)i));
        assert_non_null(strstr(all.buf, name));
        CLEANUP(strbuf) struct strbuf page = STRBUF_INIT;
        options_command_help(&page, (enum command)i);
        for (size_t k = 0; k < COUNT_OF(table); k++) {
            CLEANUP(free) char *option = xasprintf("  --%s", table[k].name);
            assert_true(!option_has(&table[k], (enum command)i) || strstr(page.buf, option));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_and_operands),
        cmocka_unit_test(every_way_to_give_a_value),
        cmocka_unit_test(numbers),
        cmocka_unit_test(what_was_meant),
        cmocka_unit_test(values_that_are_missing_or_wrong),
        cmocka_unit_test(the_pages_hold_every_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
