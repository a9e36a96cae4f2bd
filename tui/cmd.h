#pragma once
/* The subcommands. Each takes the parsed options and returns the exit status. */

#include "options.h"

#define COMMAND(ID, name, operands, least, most, help, more) int cmd_##name(const struct options *options);
#include "commands.def"
#undef COMMAND

/* keyturn alone. */
int cmd_start(const struct options *options);
