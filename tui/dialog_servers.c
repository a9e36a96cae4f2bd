/* The dialog while a session waits for its tool servers. */

#include "base/mem.h"
#include "base/redact.h"
#include "dialog.h"
#include "flow.h"
#include "mcp/mcp.h"
#include "ui.h"
#include <string.h>

#define NAME_COLS_MAX 24
#define NAME_COL      3

struct servers_dialog {
    struct dialog dialog;
    const struct servers_wait *wait;
    char *footer;
};

static void servers_release(struct dialog *dialog)
{
    free(((struct servers_dialog *)dialog)->footer);
}

static struct rect servers_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    (void)dialog;
    (void)view;
    return rect_make(0, 0, rows - 1, cols);
}

static size_t count_in(const struct servers_wait *wait, enum mcp_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < wait->count; i++)
        count += wait->servers[i].state == state;
    return count;
}

/* What a slow one says about itself, like how far the fetching of a package is. */
static void add_last_words(struct strbuf *out, const char *said)
{
    const char *end = said ? strrchr(said, '\n') : NULL;
    CLEANUP(free) char *last = redact_copy(end ? end + 1 : said);
    if (last && *last)
        strbuf_addf(out, " it says: %s", last);
}

/* How it stands with one of them, and how that looks. */
static enum look state_words(struct strbuf *out, const struct mcp_status *status)
{
    CLEANUP(free) char *why = status->why ? redact_copy(status->why) : xstrdup("it ended");
    switch (status->state) {
    case MCP_OFF:
        strbuf_addstr(out, "switched off");
        return LOOK_DIM;
    case MCP_STARTING:
        strbuf_addstr(out, "starting…");
        add_last_words(out, status->said);
        return LOOK_TEXT;
    case MCP_READY:
        strbuf_addf(out, "ready, %zu tool%s", status->tool_count, status->tool_count == 1 ? "" : "s");
        return LOOK_GOOD;
    case MCP_PAUSING:
        strbuf_addf(out, "%s; it is started again", why);
        return LOOK_WARN;
    case MCP_FAILED:
        break;
    }
    strbuf_addf(out, "not available: %s", why);
    return LOOK_ERROR;
}

/* Returns the row for what follows. */
static int paint_head(const struct servers_wait *wait, struct canvas *canvas, struct rect in)
{
    CLEANUP(strbuf) struct strbuf head = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf time = STRBUF_INIT;
    size_t starting = count_in(wait, MCP_STARTING), wanted = wait->count - count_in(wait, MCP_OFF);
    strbuf_addf(&head, "Starting %zu tool server%s…", wanted, wanted == 1 ? "" : "s");
    strbuf_addf(&time, "%zu to go, %.0f s of %.0f s at most", starting, wait->waited_s, wait->limit_s);
    int at = 1 + canvas_str(canvas, in, 1, 1, LOOK_STRONG, head.buf);
    canvas_str(canvas, in, 1, at + 2, LOOK_DIM, time.buf);
    struct rect rows = rect_make(in.row, in.col, in.rows, in.cols - 1);
    int row = 2 + flow_paint(canvas, rows, 2, 1, LOOK_DIM,
                             "The turn begins when each is ready or has failed. One that comes later has its tools in "
                             "the next turn.");
    if (count_in(wait, MCP_FAILED))
        row += flow_paint(canvas, rows, row, 1, LOOK_DIM, "For one that has failed, keyturn doctor says what to do.");
    return row + 1;
}

static void servers_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                          struct rect inside)
{
    const struct servers_wait *wait = ((struct servers_dialog *)dialog)->wait;
    int name_cols = 0;
    (void)ui;
    (void)view;
    int row = paint_head(wait, canvas, inside);
    for (size_t i = 0; i < wait->count; i++) {
        int cols = canvas_str_columns(canvas, wait->servers[i].name, strlen(wait->servers[i].name));
        name_cols = cols > name_cols ? cols : name_cols;
    }
    name_cols = name_cols < NAME_COLS_MAX ? name_cols : NAME_COLS_MAX;
    struct rect names = rect_make(inside.row, inside.col, inside.rows, NAME_COL + name_cols);
    for (size_t i = 0; i < wait->count; i++) {
        const struct mcp_status *status = &wait->servers[i];
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        enum look look = state_words(&words, status);
        int below = i + 1 < wait->count; /* a row is kept for those that do not fit */
        struct rect states = rect_make(inside.row, inside.col, inside.rows - below, inside.cols - 1);
        if (row >= states.rows && below) {
            canvas_printf(canvas, inside, inside.rows - 1, NAME_COL, LOOK_DIM, "and %zu more", wait->count - i);
            return;
        }
        canvas_cut(canvas, names, row, NAME_COL, LOOK_TEXT, status->name, strlen(status->name));
        row += flow_paint(canvas, states, row, NAME_COL + name_cols + 2, look, words.buf);
    }
}

static bool servers_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    const struct servers_wait *wait = ((struct servers_dialog *)dialog)->wait;
    (void)view;
    if (action == ACTION_QUIT || action == ACTION_CANCEL)
        ui_get_host(ui)->quit(ui_get_host(ui));
    else if (key->code == KEYSYM_ENTER)
        wait->go_on(wait->user);
    else
        return action != ACTION_HELP && action != ACTION_THEME && action != ACTION_SUSPEND && action != ACTION_REDRAW;
    return true;
}

static const struct dialog_ops servers_ops = {.name = "servers",
                                              .title = "keyturn",
                                              .size = sizeof(struct servers_dialog),
                                              .release = servers_release,
                                              .place = servers_place,
                                              .paint = servers_paint,
                                              .key = servers_key};

struct dialog *dialog_servers_new(const struct servers_wait *wait)
{
    struct servers_dialog *dialog = (struct servers_dialog *)dialog_alloc(&servers_ops);
    dialog->wait = wait;
    dialog->dialog.footer = dialog->footer =
        xasprintf("Enter go on without the rest   q %s   T theme   ? keys", wait->leave);
    return &dialog->dialog;
}
