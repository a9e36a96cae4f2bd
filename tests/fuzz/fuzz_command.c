/* Fuzzes commands that a policy checks. A command that is accepted as plain is written again with every word in quotes,
 * and reads as the same words; a refused command has no words; a denied one stays denied with any quoting. */

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/environment.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void quote(struct strbuf *out, const char *word)
{
    strbuf_addch(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            strbuf_addstr(out, "'\\''");
        else
            strbuf_addch(out, *word);
    strbuf_addch(out, '\'');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf again = STRBUF_INIT;
    struct command_line line, twice;
    struct err err = ERR_INIT;
    const char *command = arena_memdup0(&arena, data, size);
    if (command_line_parse(&arena, command, &line, &err))
        return 0;
    for (size_t i = 0; i < line.count; i++) {
        if (!line.commands[i][0])
            BUG("a command without a word");
        strbuf_addstr(&again, i ? ";" : "");
        for (const char *const *word = line.commands[i]; *word; word++) {
            strbuf_addch(&again, ' ');
            quote(&again, *word);
        }
    }
    if (again.len > POLICY_COMMAND_MAX)
        return 0;
    if (command_line_parse(&arena, again.buf, &twice, &err))
        BUG("%s is not taken any more: %s", again.buf, err.text);
    if (twice.count != line.count)
        BUG("%zu commands became %zu", line.count, twice.count);
    for (size_t i = 0; i < line.count; i++)
        for (size_t j = 0; line.commands[i][j] || twice.commands[i][j]; j++)
            if (!line.commands[i][j] || !twice.commands[i][j] || strcmp(line.commands[i][j], twice.commands[i][j]) != 0)
                BUG("word %zu of command %zu has changed", j, i);
    const char *const denied[] = {line.commands[0][0], NULL};
    struct command_policy policy = {.deny = denied};
    if (!command_policy_check(&policy, command, &err))
        BUG("%s is denied and runs", denied[0]);
    return 0;
}
