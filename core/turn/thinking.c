#include "thinking.h"
#include <stddef.h>
#include <strings.h>

static const struct {
    const char *name;
    int tokens;
} levels[] = {
    [THINKING_OFF] = {"OFF", 0},
    [THINKING_LOW] = {"LOW", 500},
    [THINKING_MEDIUM] = {"MEDIUM", 2000},
    [THINKING_HIGH] = {"HIGH", 5000},
};

const char *thinking_level_name(enum thinking_level level)
{
    return levels[level].name;
}

enum thinking_level thinking_level_from_name(const char *name)
{
    for (int level = THINKING_OFF; name && level <= THINKING_HIGH; level++)
        if (strcasecmp(name, levels[level].name) == 0)
            return (enum thinking_level)level;
    return THINKING_OFF;
}

int thinking_tokens(enum thinking_level level)
{
    return levels[level].tokens;
}

void thinking_init(struct thinking *thinking, enum thinking_level level)
{
    *thinking = (struct thinking){.level = level, .reflect_on_tool_error = true};
}

void thinking_on_turn_start(struct thinking *thinking)
{
    thinking->turn++;
    thinking->error_seen = false;
}

void thinking_on_tool_error(struct thinking *thinking)
{
    thinking->error_seen = true;
}

bool thinking_should_reflect(const struct thinking *thinking)
{
    if (thinking->level == THINKING_OFF)
        return false;
    if (thinking->error_seen && thinking->reflect_on_tool_error)
        return true;
    return thinking->reflect_every > 0 && thinking->turn % thinking->reflect_every == 0;
}

void thinking_reflected(struct thinking *thinking)
{
    thinking->error_seen = false;
}
