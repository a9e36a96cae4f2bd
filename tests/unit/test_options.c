/* Tests of the command line. Compiled in here, because the tests link the core and not the program. */

#include "../../tui/cli/options.c"
#include "base/strbuf.h"
#include "support/test.h"

#define ARGS_MAX 16

/* "run --step x" → argv; words are split at spaces. */
static int parse(struct cli_options *parsed, const char *line, struct err *err)
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
    return cli_options_parse(parsed, argc, argv, err);
}

static struct cli_options good_line(const char *line)
{
    struct cli_options parsed;
    struct err err = ERR_INIT;
    if (parse(&parsed, line, &err))
        fail_msg("%s: %s", line, err.text);
    return parsed;
}

static struct options good(const char *line)
{
    return good_line(line).options;
}

static void refuses(const char *line, const char *part)
{
    struct cli_options parsed;
    struct err err = ERR_INIT;
    assert_int_equal(parse(&parsed, line, &err), -1);
    if (!strstr(err.text, part))
        fail_msg("%s: \"%s\" does not say \"%s\"", line, err.text, part);
    cli_options_release(&parsed);
}

TEST(commands_and_operands)
{
    struct cli_options line = good_line("");
    assert_int_equal(line.command, COMMAND_NONE);
    line = good_line("run fix");
    assert_int_equal(line.command, COMMAND_RUN);
    assert_string_equal(line.options.operand, "fix");
    line = good_line("replay --headless -- --odd.jsonl");
    assert_int_equal(line.command, COMMAND_REPLAY);
    assert_string_equal(line.options.operand, "--odd.jsonl");
    assert_string_equal(good("run -").operand, "-");
    refuses("replay", "needs FILE");
    refuses("replay a b", "takes one FILE");
    refuses("run a b", "quotes");
    refuses("demo x", "takes no arguments");
    assert_true(good_line("replay --help").help);
    assert_true(good_line("--help").help);
    assert_true(good_line("-h").help);
    assert_true(good_line("doctor --version").version);
}

TEST(every_way_to_give_a_value)
{
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
    struct cli_options line =
        good_line("run x --break tool=a --break=path=b --budget steps=3 --budget wall_s=1 --step --serial");
    options = line.options;
    assert_int_equal(options.breaks.count, 2);
    assert_string_equal(options.breaks.items[0], "tool=a");
    assert_string_equal(options.breaks.items[1], "path=b");
    assert_int_equal(options.budgets.count, 2);
    assert_true(options.step);
    assert_true(options.serial);
    assert_false(options.headless);
    cli_options_release(&line);
    /* The value may look like an option. */
    assert_string_equal(good("run --record --odd x").record, "--odd");
    /* The last one counts. */
    assert_string_equal(good("run --model a --model b x").model, "b");
}

TEST(numbers_have_limits)
{
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
    refuses("replay f --until 0", "integer of at least");
    refuses("replay f --until 1.5", "integer of at least");
    refuses("replay f --until 99999999999999999999", "integer of at least");
}

TEST(suggestions_for_unknown_options)
{
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

TEST(values_that_are_missing_or_wrong)
{
    refuses("run --workspace", "--workspace DIR");
    refuses("run --workspace= x", "--workspace DIR");
    refuses("run --step=yes x", "takes no value");
    refuses("run --web maybe x", "off|auto|on");
    refuses("run --approve al x", "ask|deny|allow");
    refuses("run --approve ask|deny x", "ask|deny|allow");
}

TEST(the_pages_hold_every_name)
{
    CLEANUP(strbuf) struct strbuf all = STRBUF_INIT;
    cli_help(&all);
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        CLEANUP(free) char *name = xasprintf("keyturn %s", cli_command_name((enum cli_command)i));
        assert_non_null(strstr(all.buf, name));
        CLEANUP(strbuf) struct strbuf page = STRBUF_INIT;
        cli_command_help(&page, (enum cli_command)i);
        for (size_t k = 0; k < COUNT_OF(table); k++) {
            CLEANUP(free) char *option = xasprintf("  --%s", table[k].name);
            assert_true(!option_has(&table[k], (enum cli_command)i) || strstr(page.buf, option));
        }
    }
}
