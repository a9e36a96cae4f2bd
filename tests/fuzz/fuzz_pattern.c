/* Fuzzes searching: a regular expression, a newline, a line to search. A match lies within the line. A group around a
 * plain expression, or an empty alternative beside it, does not change whether the line matches. */

#include "base/err.h"
#include "base/mem.h"
#include "tools/search.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int find(const char *text, const char *line, size_t len)
{
    struct err err = ERR_INIT;
    struct pattern *pattern = pattern_new(text, true, 500, NULL, &err);
    if (!pattern)
        return -1;
    size_t at = 0;
    enum pattern_result found = pattern_find(pattern, line, len, &at);
    if (found == PATTERN_FOUND && at > len)
        BUG("found at %zu of %zu", at, len);
    enum pattern_result again = found == PATTERN_TOO_EXPENSIVE ? found : pattern_find(pattern, line, len, &at);
    if (found != again && again != PATTERN_TOO_EXPENSIVE)
        BUG("/%s/ is found only once", text);
    pattern_free(pattern);
    return again == PATTERN_TOO_EXPENSIVE ? -1 : found == PATTERN_FOUND;
}

/* Numbered groups, quoting, verbs and comments have another meaning inside a larger expression. */
static bool is_plain(const char *text)
{
    static const char *const special[] = {"(*", "(?", "\\Q", "\\E", "\\g", "\\k"};
    for (size_t i = 0; i < COUNT_OF(special); i++)
        if (strstr(text, special[i]))
            return false;
    for (const char *at = text; (at = strchr(at, '\\')); at++)
        if (at[1] >= '0' && at[1] <= '9')
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    if (!newline || memchr(data, '\0', (size_t)(newline - data)))
        return 0;
    CLEANUP(free) char *text = xmemdup0(data, (size_t)(newline - data));
    const char *line = (const char *)newline + 1;
    size_t len = size - (size_t)(newline + 1 - data);
    int found = find(text, line, len);
    if (found < 0 || !is_plain(text))
        return 0;
    CLEANUP(free) char *group = xasprintf("(?:%s)", text);
    CLEANUP(free) char *choice = xasprintf("%s|%s", text, text);
    CLEANUP(free) char *maybe = xasprintf("(?:%s)?", text);
    int grouped = find(group, line, len), chosen = find(choice, line, len), optional = find(maybe, line, len);
    if ((grouped >= 0 && grouped != found) || (chosen >= 0 && chosen != found) || optional == 0)
        BUG("/%s/ is %d, grouped %d, chosen %d, optional %d", text, found, grouped, chosen, optional);
    return 0;
}
