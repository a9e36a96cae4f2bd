#pragma once
/* The inside of the running workbench, shared by the app_*.c files; nobody else includes it.
 *
 * The app goes from stage to stage: the start screen, a live session, a recording. Each stage has a loop of its own and
 * is over when its loop stops; what comes next is in `next`. The terminal, the keymap and the theme go along. */

#include "app.h"
#include "base/loop.h"
#include "base/mem.h"
#include "config/config.h"
#include "term.h"
#include "turn/replay.h"
#include "ui.h"

struct player;

enum stage_kind { STAGE_NONE, STAGE_START, STAGE_LIVE, STAGE_DEMO, STAGE_REPLAY, STAGE_EXECUTE, STAGE_FORK };

/* What to go to. Texts are owned. */
struct stage {
    enum stage_kind kind;
    char *file;      /* of a recording, or of the journal to go on with */
    char *prompt;    /* to begin with; NULL: the user is asked */
    size_t position; /* where a fork leaves the recording */
    bool set_up;     /* at the start: how to set up a model is shown */
};
void stage_release(struct stage *stage);

struct app;

/* What a stage does its own way. */
struct stage_ops {
    /* Fills app->view anew. */
    void (*fill)(struct app *app);
    /* Before each key: what the view borrows of the engine may be gone since the last frame. May be NULL. */
    void (*look)(struct app *app);
    int (*submit)(struct app *app, const struct intent *intent, struct err *err); /* where there is no engine */
    int (*replay)(struct app *app, enum action action, const char *argument, struct err *err);
    void (*marks)(struct app *app, size_t columns, unsigned char *out);
    /* The user wants to leave, now. Calls app_leave, at once or once things are in order. */
    void (*quit)(struct app *app);
    /* A little work between two frames; true while there is more. May be NULL. */
    bool (*work)(struct app *app);
};

struct app {
    const struct options *options;
    struct config *config;
    struct keymap *keymap;
    struct term *term;
    struct ui *ui;
    struct ui_host host;
    struct canvas canvas;
    char *theme;  /* by name, once it was switched; NULL: what options and config say */
    char *notice; /* to be said at the beginning of the next stage */
    char *wanted; /* the prompt that waits for a model; NULL: none */

    struct stage next;
    const struct stage_ops *ops;
    void *own;   /* the stage's */
    int status;  /* the exit status; -1 while the stage is not open */
    int stopped; /* the exit status that a signal stands for; 0: none came */

    struct loop *loop; /* the stage's */
    struct loop_watch *keys, *stray, *signals[7];
    bool worked; /* since the last frame, for long: the next one is painted without more of it */
    struct loop_timer frame, tick, said; /* the last: a message has to go */
    struct loop_task stop;
    int64_t frame_us; /* when the newest was shown */
    int64_t interrupt_us;
    struct view view;
    struct strbuf stray_text;
    bool leaving;
    bool leaked; /* a thread is still out there with what it holds: the program ends without taking down */
};

/* app.c */
/* Something changed: a frame is due. */
void app_dirty(struct app *app);
/* A stage that is set up: takes the terminal, if it is not ours yet, and watches everything. 0, or the exit status
 * after the error was said. Then app_run until somebody leaves; app_end in any case. */
int app_begin(struct app *app, struct loop *loop, const struct stage_ops *ops, void *own) CHECKED;
void app_run(struct app *app);
void app_end(struct app *app);
void app_leave(struct app *app);
/* Leaves for another stage; takes over its texts. */
void app_go(struct app *app, struct stage stage);
/* While something runs the clock on the screen goes on, once a second. */
void app_tick(struct app *app, bool wanted);
/* What others wrote to fd 2 goes to the log; the last line of it is returned (the caller's), NULL when there is none.
 */
char *app_drain_stray(struct app *app);

/* app_host.c */
void app_host_init(struct app *app);
void app_suspend(struct app *app);

/* The stages: 0, or the exit status after an error was said. */
int app_stage_start(struct app *app, const struct stage *stage);
int app_stage_live(struct app *app, const struct stage *stage);
int app_stage_replay(struct app *app, const struct stage *stage);

/* app_replay.c: writes a new journal that begins with `position` events of `file`; NULL and err. `goes_on`: in the
 * middle of a turn. */
char *app_fork_journal(const char *file, size_t position, bool *goes_on, struct err *err) CHECKED;
/* The rest of the recording after it, as answers for a scripted model; the bytes are the caller's. */
char *app_fork_rest(const char *file, size_t position, size_t *len, struct err *err) CHECKED;

/* app_hints.c: what the demo says to try next; "" when there is nothing to say. `kept`: as ui_hunks_kept says. */
void app_demo_hint(struct strbuf *out, const struct view *view, const struct keymap *keymap, size_t kept);
