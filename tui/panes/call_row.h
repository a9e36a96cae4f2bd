#pragma once
/* A call in a list, as the tool trace and the waves show and filter it. The texts of a row are in the fold. Only the
 * newest output of a call is a long text, which is read from the journal. */

#include "call_output.h"
#include "filter.h"

/* The columns of a row in a given width. `tool` and `effect` are the widths of the longest visible texts. */
struct call_columns {
    int number, tool, rest, effect, state, time, bytes; /* widths; 0: not shown */
    int at_tool, at_rest, at_effect, at_state, at_time, at_bytes;
};
struct call_columns call_columns(const struct view *view, int cols, int tool, int effect);
void call_row_paint_heads(struct canvas *canvas, struct rect at, const struct call_columns *columns);
/* `left`: columns by which the arguments are scrolled. */
void call_row_paint(const struct view *view, struct canvas *canvas, struct rect at, const struct call_columns *columns,
                    uint32_t call, int left);

/* True if its outcome is a reason, which has its own line, and not a note after the arguments. */
bool call_row_went_wrong(const struct session_call *call);
void call_row_reason(struct strbuf *out, const struct session_call *call);
/* Its newest output, on one line; false if there is none. An error counts only if there is no other output, because it
 * has its own line. */
bool call_row_newest(struct strbuf *out, struct call_output *told, const struct view *view,
                     const struct session_call *call);

/* The look of its state. */
enum look call_row_look(const struct session_call *call);
/* Paints the name of a tool up to the end of `at`. A name that is too long loses the prefix of its family:
 * "…write_stdin". */
int call_row_name_columns(const char *name, int most); /* columns the name needs, at most `most` */
void call_row_paint_name(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *name);

/* True if a call matches. A kind matches its tool, its state and its effect; a call matches its id or its number. Texts
 * are searched in all of these and in the texts of its row. Adds the work done to `bytes`. */
bool call_row_fits(const struct view *view, uint32_t call, const struct filter *filter, size_t *bytes);
/* The number of calls, from the first, that can no longer change. All calls of an answer are finished before the next
 * answer. */
uint32_t call_rows_settled(const struct session *session);
