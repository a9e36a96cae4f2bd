/* The head of a SKILL.md is a little YAML: one level of keys, values plain, quoted, or over several lines (folded after
 * '>', kept after '|', or simply gone on with on indented lines). More than that is not read; what cannot be understood
 * is as if it were not there. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "skills.h"
#include <stdint.h>
#include <string.h>

#define TEXT_MAX 4096 /* of a description: more is no description */

struct line {
    const char *at;
    size_t len; /* without the end of the line */
    size_t indent;
};

static bool next_line(const char **at, const char *end, struct line *line)
{
    if (*at >= end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    size_t len = (size_t)((stop ? stop : end) - *at);
    line->at = *at;
    *at += len + (stop != NULL);
    while (len > 0 && (line->at[len - 1] == '\r' || line->at[len - 1] == ' ' || line->at[len - 1] == '\t'))
        len--;
    line->len = len;
    line->indent = 0;
    while (line->indent < len && (line->at[line->indent] == ' ' || line->at[line->indent] == '\t'))
        line->indent++;
    return true;
}

static bool is_fence(const struct line *line)
{
    return line->len == 3 && memcmp(line->at, "---", 3) == 0;
}

/* What a quoted value means: '' in single quotes is a quote, a backslash in double ones takes the next character. */
static void add_quoted(struct strbuf *out, const char *at, size_t len)
{
    char quote = at[0];
    for (size_t i = 1; i < len; i++) {
        if (at[i] == quote) {
            if (quote != '\'' || i + 1 == len || at[i + 1] != quote)
                return;
            i++;
        } else if (quote == '"' && at[i] == '\\' && i + 1 < len) {
            i++;
            strbuf_addch(out, at[i] == 'n' ? '\n' : at[i]);
            continue;
        }
        strbuf_addch(out, at[i]);
    }
}

/* A plain value ends where a comment begins. */
static size_t plain_length(const char *at, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (at[i] == '#' && (at[i - 1] == ' ' || at[i - 1] == '\t'))
            len = i;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    return len;
}

/* The value that begins in `rest` of a line, and goes on in the indented lines that follow. */
static void read_value(struct strbuf *out, const char *rest, size_t len, const char **at, const char *end)
{
    char block = len > 0 && (rest[0] == '|' || rest[0] == '>') ? rest[0] : '\0';
    bool quoted = len > 0 && (rest[0] == '"' || rest[0] == '\'');
    CLEANUP(strbuf) struct strbuf raw = STRBUF_INIT;
    if (!block)
        strbuf_add(&raw, rest, quoted ? len : plain_length(rest, len));
    const char *ahead = *at;
    for (struct line line; next_line(&ahead, end, &line) && (line.indent > 0 || line.len == 0); *at = ahead) {
        if (raw.len)
            strbuf_addch(&raw, block == '|' ? '\n' : ' ');
        strbuf_add(&raw, line.at + line.indent, line.len - line.indent);
    }
    while (raw.len > 0 && (raw.buf[raw.len - 1] == ' ' || raw.buf[raw.len - 1] == '\n'))
        strbuf_set_len(&raw, raw.len - 1);
    strbuf_reset(out);
    if (quoted)
        add_quoted(out, raw.buf, raw.len);
    else
        strbuf_add(out, raw.buf, raw.len);
}

static char *finished(const struct strbuf *text)
{
    CLEANUP(strbuf) struct strbuf clean = STRBUF_INIT;
    size_t len = text->len < TEXT_MAX ? text->len : TEXT_MAX;
    utf8_scrub(&clean, text->buf, len);
    return xmemdup0(clean.buf, strlen(clean.buf));
}

void skills_parse_head(const char *text, size_t len, char **name, char **description)
{
    CLEANUP(strbuf) struct strbuf found_name = STRBUF_INIT, found_description = STRBUF_INIT;
    const char *at = text, *end = text + len;
    struct line line;
    if (len >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    bool open = next_line(&at, end, &line) && is_fence(&line);
    while (open && next_line(&at, end, &line) && !is_fence(&line)) {
        const char *colon = memchr(line.at, ':', line.len);
        size_t key = colon ? (size_t)(colon - line.at) : 0;
        struct strbuf *value = line.indent > 0                                        ? NULL
                               : key == 4 && memcmp(line.at, "name", 4) == 0          ? &found_name
                               : key == 11 && memcmp(line.at, "description", 11) == 0 ? &found_description
                                                                                      : NULL;
        if (!value)
            continue;
        const char *rest = colon + 1;
        while (rest < line.at + line.len && (*rest == ' ' || *rest == '\t'))
            rest++;
        read_value(value, rest, (size_t)(line.at + line.len - rest), &at, end);
    }
    *name = finished(&found_name);
    *description = finished(&found_description);
}
