/* Chooses what a live screen runs with: its folder, its model, its journal. `run`, the demo, the execution of a
 * recording, a fork and a resumed session differ only in these. */

#include "base/file.h"
#include "cli_error.h"
#include "demo.h"
#include "live.h"
#include "sandbox/scratch_dirs.h"
#include "turn/divergence.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_temp(struct live *live)
{
    struct err err = ERR_INIT;
    live->scratch = scratch_dirs_open_scratch(&err);
    if (!live->scratch)
        return cli_error(STATUS_USAGE, "%s", err.text);
    live->temp = scratch_dirs_path(live->scratch);
    return 0;
}

static int open_recording(struct live *live, const char *file)
{
    struct err err = ERR_INIT;
    live->recording = recording_open(file, &err);
    return live->recording ? 0 : cli_file_error(STATUS_USAGE, file, &err);
}

static int copy_files(struct live *live, const char *files)
{
    struct err err = ERR_INIT;
    live->workspace = xasprintf("%s/workspace", live->temp);
    if (files ? file_copy_tree(files, live->workspace, &err) : file_mkdirs(live->workspace, 0700, &err))
        return cli_error(STATUS_USAGE, "%s", err.text);
    return 0;
}

static int plan_demo(struct live *live, struct setup_plan *plan)
{
    CLEANUP(free) char *file = demo_find();
    int status = file ? open_recording(live, file) : STATUS_USAGE;
    if (!status)
        status = make_temp(live);
    if (!status)
        status = demo_workspace(live->app->options, live->recording, live->temp, &live->workspace);
    if (status)
        return status;
    live->turns = recording_turn_count(live->recording);
    plan->recording = live->recording;
    plan->temp = live->app->options->workspace ? NULL : live->temp;
    plan->user_decides = true;
    plan->keep = true;
    return 0;
}

static int plan_execution(struct live *live, const struct screen *screen, struct setup_plan *plan)
{
    int status = open_recording(live, screen->file);
    if (!status && recording_turn_count(live->recording) == 0)
        status = cli_error(STATUS_USAGE, "%s: no turn to run (keyturn replay shows the events)", screen->file);
    const struct options *options = live->app->options;
    if (!status && options->until >= 0 && recording_turns_until(live->recording, options->until) == 0)
        status = cli_error(STATUS_USAGE, "%s: no turn starts by seq %lld (name a later one for --until)", screen->file,
                           (long long)options->until);
    if (!status)
        status = make_temp(live);
    if (!status)
        status = copy_files(live, options->workspace ? options->workspace : recording_files(live->recording));
    if (status)
        return status;
    live->turns = recording_turn_count(live->recording);
    live->divergences = divergences_new(live->recording);
    if (options->until >= 0) {
        divergences_until(live->divergences, options->until);
        live->turns = recording_turns_until(live->recording, options->until);
        plan->speed = 0; /* the user wants to see what follows --until, not what precedes it */
    }
    live->journal = options->record ? NULL : xasprintf("%s/session.jsonl", live->temp);
    plan->recording = live->recording;
    plan->temp = live->temp;
    plan->journal = live->journal;
    if (!isnan(options->speed))
        plan->speed = options->speed;
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return path && *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of a fork: the one the user names, a copy of the recording's files, or the recorded folder. If that folder
 * is gone, an empty one. */
static int fork_workspace(struct live *live)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    const char *files = recording_files(live->recording);
    if (live->app->options->workspace) {
        live->workspace = xstrdup(live->app->options->workspace);
        return 0;
    }
    if (files)
        return copy_files(live, files);
    bool read = journal_event(recording_reader(live->recording), 0, &event, &arena, NULL) == 0;
    if (read && is_folder(event.session_started.workspace)) {
        live->workspace = xstrdup(event.session_started.workspace);
        return 0;
    }
    /* Never use the user's current folder: the conversation is about other files. */
    live->folder_gone = true;
    return copy_files(live, NULL);
}

static int plan_fork(struct live *live, const struct screen *screen, struct setup_plan *plan)
{
    struct err err = ERR_INIT;
    bool model = live->app->options->model || live->app->config->model;
    size_t len;
    int status = open_recording(live, screen->file);
    if (!status && journal_held(screen->file))
        status = cli_error(STATUS_USAGE, "%s: session in use by another keyturn; quit it first", screen->file);
    if (!status)
        status = make_temp(live);
    if (!status)
        status = fork_workspace(live);
    if (status)
        return status;
    bool goes_on = false;
    live->journal = app_fork_journal(screen->file, screen->position, &goes_on, &err);
    live->resumed = live->journal ? journal_open(live->journal, &err) : NULL;
    if (!live->resumed)
        return cli_file_error(STATUS_USAGE, live->journal ? live->journal : screen->file, &err);
    if (!model) {
        live->rest = app_fork_rest(screen->file, screen->position, &len, &err);
        live->script = live->rest ? journal_open_bytes(live->rest, len, &err) : NULL;
        if (!live->script)
            return cli_file_error(STATUS_USAGE, screen->file, &err);
    }
    plan->resume = live->resumed;
    plan->script = live->script;
    plan->journal = live->journal;
    plan->keep = true;
    plan->memory = true;
    free(live->app->notice);
    live->app->notice =
        xasprintf("Forked after event %zu into a new session%s%s: %s%s", screen->position,
                  live->folder_gone ? "; its folder is gone, so it starts in an empty one" : " in ",
                  live->folder_gone ? "" : live->workspace, goes_on ? "the turn continues" : "type the next prompt",
                  model ? "" : " (no model: answers come from the recording)");
    return 0;
}

/* The folder of a resumed session: the one the user names, or the recorded one. */
static int resumed_workspace(struct live *live, const struct screen *screen)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    const char *named = live->app->options->workspace, *recorded = NULL;
    if (!named && journal_event(live->resumed, 0, &event, &arena, NULL) == 0)
        recorded = event.session_started.workspace;
    if (!named && !is_folder(recorded))
        return cli_error(STATUS_USAGE, "session %s: its folder %s is gone (name another with --workspace DIR)",
                         screen->session, recorded && *recorded ? recorded : "(unknown)");
    live->workspace = xstrdup(named ? named : recorded);
    return 0;
}

static int plan_resume(struct live *live, const struct screen *screen, struct setup_plan *plan)
{
    struct err err = ERR_INIT;
    live->journal = xstrdup(screen->file);
    live->resumed = journal_open(live->journal, &err);
    if (!live->resumed)
        return cli_file_error(STATUS_USAGE, live->journal, &err);
    int status = resumed_workspace(live, screen);
    if (status)
        return status;
    live->prompt = screen->prompt;
    plan->resume = live->resumed;
    plan->journal = live->journal;
    plan->session = screen->session;
    plan->keep = plan->memory = true;
    return 0;
}

int live_plan(struct live *live, const struct screen *screen, struct setup_plan *plan)
{
    switch (screen->kind) {
    case SCREEN_DEMO:
        return plan_demo(live, plan);
    case SCREEN_EXECUTE:
        return plan_execution(live, screen, plan);
    case SCREEN_FORK:
        return plan_fork(live, screen, plan);
    case SCREEN_RESUME:
        return plan_resume(live, screen, plan);
    default:
        break;
    }
    live->workspace = xstrdup(plan->options->workspace ? plan->options->workspace : ".");
    live->prompt = screen->prompt && strcmp(screen->prompt, "-") != 0 ? screen->prompt : NULL;
    plan->keep = plan->memory = true;
    return 0;
}

char *live_folder_name(const struct live *live, const struct screen *screen)
{
    if (live->kind == SCREEN_DEMO)
        return xstrdup("demo");
    CLEANUP(free)
    char *whole = screen->kind == SCREEN_EXECUTE ? xstrdup(screen->file) : realpath(live->workspace, NULL);
    const char *slash = whole ? strrchr(whole, '/') : NULL;
    return xstrdup(slash && slash[1] ? slash + 1 : whole ? whole : "");
}
