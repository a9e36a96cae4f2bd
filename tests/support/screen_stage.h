#pragma once
/* What a screen shows in a test: a recording at a position, or a live engine in virtual time; and the host that the ui
 * asks. Made from the lines of a case (screen_rig.h says which). */

#include "base/clock.h"
#include "base/loop.h"
#include "dialog.h"
#include "mcp/mcp.h"
#include "player.h"
#include "sandboxview.h"
#include "support/scratch.h"
#include "turn/departure.h"
#include "turn/replay.h"
#include "ui.h"
#include "workspace/program_control.h"

/* The folder of the sources, to be set before anything else. */
extern const char *screen_source;

struct screen_plan {
    char *file; /* the recording */
    bool live, idle, execute, start, servers, step, parallel;
    char *sandbox;  /* how its boxes stand; NULL: there is none */
    int64_t due_us; /* until a question is denied; only shown */
    char **breaks, **budgets, **sessions;
    size_t break_count, break_room, budget_count, budget_room, session_count, session_room;
};

/* True when the line was for the plan. `plan` NULL: only asks. */
bool screen_plan_line(struct screen_plan *plan, const char *folder, const char *verb, const char *rest);
void screen_plan_release(struct screen_plan *plan);

struct screen_stage {
    struct ui_host host;
    const struct screen_plan *plan;
    struct view view;
    struct strbuf log; /* what the host was asked */
    char *editor;      /* what comes back from it; NULL: what went in and " (edited)" */
    struct scratch scratch;
    char *title;
    char *artifacts; /* those of a recording: the folder of that name beside it */
    struct session empty;

    struct player *player;
    double speed;
    bool playing;
    int64_t waited_us; /* where there is no loop */

    struct fake_clock clock;
    struct loop *loop;
    struct loop_timer stop;
    struct recording *recording;
    struct harness harness;
    struct engine *engine;
    struct journal_reader *lines;
    struct view_cache *cache;
    struct sink sink;
    struct departures *departures;
    struct servers_wait waited; /* shown, if the case says so */
    struct ui *ui;
    struct sandbox_view sandbox;
    struct program_control programs;
};

/* screen_host.c: what the ui asks, written down in the stage's log and carried out on it. */
extern const struct ui_host screen_host;
/* screen_programs.c: programs that a case tells of; what is typed into them is in the log. */
extern const struct program_control screen_programs;
/* An event as its line, emitted now. */
void screen_stage_tell(struct screen_stage *stage, const char *line);

void screen_stage_open(struct screen_stage *stage, const struct screen_plan *plan);
/* With the ui there: opens the start screen, starts the turn. */
void screen_stage_begin(struct screen_stage *stage, struct ui *ui);
void screen_stage_close(struct screen_stage *stage);
const struct view *screen_stage_view(struct screen_stage *stage);
/* Lets the loop run until nothing can happen any more. */
void screen_stage_settle(struct screen_stage *stage);
void screen_stage_wait(struct screen_stage *stage, int64_t us);
/* From now on the old bytes of a write cannot be kept. */
void screen_stage_no_undo(struct screen_stage *stage);
/* The time for whoever waits for it: messages leave by themselves. */
int64_t screen_stage_now(const struct screen_stage *stage);
/* To a position of the recording; SIZE_MAX: there is none to go to. */
void screen_stage_seek(struct screen_stage *stage, size_t position);
void screen_stage_at(struct screen_stage *stage, const char *where);
void screen_stage_file(struct screen_stage *stage, const char *path, const char *text);
