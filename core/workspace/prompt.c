/* The last line that says something decides, and two lines that look like items of a list make a selection. */

#include "prompt.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A line without the white space around it. */
struct piece {
    const char *text;
    size_t len;
};

static struct piece trim(const char *text, size_t len)
{
    while (len && isspace((unsigned char)text[0])) {
        text++;
        len--;
    }
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return (struct piece){text, len};
}

/* "1." or "2)" */
static bool is_item(struct piece line)
{
    return line.len >= 2 && isdigit((unsigned char)line.text[0]) && (line.text[1] == '.' || line.text[1] == ')');
}

static bool says(const char *lower, const char *const *phrases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(lower, phrases[i]))
            return true;
    return false;
}

enum prompt_kind prompt_find(const char *output, struct strbuf *hint)
{
    static const char *const choices[] = {"enter a number",    "enter the number", "choose a number",
                                          "choose the number", "select a number",  "select the number"};
    static const char *const questions[] = {"press enter", "type your"};
    struct piece last = {"", 0};
    int items = 0;
    for (const char *at = output; *at;) {
        size_t len = strcspn(at, "\n");
        struct piece line = trim(at, len);
        items += is_item(line);
        if (line.len)
            last = line;
        at += len + (at[len] == '\n');
    }
    if (!last.len)
        return PROMPT_NONE;
    CLEANUP(free) char *lower = xmemdup0(last.text, last.len);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    char end = last.text[last.len - 1];
    enum prompt_kind kind = PROMPT_NONE;
    if (items >= 2 || says(lower, choices, COUNT_OF(choices)))
        kind = PROMPT_SELECTION;
    else if (end == ':' || end == '?' || says(lower, questions, COUNT_OF(questions)))
        kind = PROMPT_TEXT;
    if (kind != PROMPT_NONE)
        strbuf_add(hint, last.text, last.len);
    return kind;
}

const char *prompt_kind_name(enum prompt_kind kind)
{
    static const char *const names[] = {[PROMPT_TEXT] = "prompt", [PROMPT_SELECTION] = "selection"};
    return names[kind];
}
