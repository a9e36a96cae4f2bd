/* The inspector: shows the selection in full, with a tab each for JSON, text, diff, raw line and script. A tab's
 * document is built when the user opens the tab. It is rebuilt when the content or the width changes, and the position
 * in it is kept.
 *
 * Keys have their IN_ALL meaning, not that of the question or the recording behind the dialog: n is the next match here
 * and never an answer. */

#include "app/ui.h"
#include "base/file.h"
#include "base/mem.h"
#include "dialog.h"
#include "inspect_docs.h"
#include "panes/diff_rows.h"
#include "screen/input.h"
#include "screen/pager.h"
#include "screen/text.h"
#include <string.h>

#define PAGER_FRAME_BYTES (4u << 20) /* bytes of an artifact searched per frame */
#define COPY_MAX          (1u << 20)

enum tab { TAB_PRETTY, TAB_TEXT, TAB_DIFF, TAB_RAW, TAB_SCRIPT, TAB_COUNT };
static const char *const tab_names[TAB_COUNT] = {"pretty", "text", "diff", "raw", "script"};

struct tab_position {
    size_t line;
    int left;
};

struct inspect_dialog {
    struct dialog dialog;
    struct selection what;
    enum tab tab;
    struct tab_position places[TAB_COUNT]; /* positions in the tabs that are not shown */
    struct document document;
    struct diffview diff;
    bool has_diff;
    int tabs; /* the last one exists only for calls with a script */
    /* Pages of the text tab: one per artifact, then the text itself. */
    struct inspect_artifact artifacts[INSPECT_ARTIFACTS_MAX];
    size_t artifact_count, page;
    struct pager *pager; /* of the current page */
    char *pager_fault;
    bool made;
    enum tab made_tab;
    int made_width;
    uint64_t made_state;
    struct input line; /* the search */
    bool typing;
    char *search;
    size_t hit; /* line of the current match */
    char title[80], footer[128];
};

static struct inspect_dialog *inspect_of(struct dialog *dialog)
{
    return (struct inspect_dialog *)dialog;
}

static void close_artifact(struct inspect_dialog *inspect)
{
    pager_close(inspect->pager);
    free(inspect->pager_fault);
    inspect->pager = NULL;
    inspect->pager_fault = NULL;
}

static void release_artifacts(struct inspect_dialog *inspect)
{
    for (size_t i = 0; i < inspect->artifact_count; i++)
        free(inspect->artifacts[i].path);
    inspect->artifact_count = 0;
}

static void inspect_release(struct dialog *dialog)
{
    struct inspect_dialog *inspect = inspect_of(dialog);
    document_release(&inspect->document);
    diffview_release(&inspect->diff);
    close_artifact(inspect);
    release_artifacts(inspect);
    input_release(&inspect->line);
    free(inspect->search);
}

/* ---- documents ---- */

static const struct inspect_artifact *artifact_of(const struct inspect_dialog *inspect)
{
    return inspect->page < inspect->artifact_count ? &inspect->artifacts[inspect->page] : NULL;
}

/* Opens the artifact's file when its tab is opened, because artifacts may be deleted at any time. */
static void open_artifact(struct inspect_dialog *inspect)
{
    const struct inspect_artifact *artifact = artifact_of(inspect);
    if (inspect->pager || inspect->pager_fault || !artifact)
        return;
    struct err err = ERR_INIT;
    inspect->pager = artifact->path ? pager_open(artifact->path, &err) : NULL;
    if (!inspect->pager)
        inspect->pager_fault = xstrdup(artifact->path ? err.text : "The file no longer exists.");
}

static void find_artifacts(struct inspect_dialog *inspect, const struct view *view)
{
    if (inspect->artifact_count)
        return;
    inspect->artifact_count = inspect_artifacts(view, inspect->what, inspect->artifacts);
    open_artifact(inspect);
}

/* If the only artifact is gone, the text is the only page. */
static bool has_pages(const struct inspect_dialog *inspect)
{
    return inspect->artifact_count > 1 || (inspect->artifact_count == 1 && !inspect->pager_fault);
}

/* Shows the next page of the text tab, from its first line. */
static void turn_page(struct inspect_dialog *inspect)
{
    close_artifact(inspect);
    inspect->page = inspect->page < inspect->artifact_count ? inspect->page + 1 : 0;
    open_artifact(inspect);
    inspect->made = false;
    inspect->dialog.list.top = inspect->dialog.list.cursor = inspect->hit = 0;
    inspect->dialog.list.left = 0;
}

static bool shows_pager(const struct inspect_dialog *inspect)
{
    return inspect->tab == TAB_TEXT && inspect->pager;
}

static void make(struct inspect_dialog *inspect, const struct view *view, int width)
{
    uint64_t state = inspect_state(view, inspect->what);
    if (inspect->made && inspect->made_tab == inspect->tab && inspect->made_width == width &&
        inspect->made_state == state)
        return;
    if (!inspect->made || inspect->made_state != state) {
        diffview_release(&inspect->diff);
        diffview_init(&inspect->diff);
        inspect->has_diff = inspect_diff(&inspect->diff, view, inspect->what);
        find_artifacts(inspect, view);
    }
    document_reset(&inspect->document, width);
    if (inspect->tab == TAB_PRETTY)
        inspect_words(&inspect->document, view, inspect->what, false);
    else if (inspect->tab == TAB_RAW)
        inspect_raw(&inspect->document, view, inspect->what);
    else if (inspect->tab == TAB_SCRIPT)
        inspect_script(&inspect->document, view, inspect->what);
    else if (inspect->tab == TAB_TEXT && !inspect->pager) {
        inspect_words(&inspect->document, view, inspect->what, true);
        if (inspect->pager_fault) {
            document_head(&inspect->document, "cannot read the artifact (artifacts are kept for an hour)");
            document_text(&inspect->document, LOOK_WARN, inspect->pager_fault, strlen(inspect->pager_fault), 0, true);
        }
    }
    inspect->made = true;
    inspect->made_tab = inspect->tab;
    inspect->made_width = width;
    inspect->made_state = state;
}

static size_t line_count(const struct inspect_dialog *inspect)
{
    if (inspect->tab == TAB_DIFF)
        return inspect->has_diff ? diffview_rows(&inspect->diff) : 0;
    return shows_pager(inspect) ? pager_lines(inspect->pager) : inspect->document.count;
}

static void show_tab(struct inspect_dialog *inspect, enum tab tab)
{
    struct list *list = &inspect->dialog.list;
    inspect->places[inspect->tab] = (struct tab_position){list->top, list->left};
    inspect->tab = tab;
    list->top = list->cursor = inspect->places[tab].line;
    list->left = inspect->places[tab].left;
    inspect->hit = list->top;
}

/* ---- painting ---- */

static struct rect inspect_place(struct dialog *dialog, int rows, int cols)
{
    (void)dialog;
    return dialog_center(rows, cols, rows - 4, cols >= 100 ? cols - 8 : cols - 2);
}

static void paint_tabs(struct inspect_dialog *inspect, struct canvas *canvas, struct rect at)
{
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    size_t lines = line_count(inspect), top = inspect->dialog.list.top;
    int col = 1;
    for (int tab = 0; tab < inspect->tabs; tab++) {
        bool here = tab == (int)inspect->tab, empty = tab == TAB_DIFF && !inspect->has_diff;
        col += canvas_printf(canvas, at, 0, col,
                             here    ? LOOK_STRONG
                             : empty ? LOOK_DIM
                                     : LOOK_TEXT,
                             here ? "[%d %s]" : " %d %s ", tab + 1, tab_names[tab]);
    }
    if (lines) {
        strbuf_addstr(&note, "line ");
        text_count(&note, (int64_t)top + 1);
        strbuf_addstr(&note, " of ");
        text_count(&note, (int64_t)lines);
    }
    if (shows_pager(inspect)) {
        CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
        col += 1 + canvas_str(canvas, at, 0, col + 1, LOOK_DIM, artifact_of(inspect)->what);
        text_bytes(&size, pager_size(inspect->pager));
        strbuf_addstr(&size, " · ");
        int width = canvas_str_columns(canvas, size.buf, size.len) + canvas_str_columns(canvas, note.buf, note.len);
        if (col + 1 + width < at.cols)
            canvas_right(canvas, at, 0, 1 + canvas_str_columns(canvas, note.buf, note.len), LOOK_DIM, size.buf);
    }
    canvas_right(canvas, at, 0, 1, LOOK_DIM, note.buf);
}

static void paint_pager(struct inspect_dialog *inspect, struct canvas *canvas, struct rect in)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    for (int row = 0; row < in.rows; row++) {
        strbuf_reset(&line);
        if (!pager_line(inspect->pager, inspect->dialog.list.top + (size_t)row, &line))
            return;
        canvas_text(canvas, in, row, -inspect->dialog.list.left, LOOK_TEXT, line.buf, line.len);
    }
}

static void inspect_paint(struct dialog *dialog, struct canvas *canvas, struct rect inside)
{
    struct inspect_dialog *inspect = inspect_of(dialog);
    struct rect body = rect_make(inside.row + 2, inside.col + 1, inside.rows - 2 - inspect->typing, inside.cols - 2);
    if (inside.rows < 4 || inside.cols < 10)
        return;
    make(inspect, dialog->view, body.cols);
    if (shows_pager(inspect))
        pager_work(inspect->pager, PAGER_FRAME_BYTES);
    dialog->height = body.rows;
    dialog->width = body.cols;
    list_set_lines(&dialog->list, line_count(inspect), body.rows);
    paint_tabs(inspect, canvas, rect_make(inside.row, inside.col, 1, inside.cols));
    if (inspect->tab == TAB_DIFF && !inspect->has_diff) {
        canvas_str(canvas, body, 0, 0, LOOK_DIM, "No write, so no diff. Tab shows the next view.");
    } else if (inspect->tab == TAB_DIFF) {
        diffview_paint(&inspect->diff, canvas, body, dialog->list.top, dialog->list.left, SIZE_MAX, inspect->search);
    } else {
        if (shows_pager(inspect))
            paint_pager(inspect, canvas, body);
        else
            document_paint(&inspect->document, canvas, body, dialog->list.top, dialog->list.left);
        text_match_show(canvas, body, inspect->search);
    }
    if (inspect->typing)
        input_paint(&inspect->line, canvas, rect_make(inside.row + inside.rows - 1, inside.col + 1, 1, inside.cols - 2),
                    "/");
}

static const char *inspect_title_text(struct dialog *dialog)
{
    struct inspect_dialog *inspect = inspect_of(dialog);
    CLEANUP(strbuf) struct strbuf title = STRBUF_INIT;
    inspect_title(&title, dialog->view, inspect->what);
    snprintf(inspect->title, sizeof(inspect->title), "%.79s", title.buf);
    return inspect->title;
}

static const char *inspect_footer(struct dialog *dialog)
{
    struct inspect_dialog *inspect = inspect_of(dialog);
    if (inspect->typing)
        return "Enter find   PgUp PgDn scroll   Esc close the search";
    bool pages = inspect->tab == TAB_TEXT && has_pages(inspect);
    const struct keymap *keymap = ui_keymap(dialog->ui);
    CLEANUP(free)
    char *next = inspect->search ? xasprintf("%s %s next match   ", keymap_key(keymap, ACTION_SEARCH_NEXT),
                                             keymap_key(keymap, ACTION_SEARCH_PREVIOUS))
                                 : xstrdup("");
    snprintf(inspect->footer, sizeof(inspect->footer),
             "Tab 1-%d view   %sPgUp PgDn %sscroll   %s%s search   %s copy   Esc close", inspect->tabs,
             pages ? "2 next text   " : "arrows ", pages || inspect->search ? "" : "g G ", next,
             keymap_key(keymap, ACTION_SEARCH), keymap_key(keymap, ACTION_COPY));
    return inspect->footer;
}

/* ---- keys ---- */

/* Wraps around at the end, as in the other tabs. */
static bool search_diff(const struct inspect_dialog *inspect, bool back, size_t *row)
{
    size_t rows = diffview_rows(&inspect->diff), again = back ? rows : 0;
    if (!inspect->has_diff)
        return false;
    *row = *row < rows ? *row : 0;
    if (diffview_search(&inspect->diff, inspect->search, back, row))
        return true;
    *row = again;
    return diffview_search(&inspect->diff, inspect->search, back, row);
}

/* Searches from the line after `from`, or backward from the line before it. */
static void search(struct inspect_dialog *inspect, struct ui *ui, size_t from, bool back)
{
    size_t line = from;
    bool found;
    if (!inspect->search)
        return;
    if (inspect->tab == TAB_DIFF)
        found = search_diff(inspect, back, &line);
    else if (shows_pager(inspect))
        found = pager_search(inspect->pager, inspect->search, back, &line);
    else
        found = document_search(&inspect->document, inspect->search, back, &line);
    if (found) {
        inspect->hit = line;
        list_show(&inspect->dialog.list, line, inspect->dialog.height);
    } else {
        ui_message(ui, LOOK_WARN, "No match for \"%.60s\".", inspect->search);
    }
}

static void typed(struct inspect_dialog *inspect, struct ui *ui, const struct key *key)
{
    switch (input_key(&inspect->line, key)) {
    case INPUT_DONE:
        input_remember(&inspect->line);
        free(inspect->search);
        inspect->search = inspect->line.text.len ? xstrdup(inspect->line.text.buf) : NULL;
        inspect->typing = false;
        /* Include the visible lines: start at the line above the first visible one. */
        search(inspect, ui, inspect->dialog.list.top ? inspect->dialog.list.top - 1 : SIZE_MAX, false);
        break;
    case INPUT_CLOSED:
        inspect->typing = false;
        break;
    case INPUT_CHANGED:
    case INPUT_IGNORED:
        break;
    }
}

static void copy(struct inspect_dialog *inspect, struct ui *ui, const struct view *view)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(document) struct document raw;
    document_init(&raw, 0);
    struct err err = ERR_INIT;
    if (shows_pager(inspect)) {
        if (file_read(artifact_of(inspect)->path, &text, COPY_MAX, &err) < 0) {
            ui_message(ui, LOOK_WARN, "cannot copy: %s", err.text);
            return;
        }
    } else if (inspect->tab == TAB_DIFF) {
        for (size_t i = 0; inspect->has_diff && i < inspect->diff.file_count; i++) {
            const struct diffview_file *file = &inspect->diff.files[i];
            if (file->diff)
                diff_write(&text, file->diff, file->path, file->old_exists, file->new_exists);
        }
    } else if (inspect->tab == TAB_RAW) {
        raw.width = INT32_MAX; /* copy the original lines, not the wrapped ones */
        inspect_raw(&raw, view, inspect->what);
        document_write(&raw, &text);
    } else {
        document_write(&inspect->document, &text);
    }
    struct ui_host *host = ui_get_host(ui);
    host->copy(host, text.buf, text.len);
    CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
    text_bytes(&size, text.len);
    ui_message(ui, LOOK_GOOD, "Copied the %s tab, %s.", tab_names[inspect->tab], size.buf);
}

static bool inspect_key(struct dialog *dialog, const struct key *key, enum action action)
{
    struct inspect_dialog *inspect = inspect_of(dialog);
    struct ui *ui = dialog->ui;
    if (inspect->typing) {
        if (!dialog_pages(dialog, key, action))
            typed(inspect, ui, key);
        return true;
    }
    if (key->code) /* the wheel has no key code */
        action = keymap_find(ui_keymap(ui), IN_ALL, key);
    switch (action) {
    case ACTION_PANE_NEXT:
        show_tab(inspect, (enum tab)(((int)inspect->tab + 1) % inspect->tabs));
        return true;
    case ACTION_PANE_PREVIOUS:
        show_tab(inspect, (enum tab)(((int)inspect->tab + inspect->tabs - 1) % inspect->tabs));
        return true;
    case ACTION_PANE_1:
    case ACTION_PANE_2:
    case ACTION_PANE_3:
    case ACTION_PANE_4:
    case ACTION_PANE_5:
        if (action == ACTION_PANE_2 && inspect->tab == TAB_TEXT && has_pages(inspect))
            turn_page(inspect);
        else if ((int)(action - ACTION_PANE_1) < inspect->tabs)
            show_tab(inspect, (enum tab)(action - ACTION_PANE_1));
        return true;
    case ACTION_SEARCH:
        input_set(&inspect->line, "");
        inspect->typing = true;
        return true;
    case ACTION_SEARCH_NEXT:
    case ACTION_SEARCH_PREVIOUS:
        search(inspect, ui, inspect->hit, action == ACTION_SEARCH_PREVIOUS);
        return true;
    case ACTION_COPY:
        copy(inspect, ui, dialog->view);
        return true;
    case ACTION_INSPECT: /* the key that opened it also closes it */
        ui_close_dialog(ui);
        return true;
    default:
        return list_scroll(&dialog->list, action_list_step(action), dialog->height);
    }
}

static const struct dialog_ops inspect_ops = {
    .name = "inspect",
    .size = sizeof(struct inspect_dialog),
    .release = inspect_release,
    .place = inspect_place,
    .paint = inspect_paint,
    .key = inspect_key,
    .title_of = inspect_title_text,
    .footer_of = inspect_footer,
};

struct dialog *dialog_inspect_new(const struct view *view, struct selection selection)
{
    struct inspect_dialog *inspect = (struct inspect_dialog *)dialog_alloc(&inspect_ops);
    bool script = inspect_has_script(view, selection);
    inspect->what = selection;
    inspect->tabs = script ? TAB_COUNT : TAB_SCRIPT;
    inspect->tab = script                          ? TAB_SCRIPT
                   : selection.kind == SELECT_TEXT ? TAB_TEXT
                   : selection.kind == SELECT_HUNK ? TAB_DIFF
                                                   : TAB_PRETTY;
    document_init(&inspect->document, 0);
    diffview_init(&inspect->diff);
    input_init(&inspect->line, false);
    return &inspect->dialog;
}
