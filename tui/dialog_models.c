/* The models that can be asked, those of the config file, a line each: its name, and what its provider calls it. Enter
 * asks one from the next request on. */

#include "base/mem.h"
#include "dialog_lines.h"
#include "ui.h"
#include <string.h>

static const char *models_text(const struct view *view)
{
    return view->models;
}

/* The one that is asked now. Two may be the same model with other settings: then both are marked. */
static bool is_asked(const struct view *view, const char *line, size_t len)
{
    const struct session *session = view->session;
    const char *blank = memchr(line, ' ', len);
    CLEANUP(free)
    char *now = xasprintf("%s/%s", session_name(session, session->provider), session_name(session, session->model));
    return blank && strlen(now) == len - (size_t)(blank + 1 - line) && strncmp(blank + 1, now, strlen(now)) == 0;
}

static void models_paint(const struct view *view, struct canvas *canvas, struct rect body, int row, const char *line,
                         size_t len)
{
    const char *blank = memchr(line, ' ', len);
    size_t name = blank ? (size_t)(blank - line) : len;
    int column = 24 < body.cols / 3 ? 24 : body.cols / 3;
    canvas_cut(canvas, rect_make(body.row, body.col, body.rows, column), row, 1, LOOK_STRONG, line, name);
    if (blank)
        canvas_cut(canvas, body, row, column + 1, LOOK_TEXT, blank + 1, len - name - 1);
    if (is_asked(view, line, len))
        canvas_right(canvas, body, row, 1, LOOK_GOOD, "asked now");
}

static void models_say_none(struct strbuf *out, struct ui *ui, const struct view *view)
{
    (void)ui;
    strbuf_addstr(out, view->models ? "There are no others." : "The model of this session cannot be changed.");
}

static bool models_key(struct ui *ui, const struct key *key, const char *line, size_t len)
{
    const char *blank = memchr(line, ' ', len);
    if (key->code != KEYSYM_ENTER)
        return false;
    CLEANUP(free) char *name = xmemdup0(line, blank ? (size_t)(blank - line) : len);
    ui_close_dialog(ui);
    if (ui_submit(ui, &(struct intent){.type = INTENT_MODEL, .model = {name}}))
        ui_say(ui, LOOK_TEXT, "From the next request on %s is asked.", name);
    return true;
}

static const struct dialog_lines_ops models_ops = {.dialog = DIALOG_LINES("models"),
                                                   .title = "models",
                                                   .footer = "Enter ask this one   / search   Esc close",
                                                   .text = models_text,
                                                   .paint = models_paint,
                                                   .say_none = models_say_none,
                                                   .key = models_key};

struct dialog *dialog_models_new(void)
{
    return dialog_lines_new(&models_ops);
}
