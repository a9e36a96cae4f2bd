/* One turn after the other. What ends it early: Ctrl-C (the turn is cancelled and says so), standard output that is
 * gone, a journal that cannot be written.
 *
 * A call that timed out may still have a thread. It gets a moment to come back, so that the journal can say that it was
 * late; then the program leaves without it, and leaves at once: what the thread still holds is not taken down. */

#include "drive.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "model/scripted.h"
#include "sandbox/engines.h"
#include "say.h"
#include "text.h"
#include "tools/place.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US (2 * 1000000)
#define LOOK_US     5000

#define DRIVE_OF(place, member) ((struct drive *)((char *)(place)-offsetof(struct drive, member)))

/* What happens, as far as it matters for the exit status and the list of sessions. */

static int status_of(const char *turn_status)
{
    if (strcmp(turn_status, "done") == 0)
        return STATUS_DONE;
    return strcmp(turn_status, "cancelled") == 0 ? STATUS_INTERRUPTED : STATUS_FAILED;
}

static void cancel_turn(struct drive *drive)
{
    struct err err = ERR_INIT;
    if (drive->setup.engine && engine_submit(drive->setup.engine, &(struct intent){.type = INTENT_CANCEL}, &err))
        log_debug("cancel: %s", err.text); /* between two turns there is nothing to cancel */
}

static void cancel_later(struct loop_task *task)
{
    cancel_turn(DRIVE_OF(task, stop));
}

static void heard(struct sink *sink, const struct event *event, const struct session *session)
{
    struct drive *drive = DRIVE_OF(sink, sink);
    (void)session;
    if (event->type == EVENT_MODEL_FAILED && event->model_failed.error) {
        free(drive->trouble);
        drive->trouble = xstrdup(event->model_failed.error);
    }
    if (event->type == EVENT_TURN_FINISHED) {
        const char *status = event->turn_finished.status ? event->turn_finished.status : "";
        free(drive->ended);
        drive->ended = xstrdup(status);
        if (drive->status == STATUS_DONE && !drive->enough)
            drive->status = status_of(status);
    }
    /* Not from within an emission: the engine is in the middle of something. */
    if ((drive->output.failed || drive->enough) && drive->running)
        loop_post(drive->setup.loop, &drive->stop, cancel_later);
}

/* Ctrl-C, and what others send */

static void leave_now(struct drive *drive, int status)
{
    struct err err = ERR_INIT;
    if (drive->scratch && file_remove_tree(drive->scratch, &err))
        say_notice("%s", err.text);
    _exit(status);
}

static void stop(struct drive *drive, int status)
{
    if (++drive->interrupts == 1)
        drive->stopped = status;
    else
        leave_now(drive, drive->stopped);
    cancel_turn(drive);
}

static void interrupted(void *data)
{
    stop(data, STATUS_INTERRUPTED);
}

static void terminated(void *data)
{
    stop(data, STATUS_TERMINATED);
}

static void hung_up(void *data)
{
    stop(data, STATUS_HUNG_UP);
}

/* From turn to turn */

static void turn_ended(void *data);

static bool stops_here(const struct drive *drive)
{
    return drive->interrupts || drive->output.failed || drive->enough || engine_failed(drive->setup.engine) ||
           drive->next == drive->turns;
}

static void start_next(struct drive *drive)
{
    struct err err = ERR_INIT;
    const char *prompt = drive->prompt;
    if (drive->recording) {
        prompt = recording_prompt(drive->recording, drive->next);
        if (!drive->setup.script)
            scripted_turn(drive->setup.harness.provider, recording_turn_number(drive->recording, drive->next));
    }
    drive->next++;
    struct intent intent = {.type = INTENT_START, .start = {prompt}};
    if (engine_submit(drive->setup.engine, &intent, &err)) {
        drive->status = say_error(STATUS_FAILED, "the turn cannot start: %s", err.text);
        drive->next = drive->turns;
        turn_ended(drive);
    }
}

static void end_session(struct drive *drive)
{
    struct err err = ERR_INIT;
    struct intent intent = {.type = INTENT_END, .end = {drive->interrupts ? "interrupted" : "quit"}};
    if (engine_submit(drive->setup.engine, &intent, &err))
        log_warn("end: %s", err.text);
    drive->over = true;
    loop_stop(drive->setup.loop);
}

static void look(struct loop_timer *timer)
{
    struct drive *drive = DRIVE_OF(timer, look);
    struct loop *loop = drive->setup.loop;
    bool patient = drive->patient && !drive->interrupts;
    if (engine_idle(drive->setup.engine) || (!patient && loop_now_us(loop) - drive->waits_since_us > PATIENCE_US))
        end_session(drive);
    else
        loop_timer_start(loop, timer, loop_now_us(loop) + LOOK_US, look);
}

static void advance(struct loop_task *task)
{
    struct drive *drive = DRIVE_OF(task, step);
    if (!stops_here(drive)) {
        start_next(drive);
        return;
    }
    drive->waits_since_us = loop_now_us(drive->setup.loop);
    look(&drive->look);
}

static void turn_ended(void *data)
{
    struct drive *drive = data;
    loop_post(drive->setup.loop, &drive->step, advance);
}

/* The whole */

static struct sink *open_show(struct drive *drive, const struct options *options)
{
    struct sink *show = NULL;
    drive->sink.event = heard;
    output_init(&drive->output, STDOUT_FILENO);
    if (!drive->quiet && options->headless) {
        headless_init(&drive->headless, &drive->output);
        show = &drive->headless.sink;
    } else if (!drive->quiet) {
        struct plain_style style = plain_style_for(STDOUT_FILENO);
        drive->plain = plain_new(&drive->output, &style);
        show = plain_sink(drive->plain);
    }
    struct sink *first = &drive->sink;
    if (show) {
        show->next = first;
        first = show;
    }
    if (drive->extra) {
        drive->extra->next = first;
        first = drive->extra;
    }
    return first;
}

static void run_loop(struct drive *drive)
{
    struct loop *loop = drive->setup.loop;
    static const struct {
        int signum;
        void (*caught)(void *data);
    } signals[] = {{SIGINT, interrupted}, {SIGTERM, terminated}, {SIGHUP, hung_up}};
    struct loop_watch *watches[COUNT_OF(signals)];
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        watches[i] = loop_watch_signal(loop, signals[i].signum, signals[i].caught, drive);
    drive->running = true;
    headless_run(&drive->headless, loop);
    engine_on_turn_end(drive->setup.engine, turn_ended, drive);
    turn_ended(drive);
    loop_run(loop);
    headless_run(&drive->headless, NULL);
    drive->running = false;
    /* The program is ending anyway: a second signal now would only leave its scratch folder behind. */
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        sigaddset(&set, signals[i].signum);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        loop_watch_free(watches[i]);
        signal(signals[i].signum, SIG_IGN);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    loop_timer_stop(loop, &drive->look);
    loop_unpost(loop, &drive->step);
    loop_unpost(loop, &drive->stop);
    if (!drive->over && drive->status == STATUS_DONE)
        drive->status =
            say_error(STATUS_FAILED, "the turn came to a standstill (this is a fault of keyturn; its log may "
                                     "say more)");
}

/* The account tells how the turn ended; whoever reads events gets a line for people beside them. */
static void say_failed(const struct drive *drive)
{
    if (drive->ended && strcmp(drive->ended, "budget") == 0)
        say_notice("the turn ended early: its budget is used up (--budget KEY=VALUE gives more)");
    else
        say_notice("the turn failed: %s", drive->trouble ? drive->trouble : "the events say why");
}

static void conclude(struct drive *drive)
{
    const struct engine *engine = drive->setup.engine;
    if (drive->plain) {
        plain_end(drive->plain);
        if (drive->setup.journal && !drive->output.failed) {
            const char *record = drive->record;
            strbuf_addf(&drive->output.text, "%-10skeyturn replay ", "again");
            text_show(&drive->output.text, record ? record : drive->setup.id, strlen(record ? record : drive->setup.id),
                      0);
            strbuf_addch(&drive->output.text, '\n');
            output_flush(&drive->output);
        }
    }
    if (drive->output.failed)
        drive->status = output_say_failed(&drive->output);
    else if (engine_failed(engine))
        drive->status = say_error(STATUS_FAILED, "%s: %s (the turn was ended: what cannot be recorded is not done)",
                                  drive->setup.journal ? drive->setup.journal : "journal", engine_failed(engine));
    else if (drive->interrupts)
        drive->status = drive->stopped;
    else if (drive->status == STATUS_FAILED && drive->headless.output && drive->over)
        say_failed(drive);
    else if (drive->status == STATUS_DONE && engine_nobody_asked(engine))
        drive->status = STATUS_REFUSED;
    for (const char *line = engine_protected(engine); line && *line; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n");
        say_notice("denied: %.*s", (int)len, line);
        line += len;
    }
    drive->unusable = drive->output.failed || engine_failed(engine) || !drive->over;
    setup_list_session(&drive->setup);
}

/* A screen shows it all the time. */
static void warn_unsafe(const struct setup *setup)
{
    const struct sandbox_engine *engine = setup->harness.place ? place_said(setup->harness.place)->engine : NULL;
    if (engine && engine->unsafe && engine->program)
        say_notice("the engine %s is UNSAFE: nothing holds programs, they may do whatever you may", engine->name);
}

int drive(struct drive *d, struct setup_plan *plan)
{
    d->recording = plan->recording;
    d->turns = d->recording ? recording_turn_count(d->recording) : 1;
    if (d->turns_max && d->turns > d->turns_max)
        d->turns = d->turns_max;
    d->unusable = true;
    d->record = plan->options->record;
    plan->sinks = open_show(d, plan->options);
    /* A reader that leaves is an error of write(2) here, not the end of the program. */
    signal(SIGPIPE, SIG_IGN);
    int status = setup_open(&d->setup, plan);
    if (status == 0) {
        if (!d->recording)
            warn_unsafe(&d->setup);
        run_loop(d);
        conclude(d);
        status = d->status;
        if (!engine_idle(d->setup.engine))
            leave_now(d, status);
    }
    setup_close(&d->setup);
    plain_free(d->plain);
    output_release(&d->output);
    free(d->ended);
    free(d->trouble);
    return status;
}
