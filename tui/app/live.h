#pragma once
/* The state of the live screen, shared by live.c (runs it) and live_plan.c (chooses folder, model and journal). */

#include "app_internal.h"
#include "dialogs/dialog.h"
#include "setup.h"

struct live {
    struct app *app;
    enum screen_kind kind;
    struct setup setup;
    struct sandbox_view sandbox;
    struct program_limits_view limits;
    struct sink sink;
    struct journal_reader *lines;
    struct view_cache *cache; /* of the events in the journal */
    int64_t t_base;           /* loop time when the session's time began */

    struct recording *recording; /* of the demo, an execution or a fork */
    size_t turns, next;          /* recorded turns to run: their number, the next one */
    const char *prompt;          /* of the first turn, if there is no recording */
    struct divergences *divergences;
    bool compared; /* the run is over and was compared: missing events count */
    bool stopped;  /* the run reached the event of --until */
    struct scratch_dirs *scratch;
    const char *temp; /* temporary folder of the screen */
    char *workspace, *journal, *rest;
    bool folder_gone; /* the recorded folder no longer exists */
    struct journal_reader *resumed, *script;

    struct view_model *models; /* models of the config file; NULL: the model is fixed */
    size_t model_count;
    struct strbuf hint;
    char *ended;  /* outcome of the newest turn */
    char *folder; /* name shown in the first line */
    struct loop_task advance;
    struct loop_timer leave_poll;
    int64_t quit_us; /* when the user began to leave; 0: not yet */
    bool running;
};

/* Chooses folder, model and journal. Returns 0, or the exit status after printing the error. */
int live_plan(struct live *live, const struct screen *screen, struct setup_plan *plan);
/* The folder's name in the first line. The caller frees it. */
char *live_folder_name(const struct live *live, const struct screen *screen);
