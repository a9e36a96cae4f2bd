/* The workspace pane: how full the workspace is, and a tree of its files, staged inputs, collected outputs, and
 * programs.
 *
 * The tree is rebuilt when a new workspace.state arrives. The cursor stays on its node, wherever that is now, and keeps
 * its row on the screen. With a filter all matching nodes are shown, folded or not. */

#include "app/ui.h"
#include "base/mem.h"
#include "dialogs/dialog.h"
#include "pane.h"
#include "program.h"
#include "screen/canvas.h"
#include "screen/text.h"
#include "workspace_tree.h"
#include <math.h>
#include <string.h>

#define INDENT     2
#define SIZE_COLS  10
#define BAR_MOST   24
#define LABEL_PART 2 /* the label gets at least one part in LABEL_PART of the width */
#define ENTRY_COLS 76
#define ENTRY_EDGE 8 /* columns around a dialog and inside it */

struct workspace_pane {
    struct pane pane;
    struct workspacetree what;
    char *key;           /* key of the node under the cursor when last painted; NULL: none */
    uint64_t generation; /* of the tree when last painted */
    bool filtered;       /* whether a filter was set then */
};

static struct workspace_pane *workspace_of(struct pane *pane)
{
    return (struct workspace_pane *)pane;
}

static void workspace_init(struct pane *pane)
{
    list_init(&pane->list, false);
}

static void workspace_release(struct pane *pane)
{
    workspacetree_release(&workspace_of(pane)->what);
    free(workspace_of(pane)->key);
}

/* ---- rows ---- */

static struct treeview *tree_of(struct workspace_pane *shown)
{
    return &shown->what.tree;
}

/* With a filter, rows are nodes. Without one, rows are positions among the unfolded nodes. */
static uint32_t node_of_row(const struct workspace_pane *shown, size_t row)
{
    const struct treeview *tree = &shown->what.tree;
    if (shown->pane.rows_filter.filtered)
        return row < tree->count ? (uint32_t)row : TREE_NONE;
    return row < tree->shown_count ? tree->shown[row] : TREE_NONE;
}

static bool node_fits(const struct workspacetree *what, uint32_t node, const struct filter *filter, size_t *bytes)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    workspacetree_path(&words, what, node);
    strbuf_addf(&words, " %s", what->tree.nodes[node].note);
    *bytes += words.len;
    return filter_text_fits(filter, words.buf, words.len);
}

static bool row_fits(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    struct workspace_pane *shown = rows->owner;
    uint32_t node = node_of_row(shown, row);
    return node != TREE_NONE && node_fits(&shown->what, node, filter, bytes);
}

static void workspace_rows(struct pane *pane, const struct view *view, struct row_filter_rows *rows)
{
    struct workspace_pane *shown = workspace_of(pane);
    workspacetree_update(&shown->what, view);
    rows->total = pane->rows_filter.filtered ? tree_of(shown)->count : tree_of(shown)->shown_count;
    rows->settled = 0;
    rows->state = tree_of(shown)->generation;
    rows->fits = row_fits;
}

static uint32_t node_at(struct workspace_pane *shown, size_t index)
{
    return node_of_row(shown, pane_row(&shown->pane, index));
}

static uint32_t cursor_node(struct workspace_pane *shown, const struct view *view)
{
    size_t row = pane_cursor_row(&shown->pane, view);
    return row == SIZE_MAX ? TREE_NONE : node_of_row(shown, row);
}

static void select_node(struct workspace_pane *shown, uint32_t node)
{
    struct pane *pane = &shown->pane;
    size_t at =
        pane->rows_filter.filtered ? row_filter_index(&pane->rows_filter, node) : tree_row(tree_of(shown), node);
    size_t above = pane->list.cursor >= pane->list.top ? pane->list.cursor - pane->list.top : 0;
    pane->list.top = at > above ? at - above : 0; /* keep it in the same row of the screen */
    list_select(&pane->list, at, pane->height);
}

static void remember_cursor(struct workspace_pane *shown)
{
    struct pane *pane = &shown->pane;
    uint32_t node = pane->list.count ? node_at(shown, pane->list.cursor) : TREE_NONE;
    free(shown->key);
    shown->key = node == TREE_NONE ? NULL : xstrdup(tree_of(shown)->nodes[node].key);
}

/* Applies changes and keeps the cursor on its node. */
static size_t update(struct workspace_pane *shown, const struct view *view, int height)
{
    struct pane *pane = &shown->pane;
    size_t count = pane_update(pane, view, height);
    bool changed = shown->generation != tree_of(shown)->generation || shown->filtered != pane->rows_filter.filtered;
    uint32_t node = changed && shown->key ? tree_find(tree_of(shown), shown->key) : TREE_NONE;
    if (node != TREE_NONE && !row_filter_searching(&pane->rows_filter) && count)
        select_node(shown, node);
    list_update(&pane->list, count, height);
    shown->generation = tree_of(shown)->generation;
    shown->filtered = pane->rows_filter.filtered;
    remember_cursor(shown);
    return count;
}

/* ---- painting ---- */

#define CROWDED 0.1 /* below this share the number of entries is not shown, however small they are */

/* How close a workspace is to its limit: by bytes, or by entries if those are many and closer to their limit. */
static double say_use(struct strbuf *words, const struct workspace_use *use)
{
    double bytes = use->limit ? (double)use->used / (double)use->limit : 1;
    double entries = use->count_limit > 0 ? (double)use->count / (double)use->count_limit : 0;
    if (entries > bytes && entries > CROWDED) {
        text_count(words, use->count);
        strbuf_addstr(words, " / ");
        text_count(words, use->count_limit);
        strbuf_addstr(words, " files");
        return entries;
    }
    text_bytes(words, (uint64_t)use->used);
    strbuf_addstr(words, " / ");
    text_bytes(words, (uint64_t)use->limit);
    return bytes;
}

static void paint_gauge(struct workspace_pane *shown, const struct view *view, struct canvas *canvas, struct rect at)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    uint32_t node = cursor_node(shown, view), row = workspacetree_owner(&shown->what, view, node);
    const struct workspace_use *use = workspacetree_use(&shown->what, row);
    if (!use)
        return;
    if (workspacetree_gone(&shown->what, view, node)) {
        canvas_str(canvas, at, 0, 1, LOOK_DIM, "This workspace was deleted.");
        return;
    }
    int col = 1 + canvas_str(canvas, at, 0, 1, LOOK_TEXT, "disk") + 2;
    if (use->limit < 0) {
        text_bytes(&words, (uint64_t)use->used);
        strbuf_addstr(&words, " used, no limit");
        canvas_str(canvas, at, 0, col, LOOK_TEXT, words.buf);
        return;
    }
    double share = say_use(&words, use);
    if (share >= GAUGE_NEAR)
        strbuf_addf(&words, "  ! %s%.0f %%", share < 10 ? "" : "> ", share < 10 ? floor(share * 100) : 999);
    int columns = canvas_str_columns(canvas, words.buf, words.len), bar = at.cols - col - columns - 3;
    bar = bar > BAR_MOST ? BAR_MOST : bar;
    if (bar >= 4) {
        gauge_paint(canvas, at, 0, col, bar, share, SIGN_BAR_FULL);
        col += bar + 2;
    }
    canvas_str(canvas, at, 0, col, share >= GAUGE_NEAR ? gauge_look(share) : LOOK_TEXT, words.buf);
}

static enum look node_look(const struct tree_node *node)
{
    switch ((enum workspace_kind)node->kind) {
    case WORKSPACE_ROOT:
    case WORKSPACE_GROUP:
        return LOOK_STRONG;
    case WORKSPACE_MORE:
        return LOOK_DIM;
    default:
        return LOOK_TEXT;
    }
}

/* Adds the text beside a node: its note, or the state of a program. */
static enum look add_note(struct strbuf *out, const struct view *view, const struct tree_node *node)
{
    if (node->kind != WORKSPACE_PROGRAM) {
        strbuf_addstr(out, node->note);
        return LOOK_DIM;
    }
    program_state(out, view, node->ref);
    return program_look(view, node->ref);
}

static void paint_node(struct workspace_pane *shown, const struct view *view, struct canvas *canvas, struct rect at,
                       uint32_t index, bool selected, bool focused)
{
    const struct tree_node *node = &tree_of(shown)->nodes[index];
    CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    bool filtered = shown->pane.rows_filter.filtered, gone = workspacetree_gone(&shown->what, view, index);
    const char *text = node->label;
    if (filtered) { /* show the whole path, because the folders around it are not shown */
        workspacetree_path(&path, &shown->what, index);
        text = path.buf;
    }
    int depth = filtered ? 0 : node->depth, deepest = at.cols / 3 / INDENT;
    int col = 1 + INDENT * (depth < deepest ? depth : deepest), end = at.cols;
    if (node->size >= 0 && at.cols >= 2 * SIZE_COLS) {
        text_bytes(&size, (uint64_t)node->size);
        canvas_right(canvas, at, 0, 1, LOOK_DIM, size.buf);
        end -= SIZE_COLS + 1;
    }
    if (node->branch)
        canvas_put_sign(canvas, at, 0, col, LOOK_DIM, node->open ? SIGN_OPEN : SIGN_POINTER);
    col += INDENT;
    enum look look = add_note(&note, view, node);
    int room = end - col, label = canvas_columns(canvas, text, strlen(text));
    int wanted = note.len && !filtered ? canvas_str_columns(canvas, note.buf, note.len) + 2 : 0;
    /* The note is shortened in favor of the label, down to half of the width. In favor of a path it is left out. */
    int most = room - wanted > room / LABEL_PART ? room - wanted : room / LABEL_PART;
    label = label < most ? label : most;
    col += canvas_cut(canvas, rect_make(at.row, at.col + col, 1, label > 0 ? label : 0), 0, 0,
                      gone && node->kind != WORKSPACE_PROGRAM ? LOOK_DIM : node_look(node), text, strlen(text));
    if (note.len && col + 2 < end)
        canvas_cut(canvas, rect_make(at.row, at.col + col + 2, 1, end - col - 2), 0, 0, look, note.buf, note.len);
    text_match_show(canvas, at, shown->pane.search_text);
    if (!selected)
        return;
    canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
    if (focused)
        canvas_tint(canvas, at, LOOK_SELECT);
}

static void workspace_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in,
                            bool focused)
{
    struct workspace_pane *shown = workspace_of(pane);
    bool gauge = view->session->workspace_count > 0;
    struct rect body = rect_make(in.row + gauge, in.col, in.rows - gauge, in.cols);
    pane->height = body.rows;
    pane->width = in.cols;
    size_t count = update(shown, view, body.rows);
    if (gauge)
        paint_gauge(shown, view, canvas, rect_make(in.row, in.col, 1, in.cols));
    if (!count && !pane_paint_nothing(pane, canvas, body, "entry")) {
        paragraph_paint(canvas, rect_make(body.row, body.col, body.rows, body.cols - 1), 0, 1, LOOK_DIM,
                        "No workspace yet. The files of programs appear here: staged inputs, results, saved versions "
                        "and disk usage.");
    }
    for (int i = 0; i < body.rows && pane->list.top + (size_t)i < count; i++) {
        size_t row = pane->list.top + (size_t)i;
        uint32_t node = node_at(shown, row);
        if (node != TREE_NONE)
            paint_node(shown, view, canvas, rect_make(body.row + i, body.col, 1, body.cols), node,
                       row == pane->list.cursor, focused);
    }
}

static void workspace_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    uint32_t count = view->session->workspace_count;
    workspacetree_update(&workspace_of(pane)->what, view);
    const struct workspace_use *use = workspacetree_use(&workspace_of(pane)->what, view->session->newest_workspace);
    if (pane_is_filtered(pane)) {
        pane_note(pane, view, out, "row", "rows");
        return;
    }
    if (count > 1)
        strbuf_addf(out, "%u workspaces", count);
    else if (use && !view->session->workspaces[use->row].gone)
        text_plural(out, use->entries + use->more, "entry", "entries");
}

/* ---- actions ---- */

static void workspace_move(struct pane *pane, const struct view *view, enum action action)
{
    struct workspace_pane *shown = workspace_of(pane);
    update(shown, view, pane->height);
    pane_list_action(pane, action, pane->height);
    remember_cursor(shown);
}

/* Copies the path of an entry, for use in a command. For other nodes, copies the event that describes them. */
static bool workspace_copy(struct pane *pane, struct ui *ui, const struct view *view)
{
    struct workspace_pane *shown = workspace_of(pane);
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    update(shown, view, pane->height);
    uint32_t index = cursor_node(shown, view);
    if (index == TREE_NONE || !workspacetree_entry(&path, &shown->what, index))
        return false;
    ui_get_host(ui)->copy(ui_get_host(ui), path.buf, path.len);
    ui_message(ui, LOOK_TEXT, "Copied the path, %zu bytes, to the clipboard.", path.len);
    return true;
}

static void workspace_unfold(struct pane *pane, struct ui *ui, const struct view *view)
{
    struct workspace_pane *shown = workspace_of(pane);
    update(shown, view, pane->height);
    uint32_t index = cursor_node(shown, view);
    if (index == TREE_NONE)
        return;
    if (!tree_of(shown)->nodes[index].branch) {
        ui_message(ui, LOOK_TEXT, "Nothing to unfold in this row.");
        return;
    }
    tree_toggle(tree_of(shown), index);
    update(shown, view, pane->height);
}

static void show_entry(struct workspace_pane *shown, struct ui *ui, const struct view *view, uint32_t node)
{
    CLEANUP(document) struct document document;
    int columns = ui_columns(ui) - ENTRY_EDGE;
    document_init(&document, columns < ENTRY_COLS ? columns : ENTRY_COLS);
    workspacetree_describe(&document, &shown->what, view, node);
    ui_open_dialog(ui, dialog_document_new("in the workspace", &document));
}

/* Unfolds a heading, opens the output of a program, or shows the details of a file or folder. */
static bool workspace_inspect(struct pane *pane, struct ui *ui, const struct view *view)
{
    struct workspace_pane *shown = workspace_of(pane);
    update(shown, view, pane->height);
    uint32_t index = cursor_node(shown, view);
    if (index == TREE_NONE)
        return false;
    const struct tree_node *node = &tree_of(shown)->nodes[index];
    if (node->branch && node->kind != WORKSPACE_ENTRY)
        workspace_unfold(pane, ui, view);
    else if (node->kind == WORKSPACE_PROGRAM)
        ui_show_program(ui, view, node->ref);
    else
        show_entry(shown, ui, view, index);
    return true;
}

static bool path_has(const struct workspacetree *what, uint32_t node, const char *text)
{
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    workspacetree_path(&path, what, node);
    return text_match_find(path.buf, path.len, text);
}

/* True if a match of the text in the path ends in this node, and not above it. */
static bool leads_to(const struct workspacetree *what, uint32_t node, const char *text)
{
    uint32_t above = what->tree.nodes[node].parent;
    return strchr(text, '/') && path_has(what, node, text) && (above == TREE_NONE || !path_has(what, above, text));
}

/* Also searches folded nodes, and unfolds what it finds. */
static bool workspace_search(struct pane *pane, const struct view *view, const char *text, bool back)
{
    struct workspace_pane *shown = workspace_of(pane);
    struct treeview *tree = tree_of(shown);
    if (pane->rows_filter.filtered)
        return false; /* the caller searches the shown rows */
    uint32_t from = cursor_node(shown, view);
    for (uint32_t left = tree->count, at = from == TREE_NONE ? 0 : from; left; left--) {
        at = back ? (at + tree->count - 1) % tree->count : (at + 1) % tree->count;
        const struct tree_node *node = &tree->nodes[at];
        if (!text_match_find(node->label, strlen(node->label), text) &&
            !text_match_find(node->note, strlen(node->note), text) && !leads_to(&shown->what, at, text))
            continue;
        tree_reveal(tree, at);
        list_update(&pane->list, tree->shown_count, pane->height);
        list_select(&pane->list, tree_row(tree, at), pane->height);
        remember_cursor(shown);
        return true;
    }
    return false;
}

static struct selection workspace_selected(struct pane *pane, const struct view *view)
{
    struct workspace_pane *shown = workspace_of(pane);
    uint32_t index = cursor_node(shown, view), row = workspacetree_owner(&shown->what, view, index);
    if (index != TREE_NONE && tree_of(shown)->nodes[index].kind == WORKSPACE_PROGRAM) {
        const struct session_program *program = &view->session->programs[tree_of(shown)->nodes[index].ref];
        return (struct selection){SELECT_EVENT, program->started_seq, program->call};
    }
    if (index == TREE_NONE || row == SESSION_NONE)
        return (struct selection){SELECT_NOTHING, 0, SESSION_NONE};
    return (struct selection){SELECT_EVENT, view->session->workspaces[row].newest_seq, SESSION_NONE};
}

static void workspace_click(struct pane *pane, const struct view *view, int row, int col)
{
    (void)col;
    int line = row - (view->session->workspace_count > 0);
    update(workspace_of(pane), view, pane->height);
    if (line >= 0 && pane->list.top + (size_t)line < pane->list.count)
        list_select(&pane->list, pane->list.top + (size_t)line, pane->height);
    remember_cursor(workspace_of(pane));
}

const struct pane_ops pane_workspace = {
    .number = 7,
    .name = "workspace",
    .size = sizeof(struct workspace_pane),
    .init = workspace_init,
    .release = workspace_release,
    .note = workspace_note,
    .paint = workspace_paint,
    .move = workspace_move,
    .inspect = workspace_inspect,
    .copy = workspace_copy,
    .unfold = workspace_unfold,
    .selected = workspace_selected,
    .rows = workspace_rows,
    .texts = true,
    .search = workspace_search,
    .click = workspace_click,
};
