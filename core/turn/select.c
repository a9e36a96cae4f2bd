#include "select.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "rank.h"

struct candidate {
    size_t place; /* in the registry */
    double score;
};

/* Best first; equals in their order, so those without any score fill up from the front. */
static int by_score(const void *a, const void *b)
{
    const struct candidate *one = a, *two = b;
    if (one->score != two->score)
        return one->score > two->score ? -1 : 1;
    return one->place < two->place ? -1 : one->place > two->place;
}

static int by_place(const void *a, const void *b)
{
    const struct candidate *one = a, *two = b;
    return one->place < two->place ? -1 : one->place > two->place;
}

static struct candidate *score_tools(const struct registry *registry, const char *prompt, size_t count)
{
    struct candidate *list = xcalloc(count, sizeof(*list));
    struct rank *rank = rank_new(prompt);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        const struct tool_spec *spec = &registry_at(registry, i)->spec;
        strbuf_reset(&text);
        strbuf_addf(&text, "%s %s", spec->name, spec->description ? spec->description : "");
        rank_add(rank, text.buf, text.len);
    }
    for (size_t i = 0; i < count; i++)
        list[i] = (struct candidate){.place = i, .score = rank_score(rank, i)};
    rank_free(rank);
    return list;
}

const struct tool **select_tools(const struct registry *registry, const char *prompt, bool enabled, size_t max,
                                 size_t *count)
{
    size_t all = registry_count(registry);
    size_t chosen = enabled && all > max ? max : all;
    const struct tool **tools = xcalloc(chosen ? chosen : 1, sizeof(const struct tool *));
    *count = chosen;
    if (chosen == all) {
        for (size_t i = 0; i < all; i++)
            tools[i] = registry_at(registry, i);
        return tools;
    }
    struct candidate *list = score_tools(registry, prompt, all);
    qsort(list, all, sizeof(*list), by_score);
    qsort(list, chosen, sizeof(*list), by_place);
    for (size_t i = 0; i < chosen; i++)
        tools[i] = registry_at(registry, list[i].place);
    free(list);
    return tools;
}
