/* Parses the command line and prints the help pages.
 *
 * Options may be anywhere after the command's name, as `--name value` or `--name=value`; `--` ends them. If the
 * argument of an option is written with bars (off|auto|on), the value must be one of these words. */

#include "options.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "sandbox/script.h"
#include <math.h>
#include <string.h>

struct command_info {
    const char *name, *operands;
    size_t least, most;
    const char *help, *more;
};

static const struct command_info commands[] = {
#define COMMAND(ID, name, operands, least, most, help, more) \
    [COMMAND_##ID] = {#name, operands, least, most, help, more},
#include "commands.def"
#undef COMMAND
};

#define OF(ID) (1u << COMMAND_##ID)
#define TURNS  (OF(RUN) | OF(RESUME) | OF(DEMO) | OF(REPLAY))
#define LIVE   (OF(RUN) | OF(RESUME))
#define PIPES  (OF(RUN) | OF(DEMO) | OF(REPLAY)) /* also without a terminal */
#define ANY    (~0u)

enum taking { TAKE_FLAG, TAKE_TEXT, TAKE_LIST, TAKE_NUMBER, TAKE_SECONDS, TAKE_WHOLE };

struct option {
    const char *name;
    const char *argument; /* NULL: the option takes none */
    const char *help;
    unsigned of; /* the commands that accept it */
    enum taking taking;
    size_t offset;
};

#define INTO(field) offsetof(struct cli_options, options.field)
static const struct option table[] = {
    {"headless", NULL, "print events as JSON lines on stdout, text for people on stderr", PIPES, TAKE_FLAG,
     INTO(headless)},
    {"continue", NULL, "continue the newest session of this folder (short: -c)", OF(RUN), TAKE_FLAG, INTO(newest)},
    {"workspace", "DIR", "the folder the tools work in (run: the current one; demo, replay: a scratch copy)", TURNS,
     TAKE_TEXT, INTO(workspace)},
    {"record", "FILE", "write the transcript to FILE, which must not exist", PIPES, TAKE_TEXT, INTO(record)},
    {"model", "NAME", "a model of the config file, or scripted:FILE for the answers of a recording", TURNS | OF(EXEC),
     TAKE_TEXT, INTO(model)},
    {"config", "FILE", "read FILE instead of the default config.json",
     TURNS | OF(EXEC) | OF(SESSIONS) | OF(MEMORY) | OF(DOCTOR) | OF(KEYS), TAKE_TEXT, INTO(config)},
    {"theme", "NAME", "colors of the workbench (keyturn themes lists them)", TURNS, TAKE_TEXT, INTO(theme)},
    {"step", NULL, "start paused", TURNS, TAKE_FLAG, INTO(step)},
    {"break", "SPEC", "pause at tool=NAME, effect=CLASS, path=GLOB, outcome=TYPE, budget=N% or gate=NAME", TURNS,
     TAKE_LIST, INTO(breaks)},
    {"budget", "KEY=VALUE",
     "a limit of a turn: wall_s, steps, tool_calls, reflections, input_tokens, output_tokens, cost_usd, "
     "context_tokens, tool_cap_s. Default: the workbench asks at 100 steps, 1 h or $5; without it a turn ends at "
     "50 steps or 30 min",
     TURNS, TAKE_LIST, INTO(budgets)},
    {"system", "FILE", "read the system prompt from FILE", LIVE, TAKE_TEXT, INTO(system)},
    {"no-project-instructions", NULL, "do not send AGENTS.md to the model", LIVE, TAKE_FLAG, INTO(no_instructions)},
    {"web", "off|auto|on", "enable web_search", TURNS, TAKE_TEXT, INTO(web)},
    {"serial", NULL, "run one call at a time", TURNS, TAKE_FLAG, INTO(serial)},
    {"approve", "ask|deny|allow", "who decides about writes; ask denies if there is no terminal", TURNS, TAKE_TEXT,
     INTO(approve)},
    {"ask-timeout", "S", "deny a write after S seconds without an answer", LIVE | OF(DEMO), TAKE_NUMBER,
     INTO(ask_timeout)},
    {"engine", "NAME", "the sandbox for scripts, NAME:HOST on another machine (keyturn engines lists them)",
     TURNS | OF(EXEC), TAKE_TEXT, INTO(engine)},
    {"tools", "DIR", "a folder of Python tools for scripts", TURNS | OF(EXEC), TAKE_TEXT, INTO(tools)},
    {"mcp", "FILE", "also start the MCP servers of FILE, an object with \"mcpServers\"", LIVE | OF(DOCTOR), TAKE_LIST,
     INTO(mcp)},
    {"ask", "TEXT", "let a model write a script for TEXT and correct it until it works", OF(EXEC), TAKE_TEXT,
     INTO(ask)},
    {"attempts", "N", "--ask: maximum number of scripts (default 3; interactive: 20)", OF(EXEC), TAKE_WHOLE,
     INTO(attempts)},
    {"mode", "plan|interactive", "a plan must return a result; an interactive run may end without one (default: plan)",
     OF(EXEC), TAKE_TEXT, INTO(mode)},
    {"timeout", "S", "seconds the script may run (default 60)", OF(EXEC), TAKE_SECONDS, INTO(timeout)},
    {"secret", "NAME", "an environment variable that scripts may read; its value is never recorded", TURNS | OF(EXEC),
     TAKE_LIST, INTO(secrets)},
    {"max-output", "BYTES", "fail if the script prints more (default 1048576)", OF(EXEC), TAKE_WHOLE, INTO(max_output)},
    {"execute", NULL, "run it again with real tools in a scratch workspace", OF(REPLAY), TAKE_FLAG, INTO(execute)},
    {"check", NULL, "re-run at full speed with programs and scripts from the recording; name the first divergence",
     OF(REPLAY), TAKE_FLAG, INTO(check)},
    {"speed", "X", "1 as recorded, 2 twice as fast, 0 as fast as possible", OF(REPLAY), TAKE_NUMBER, INTO(speed)},
    {"until", "SEQ", "stop after event SEQ", OF(REPLAY), TAKE_WHOLE, INTO(until)},
    {"json", NULL, "print one JSON object per line", OF(SESSIONS) | OF(MEMORY) | OF(ENGINES), TAKE_FLAG, INTO(json)},
    {"help", NULL, "show this page", ANY, TAKE_FLAG, offsetof(struct cli_options, help)},
    {"version", NULL, "print the version", ANY, TAKE_FLAG, offsetof(struct cli_options, version)},
};

/* Help of options that mean something else for one command. */
static const struct {
    enum cli_command command;
    const char *name, *help;
} meanings[] = {
    {COMMAND_RUN, "workspace", "the folder the tools work in (default: the current one)"},
    {COMMAND_RESUME, "workspace", "the folder the tools work in (default: the folder of the session)"},
    {COMMAND_EXEC, "model", "--ask: a model of the config file, or scripted:FILE"},
    {COMMAND_EXEC, "config", "--ask: read FILE instead of the default config.json"},
    {COMMAND_DEMO, "workspace",
     "put the files into DIR and keep them; DIR must be empty or new (default: a scratch folder)"},
    {COMMAND_REPLAY, "workspace",
     "--execute, --check: the starting files; Keyturn changes only a copy "
     "(default: the folder beside FILE)"},
};

const char *cli_command_name(enum cli_command command)
{
    return command < COMMAND_COUNT ? commands[command].name : "";
}

static bool option_has(const struct option *option, enum cli_command command)
{
    return option->of == ANY || (command < COMMAND_COUNT && (option->of & 1u << command));
}

static const struct option *find_option(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return &table[i];
    return NULL;
}

/* The option the user probably meant: the nearest by spelling, else one with the same prefix. Options of the command
 * come first. */
static const char *meant_option(const char *name, enum cli_command command)
{
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (option_has(&table[i], command))
            nearest_offer(&near, table[i].name);
    for (size_t i = 0; i < COUNT_OF(table); i++)
        nearest_offer(&near, table[i].name);
    for (size_t i = 0; i < COUNT_OF(table) && !near.best && strlen(name) > 1; i++)
        if (option_has(&table[i], command) && strncmp(table[i].name, name, strlen(name)) == 0)
            near.best = table[i].name;
    return near.best;
}

static int unknown_option(const char *text, enum cli_command command, struct err *err)
{
    size_t dashes = strspn(text, "-");
    CLEANUP(free) char *name = xmemdup0(text + dashes, strcspn(text + dashes, "="));
    const char *meant = meant_option(name, command);
    if (meant)
        return err_set(err, "unknown option %.*s%.60s (did you mean --%s?)", (int)(dashes < 2 ? dashes : 2), "--", name,
                       meant);
    return err_set(err, "unknown option %.*s%.60s (keyturn %s%s--help lists them)", (int)(dashes < 2 ? dashes : 2),
                   "--", name, cli_command_name(command), command < COMMAND_COUNT ? " " : "");
}

static int foreign_option(const struct option *option, enum cli_command command, struct err *err)
{
    CLEANUP(strbuf) struct strbuf owners = STRBUF_INIT;
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (option->of & 1u << i)
            strbuf_addf(&owners, "%skeyturn %s", owners.len ? ", " : "", commands[i].name);
    if (command >= COMMAND_COUNT)
        return err_set(err, "--%s needs a command before it (it belongs to %s)", option->name, owners.buf);
    return err_set(err, "keyturn %s has no option --%s (it belongs to %s)", commands[command].name, option->name,
                   owners.buf);
}

static bool is_word_of(const char *words, const char *value)
{
    size_t len = strlen(value);
    for (;; words++) {
        size_t word = strcspn(words, "|");
        if (word == len && memcmp(words, value, len) == 0)
            return true;
        words += word;
        if (!*words)
            return false;
    }
}

/* Parses a plain decimal number, without the blanks, signs, hexadecimals and infinities that strtod accepts. */
static double read_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    size_t rest = text[digits] == '.' ? 1 + strspn(text + digits + 1, "0123456789") : 0;
    if (text[digits + rest] || digits + rest > 40 || digits + rest == (rest > 0))
        return NAN;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    char *spelled = arena_printf(&arena, "%s%s%s", digits ? "" : "0", text, rest == 1 ? "0" : "");
    /* Skip leading zeros: JSON forbids them, but they do no harm. */
    while (spelled[0] == '0' && spelled[1] >= '0' && spelled[1] <= '9')
        spelled++;
    return json_num(json_parse(&arena, spelled, strlen(spelled), NULL), NAN);
}

static int set_value(struct cli_options *line, const struct option *option, const char *value, struct err *err)
{
    char *place = (char *)line + option->offset;
    if (option->argument && !*value)
        return err_set(err, "--%s needs a value: --%s %s", option->name, option->name, option->argument);
    switch (option->taking) {
    case TAKE_FLAG:
        *(bool *)(void *)place = true;
        return 0;
    case TAKE_TEXT:
        if (strchr(option->argument, '|') && !is_word_of(option->argument, value))
            return err_set(err, "--%s must be %s, not %.60s", option->name, option->argument, value);
        *(const char **)(void *)place = value;
        return 0;
    case TAKE_LIST: {
        struct option_list *list = (struct option_list *)(void *)place;
        GROW(list->items, list->count, list->room);
        list->items[list->count++] = value;
        return 0;
    }
    case TAKE_NUMBER: {
        double number = read_number(value);
        if (isnan(number))
            return err_set(err, "--%s must be a number, 0 or more, not %.60s", option->name, value);
        *(double *)(void *)place = number;
        return 0;
    }
    case TAKE_SECONDS: { /* timeout of a script */
        double number = read_number(value);
        if (!(number >= 1 && number <= SCRIPT_TIMEOUT_MAX_S))
            return err_set(err, "--%s takes 1 to %d seconds", option->name, SCRIPT_TIMEOUT_MAX_S);
        *(double *)(void *)place = number;
        return 0;
    }
    case TAKE_WHOLE: {
        double number = read_number(value);
        if (!(number >= 1 && number <= 9e15 && floor(number) == number))
            return err_set(err, "--%s must be an integer of at least 1, not %.60s", option->name, value);
        *(int64_t *)(void *)place = (int64_t)number;
        return 0;
    }
    }
    return 0;
}

/* Parses the option at argv[*at] and moves past its value. */
static int take_option(struct cli_options *line, int argc, char **argv, int *at, struct err *err)
{
    const char *text = argv[*at];
    if (strcmp(text, "-h") == 0)
        text = "--help";
    if (strcmp(text, "-c") == 0)
        text = "--continue";
    const char *name = text + 2;
    size_t len = strcspn(name, "=");
    const struct option *option = text[1] == '-' ? find_option(name, len) : NULL;
    if (!option)
        return unknown_option(text, line->command, err);
    if (line->command == COMMAND_NONE && option->offset == INTO(newest))
        line->command = COMMAND_RUN; /* keyturn -c */
    if (!option_has(option, line->command))
        return foreign_option(option, line->command, err);
    if (!option->argument) {
        if (name[len] == '=')
            return err_set(err, "--%s takes no value", option->name);
        return set_value(line, option, "", err);
    }
    if (name[len] == '=')
        return set_value(line, option, name + len + 1, err);
    if (*at + 1 >= argc)
        return err_set(err, "--%s needs a value: --%s %s", option->name, option->name, option->argument);
    return set_value(line, option, argv[++*at], err);
}

static int take_command(struct cli_options *line, const char *name, struct err *err)
{
    struct nearest near = nearest_to(name);
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            line->command = (enum cli_command)i;
            return 0;
        }
        nearest_offer(&near, commands[i].name);
    }
    if (near.best)
        return err_set(err, "unknown command %.60s (did you mean keyturn %s?)", name, near.best);
    return err_set(err, "unknown command %.60s (keyturn --help lists them)", name);
}

static int check_operands(const struct cli_options *line, size_t count, struct err *err)
{
    if (line->command == COMMAND_NONE || line->help || line->version)
        return 0;
    const struct command_info *info = &commands[line->command];
    if (count < info->least)
        return err_set(err, "keyturn %s needs %s (keyturn %s --help)", info->name, info->operands, info->name);
    if (count > info->most && info->most == 1)
        return err_set(err, "keyturn %s takes one %s (put it in quotes if it has spaces)", info->name, info->operands);
    if (count > info->most && info->most > 1)
        return err_set(err, "keyturn %s takes %s and nothing else (keyturn %s --help)", info->name, info->operands,
                       info->name);
    if (count > info->most)
        return err_set(err, "keyturn %s takes no arguments (keyturn %s --help)", info->name, info->name);
    return 0;
}

int cli_options_parse(struct cli_options *line, int argc, char **argv, struct err *err)
{
    *line = (struct cli_options){
        .command = COMMAND_NONE,
        .options = {.speed = NAN, .ask_timeout = NAN, .until = -1, .timeout = NAN, .max_output = -1, .attempts = -1}};
    size_t operands = 0;
    bool ended = false;
    for (int at = 1; at < argc; at++) {
        const char *text = argv[at];
        if (!ended && strcmp(text, "--") == 0) {
            ended = true;
        } else if (!ended && text[0] == '-' && text[1]) {
            if (take_option(line, argc, argv, &at, err))
                return -1;
        } else if (line->command == COMMAND_NONE && !ended) {
            if (take_command(line, text, err))
                return -1;
        } else {
            *(operands ? &line->options.second : &line->options.operand) = text;
            operands++;
        }
    }
    return check_operands(line, operands, err);
}

void cli_options_release(struct cli_options *line)
{
    free(line->options.breaks.items);
    free(line->options.budgets.items);
    free(line->options.mcp.items);
    free(line->options.secrets.items);
}

/* ---- help ---- */

static void help_line(struct strbuf *out, const char *left, const char *right)
{
    strbuf_addf(out, "  %-28s  %s\n", left, right);
}

static void help_option(struct strbuf *out, const struct option *option, enum cli_command command)
{
    const char *help = option->help;
    for (size_t i = 0; i < COUNT_OF(meanings); i++)
        if (meanings[i].command == command && strcmp(meanings[i].name, option->name) == 0)
            help = meanings[i].help;
    CLEANUP(free)
    char *left =
        xasprintf("--%s%s%s", option->name, option->argument ? " " : "", option->argument ? option->argument : "");
    help_line(out, left, help);
}

void cli_help(struct strbuf *out)
{
    strbuf_addstr(out,
                  "keyturn " KEYTURN_VERSION ", a workbench for agent turns: watch, step, approve, undo, replay\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        CLEANUP(free) char *left = xasprintf("keyturn %s %s", commands[i].name, commands[i].operands);
        help_line(out, left, commands[i].help);
    }
    strbuf_addstr(out, "\nOptions of run, demo and replay (keyturn COMMAND --help has all of a command):\n");
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (table[i].of != ANY && (table[i].of & TURNS) == TURNS)
            help_option(out, &table[i], COMMAND_NONE);
    strbuf_addstr(out,
                  "\nExit status: 0 done, 1 ran and failed, 2 wrong usage or unreadable input, 3 diverged from the\n"
                  "recording, 4 done but a write was denied because no user could answer, 130 interrupted.\n");
}

void cli_command_help(struct strbuf *out, enum cli_command command)
{
    const struct command_info *info = &commands[command];
    strbuf_addf(out, "keyturn %s%s%s [OPTION]...: %s\n\n%s\n\n", info->name, *info->operands ? " " : "", info->operands,
                info->help, info->more);
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (option_has(&table[i], command))
            help_option(out, &table[i], command);
}
