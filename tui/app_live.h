#pragma once
/* The live stage, inside: app_live.c runs it, app_plan.c says with what. Nobody else includes it. */

#include "app_inside.h"
#include "sandboxview.h"
#include "setup.h"

struct live {
    struct app *app;
    enum stage_kind kind;
    struct setup setup;
    struct sandbox_view sandbox;
    struct program_limits_view limits;
    struct sink sink;
    struct journal_reader *lines;
    struct view_cache *cache; /* of the events in there */
    int64_t t_base;           /* time of the loop at which the session's began */

    struct recording *recording; /* of the demo, an execution, a fork */
    size_t turns, next;          /* recorded ones to be run: how many, which comes next */
    const char *prompt;          /* of the first turn, when there is no recording */
    struct departures *departures;
    bool compared; /* the run is over, what is missing counts */
    bool stopped;  /* it came to where --until says */
    struct rooms *scratch;
    const char *temp; /* its folder */
    char *workspace, *journal, *rest;
    bool folder_gone; /* the recorded one */
    struct journal_reader *resumed, *script;

    struct view_model *models; /* texts of the config; NULL: the model cannot be changed */
    size_t model_count;
    struct strbuf hint;
    char *ended;  /* how the newest turn did */
    char *folder; /* shown in the first line */
    struct loop_task advance;
    struct loop_timer look;
    int64_t quit_us; /* when leaving began; 0: it has not */
    bool running;
};

/* Where it works, with which model and which journal. 0, or the exit status after the error was said. */
int live_plan(struct live *live, const struct stage *stage, struct setup_plan *plan);
/* What the first line calls it; the caller's. */
char *live_folder_name(const struct live *live, const struct stage *stage);
