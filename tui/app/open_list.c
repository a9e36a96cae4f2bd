/* Collects what can be opened, from the session list and the folder of fixtures, and paints a row of it. */

#include "open_list.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "demo.h"
#include "event/journal_summary.h"
#include "screen/text.h"
#include "session_list.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS_MAX 200
#define GAP          2
#define TITLE_MIN    22
#define NAME_MAX     24
#define FOLDER_MAX   16

/* Descriptions of fixtures. A fixture that is missing here is described by its prompt. */
static const struct {
    const char *name, *about;
} known[] = {
    {"demo", "a guided turn, nothing to set up"},
    {"parallel-reads", "several reads in one wave"},
    {"late-thread", "a timed-out tool comes back late"},
    {"partial-approval", "one hunk approved, one discarded"},
    {"edited-approval", "a write that a person edited"},
    {"write-approved", "a write that was approved"},
    {"write-denied", "a write that was denied, with a reason"},
    {"budget-ends", "a turn that reaches a limit"},
    {"programs", "programs in the background and their files"},
    {"duplicate-call", "the same call twice"},
    {"two-turns", "two turns, written by hand"},
    {"oversized-output", "an output too long for the model"},
    {"reflection", "the model reviews its step"},
};

static struct open_item *add(struct open_list *list)
{
    GROW(list->items, list->count, list->room);
    list->items[list->count] = (struct open_item){0};
    return &list->items[list->count++];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The text on one line: a prompt may have many lines. */
static char *one_line(const char *text)
{
    struct strbuf line = STRBUF_INIT;
    for (; *text; text++) {
        bool blank = strchr(" \t\r\n", *text) != NULL;
        if (!blank)
            strbuf_addch(&line, *text);
        else if (line.len && line.buf[line.len - 1] != ' ')
            strbuf_addch(&line, ' ');
    }
    return strbuf_detach(&line, NULL);
}

/* The name of a folder. All temporary folders of the program get the same name. */
static char *folder_of(const char *path)
{
    const char *name = base_name(path);
    if (strcmp(name, "workspace") == 0 && strstr(path, "/keyturn-"))
        return xstrdup("scratch copy");
    return xstrdup(name);
}

/* `text` NULL: all of them. */
static void load_sessions(struct open_list *list, const char *text, int64_t now_us)
{
    struct session_rows rows;
    sessions_load(&rows, SESSIONS_MAX);
    if (text && *text)
        sessions_keep_named(&rows, text);
    for (size_t i = 0; i < rows.count; i++) {
        const struct session_row *row = &rows.items[i];
        struct strbuf when = STRBUF_INIT, writes = STRBUF_INIT;
        text_ago(&when, row->when_us, now_us);
        sessions_writes(&writes, row, true);
        *add(list) = (struct open_item){
            .running = row->running,
            .name = xstrdup(row->id),
            .path = xstrdup(row->path),
            .title = one_line(row->title),
            .when = strbuf_detach(&when, NULL),
            .folder = folder_of(row->workspace),
            .state = xstrdup(*row->status ? row->status : "no turn"),
            .writes = strbuf_detach(&writes, NULL),
        };
    }
    list->sessions = list->count;
    sessions_release(&rows);
}

static size_t rank(const struct open_item *item)
{
    size_t at = 0;
    while (at < COUNT_OF(known) && strcmp(known[at].name, item->name) != 0)
        at++;
    return at;
}

static void add_fixture(struct open_list *list, const char *path)
{
    const char *name = base_name(path);
    struct open_item *item = add(list);
    CLEANUP(journal_summary) struct journal_summary summary = {0};
    item->fixture = true;
    item->name = xmemdup0(name, strlen(name) - strlen(".jsonl"));
    item->when = xstrdup("");
    item->folder = xstrdup("");
    item->state = xstrdup("");
    item->writes = xstrdup("");
    item->path = xstrdup(strcmp(item->name, "demo") == 0 ? "demo" : path);
    if (rank(item) < COUNT_OF(known))
        item->title = xstrdup(known[rank(item)].about);
    else
        item->title = journal_summary_read(&summary, path, NULL) ? xstrdup("") : one_line(summary.prompt);
}

static int by_rank(const void *a, const void *b)
{
    size_t one = rank(a), two = rank(b);
    return one != two ? (one < two ? -1 : 1)
                      : strcmp(((const struct open_item *)a)->name, ((const struct open_item *)b)->name);
}

static void load_fixtures(struct open_list *list, const char *folder)
{
    CLEANUP(free) char *found = folder ? xstrdup(folder) : demo_folder();
    if (!found)
        return;
    CLEANUP(free) char *pattern = xasprintf("%s/*.jsonl", found);
    glob_t files;
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++)
            add_fixture(list, files.gl_pathv[i]);
        globfree(&files);
    }
    if (list->count > list->sessions)
        qsort(list->items + list->sessions, list->count - list->sessions, sizeof(*list->items), by_rank);
}

void open_list_load(struct open_list *list, const char *fixtures, int64_t now_us)
{
    *list = (struct open_list){0};
    load_sessions(list, NULL, now_us ? now_us : clock_system()->wall_us(clock_system()));
    load_fixtures(list, fixtures);
}

void open_list_find(struct open_list *list, const char *text)
{
    *list = (struct open_list){0};
    load_sessions(list, text, clock_system()->wall_us(clock_system()));
}

void open_list_release(struct open_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].path);
        free(list->items[i].title);
        free(list->items[i].when);
        free(list->items[i].folder);
        free(list->items[i].state);
        free(list->items[i].writes);
    }
    free(list->items);
    *list = (struct open_list){0};
}

/* ---- a row ---- */

static void widen(int *width, const struct canvas *canvas, const char *text, int most)
{
    int columns = canvas_columns(canvas, text, strlen(text));
    if (columns > most)
        columns = most;
    if (columns > *width)
        *width = columns;
}

static int taken(const struct start_columns *columns)
{
    const int widths[] = {columns->folder, columns->state, columns->writes, columns->when};
    int sum = 0;
    for (size_t i = 0; i < COUNT_OF(widths); i++)
        sum += widths[i] ? widths[i] + GAP : 0;
    return sum;
}

struct start_columns start_columns_of(const struct canvas *canvas, const struct open_item *items, size_t count,
                                      int cols)
{
    struct start_columns columns = {0};
    for (size_t i = 0; i < count; i++) {
        if (items[i].fixture)
            widen(&columns.name, canvas, items[i].name, NAME_MAX < cols / 3 ? NAME_MAX : cols / 3);
        widen(&columns.folder, canvas, items[i].folder, FOLDER_MAX);
        widen(&columns.state, canvas, items[i].state, cols);
        widen(&columns.writes, canvas, items[i].writes, cols);
        widen(&columns.when, canvas, items[i].when, cols);
    }
    int *const leave_out[] = {&columns.folder, &columns.writes, &columns.when, &columns.state};
    for (size_t i = 0; i < COUNT_OF(leave_out) && cols - taken(&columns) < TITLE_MIN; i++)
        *leave_out[i] = 0;
    columns.title = cols - taken(&columns);
    return columns;
}

/* Paints a text and marks its end if it was cut. */
static void paint_cut(struct canvas *canvas, struct rect in, int row, int col, int width, enum look look,
                      const char *text)
{
    struct rect cell = rect_make(in.row, in.col + col, in.rows, width);
    if (width <= 0)
        return;
    if (canvas_columns(canvas, text, strlen(text)) <= width) {
        canvas_text(canvas, cell, row, 0, look, text, strlen(text));
        return;
    }
    const char *more = canvas_sign(canvas, SIGN_MORE);
    int room = width - canvas_columns(canvas, more, strlen(more));
    cell.cols = room > 0 ? room : 0;
    int at = canvas_text(canvas, cell, row, 0, look, text, strlen(text));
    cell.cols = width;
    canvas_put_sign(canvas, cell, row, at, look, SIGN_MORE);
}

static enum look look_of_state(const struct open_item *item)
{
    if (item->running)
        return LOOK_STRONG;
    return strcmp(item->state, "done") == 0 || strcmp(item->state, "no turn") == 0 ? LOOK_DIM : LOOK_WARN;
}

void start_row_paint(struct canvas *canvas, struct rect in, int row, const struct start_columns *columns,
                     const struct open_item *item)
{
    if (item->fixture) {
        paint_cut(canvas, in, row, 0, columns->name, LOOK_TEXT, item->name);
        paint_cut(canvas, in, row, columns->name + GAP, in.cols - columns->name - GAP, LOOK_DIM, item->title);
        return;
    }
    const struct {
        int width;
        enum look look;
        const char *text;
    } cells[] = {{columns->folder, LOOK_DIM, item->folder},
                 {columns->state, look_of_state(item), item->state},
                 {columns->writes, LOOK_DIM, item->writes},
                 {columns->when, LOOK_DIM, item->when}};
    int at = columns->title + GAP;
    bool none = !*item->title;
    paint_cut(canvas, in, row, 0, columns->title, none ? LOOK_DIM : LOOK_TEXT, none ? "(no prompt yet)" : item->title);
    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        paint_cut(canvas, in, row, at, cells[i].width, cells[i].look, cells[i].text);
        at += cells[i].width ? cells[i].width + GAP : 0;
    }
}
