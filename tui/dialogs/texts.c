/* The dialogs that show a text: a confirmation, a document, the sandbox, how to set up a model, and the start of the
 * MCP servers. */

#include "app/setup.h"
#include "app/ui.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "dialog.h"
#include "mcp/mcp.h"
#include "sandbox/engines_program.h"
#include "screen/document.h"
#include "screen/text.h"
#include <string.h>
#include <unistd.h>

/* ---- yes or no ---- */

struct confirm {
    char *question;
    void (*yes)(struct ui *ui, void *user);
    void *user;
};

static void confirm_release(void *own)
{
    free(((struct confirm *)own)->question);
}

static int confirm_paint(struct dialog *dialog, struct canvas *canvas, struct rect in)
{
    const struct confirm *confirm = dialog->own;
    struct rect text = rect_make(in.row, in.col, in.rows, in.cols - 1);
    int row = 1 + paragraph_paint(canvas, text, 0, 1, LOOK_STRONG, confirm->question);
    int at = 1 + canvas_str(canvas, in, row, 1, LOOK_FOOTER_KEY, "y");
    at += canvas_str(canvas, in, row, at, LOOK_TEXT, " yes    ");
    at += canvas_str(canvas, in, row, at, LOOK_FOOTER_KEY, "n");
    canvas_str(canvas, in, row, at, LOOK_TEXT, " no");
    return row + 2;
}

static bool confirm_key(struct dialog *dialog, const struct key *key, enum action action)
{
    const struct confirm confirm = *(struct confirm *)dialog->own;
    struct ui *ui = dialog->ui;
    (void)action;
    if (!dialog_pressed(key, 'y') && !dialog_pressed(key, 'n'))
        return false;
    ui_close_dialog(ui);
    if (key->code == 'y')
        confirm.yes(ui, confirm.user);
    return true;
}

static const struct dialog_text confirm_form = {.name = "confirm",
                                                .title = "sure?",
                                                .footer = "y yes   n no   Esc no",
                                                .cols = 64,
                                                .size = sizeof(struct confirm),
                                                .release = confirm_release,
                                                .paint = confirm_paint,
                                                .key = confirm_key};

struct dialog *dialog_confirm_new(const char *question, void (*yes)(struct ui *ui, void *user), void *user)
{
    struct dialog *dialog = dialog_text_new(&confirm_form, "", NULL);
    *(struct confirm *)dialog->own = (struct confirm){xstrdup(question), yes, user};
    return dialog;
}

/* ---- a document ---- */

#define DOCUMENT_ROWS_MIN 6

static void document_dialog_release(void *own)
{
    document_release(own);
}

static int document_dialog_paint(struct dialog *dialog, struct canvas *canvas, struct rect in)
{
    const struct document *text = dialog->own;
    document_paint(text, canvas, rect_make(in.row, in.col + 1, in.rows, in.cols - 2), dialog->list.top,
                   dialog->list.left);
    return text->count > DOCUMENT_ROWS_MIN ? (int)text->count : DOCUMENT_ROWS_MIN;
}

static bool document_dialog_key(struct dialog *dialog, const struct key *key, enum action action)
{
    struct ui_host *host = ui_get_host(dialog->ui);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    (void)key;
    if (action != ACTION_COPY)
        return false;
    document_write(dialog->own, &text);
    host->copy(host, text.buf, text.len);
    ui_message(dialog->ui, LOOK_GOOD, "Copied %zu bytes to the clipboard.", text.len);
    return true;
}

static const struct dialog_text document_dialog = {.name = "document",
                                                   .footer = "arrows PgUp PgDn scroll   Y copy   Esc close",
                                                   .closes = ACTION_INSPECT,
                                                   .size = sizeof(struct document),
                                                   .release = document_dialog_release,
                                                   .paint = document_dialog_paint,
                                                   .key = document_dialog_key};

struct dialog *dialog_document_new(const char *title, struct document *take_document)
{
    struct dialog *dialog = dialog_text_new(&document_dialog, "", NULL);
    dialog->title = title;
    dialog->cols = take_document->width + 4;
    *(struct document *)dialog->own = *take_document;
    document_init(take_document, 0);
    return dialog;
}

/* ---- the sandbox of scripts: its boxes, their layers, and problems ---- */

#define LAYERS_COL 26 /* column of the layers in the table */

static size_t sandbox_view_layers(struct strbuf *out, const char *layers);

/* Paints the boxes. Each gets as many rows as its layer names need, so that none is cut. */
static int paint_boxes(struct canvas *canvas, struct rect in, int row, const struct sandbox_view *sandbox)
{
    CLEANUP(strbuf) struct strbuf layers = STRBUF_INIT;
    if (!sandbox->count) {
        canvas_str(canvas, in, row, 1, LOOK_DIM,
                   sandbox->status.trouble ? "No sandbox could be started. Retrying:"
                                           : "No sandbox is running. The first script starts one.");
        return row + 1;
    }
    canvas_str(canvas, in, row++, 1, LOOK_DIM, "sandbox  state     uses  layers");
    for (size_t i = 0; i < sandbox->count; i++) {
        const struct pool_box *box = &sandbox->boxes[i];
        bool busy = strcmp(box->state, "busy") == 0, warm = strcmp(box->state, "warm") == 0;
        strbuf_reset(&layers);
        sandbox_view_layers(&layers, box->layers);
        canvas_printf(canvas, in, row, 1, LOOK_TEXT, "%7u", box->number);
        canvas_str(canvas, in, row, 10, busy ? LOOK_CALL_RUNNING : warm ? LOOK_GOOD : LOOK_DIM, box->state);
        canvas_printf(canvas, in, row, 20, LOOK_TEXT, "%4u", box->uses);
        int rows = paragraph_paint(canvas, rect_make(in.row, in.col + LAYERS_COL, in.rows, in.cols - 1 - LAYERS_COL),
                                   row, 0, LOOK_TEXT, layers.buf);
        row += rows ? rows : 1;
    }
    return row;
}

static const char *sandbox_view_limits(struct program_limits_view *limits);

static int sandbox_paint(struct dialog *dialog, struct canvas *canvas, struct rect in)
{
    const struct view *view = dialog->view;
    struct rect text = rect_make(in.row, in.col, in.rows, in.cols - 1);
    if (!view->sandbox)
        return paragraph_paint(
            canvas, text, 0, 1, LOOK_TEXT,
            view->mode == VIEW_REPLAY
                ? "Replay runs no scripts. It shows their recorded output. A live turn has its sandbox "
                  "here."
                : "No sandbox: scripts cannot run. Install bubblewrap, or run keyturn engines to see what is missing.");
    const struct pool_status *status = &view->sandbox->status;
    canvas_printf(canvas, in, 0, 1, LOOK_STRONG, "%s: %zu warm, %zu busy, %zu starting, %zu waiting", status->engine,
                  status->idle, status->busy, status->starting, status->waiting);
    canvas_printf(canvas, in, 1, 1, LOOK_DIM, "%llu used, %llu replaced, %llu failed to start",
                  (unsigned long long)status->served, (unsigned long long)status->retired,
                  (unsigned long long)status->failed);
    if (view->limits)
        canvas_printf(canvas, in, 2, 1, LOOK_DIM, "programs: %s", sandbox_view_limits(view->limits));
    int row = paint_boxes(canvas, in, view->limits ? 4 : 3, view->sandbox);
    const char *remark = status->trouble ? status->trouble : status->complaints;
    return remark ? row + 1 + paragraph_paint(canvas, text, row + 1, 1, LOOK_WARN, remark) : row;
}

const struct dialog_text dialog_sandbox = {
    .name = "sandbox", .title = "sandbox", .cols = 84, .closes = ACTION_SANDBOX, .paint = sandbox_paint};

/* ---- how to set up a model: the config file and the lines it needs. y creates the file if it is missing, and opens it
 * in the user's editor in both cases. d starts the demo, which needs no model. ---- */

struct model_setup {
    char *config, *model;
    bool there; /* the file exists */
};

static void setup_release(void *own)
{
    struct model_setup *setup = own;
    free(setup->config);
    free(setup->model);
}

static int setup_paint(struct dialog *dialog, struct canvas *canvas, struct rect in)
{
    const struct model_setup *setup = dialog->own;
    struct wrapped text;
    CLEANUP(free) char *now = setup->model ? xasprintf("The model is %s. ", setup->model) : NULL;
    CLEANUP(free)
    char *head = xasprintf("%s%s:", now ? now : "No model is configured: only the demo runs. ",
                           setup->there ? "The config file" : "The config file, which does not exist yet");
    wrapped_init(&text);
    wrapped_add(&text, LOOK_TEXT, "", head, strlen(head), in.cols - 2);
    wrapped_add(&text, LOOK_STRONG, "", setup->config, strlen(setup->config), in.cols - 2);
    for (const char *const *line = config_model_lines; *line; line++)
        wrapped_add(&text, LOOK_STRONG, "", *line, strlen(*line), in.cols - 2);
    wrapped_add(&text, LOOK_TEXT, "", config_key_note, strlen(config_key_note), in.cols - 2);
    const char *keys = setup->there
                           ? "e opens it in $VISUAL, $EDITOR or vi. d starts the demo, which needs no model."
                           : "y creates it, with these lines as comments, and opens it in $VISUAL, $EDITOR or vi. d "
                             "starts the demo, which needs no model.";
    wrapped_add(&text, LOOK_TEXT, "", keys, strlen(keys), in.cols - 2);
    int rows = (int)text.count;
    wrapped_paint(&text, canvas, in, dialog->list.top);
    wrapped_release(&text);
    return rows;
}

static bool setup_key(struct dialog *dialog, const struct key *key, enum action action)
{
    struct ui *ui = dialog->ui;
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    bool edit = dialog_pressed(key, ((struct model_setup *)dialog->own)->there ? 'e' : 'y');
    (void)action;
    if (!edit && !dialog_pressed(key, 'd'))
        return false;
    ui_close_dialog(ui);
    if (!edit)
        ui_open(ui, "demo");
    else if (host->set_up(host, &err))
        ui_message(ui, LOOK_ERROR, "%s", err.text);
    return true;
}

static const struct dialog_text setup_form = {.name = "model",
                                              .title = "model",
                                              .cols = 84,
                                              .size = sizeof(struct model_setup),
                                              .release = setup_release,
                                              .paint = setup_paint,
                                              .key = setup_key};

struct dialog *dialog_model_setup_new(const char *config, const char *model)
{
    struct dialog *dialog = dialog_text_new(&setup_form, "", NULL);
    bool there = access(config, F_OK) == 0;
    *(struct model_setup *)dialog->own = (struct model_setup){xstrdup(config), model ? xstrdup(model) : NULL, there};
    dialog->footer =
        there ? "e edit the file   d demo   Esc close" : "y create the file and edit it   d demo   Esc close";
    return dialog;
}

/* ---- while a session waits for its MCP servers ---- */

#define NAME_COLS_MAX 24
#define NAME_COL      3

struct servers_own {
    const struct servers_wait *wait;
    char *footer;
};

static void servers_release(void *own)
{
    free(((struct servers_own *)own)->footer);
}

/* Adds the last line that a slow server printed, for example the progress of a download. */
static void add_last_words(struct strbuf *out, const char *said)
{
    const char *end = said ? strrchr(said, '\n') : NULL;
    CLEANUP(free) char *last = redact_copy(end ? end + 1 : said);
    if (last && *last)
        strbuf_addf(out, " it says: %s", last);
}

/* Adds the state of a server; returns its look. */
static enum look state_words(struct strbuf *out, const struct mcp_status *status)
{
    CLEANUP(free) char *why = status->why ? redact_copy(status->why) : xstrdup("exited");
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
        strbuf_addf(out, "%s; restarting", why);
        return LOOK_WARN;
    case MCP_FAILED:
        break;
    }
    strbuf_addf(out, "not available: %s", why);
    return LOOK_ERROR;
}

/* Returns the row below the head. */
static int paint_head(const struct servers_wait *wait, struct canvas *canvas, struct rect in)
{
    size_t count[MCP_FAILED + 1] = {0};
    for (size_t i = 0; i < wait->count; i++)
        count[wait->servers[i].state]++;
    size_t wanted = wait->count - count[MCP_OFF];
    int at =
        1 + canvas_printf(canvas, in, 1, 1, LOOK_STRONG, "Starting %zu MCP server%s…", wanted, wanted == 1 ? "" : "s");
    canvas_printf(canvas, in, 1, at + 2, LOOK_DIM, "%zu to go, %.0f s of %.0f s at most", count[MCP_STARTING],
                  wait->waited_s, wait->limit_s);
    struct rect rows = rect_make(in.row, in.col, in.rows, in.cols - 1);
    int row =
        2 + paragraph_paint(canvas, rows, 2, 1, LOOK_DIM,
                            "The turn starts when each is ready or failed. Tools of a later server are available in "
                            "the next turn.");
    if (count[MCP_FAILED])
        row += paragraph_paint(canvas, rows, row, 1, LOOK_DIM, "keyturn doctor says how to fix a failed server.");
    return row + 1;
}

static int servers_paint(struct dialog *dialog, struct canvas *canvas, struct rect in)
{
    const struct servers_wait *wait = ((struct servers_own *)dialog->own)->wait;
    int row = paint_head(wait, canvas, in), name_cols = 0;
    for (size_t i = 0; i < wait->count; i++) {
        int cols = canvas_str_columns(canvas, wait->servers[i].name, strlen(wait->servers[i].name));
        name_cols = cols > name_cols ? cols : name_cols;
    }
    name_cols = name_cols < NAME_COLS_MAX ? name_cols : NAME_COLS_MAX;
    struct rect names = rect_make(in.row, in.col, in.rows, NAME_COL + name_cols);
    for (size_t i = 0; i < wait->count; i++) {
        const struct mcp_status *status = &wait->servers[i];
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        enum look look = state_words(&words, status);
        int below = i + 1 < wait->count; /* reserve a row for the number of those that do not fit */
        struct rect states = rect_make(in.row, in.col, in.rows - below, in.cols - 1);
        if (row >= states.rows && below) {
            canvas_printf(canvas, in, in.rows - 1, NAME_COL, LOOK_DIM, "and %zu more", wait->count - i);
            break;
        }
        canvas_cut(canvas, names, row, NAME_COL, LOOK_TEXT, status->name, strlen(status->name));
        row += paragraph_paint(canvas, states, row, NAME_COL + name_cols + 2, look, words.buf);
    }
    return row;
}

static bool servers_key(struct dialog *dialog, const struct key *key, enum action action)
{
    const struct servers_wait *wait = ((struct servers_own *)dialog->own)->wait;
    if (action == ACTION_QUIT || action == ACTION_CANCEL)
        ui_get_host(dialog->ui)->quit(ui_get_host(dialog->ui));
    else if (key->code == KEYSYM_ENTER)
        wait->go_on(wait->user);
    else
        return action != ACTION_HELP && action != ACTION_THEME && action != ACTION_SUSPEND && action != ACTION_REDRAW;
    return true;
}

static const struct dialog_text servers_form = {.name = "servers",
                                                .title = "keyturn",
                                                .whole = true,
                                                .size = sizeof(struct servers_own),
                                                .release = servers_release,
                                                .paint = servers_paint,
                                                .key = servers_key};

struct dialog *dialog_servers_new(const struct servers_wait *wait)
{
    struct dialog *dialog = dialog_text_new(&servers_form, "", NULL);
    struct servers_own *own = dialog->own;
    own->wait = wait;
    dialog->footer = own->footer = xasprintf("Enter start without the rest   q %s   T theme   ? keys", wait->leave);
    return dialog;
}

/* ---- the sandbox in words ---- */

void sandbox_view_fill(struct sandbox_view *sandbox, const struct pool *pool)
{
    sandbox->status = pool_status(pool);
    sandbox->count = pool_boxes(pool, sandbox->boxes, SANDBOX_BOXES);
}

static const char *sandbox_view_limits(struct program_limits_view *limits)
{
    if (!limits->words)
        limits->words = sandbox_program_holder_words(sandbox_program_holder(limits->engine));
    return limits->words;
}

/* "no_new_privs, rlimits, landlock 7, not seccomp"; returns how many are in effect. */
static size_t sandbox_view_layers(struct strbuf *out, const char *layers)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = layers ? json_parse(&arena, layers, strlen(layers), NULL) : NULL;
    size_t from = out->len, held = 0;
    if (!value || value->type != JSON_OBJECT)
        return 0;
    json_each (layer, value) {
        bool number = layer->type == JSON_NUMBER;
        bool on = number ? json_num(layer, 0) > 0 : json_bool(layer, false);
        strbuf_addf(out, "%s%s%s", out->len > from ? ", " : "", on ? "" : "not ", layer->key);
        if (on && number)
            strbuf_addf(out, " %.*s", (int)layer->src_len, layer->src);
        held += on;
    }
    return held;
}

void sandbox_view_programs(struct strbuf *out, const char *engine, bool unsafe)
{
    strbuf_addf(out, "programs %s%s", engine, unsafe ? " UNSAFE" : "");
}

static void add_count(struct strbuf *out, bool wide, uint64_t count, const char *what)
{
    if (count)
        strbuf_addf(out, "%s%llu %s", wide ? ", " : " ", (unsigned long long)count, what);
}

void sandbox_view_line(struct strbuf *out, const struct sandbox_view *sandbox, bool wide)
{
    const struct pool_status *status = &sandbox->status;
    CLEANUP(strbuf) struct strbuf layers = STRBUF_INIT;
    strbuf_addstr(out, status->engine);
    if (status->trouble && !status->idle && !status->busy) {
        strbuf_addstr(out, wide ? ": cannot start a sandbox" : ": no sandbox");
        return;
    }
    if (wide && status->layers)
        add_count(out, wide, sandbox_view_layers(&layers, status->layers), "layers");
    add_count(out, wide, status->starting, "starting");
    add_count(out, wide, status->idle, "warm");
    add_count(out, wide, status->busy, "busy");
    add_count(out, wide, status->waiting, "waiting");
    if (wide)
        add_count(out, wide, status->retired, "retired");
}
