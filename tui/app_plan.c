/* With what a live stage runs: its folder, its model, its journal. `run`, the demo, a recording that is executed and a
 * fork differ in nothing else. */

#include "app_live.h"
#include "base/file.h"
#include "demo.h"
#include "sandbox/rooms.h"
#include "say.h"
#include "turn/departure.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_temp(struct live *live)
{
    struct err err = ERR_INIT;
    live->scratch = rooms_open_scratch(&err);
    if (!live->scratch)
        return say_error(STATUS_USAGE, "%s", err.text);
    live->temp = rooms_path(live->scratch);
    return 0;
}

static int open_recording(struct live *live, const char *file)
{
    struct err err = ERR_INIT;
    live->recording = recording_open(file, &err);
    return live->recording ? 0 : say_file_error(STATUS_USAGE, file, &err);
}

static int copy_files(struct live *live, const char *files)
{
    struct err err = ERR_INIT;
    live->workspace = xasprintf("%s/workspace", live->temp);
    if (files ? file_copy_tree(files, live->workspace, &err) : file_mkdirs(live->workspace, 0700, &err))
        return say_error(STATUS_USAGE, "%s", err.text);
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

static int plan_execution(struct live *live, const struct stage *stage, struct setup_plan *plan)
{
    int status = open_recording(live, stage->file);
    if (!status && recording_turn_count(live->recording) == 0)
        status = say_error(STATUS_USAGE, "%s: there is no turn to run in it (keyturn replay shows what there is)",
                           stage->file);
    const struct options *options = live->app->options;
    if (!status && options->until >= 0 && recording_turns_until(live->recording, options->until) == 0)
        status = say_error(STATUS_USAGE, "%s: no turn has begun by seq %lld (name a later one for --until)",
                           stage->file, (long long)options->until);
    if (!status)
        status = make_temp(live);
    if (!status)
        status = copy_files(live, options->workspace ? options->workspace : recording_files(live->recording));
    if (status)
        return status;
    live->turns = recording_turn_count(live->recording);
    live->departures = departures_new(live->recording);
    if (options->until >= 0) {
        departures_until(live->departures, options->until);
        live->turns = recording_turns_until(live->recording, options->until);
        plan->speed = 0; /* what lies before it was not asked for */
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

/* Where a fork works: where it is told to, in a copy of the files that belong to the recording, in the folder that was
 * recorded, or, when that is gone, in an empty one. */
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
    /* Never where the user happens to be: what the model remembers is about other files. */
    live->folder_gone = true;
    return copy_files(live, NULL);
}

static int plan_fork(struct live *live, const struct stage *stage, struct setup_plan *plan)
{
    struct err err = ERR_INIT;
    bool model = live->app->options->model || live->app->config->model;
    size_t len;
    int status = open_recording(live, stage->file);
    if (!status && journal_held(stage->file))
        status = say_error(STATUS_USAGE, "%s: another keyturn runs this session (end that one first)", stage->file);
    if (!status)
        status = make_temp(live);
    if (!status)
        status = fork_workspace(live);
    if (status)
        return status;
    bool goes_on = false;
    live->journal = app_fork_journal(stage->file, stage->position, &goes_on, &err);
    live->resumed = live->journal ? journal_open(live->journal, &err) : NULL;
    if (!live->resumed)
        return say_file_error(STATUS_USAGE, live->journal ? live->journal : stage->file, &err);
    if (!model) {
        live->rest = app_fork_rest(stage->file, stage->position, &len, &err);
        live->script = live->rest ? journal_open_bytes(live->rest, len, &err) : NULL;
        if (!live->script)
            return say_file_error(STATUS_USAGE, stage->file, &err);
    }
    plan->resume = live->resumed;
    plan->script = live->script;
    plan->journal = live->journal;
    plan->keep = true;
    plan->memory = true;
    free(live->app->notice);
    live->app->notice =
        xasprintf("forked after event %zu into a new session%s%s: %s%s", stage->position,
                  live->folder_gone ? "; its folder is gone, so it begins in an empty one" : " in ",
                  live->folder_gone ? "" : live->workspace, goes_on ? "the turn goes on" : "say what to do next",
                  model ? "" : " (no model is configured: the rest of the recording answers)");
    return 0;
}

int live_plan(struct live *live, const struct stage *stage, struct setup_plan *plan)
{
    switch (stage->kind) {
    case STAGE_DEMO:
        return plan_demo(live, plan);
    case STAGE_EXECUTE:
        return plan_execution(live, stage, plan);
    case STAGE_FORK:
        return plan_fork(live, stage, plan);
    default:
        break;
    }
    live->workspace = xstrdup(plan->options->workspace ? plan->options->workspace : ".");
    live->prompt = stage->prompt && strcmp(stage->prompt, "-") != 0 ? stage->prompt : NULL;
    plan->keep = plan->memory = true;
    return 0;
}

char *live_folder_name(const struct live *live, const struct stage *stage)
{
    if (live->kind == STAGE_DEMO)
        return xstrdup("demo");
    CLEANUP(free) char *whole = stage->kind == STAGE_EXECUTE ? xstrdup(stage->file) : realpath(live->workspace, NULL);
    const char *slash = whole ? strrchr(whole, '/') : NULL;
    return xstrdup(slash && slash[1] ? slash + 1 : whole ? whole : "");
}
