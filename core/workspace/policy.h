#pragma once
/* Which commands a model may run in a shell, by name. With a policy only the plainest of shell is taken: words, quoted
 * or not, in commands that are joined by | && || and ;. Whatever could bring in another command (expansions,
 * redirections, subshells, assignments, patterns, background, comments, a second line) is refused with its name, so the
 * names that are checked are the names that run. Commands that run others are refused always: no list would mean
 * anything.
 *
 * This is about commands that are not meant, not a wall: the wall is the sandbox. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define POLICY_COMMAND_MAX  ((size_t)16 << 10)
#define POLICY_COMMANDS_MAX 32

/* NULL-terminated lists, or NULL. Neither: everything goes. A denied name is denied with any path and in any case; an
 * allowed one must be written exactly so, for "./git" is another program than "git". */
struct command_policy {
    const char *const *allow, *const *deny;
};

bool command_policy_active(const struct command_policy *policy);
/* 0: it may run. -1: a sentence for the model. Nothing is checked when the policy is not active. */
int command_policy_check(const struct command_policy *policy, const char *command, struct err *err) CHECKED;
/* Why a name on a list is met by no command, for whoever wrote it: 0, or -1 and a sentence. */
int command_policy_check_entry(const char *name, bool allow, struct err *err) CHECKED;

struct arena;
/* The commands of a line as a policy reads them: for each its words, NULL-terminated; in the arena. */
struct command_line {
    const char *const *commands[POLICY_COMMANDS_MAX];
    size_t count;
};
int command_line_parse(struct arena *arena, const char *command, struct command_line *line, struct err *err) CHECKED;
