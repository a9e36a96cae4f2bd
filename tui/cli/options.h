#pragma once
/* The command line: a table of commands (commands.def) and a table of options (options.c). Parsing, help pages and
 * suggestions for misspelled names all use these two tables. */

#include "app/options.h"
#include "base/err.h"

struct strbuf;

enum cli_command {
#define COMMAND(ID, name, operands, least, most, help, more) COMMAND_##ID,
#include "commands.def"
#undef COMMAND
    COMMAND_COUNT,
    COMMAND_NONE = COMMAND_COUNT, /* keyturn without a command */
};

struct cli_options {
    enum cli_command command;
    bool help, version;
    struct options options;
};

/* Returns 0, or -1 and an error with a fix. */
int cli_options_parse(struct cli_options *line, int argc, char **argv, struct err *err) CHECKED;
void cli_options_release(struct cli_options *line);

const char *cli_command_name(enum cli_command command);
/* Adds the help page of all commands. */
void cli_help(struct strbuf *out);
/* Adds the help page of one command. */
void cli_command_help(struct strbuf *out, enum cli_command command);

/* The commands. Each takes the options and returns the exit status. */
#define COMMAND(ID, name, operands, least, most, help, more) int cmd_##name(const struct options *options);
#include "commands.def"
#undef COMMAND

/* keyturn without a command. */
int cmd_start(const struct options *options);
