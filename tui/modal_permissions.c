/* What was allowed for the session with `A`, a line each: the tool, a blank, the path; or the tool alone, whose calls without
 * a diff are allowed. Each can be taken back. */

#include "base/mem.h"
#include "modal.h"
#include "narrow.h"
#include "ui.h"
#include <string.h>

struct permissions {
    struct modal modal;
    struct narrow narrow;
};

static struct narrow *narrow_of(struct modal *modal)
{
    return &((struct permissions *)modal)->narrow;
}

static void permissions_release(struct modal *modal)
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
    while (line_at(view->allowed, count, &len))
        count++;
    return count;
}

static bool line_fits(const struct filter *filter, size_t row, const void *data)
{
    size_t len;
    const char *line = line_at(data, row, &len);
    return line && filter_text_fits(filter, line, len);
}

static struct rect permissions_place(struct modal *modal, const struct view *view, int rows, int cols)
{
    (void)modal;
    size_t count = count_of(view);
    return modal_center(rows, cols, (int)(count < 20 ? count : 20) + 4, 76); /* one row for what is typed */
}

static void permissions_paint(struct modal *modal, struct ui *ui, const struct view *view, struct canvas *canvas,
                              struct rect inside)
{
    struct narrow *narrow = narrow_of(modal);
    struct rect body = narrow_paint(narrow, canvas, inside);
    size_t count = narrow_rows(narrow, count_of(view), line_fits, view->allowed), len = 0;
    list_update(&modal->list, count, body.rows);
    if (!count && !narrow_paint_nothing(narrow, canvas, body))
        canvas_printf(canvas, body, 0, 1, LOOK_DIM,
                      "Nothing is allowed: every write asks. %s at a question allows its path.",
                      keymap_key(ui_keymap(ui), ACTION_ALLOW));
    for (int i = 0; i < body.rows && modal->list.top + (size_t)i < count; i++) {
        const char *line = line_at(view->allowed, narrow_row(narrow, modal->list.top + (size_t)i), &len);
        int end = 1 + canvas_cut(canvas, body, i, 1, LOOK_TEXT, line, len);
        if (!memchr(line, ' ', len))
            canvas_str(canvas, body, i, end + 1, LOOK_DIM, "every call that has no diff");
        modal_select_row(canvas, body, modal, modal->list.top + (size_t)i);
    }
}

static void take_back(struct ui *ui, const char *line, size_t len)
{
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    size_t tool_len = 0;
    while (tool_len < len && line[tool_len] != ' ')
        tool_len++;
    CLEANUP(free) char *tool = xmemdup0(line, tool_len);
    CLEANUP(free) char *path = tool_len < len ? xmemdup0(line + tool_len + 1, len - tool_len - 1) : NULL;
    if (host->submit(host, &(struct intent){.type = INTENT_ALLOW, .allow = {tool, path, true}}, &err))
        ui_say(ui, LOOK_WARN, "%s", err.text);
    else
        ui_say(ui, LOOK_TEXT, "%s%s%s asks again.", tool, path ? " on " : "", path ? path : "");
}

static bool permissions_key(struct modal *modal, struct ui *ui, const struct view *view, const struct key *key,
                            enum action action)
{
    size_t len;
    if (narrow_key(narrow_of(modal), modal, key, action) != NARROW_NOT)
        return true;
    const char *line = line_at(view->allowed, narrow_row(narrow_of(modal), modal->list.cursor), &len);
    if (line && !key->ctrl && !key->alt && (key->code == 'd' || key->code == KEYSYM_DELETE)) {
        take_back(ui, line, len);
        return true;
    }
    return list_action(&modal->list, action, modal->height);
}

static const char *permissions_title(struct modal *modal, const struct view *view)
{
    (void)modal;
    (void)view;
    return "allowed for this session";
}

static const char *permissions_footer(struct modal *modal, const struct view *view)
{
    return narrow_footer(narrow_of(modal),
                         view->allowed && *view->allowed ? "d take back   / search   Esc close" : "Esc close");
}

static const struct modal_ops permissions_ops = {.name = "permissions",
                                                 .size = sizeof(struct permissions),
                                                 .release = permissions_release,
                                                 .place = permissions_place,
                                                 .paint = permissions_paint,
                                                 .key = permissions_key,
                                                 .title = permissions_title,
                                                 .footer = permissions_footer};

struct modal *modal_permissions_new(void)
{
    struct modal *modal = modal_alloc(&permissions_ops);
    narrow_init(narrow_of(modal));
    return modal;
}
