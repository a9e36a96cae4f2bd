/* The host of the ui: copies, suspends, edits, opens, sets up and quits on its behalf. Requests about the session go to
 * the screen. */

#include "app_internal.h"
#include "base/file.h"
#include "base/process.h"
#include "session_list.h"
#include "setup.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define EDIT_BYTES_MAX (32u << 20)

#define APP(host) ((struct app *)((char *)(host)-offsetof(struct app, host)))

static int host_submit(struct ui_host *host, const struct intent *intent, struct err *err)
{
    struct app *app = APP(host);
    int result = app->ops->submit(app, intent, err);
    app_dirty(app);
    return result;
}

static int host_replay(struct ui_host *host, enum action action, const char *argument, struct err *err)
{
    struct app *app = APP(host);
    int result = app->ops->replay(app, action, argument, err);
    if (!app->leaving)
        app->ops->fill(app); /* the state may have changed before the next key */
    app_dirty(app);
    return result;
}

static void host_copy(struct ui_host *host, const char *text, size_t len)
{
    term_copy(APP(host)->term, text, len);
}

static void host_redraw(struct ui_host *host)
{
    term_redraw(APP(host)->term);
    app_dirty(APP(host));
}

static void host_quit(struct ui_host *host)
{
    struct app *app = APP(host);
    screen_release(&app->next);
    app->ops->quit(app);
}

static void host_marks(struct ui_host *host, size_t columns, unsigned char *out)
{
    struct app *app = APP(host);
    memset(out, 0, columns);
    if (app->ops->marks)
        app->ops->marks(app, columns, out);
}

/* ---- suspending ---- */

/* Until the program has the terminal again, signals stop it as usual. After bg, taking the terminal waits for fg. */
void app_suspend(struct app *app)
{
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    struct sigaction usual = {.sa_handler = SIG_DFL}, ours[COUNT_OF(stops)];
    sigset_t giving, before;
    sigemptyset(&giving);
    sigaddset(&giving, SIGTTOU);
    sigprocmask(SIG_BLOCK, &giving, &before); /* a background process must also be able to give the terminal back */
    term_leave(app->term);
    for (size_t i = 0; i < COUNT_OF(stops); i++)
        sigaction(stops[i], &usual, &ours[i]);
    sigprocmask(SIG_SETMASK, &before, NULL);
    kill(0, SIGTSTP); /* returns after fg */
    term_return(app->term);
    for (size_t i = 0; i < COUNT_OF(stops); i++)
        sigaction(stops[i], &ours[i], NULL);
    app_dirty(app);
}

static void host_suspend(struct ui_host *host)
{
    app_suspend(APP(host));
}

/* ---- $EDITOR ---- */

static const char *editor(void)
{
    const char *named = getenv("VISUAL");
    if (!named || !*named)
        named = getenv("EDITOR");
    return named && *named ? named : "vi";
}

/* Runs the user's editor on the terminal. */
static int edit_file(struct app *app, const char *path, struct err *err)
{
    struct err own = ERR_INIT;
    struct process_end end;
    CLEANUP(free) char *command = xasprintf("%s \"$1\"", editor());
    const char *const argv[] = {"/bin/sh", "-c", command, "sh", path, NULL};
    term_leave(app->term);
    int failed = process_run_in_terminal(&(struct process_spec){.argv = argv, .open = PROCESS_TERMINAL}, &end, &own);
    term_return(app->term);
    app_dirty(app);
    if (failed)
        return err_set(err, "cannot start the editor: %s", own.text);
    if (end.exit_code == 127)
        return err_set(err, "cannot find the editor \"%.60s\" (set EDITOR)", editor());
    if (end.exit_code != 0)
        return err_set(err, "the editor \"%.60s\" failed; nothing changed", editor());
    return 0;
}

/* Keeps the extension of "src/lines.c", so that the editor recognizes the language. Uses no other part of the name. */
static char *edit_path(const char *folder, const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    CLEANUP(strbuf) struct strbuf safe = STRBUF_INIT;
    for (; *base && safe.len < 80; base++)
        strbuf_addch(&safe, (*base >= 'a' && *base <= 'z') || (*base >= 'A' && *base <= 'Z') ||
                                    (*base >= '0' && *base <= '9') || strchr("._-", *base)
                                ? *base
                                : '_');
    return xasprintf("%s/%s%s", folder, safe.buf[0] == '.' || !safe.len ? "edit" : "", safe.buf);
}

static int host_edit(struct ui_host *host, const char *name, const char *text, size_t len, struct strbuf *out,
                     struct err *err)
{
    struct app *app = APP(host);
    struct err ignored = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-edit-", err); /* mode 0700 */
    if (!folder)
        return -1;
    CLEANUP(free) char *path = edit_path(folder, name);
    int result = file_replace(path, text, len, 0600, err);
    if (!result)
        result = edit_file(app, path, err);
    if (!result) {
        strbuf_reset(out);
        result = file_read(path, out, EDIT_BYTES_MAX, err);
    }
    if (file_remove_tree(folder, &ignored)) {
        /* The file is in a private temporary folder, so a failed removal does no harm. */
    }
    return result;
}

/* ---- other sessions ---- */

/* The user's own session whose journal is `path`; false: it is a recording from elsewhere, which is only shown. */
static bool find_own_session(const char *path, struct session_row *row)
{
    struct session_rows rows;
    bool found = false;
    sessions_load(&rows, SIZE_MAX);
    for (size_t i = 0; i < rows.count && !found; i++) {
        found = strcmp(rows.items[i].path, path) == 0;
        if (found)
            *row = (struct session_row){.id = steal(&rows.items[i].id), .running = rows.items[i].running};
    }
    sessions_release(&rows);
    return found;
}

static int host_open(struct ui_host *host, const char *what, struct err *err)
{
    struct app *app = APP(host);
    if (strcmp(what, "demo") == 0) {
        app_go(app, (struct screen){.kind = SCREEN_DEMO});
        return 0;
    }
    CLEANUP(free) char *file = sessions_find(what);
    struct journal_reader *reader = journal_open(file, err);
    if (!reader)
        return -1;
    size_t count = journal_count(reader);
    journal_reader_free(reader);
    /* Resume the user's own session if a model is configured. Without a model, show it at its end. A session that
     * another process has open is shown as it grows. Show everything else from its beginning. */
    struct session_row row = {0};
    bool own = find_own_session(file, &row) && !journal_held(file), model = app->options->model || app->config->model;
    if (own && model) {
        app_go(app, (struct screen){.kind = SCREEN_RESUME, .file = steal(&file), .session = row.id});
        return 0;
    }
    free(row.id);
    if (own) {
        free(app->notice);
        app->notice = xstrdup("no model is configured, so the session is read only (start keyturn and press m "
                              "to add one)");
    }
    app_go(app, (struct screen){.kind = SCREEN_REPLAY, .file = steal(&file), .position = own ? count : 0});
    return 0;
}

/* ---- the config file ---- */

static int make_config(const char *path, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const char *slash = strrchr(path, '/');
    CLEANUP(free) char *folder = slash > path ? xmemdup0(path, (size_t)(slash - path)) : NULL;
    if (folder && file_mkdirs(folder, 0700, err))
        return -1;
    config_example_write(&text);
    return file_replace(path, text.buf, text.len, 0600, err);
}

/* The edited file is used only if it can be parsed. Otherwise everything stays as before, and the message names the
 * wrong line. Keys are bound once, at program start. */
static int host_set_up(struct ui_host *host, struct err *err)
{
    struct app *app = APP(host);
    CLEANUP(free) char *usual = config_default_path();
    const char *path = app->options->config ? app->options->config : usual;
    struct err reason = ERR_INIT;
    if (access(path, F_OK) && make_config(path, err))
        return -1;
    if (edit_file(app, path, err))
        return -1;
    struct config *config = config_load(path, &reason);
    if (!config)
        return err_set(err, "config file, line %ld: %s (the old settings stay)", reason.line, reason.text);
    for (size_t i = 0; i < app->options->mcp.count; i++)
        if (config_add_mcp(config, app->options->mcp.items[i], &reason)) {
            config_free(config);
            return err_set(err, "%.200s: %s (the old settings stay)", app->options->mcp.items[i], reason.text);
        }
    config_free(app->config);
    app->config = config;
    free(app->notice);
    app->notice = config->model ? xasprintf("The model is %s now.", config->model)
                                : xstrdup("The config file still has no \"model\".");
    app_go(app, (struct screen){.kind = SCREEN_START});
    return 0;
}

void app_host_init(struct app *app)
{
    app->host = (struct ui_host){
        .submit = host_submit,
        .replay = host_replay,
        .edit_text = host_edit,
        .open = host_open,
        .set_up = host_set_up,
        .copy = host_copy,
        .suspend = host_suspend,
        .redraw = host_redraw,
        .quit = host_quit,
        .marks = host_marks,
    };
}
