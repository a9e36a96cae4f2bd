/* A regular expression, a newline, a line to look in. What is found lies in the line, and neither a group around the
 * expression nor an empty choice beside it changes whether something is. */

#include "base/err.h"
#include "base/mem.h"
#include "tools/pattern.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int find(const char *text, const char *line, size_t len)
{
    struct err err = ERR_INIT;
    struct pattern *pattern = pattern_new(text, true, &err);
    if (!pattern)
        return -1;
    size_t at = 0;
    bool found = pattern_find(pattern, line, len, &at);
    if (found && at > len)
        BUG("found at %zu of %zu", at, len);
    bool again = pattern_find(pattern, line, len, &at);
    if (found != again)
        BUG("/%s/ is found only once", text);
    pattern_free(pattern);
    return found;
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
    if (found < 0)
        return 0;
    CLEANUP(free) char *group = xasprintf("(?:%s)", text);
    CLEANUP(free) char *choice = xasprintf("%s|%s", text, text);
    CLEANUP(free) char *maybe = xasprintf("(?:%s)?", text);
    int grouped = find(group, line, len), chosen = find(choice, line, len), optional = find(maybe, line, len);
    if ((grouped >= 0 && grouped != found) || (chosen >= 0 && chosen != found) || optional == 0)
        BUG("/%s/ is %d, grouped %d, chosen %d, optional %d", text, found, grouped, chosen, optional);
    return 0;
}
