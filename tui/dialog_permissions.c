/* What was allowed for the session with `A`, a line each: the tool, a blank, the path; or the tool alone, whose calls
 * without a diff are allowed. Each can be taken back. */

#include "base/mem.h"
#include "dialog_lines.h"
#include "ui.h"
#include <string.h>

static const char *permissions_text(const struct view *view)
{
    return view->allowed;
}

static void permissions_paint(const struct view *view, struct canvas *canvas, struct rect body, int row,
                              const char *line, size_t len)
{
    int end = 1 + canvas_cut(canvas, body, row, 1, LOOK_TEXT, line, len);
    (void)view;
    if (!memchr(line, ' ', len))
        canvas_str(canvas, body, row, end + 1, LOOK_DIM, "every call that has no diff");
}

static void permissions_say_none(struct strbuf *out, struct ui *ui, const struct view *view)
{
    (void)view;
    strbuf_addf(out, "Nothing is allowed: every write asks. %s at a question allows its path.",
                keymap_key(ui_keymap(ui), ACTION_ALLOW));
}

static bool permissions_key(struct ui *ui, const struct key *key, const char *line, size_t len)
{
    const char *blank = memchr(line, ' ', len);
    if (key->ctrl || key->alt || (key->code != 'd' && key->code != KEYSYM_DELETE))
        return false;
    CLEANUP(free) char *tool = xmemdup0(line, blank ? (size_t)(blank - line) : len);
    CLEANUP(free) char *path = blank ? xmemdup0(blank + 1, len - strlen(tool) - 1) : NULL;
    if (ui_submit(ui, &(struct intent){.type = INTENT_ALLOW, .allow = {tool, path, true}}))
        ui_say(ui, LOOK_TEXT, "%s%s%s asks again.", tool, path ? " on " : "", path ? path : "");
    return true;
}

static const struct dialog_lines_ops permissions_ops = {.dialog = DIALOG_LINES("permissions"),
                                                        .title = "allowed for this session",
                                                        .footer = "d take back   / search   Esc close",
                                                        .text = permissions_text,
                                                        .paint = permissions_paint,
                                                        .say_none = permissions_say_none,
                                                        .key = permissions_key};

struct dialog *dialog_permissions_new(void)
{
    return dialog_lines_new(&permissions_ops);
}
