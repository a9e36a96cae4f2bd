#pragma once
/* A call in a list, as the tool trace and the waves show and filter it. What a row says is in the fold; only the newest
 * thing that a call told is a long text and read from the journal. */

#include "filter.h"
#include "told.h"

/* Where the parts of a row stand, in so many columns; `tool` and `effect` are the widths of the longest in sight. */
struct call_columns {
    int number, tool, rest, effect, state, time, bytes; /* widths; 0: not shown */
    int at_tool, at_rest, at_effect, at_state, at_time, at_bytes;
};
struct call_columns call_columns(const struct view *view, int cols, int tool, int effect);
void call_row_paint_heads(struct canvas *canvas, struct rect at, const struct call_columns *columns);
/* `left`: columns that its arguments are scrolled. */
void call_row_paint(const struct view *view, struct canvas *canvas, struct rect at, const struct call_columns *columns,
                    uint32_t call, int left);

/* Whether its outcome is a reason, which has a line of its own, and no note behind the arguments. */
bool call_row_went_wrong(const struct session_call *call);
void call_row_reason(struct strbuf *out, const struct session_call *call);
/* The newest thing it told, on one line; false: nothing that could be shown. How it failed does not count where there
 * is something else: that has a line of its own. */
bool call_row_newest(struct strbuf *out, struct told *told, const struct view *view, const struct session_call *call);

/* The look of its state. */
enum look call_row_look(const struct session_call *call);
/* The name of a tool, to the end of the place. One that is too long goes without what others of its family begin with
 * too: "…write_stdin". */
int call_row_name_columns(const char *name, int most); /* that it takes of so many at most */
void call_row_paint_name(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *name);

/* Whether a call fits: kinds are its tool, its state and its effect; a call is its id or its number; texts are looked
 * for in all of that and in what its row says. Adds what it cost to `bytes`. */
bool call_row_fits(const struct view *view, uint32_t call, const struct filter *filter, size_t *bytes);
/* How many calls, from the first on, stay as they are: every call of an answer has its outcome before the next answer.
 */
uint32_t call_rows_settled(const struct session *session);
