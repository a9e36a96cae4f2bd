#include "flow.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <string.h>

#define ELLIPSIS "…"

/* Bytes of the longest beginning that fits, in whole characters. */
static size_t fitting_start(const struct canvas *canvas, const char *text, size_t len, int cols)
{
    size_t at = 0;
    int column = 0;
    while (at < len) {
        size_t used;
        utf8_decode(text + at, len - at, &used);
        column += canvas_str_columns(canvas, text + at, used);
        if (column > cols)
            break;
        at += used;
    }
    return at;
}

/* The same of the longest end: where it begins. */
static size_t fitting_end(const struct canvas *canvas, const char *text, size_t len, int cols)
{
    size_t at = 0;
    int column = canvas_str_columns(canvas, text, len);
    while (at < len && column > cols) {
        size_t used;
        utf8_decode(text + at, len - at, &used);
        column -= canvas_str_columns(canvas, text + at, used);
        at += used;
    }
    return at;
}

/* Bytes of the next line: whole words, or as much of one word as a line holds. */
static size_t line_length(const struct canvas *canvas, const char *text, int cols)
{
    size_t end = 0;
    int column = 0;
    while (text[end]) {
        size_t blanks = strspn(text + end, " "), word = strcspn(text + end + blanks, " ");
        column += (int)blanks + canvas_str_columns(canvas, text + end + blanks, word);
        if (column > cols)
            break;
        end += blanks + word;
    }
    if (end)
        return end;
    size_t most = fitting_start(canvas, text, strcspn(text, " "), cols);
    return most ? most : utf8_prefix(text, strlen(text), 1);
}

/* On one line each: line breaks are blanks here. */
static char *on_one_line(const char *text)
{
    char *copy = xstrdup(text);
    for (char *at = copy; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    return copy;
}

int flow_rows(const struct canvas *canvas, const char *text, int cols)
{
    CLEANUP(free) char *copy = on_one_line(text);
    int rows = 0;
    for (const char *at = copy + strspn(copy, " "); *at; rows++) {
        at += line_length(canvas, at, cols);
        at += strspn(at, " ");
    }
    return rows ? rows : 1;
}

int flow_paint(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *text)
{
    CLEANUP(free) char *copy = on_one_line(text);
    int cols = in.cols - col, first = row;
    const char *at = copy + strspn(copy, " ");
    for (; *at && row < in.rows && cols > 0; row++) {
        size_t len = line_length(canvas, at, cols);
        const char *next = at + len + strspn(at + len, " ");
        bool cut = *next && row + 1 == in.rows;
        if (cut)
            len = line_length(canvas, at, cols - 1 - canvas_str_columns(canvas, ELLIPSIS, strlen(ELLIPSIS)));
        CLEANUP(free) char *line = xmemdup0(at, len);
        int used = canvas_str(canvas, in, row, col, look, line);
        if (cut)
            canvas_str(canvas, in, row, col + used + (used < cols - 1 ? 1 : 0), look, ELLIPSIS);
        at = next;
    }
    return row - first;
}

void flow_path(struct strbuf *out, const struct canvas *canvas, const char *path, int cols)
{
    size_t len = strlen(path);
    if (canvas_str_columns(canvas, path, len) <= cols) {
        strbuf_addstr(out, path);
        return;
    }
    const char *slash = strrchr(path, '/');
    int sign = canvas_str_columns(canvas, ELLIPSIS, strlen(ELLIPSIS));
    int end = slash ? canvas_str_columns(canvas, slash, strlen(slash)) : cols;
    /* The name whole, after as much of the folders as there is room for; else its own beginning and end. */
    bool whole = slash && end + sign <= cols;
    size_t behind = whole ? (size_t)(slash - path) : fitting_end(canvas, path, len, (cols - sign + 1) / 2);
    int rest = cols - sign - canvas_str_columns(canvas, path + behind, len - behind);
    const char *from = whole || !slash || slash[1] == '\0' ? path : slash + 1;
    if (from > path + behind)
        from = path + behind;
    size_t head = fitting_start(canvas, from, (size_t)(path + behind - from), rest > 0 ? rest : 0);
    strbuf_add(out, from, head);
    strbuf_addstr(out, ELLIPSIS);
    strbuf_addstr(out, path + behind);
}
