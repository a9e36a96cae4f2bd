/* Workspace variables at the start of a glob ($OUTPUT_DIR/x becomes out/x).
 *
 * $OUTPUT_DIRX is another variable, so a name counts only before a separator or the end of the text. Braces mark the
 * end themselves. */

#include "globs.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "layout.h"
#include <stdbool.h>
#include <string.h>

#define BLANKS " \t\n\v\f\r"

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* What follows "$NAME" or "${NAME}" at the start of the text, or NULL. */
static const char *skip_variable(const char *text, const char *name)
{
    size_t len = strlen(name);
    if (text[0] != '$')
        return NULL;
    bool braces = text[1] == '{';
    const char *at = text + 1 + braces;
    if (strncmp(at, name, len) != 0)
        return NULL;
    at += len;
    if (braces)
        return *at == '}' ? at + 1 : NULL;
    return !*at || is_separator(*at) ? at : NULL;
}

static char *replace(char *take_text, const char *variable, const char *folder)
{
    const char *tail = skip_variable(take_text, variable);
    if (!tail)
        return take_text;
    tail += is_separator(*tail);
    char *out = !folder ? xstrdup(*tail ? tail : ".") : *tail ? xasprintf("%s/%s", folder, tail) : xstrdup(folder);
    free(take_text);
    return out;
}

char *globs_normalize(const char *pattern)
{
    pattern += strspn(pattern, BLANKS);
    size_t len = strlen(pattern);
    while (len > 0 && strchr(BLANKS, pattern[len - 1]))
        len--;
    if (len == 0)
        return NULL;
    char *text = replace(xmemdup0(pattern, len), LAYOUT_ENV_ROOT, NULL);
    for (size_t i = 0; i < LAYOUT_DIRS; i++)
        if (layout_rows[i].env)
            text = replace(text, layout_rows[i].env, layout_rows[i].name);
    return text;
}

char *globs_within(const struct beneath *root, const char *pattern)
{
    char *text = globs_normalize(pattern);
    const char *rest = text && *text == '/' ? beneath_rest(root, text) : NULL;
    if (!rest)
        return text;
    char *below = xstrdup(*rest ? rest + 1 : ".");
    free(text);
    return below;
}

char *globs_escape(const char *path)
{
    struct strbuf out = STRBUF_INIT;
    for (; *path; path++) {
        if (strchr("*?[]{}\\", *path))
            strbuf_addch(&out, '\\');
        strbuf_addch(&out, *path);
    }
    return strbuf_detach(&out, NULL);
}

char *globs_clean(const char *pattern)
{
    return beneath_tidy(pattern);
}
