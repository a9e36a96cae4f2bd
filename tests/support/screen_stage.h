#pragma once
/* What a screen shows in a test: a recording at a position, or a live engine in virtual time, and the host of the ui.
 * It is made from the lines of a case (screen_rig.h lists them). */

#include "app/player.h"
#include "app/ui.h"
#include "base/clock.h"
#include "base/loop.h"
#include "dialogs/dialog.h"
#include "mcp/mcp.h"
#include "scratch.h"
#include "turn/divergence.h"
#include "turn/replay.h"
#include "workspace/program_control.h"

/* The folder of the sources; set it before anything else. */
extern const char *screen_source;

struct screen_plan {
    char *file; /* the recording */
    bool live, idle, execute, start, servers, step, parallel;
    char *sandbox;  /* state of its boxes; NULL: there are none */
    int64_t due_us; /* until a question is denied; only shown */
    char **breaks, **budgets, **sessions;
    size_t break_count, break_room, budget_count, budget_room, session_count, session_room;
};

/* Returns true if the line belongs to the plan. `plan` NULL: only checks. */
bool screen_plan_line(struct screen_plan *plan, const char *folder, const char *verb, const char *rest);
void screen_plan_release(struct screen_plan *plan);

struct screen_stage {
    struct ui_host host;
    const struct screen_plan *plan;
    struct view view;
    struct strbuf log; /* requests to the host */
    char *editor;      /* what the editor returns; NULL: its input and " (edited)" */
    struct scratch scratch;
    char *title;
    char *artifacts; /* of a recording: the folder of that name beside it */
    struct session empty;

    struct player *player;
    double speed;
    bool playing;
    int64_t waited_us; /* time waited without a loop */

    struct fake_clock clock;
    struct loop *loop;
    struct loop_timer stop;
    struct recording *recording;
    struct engine_config engine_config;
    struct engine *engine;
    struct journal_reader *lines;
    struct view_cache *cache;
    struct sink sink;
    struct divergences *divergences;
    struct servers_wait waited; /* shown if the case says so */
    struct ui *ui;
    struct sandbox_view sandbox;
    struct program_control programs;
};

/* screen_host.c: logs the requests of the ui and carries them out on the stage. */
extern const struct ui_host screen_host;
/* screen_programs.c: programs as a case describes them; input typed into them is in the log. */
extern const struct program_control screen_programs;
/* Emits the event of this line now. */
void screen_stage_tell(struct screen_stage *stage, const char *line);

void screen_stage_open(struct screen_stage *stage, const struct screen_plan *plan);
/* Call with the ui: opens the start screen or starts the turn. */
void screen_stage_begin(struct screen_stage *stage, struct ui *ui);
void screen_stage_close(struct screen_stage *stage);
const struct view *screen_stage_view(struct screen_stage *stage);
/* Runs the loop until no event is left. */
void screen_stage_settle(struct screen_stage *stage);
void screen_stage_wait(struct screen_stage *stage, int64_t us);
/* From now on the old bytes of a write cannot be kept. */
void screen_stage_no_undo(struct screen_stage *stage);
/* Returns the time, for messages that disappear after a while. */
int64_t screen_stage_now(const struct screen_stage *stage);
/* Moves to a position of the recording; SIZE_MAX: does nothing. */
void screen_stage_seek(struct screen_stage *stage, size_t position);
void screen_stage_at(struct screen_stage *stage, const char *where);
void screen_stage_file(struct screen_stage *stage, const char *path, const char *text);
