#pragma once
/* The output of a call while it runs: what it printed, intermediate values, its result, its error. Each is one event of
 * the journal. A text of several lines is several lines here. */

#include "app/view.h"
#include "screen/canvas.h"

enum call_output_kind { CALL_OUTPUT_PRINTED, CALL_OUTPUT_INTERMEDIATE, CALL_OUTPUT_RESULT, CALL_OUTPUT_ERROR };

struct call_output {
    enum call_output_kind kind;
    const char *label; /* "stdout", "warning", the name of an intermediate, "result", "error" */
    const char *text;  /* printed text or error message; else the value as JSON */
    size_t len;
    bool piece;              /* part of a stream: the next part may continue its last line */
    const struct json *data; /* of a value */
    const char *traceback;   /* of an error; "" if there is none */
};

/* False if the event has no readable output. The texts belong to the event and the arena. */
bool call_output_read(struct call_output *told, const struct event *event, struct arena *arena);
/* Iterates over its lines, without empty lines at the end.
 *
 *     for (struct call_output_lines lines = call_output_lines(&told); call_output_lines_next(&lines);)
 *         …lines.line, lines.len… */
struct call_output_lines {
    const char *text, *line;   /* the whole text; the current line */
    size_t len, at, next, end; /* length of the line; its start, and that of the next; end of the last line */
};
struct call_output_lines call_output_lines(const struct call_output *told);
bool call_output_lines_next(struct call_output_lines *lines);
/* The line as a terminal would finally show it: "1 %\r2 %" is "2 %". If it differs from the input, it is in `out`. */
void call_output_show(const char **line, size_t *len, struct strbuf *out);
/* True for the streams that programs print to. Output of a tool under another name is always whole lines. */
bool call_output_is_stream(const char *name);
enum look call_output_look(enum call_output_kind kind);
enum sign call_output_sign(enum call_output_kind kind);

/* Calls `each` with the output of a call, oldest first, within a bounded number of journal lines. True if there was
 * more before that. */
bool call_output_each(const struct view *view, uint32_t call,
                      void (*each)(const struct call_output *told, int64_t seq, void *data), void *data);

/* The lines of one call, for a list. It is read once; later calls add only what is new. */
struct call_output_rows {
    const struct journal_reader *lines; /* NULL: nothing was read yet */
    uint32_t call, looked;              /* looked: the newest event that is included */
    struct call_output_row {
        uint32_t seq, at; /* start of the line in its event's text */
    } * rows;
    size_t count, room;
    bool earlier; /* there was more before the first line */
    bool failed;  /* the lines include an error */
};
void call_output_rows_release(struct call_output_rows *rows);
void call_output_rows_update(struct call_output_rows *rows, const struct view *view);
