/* The workbench without a terminal: keys in, a canvas out. */

#include "screen_rig.h"
#include "app/app_internal.h"
#include "app/demo.h"
#include "app/ui_internal.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "canvas_dump.h"
#include "screen_stage.h"
#include <stdio.h>
#include <string.h>

struct screen_seen screen_seen;

struct screen_rig {
    struct screen_stage stage;
    struct keymap *keymap;
    struct ui *ui;
    struct canvas canvas;
    int cols, rows;
    bool ascii, hints;
};

/* ---- frames ---- */

bool screen_seen_frame(const char *what)
{
    for (size_t i = 0; i < screen_seen.frame_count; i++)
        if (strcmp(screen_seen.frames[i], what) == 0)
            return true;
    return false;
}

static void see(const struct screen_rig *rig, const char *kind, const char *name)
{
    CLEANUP(free) char *what = xasprintf("%dx%d %s%s", rig->cols, rig->rows, kind, name);
    if (screen_seen_frame(what))
        return;
    GROW(screen_seen.frames, screen_seen.frame_count, screen_seen.frame_room);
    screen_seen.frames[screen_seen.frame_count++] = steal(&what);
}

static void show_hint(struct screen_rig *rig, const struct view *view)
{
    CLEANUP(strbuf) struct strbuf hint = STRBUF_INIT;
    demo_hint(&hint, view, rig->keymap, ui_hunks_kept(rig->ui, view));
    ui_hint(rig->ui, hint.len ? hint.buf : NULL);
}

static void frame(struct screen_rig *rig)
{
    const struct view *view = screen_stage_view(&rig->stage);
    if (rig->hints)
        show_hint(rig, view);
    for (int i = 0; i < 1000 && ui_work(rig->ui, view); i++)
        ;
    canvas_resize(&rig->canvas, rig->rows, rig->cols);
    ui_clock(rig->ui, screen_stage_now(&rig->stage));
    ui_render(rig->ui, view, &rig->canvas);
    ui_presented(rig->ui, view);
    screen_stage_settle(&rig->stage);
    for (struct dialog *dialog = rig->ui->dialog; dialog; dialog = dialog->below)
        see(rig, "", dialog->name);
    for (int i = 1; i <= PANE_COUNT; i++) {
        char number[2] = {(char)('0' + i), '\0'};
        if (rig->ui->layout.panes[i].rows > 0 && !rig->ui->dialog)
            see(rig, "pane ", number);
    }
}

/* ---- keys ---- */

static void press(struct screen_rig *rig, const struct key *key, bool typed, bool blind)
{
    if (!blind)
        frame(rig);
    const struct view *view = screen_stage_view(&rig->stage);
    bool program = rig->ui->dialog && strcmp(rig->ui->dialog->name, "program") == 0;
    enum action own = keymap_find(rig->keymap, IN_PROGRAM, key);
    if (!typed && program && (action_contexts(own) & IN_PROGRAM))
        screen_seen.actions[own] = true;
    bool reaches = !rig->ui->dialog || rig->ui->dialog->ops->through || key->code == KEYSYM_ESC;
    if (!typed && reaches && (rig->ui->line == LINE_NONE || key->code == KEYSYM_ESC))
        screen_seen.actions[keymap_find(rig->keymap, ui_contexts(rig->ui, view), key)] = true;
    ui_key(rig->ui, view, key);
    screen_stage_settle(&rig->stage);
}

static void type(struct screen_rig *rig, const char *text, size_t len)
{
    while (len) {
        size_t used;
        struct key key = {.code = utf8_decode(text, len, &used)};
        press(rig, &key, true, false);
        text += used;
        len -= used;
    }
}

static void press_name(struct screen_rig *rig, const char *name, bool blind)
{
    struct key key = {0};
    struct err err = ERR_INIT;
    if (strncmp(name, "text:", 5) == 0) {
        type(rig, name + 5, strlen(name + 5));
        return;
    }
    if (strncmp(name, "mouse:", 6) == 0) {
        key.code = KEYSYM_MOUSE;
        char *rest;
        key.row = (int)strtol(name + 6, &rest, 10);
        key.col = (int)strtol(rest + (*rest == ','), &rest, 10);
        key.button = (int)strtol(rest + (*rest == ','), NULL, 10);
    } else if (strcmp(name, "PasteBegin") == 0 || strcmp(name, "PasteEnd") == 0) {
        key.code = strcmp(name, "PasteBegin") == 0 ? KEYSYM_PASTE_BEGIN : KEYSYM_PASTE_END;
    } else if (key_parse(&key, name, &err)) {
        BUG("%s: %s", name, err.text);
    }
    press(rig, &key, false, blind);
}

static void press_names(struct screen_rig *rig, char *names, bool blind)
{
    char *name;
    while ((name = strsep(&names, " ")))
        if (*name)
            press_name(rig, name, blind);
}

/* ---- the script ---- */

static char *unescape(const char *text)
{
    struct strbuf out = STRBUF_INIT;
    for (; *text; text++) {
        bool newline = text[0] == '\\' && text[1] == 'n';
        strbuf_addch(&out, newline ? '\n' : *text);
        text += newline;
    }
    return strbuf_detach(&out, NULL);
}

static void do_line(struct screen_rig *rig, const char *verb, char *rest)
{
    if (strcmp(verb, "keys") == 0) {
        press_names(rig, rest, false);
    } else if (strcmp(verb, "blind") == 0) {
        press_names(rig, rest, true);
    } else if (strcmp(verb, "type") == 0) {
        type(rig, rest, strlen(rest));
    } else if (strcmp(verb, "editor") == 0) {
        free(rig->stage.editor);
        rig->stage.editor = unescape(rest);
    } else if (strcmp(verb, "grace") == 0) {
        ui_grace(rig->ui, (int64_t)(strtod(rest, NULL) * 1e6));
    } else if (strcmp(verb, "wait") == 0) {
        frame(rig);
        screen_stage_wait(&rig->stage, (int64_t)(strtod(rest, NULL) * 1e6));
    } else if (strcmp(verb, "file") == 0) {
        char *blank = strchr(rest, ' ');
        if (!blank)
            BUG("file needs a path and a text");
        *blank = '\0';
        CLEANUP(free) char *text = unescape(blank + 1);
        screen_stage_file(&rig->stage, rest, text);
    } else if (strcmp(verb, "bind") == 0) {
        char *blank = strchr(rest, ' ');
        struct err err = ERR_INIT;
        if (!blank)
            BUG("bind needs an action and its keys");
        *blank = '\0';
        if (keymap_bind(rig->keymap, rest, blank + 1, &err))
            BUG("bind %s: %s", rest, err.text);
    } else if (strcmp(verb, "no-undo") == 0) {
        screen_stage_no_undo(&rig->stage);
    } else if (strcmp(verb, "tell") == 0) {
        screen_stage_tell(&rig->stage, rest);
    } else if (strcmp(verb, "at") == 0) {
        screen_stage_at(&rig->stage, rest);
    } else if (!screen_plan_line(NULL, NULL, verb, rest) && strcmp(verb, "size") != 0 && strcmp(verb, "locale") != 0 &&
               strcmp(verb, "hints") != 0) {
        BUG("a case has a line \"%s %s\"", verb, rest);
    }
}

/* Calls `each` with every line that is neither empty nor a comment. */
static void each_line(const char *script, void (*each)(const char *verb, char *rest, void *data), void *data)
{
    while (*script) {
        size_t len = strcspn(script, "\n");
        CLEANUP(free) char *line = xmemdup0(script, len);
        script += len + (script[len] == '\n');
        char *verb = line + strspn(line, " \t");
        char *rest = verb + strcspn(verb, " ");
        if (*rest)
            *rest++ = '\0';
        if (*verb && *verb != '#')
            each(verb, rest, data);
    }
}

struct planning {
    struct screen_plan *plan;
    const char *folder;
    bool ascii, hints;
};

static void plan_line(const char *verb, char *rest, void *data)
{
    struct planning *planning = data;
    if (strcmp(verb, "locale") == 0)
        planning->ascii = strcmp(rest, "C") == 0;
    if (strcmp(verb, "hints") == 0)
        planning->hints = true;
    screen_plan_line(planning->plan, planning->folder, verb, rest);
}

static void run_line(const char *verb, char *rest, void *data)
{
    do_line(data, verb, rest);
}

/* Replaces the name of the scratch folder, which differs on every run. */
static void hide_scratch(struct strbuf *out, const char *folder)
{
    char *at = out->buf;
    size_t len = strlen(folder), random = 6;
    while ((at = strstr(at, folder))) {
        memset(at + len - random, 'X', random);
        at += len;
    }
}

static void run_script(struct strbuf *out, struct canvas *painted, const char *folder, const char *script, int cols,
                       int rows)
{
    struct screen_rig rig = {.cols = cols, .rows = rows};
    struct screen_plan plan = {0};
    struct planning planning = {.plan = &plan, .folder = folder};
    each_line(script, plan_line, &planning);
    setenv("LC_ALL", planning.ascii ? "C" : "C.UTF-8", 1);
    canvas_init(&rig.canvas);
    rig.canvas.ascii = planning.ascii;
    rig.hints = planning.hints;
    rig.keymap = keymap_new();
    screen_stage_open(&rig.stage, &plan);
    rig.ui = ui_new(&rig.stage.host, rig.keymap, "default");
    ui_resize(rig.ui, rows, cols);
    screen_stage_begin(&rig.stage, rig.ui);
    each_line(script, run_line, &rig);
    /* One frame for the last key, one for what that frame triggered. */
    frame(&rig);
    frame(&rig);
    canvas_dump(out, &rig.canvas, true);
    hide_scratch(out, rig.stage.scratch.path);
    if (rig.stage.log.len)
        strbuf_addf(out, "\nhost:\n%s", rig.stage.log.buf);
    ui_free(rig.ui);
    screen_stage_close(&rig.stage);
    screen_plan_release(&plan);
    keymap_free(rig.keymap);
    if (painted)
        *painted = rig.canvas;
    else
        canvas_release(&rig.canvas);
}

void screen_rig_run(struct strbuf *out, const char *folder, const char *script, int cols, int rows)
{
    run_script(out, NULL, folder, script, cols, rows);
}

void screen_rig_paint(struct canvas *painted, const char *folder, const char *script, int cols, int rows)
{
    CLEANUP(strbuf) struct strbuf dump = STRBUF_INIT;
    run_script(&dump, painted, folder, script, cols, rows);
}

struct sizes {
    void (*each)(int cols, int rows, void *data);
    void *data;
    size_t count;
};

static void size_line(const char *verb, char *rest, void *data)
{
    struct sizes *sizes = data;
    char *size;
    if (strcmp(verb, "size") != 0)
        return;
    while ((size = strsep(&rest, " "))) {
        if (!*size)
            continue;
        char *by;
        int cols = (int)strtol(size, &by, 10);
        int rows = *by == 'x' ? (int)strtol(by + 1, NULL, 10) : 0;
        if (cols < 1 || rows < 1)
            BUG("a case has a size \"%s\"", size);
        sizes->each(cols, rows, sizes->data);
        sizes->count++;
    }
}

void screen_rig_sizes(const char *script, void (*each)(int cols, int rows, void *data), void *data)
{
    struct sizes sizes = {each, data, 0};
    each_line(script, size_line, &sizes);
    if (!sizes.count)
        each(80, 24, data);
}
