/* The start screen: a stage without a session. What is typed or chosen there leads to another stage. */

#include "app_inside.h"
#include "base/file.h"
#include "demo.h"
#include "sessions.h"
#include "start.h"
#include <string.h>
#include <unistd.h>

struct start_stage {
    struct session session;
    struct journal_reader *lines; /* of nothing, so that whoever looks finds an end */
};

static void start_fill(struct app *app)
{
    struct start_stage *start = app->own;
    app->view = (struct view){.mode = VIEW_LIVE, .session = &start->session, .lines = start->lines, .title = ""};
}

static int start_submit(struct app *app, const struct intent *intent, struct err *err)
{
    if (intent->type != INTENT_START)
        return err_set(err, "nothing runs yet: say what to do, or choose something to look at");
    if (!app->options->model && !app->config->model)
        return err_set(err, "no model is configured: m on the empty line says how to set one up; the demo needs none");
    free(steal(&app->wanted));
    app_go(app, (struct stage){.kind = STAGE_LIVE, .prompt = xstrdup(intent->start.prompt)});
    return 0;
}

static int start_replay(struct app *app, enum action action, const char *argument, struct err *err)
{
    (void)app, (void)action, (void)argument;
    return err_set(err, "nothing is open yet");
}

static const struct stage_ops ops = {
    .fill = start_fill, .submit = start_submit, .replay = start_replay, .quit = app_leave};

int app_stage_start(struct app *app, const struct stage *stage)
{
    static const char nothing[] = "{\"type\":\"session.started\",\"v\":1}\n";
    struct err err = ERR_INIT;
    struct start_stage start = {.lines = journal_open_bytes(nothing, sizeof(nothing) - 1, &err)};
    if (!start.lines)
        BUG("%s", err.text);
    session_init(&start.session);
    struct loop *loop = loop_new(clock_system());
    app->status = -1;
    int status = app_begin(app, loop, &ops, &start);
    if (!status) {
        CLEANUP(free) char *here = getcwd(NULL, 0);
        CLEANUP(free) char *folder = sessions_folder(here ? here : ".");
        CLEANUP(free) char *fixtures = demo_folder();
        CLEANUP(free) char *config = config_default_path();
        app->status = 0;
        ui_open_dialog(app->ui, start_new(&(struct start_info){
                                    .folder = folder,
                                    .model = app->options->model ? app->options->model : app->config->model,
                                    .config = app->options->config ? app->options->config : config,
                                    .fixtures = fixtures,
                                    .prompt = app->wanted,
                                }));
        if (stage->set_up)
            ui_open_dialog(app->ui, dialog_model_setup_new(app->options->config ? app->options->config : config, NULL));
        app_run(app);
        status = app->status;
    }
    app_end(app);
    loop_free(loop);
    session_release(&start.session);
    journal_reader_free(start.lines);
    return status;
}
