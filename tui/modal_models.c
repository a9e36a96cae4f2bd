/* The models that can be asked, those of the config file, a line each: its name, and what its provider calls it. Enter asks
 * one from the next request on. */

#include "base/mem.h"
#include "narrow.h"
#include "ui.h"
#include <string.h>

struct models_modal {
    struct modal modal;
    struct narrow narrow;
};

static struct narrow *narrow_of(struct modal *modal)
{
    return &((struct models_modal *)modal)->narrow;
}

static void models_release_modal(struct modal *modal)
{
    narrow_release(narrow_of(modal));
}

/* Line `row` of the text; NULL when there are fewer. */
static const char *line_at(const char *text, size_t row, size_t *len)
{
    for (size_t i = 0; text && *text; i++) {
        *len = strcspn(text, "\n");
        if (i == row)
            return text;
        text += *len + (text[*len] == '\n');
    }
    return NULL;
}

static size_t count_of(const struct view *view)
{
    size_t count = 0, len;
    while (line_at(view->models, count, &len))
        count++;
    return count;
}

static bool line_fits(const struct filter *filter, size_t row, const void *data)
{
    size_t len;
    const char *line = line_at(data, row, &len);
    return line && filter_text_fits(filter, line, len);
}

static struct rect models_place(struct modal *modal, const struct view *view, int rows, int cols)
{
    (void)modal;
    size_t count = count_of(view);
    return modal_center(rows, cols, (int)(count < 20 ? count : 20) + 4, 76); /* one row for what is typed */
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

static void paint_row(struct canvas *canvas, struct rect body, int row, const struct view *view, const char *line, size_t len)
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

static void models_paint(struct modal *modal, struct ui *ui, const struct view *view, struct canvas *canvas,
                         struct rect inside)
{
    struct narrow *narrow = narrow_of(modal);
    struct rect body = narrow_paint(narrow, canvas, inside);
    size_t count = narrow_rows(narrow, count_of(view), line_fits, view->models), len = 0;
    (void)ui;
    list_update(&modal->list, count, body.rows);
    if (!count && !narrow_paint_nothing(narrow, canvas, body))
        canvas_str(canvas, body, 0, 1, LOOK_DIM,
                   view->models ? "There are no others." : "The model of this session cannot be changed.");
    for (int i = 0; i < body.rows && modal->list.top + (size_t)i < count; i++) {
        const char *line = line_at(view->models, narrow_row(narrow, modal->list.top + (size_t)i), &len);
        paint_row(canvas, body, i, view, line, len);
        modal_select_row(canvas, body, modal, modal->list.top + (size_t)i);
    }
}

static void choose(struct ui *ui, const char *line, size_t len)
{
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    const char *blank = memchr(line, ' ', len);
    CLEANUP(free) char *name = xmemdup0(line, blank ? (size_t)(blank - line) : len);
    ui_close_modal(ui);
    if (host->submit(host, &(struct intent){.type = INTENT_MODEL, .model = {name}}, &err))
        ui_say(ui, LOOK_WARN, "%s", err.text);
    else
        ui_say(ui, LOOK_TEXT, "From the next request on %s is asked.", name);
}

static bool models_key(struct modal *modal, struct ui *ui, const struct view *view, const struct key *key,
                       enum action action)
{
    size_t len;
    if (narrow_key(narrow_of(modal), modal, key, action) != NARROW_NOT)
        return true;
    const char *line = line_at(view->models, narrow_row(narrow_of(modal), modal->list.cursor), &len);
    if (line && key->code == KEYSYM_ENTER) {
        choose(ui, line, len);
        return true;
    }
    return list_action(&modal->list, action, modal->height);
}

static const char *models_title(struct modal *modal, const struct view *view)
{
    (void)modal;
    (void)view;
    return "models";
}

static const char *models_footer(struct modal *modal, const struct view *view)
{
    return narrow_footer(narrow_of(modal), view->models ? "Enter ask this one   / search   Esc close" : "Esc close");
}

static const struct modal_ops models_ops = {.name = "models",
                                            .size = sizeof(struct models_modal),
                                            .release = models_release_modal,
                                            .place = models_place,
                                            .paint = models_paint,
                                            .key = models_key,
                                            .title = models_title,
                                            .footer = models_footer};

struct modal *modal_models_new(void)
{
    struct modal *modal = modal_alloc(&models_ops);
    narrow_init(narrow_of(modal));
    return modal;
}
