#pragma once
/* What a call told while it ran: what it printed, the values it showed on its way, its result, its error. Each is one
 * event of the journal; a text of several lines is several lines here. */

#include "canvas.h"
#include "view.h"

enum told_kind { TOLD_PRINTED, TOLD_INTERMEDIATE, TOLD_RESULT, TOLD_ERROR };

struct told {
    enum told_kind kind;
    const char *label; /* "stdout", "warning", the name of an intermediate, "result", "error" */
    const char *text;  /* what was printed, what went wrong; else the value's JSON */
    size_t len;
    bool piece;              /* of a stream: the next one may go on in its last line */
    const struct json *data; /* of a value */
    const char *traceback;   /* of an error; "" */
};

/* False when the event says nothing that a person would read. Everything is the event's and the arena's. */
bool told_read(struct told *told, const struct event *event, struct arena *arena);
/* Its lines, one after the other: empty ones at the end are none.
 *
 *     for (struct told_lines lines = told_lines(&told); told_lines_next(&lines);)
 *         …lines.line, lines.len… */
struct told_lines {
    const char *text, *line;   /* all of it; the line at hand */
    size_t len, at, next, end; /* of the line; where it begins, and the next one; where the last one ends */
};
struct told_lines told_lines(const struct told *told);
bool told_lines_next(struct told_lines *lines);
/* A line as a terminal would show it in the end: "1 %\r2 %" is "2 %". Where that is another than it is, it is in `out`.
 */
void told_show(const char **line, size_t *len, struct strbuf *out);
/* Whether it is one of those that programs print to; what a tool says by another is whole. */
bool told_is_stream(const char *name);
enum look told_look(enum told_kind kind);
enum sign told_sign(enum told_kind kind);

/* Calls `each` with everything a call has told, oldest first; not further back than somebody would read. True when
 * there was more before that. */
bool told_each(const struct view *view, uint32_t call, void (*each)(const struct told *told, int64_t seq, void *data),
               void *data);

/* The lines of one call, for a list: read once, and then what is new. */
struct told_rows {
    const struct journal_reader *lines; /* NULL: nothing was read */
    uint32_t call, looked;              /* the newest event that is in here */
    struct told_row {
        uint32_t seq, at; /* where in its event's text it begins */
    } * rows;
    size_t count, room;
    bool earlier; /* there was more before the first */
    bool failed;  /* an error is among them */
};
void told_rows_release(struct told_rows *rows);
void told_rows_update(struct told_rows *rows, const struct view *view);
