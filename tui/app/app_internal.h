#pragma once
/* The state of the running workbench, shared by app.c, ui_host.c, live.c, live_plan.c and replay.c. Other files use
 * app.h.
 *
 * The app shows one screen at a time: the start screen, a live session or a recording. Each screen has its own loop and
 * ends when that loop stops. `next` says which screen follows. The terminal, the keymap and the theme stay the same
 * across screens. */

#include "app.h"
#include "base/loop.h"
#include "base/mem.h"
#include "config/config.h"
#include "screen/term.h"
#include "turn/replay.h"
#include "ui.h"

struct player;

enum screen_kind {
    SCREEN_NONE,
    SCREEN_START,
    SCREEN_LIVE,
    SCREEN_DEMO,
    SCREEN_REPLAY,
    SCREEN_EXECUTE,
    SCREEN_FORK,   /* a new session that begins like a recording */
    SCREEN_RESUME, /* a recorded session, continued in its own journal */
};

/* The screen to open next. Owns its texts. */
struct screen {
    enum screen_kind kind;
    char *file;      /* the recording, or the journal to resume */
    char *session;   /* id of the session to resume */
    char *find;      /* start screen: list the sessions that this text names; "": all of them */
    char *prompt;    /* the first prompt; NULL: the user types it */
    size_t position; /* where a fork branches off the recording */
    bool set_up;     /* start screen: show how to set up a model */
};
void screen_release(struct screen *screen);

struct app;

/* What each kind of screen implements. */
struct screen_ops {
    /* Fills app->view from the current state. */
    void (*fill)(struct app *app);
    /* Runs before each key, because engine data that the view borrows may be gone since the last frame. May be NULL. */
    void (*look)(struct app *app);
    int (*submit)(struct app *app, const struct intent *intent, struct err *err); /* for screens without an engine */
    int (*replay)(struct app *app, enum action action, const char *argument, struct err *err);
    void (*marks)(struct app *app, size_t columns, unsigned char *out);
    /* The user wants to leave. Calls app_leave, now or after cleanup. */
    void (*quit)(struct app *app);
    /* Does a bounded piece of work between two frames. True while there is more. May be NULL. */
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
    char *theme;    /* name of the theme the user switched to; NULL: use options and config */
    char *notice;   /* message to show when the next screen opens */
    char *wanted;   /* a prompt that waits until a model is set up; NULL: none */
    char *farewell; /* what to print when the terminal is the shell's again; NULL: nothing */

    struct screen next;
    const struct screen_ops *ops;
    void *own;   /* state of the current screen */
    int status;  /* exit status; -1 until the screen is open */
    int stopped; /* exit status for the signal that arrived; 0: none */

    struct loop *loop; /* of the current screen */
    struct loop_watch *keys, *stray, *signals[7];
    bool worked; /* a long piece of work ran since the last frame: paint the next frame before doing more */
    struct loop_timer frame, tick, said; /* said: a message expires */
    struct loop_task stop;
    int64_t frame_us;      /* time of the newest frame */
    int64_t frame_cost_us; /* what it took */
    int64_t interrupt_us;
    struct view view;
    struct strbuf stray_text;
    bool leaving;
    bool leaked; /* a thread still uses this memory: exit without freeing it */
};

/* app.c */
/* Schedules a frame. Call it after every change of the state. */
void app_dirty(struct app *app);
/* Starts a screen that is set up: takes the terminal, unless the app already has it, and watches all inputs. Returns 0,
 * or the exit status after printing the error. The caller then calls app_run, and app_end in every case. */
int app_begin(struct app *app, struct loop *loop, const struct screen_ops *ops, void *own) CHECKED;
void app_run(struct app *app);
void app_end(struct app *app);
void app_leave(struct app *app);
/* Leaves for another screen. Takes ownership of its texts. */
void app_go(struct app *app, struct screen screen);
/* Starts or stops the clock on the screen, which redraws once a second while something runs. */
void app_tick(struct app *app, bool wanted);

/* ui_host.c */
void app_host_init(struct app *app);
void app_suspend(struct app *app);

/* The screens. Each returns 0, or the exit status after printing the error. */
int app_screen_live(struct app *app, const struct screen *screen);
int app_screen_replay(struct app *app, const struct screen *screen);

/* replay.c: writes a new journal that begins with the first `position` events of `file`. On error returns NULL and sets
 * err. `goes_on`: the fork point is in the middle of a turn. */
char *app_fork_journal(const char *file, size_t position, bool *goes_on, struct err *err) CHECKED;
/* Returns the rest of the recording after `position`, as answers for a scripted model. The caller frees the bytes. */
char *app_fork_rest(const char *file, size_t position, size_t *len, struct err *err) CHECKED;
