#include "spec.h"
#include "base/arena.h"
#include <string.h>

#define SECOND ((int64_t)1000000)

const struct mcp_pace mcp_pace_usual = {.start_us = 30 * SECOND,
                                        .probe_us = 3 * SECOND,
                                        .ask_us = 10 * SECOND,
                                        .ping_us = 10 * SECOND,
                                        .pause_us = SECOND / 2,
                                        .steady_us = 60 * SECOND,
                                        .relist_us = SECOND * 3 / 10,
                                        .end_us = 2 * SECOND,
                                        .term_us = SECOND / 2};

static const char *copy_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static const char *const *copy_texts(struct arena *arena, const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    const char **copy = texts ? arena_calloc(arena, count + 1, sizeof(*copy)) : NULL;
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, texts[i]);
    return copy;
}

struct mcp_spec mcp_spec_copy(struct arena *arena, const struct mcp_spec *spec)
{
    struct mcp_spec copy = *spec;
    struct mcp_rule *rules = arena_calloc(arena, spec->rule_count + 1, sizeof(*rules));
    for (size_t i = 0; i < spec->rule_count; i++)
        rules[i] = (struct mcp_rule){arena_strdup(arena, spec->rules[i].tool), spec->rules[i].effect};
    copy.name = arena_strdup(arena, spec->name);
    copy.argv = copy_texts(arena, spec->argv);
    copy.env = copy_texts(arena, spec->env);
    copy.cwd = copy_text(arena, spec->cwd);
    copy.rules = rules;
    copy.refused = copy_text(arena, spec->refused);
    copy.note = copy_text(arena, spec->note);
    return copy;
}
