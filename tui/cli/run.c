/* keyturn run and keyturn demo without a screen, and the loop that runs turns there.
 *
 * run_loop_turns sets up a session, starts one turn after the other, and shows each event as it arrives (as JSON lines
 * with --headless, else as text). At the end it waits briefly for calls that outlive their turn. The first signal
 * cancels the turn and ends the session normally; the second one exits at once. */

#include "run.h"
#include "app/app.h"
#include "app/cli_error.h"
#include "app/demo.h"
#include "app/session_list.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cli_out.h"
#include "event/journal.h"
#include "event/words.h"
#include "model/scripted.h"
#include "options.h"
#include "sandbox/engines.h"
#include "sandbox/scratch_dirs.h"
#include "screen/text.h"
#include "tools/runtime.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- --headless ---- */

#define BATCH_BYTES (64u << 10)

static void flush_headless(struct loop_task *task)
{
    cli_out_flush(((struct headless *)((char *)task - offsetof(struct headless, flush)))->output);
}

static void send_headless_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct headless *headless = (struct headless *)sink;
    struct cli_out *output = headless->output;
    (void)session;
    event_encode(&output->text, event);
    strbuf_addch(&output->text, '\n');
    if (headless->loop && output->text.len < BATCH_BYTES)
        loop_post(headless->loop, &headless->flush, flush_headless);
    else
        cli_out_flush(output);
}

static void headless_init(struct headless *headless, struct cli_out *output)
{
    *headless = (struct headless){.sink = {.event = send_headless_event}, .output = output};
}

/* Call it when the loop begins to run, and with NULL when it has ended. */
static void headless_run(struct headless *headless, struct loop *loop)
{
    if (headless->loop)
        loop_unpost(headless->loop, &headless->flush);
    headless->loop = loop;
    if (headless->output)
        cli_out_flush(headless->output);
}

#define PATIENCE_US (2 * 1000000)
#define LOOK_US     5000

#define RUN_OF(runtime, member) ((struct run_loop *)((char *)(runtime)-offsetof(struct run_loop, member)))

/* Keeps the sentence about the limit that ended a turn: which one, how many calls it skipped, and how to raise it. */
static void note_limit(struct run_loop *run, const struct event_limit_info *limit)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    free(run->limit);
    run->limit = NULL;
    if (!limit || !limit->key)
        return;
    bool wall = strcmp(limit->key, "wall_ms") == 0;
    strbuf_addstr(&text, "the turn stopped at ");
    words_limit_reached(&text, limit);
    strbuf_addf(&text, " (raise it with --budget %s=%g)", wall ? "wall_s" : limit->key,
                limit->limit > 0 ? 2 * limit->limit / (wall ? 1000 : 1) : 1.0);
    run->limit = strbuf_detach(&text, NULL);
}

static void cancel_turn(struct run_loop *run)
{
    struct err err = ERR_INIT;
    if (run->setup.engine && engine_submit(run->setup.engine, &(struct intent){.type = INTENT_CANCEL}, &err))
        log_debug("cancel: %s", err.text); /* between two turns there is nothing to cancel */
}

static void cancel_later(struct loop_task *task)
{
    cancel_turn(RUN_OF(task, stop));
}

static void see_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct run_loop *run = RUN_OF(sink, sink);
    (void)session;
    if (event->type == EVENT_MODEL_FAILED && event->model_failed.error) {
        free(run->trouble);
        run->trouble = xstrdup(event->model_failed.error);
    }
    if (event->type == EVENT_TURN_FINISHED) {
        const char *status = event->turn_finished.status ? event->turn_finished.status : "";
        note_limit(run, event->turn_finished.limit);
        if (run->status == STATUS_DONE && !run->enough)
            run->status = exit_status_of_turn(status);
    }
    /* Not during emit, because the engine is in the middle of an operation. */
    if ((run->output.failed || run->enough) && run->running)
        loop_post(run->setup.loop, &run->stop, cancel_later);
}

/* ---- Ctrl-C and signals from other processes ---- */

static void leave_now(struct run_loop *run, int status)
{
    struct err err = ERR_INIT;
    if (run->scratch && file_remove_tree(run->scratch, &err))
        cli_notice("%s", err.text);
    _exit(status);
}

static void stop_run(struct run_loop *run, int status)
{
    if (++run->interrupts == 1)
        run->stopped = status;
    else
        leave_now(run, run->stopped);
    cancel_turn(run);
}

static void interrupted(void *data)
{
    stop_run(data, STATUS_INTERRUPTED);
}

static void terminated(void *data)
{
    stop_run(data, STATUS_TERMINATED);
}

static void hung_up(void *data)
{
    stop_run(data, STATUS_HUNG_UP);
}

/* ---- the sequence of turns ---- */

static void turn_ended(void *data);

static bool stops_here(const struct run_loop *run)
{
    return run->interrupts || run->output.failed || run->enough || engine_failed(run->setup.engine) ||
           run->next == run->turns;
}

static void start_next(struct run_loop *run)
{
    struct err err = ERR_INIT;
    const char *prompt = run->prompt;
    if (run->recording) {
        prompt = recording_prompt(run->recording, run->next);
        if (!run->setup.script)
            scripted_turn(run->setup.engine_config.provider, recording_turn_number(run->recording, run->next));
    }
    run->next++;
    struct intent intent = {.type = INTENT_START, .start = {prompt}};
    if (engine_submit(run->setup.engine, &intent, &err)) {
        run->status = cli_error(STATUS_FAILED, "cannot start the turn: %s", err.text);
        run->next = run->turns;
        turn_ended(run);
    }
}

static void end_session(struct run_loop *run)
{
    struct err err = ERR_INIT;
    struct intent intent = {.type = INTENT_END, .end = {run->interrupts ? "interrupted" : "quit"}};
    if (engine_submit(run->setup.engine, &intent, &err))
        log_warn("end: %s", err.text);
    run->over = true;
    loop_stop(run->setup.loop);
}

static void await_late_calls(struct loop_timer *timer)
{
    struct run_loop *run = RUN_OF(timer, look);
    struct loop *loop = run->setup.loop;
    bool patient = run->patient && !run->interrupts;
    if (engine_idle(run->setup.engine) || (!patient && loop_now_us(loop) - run->waits_since_us > PATIENCE_US))
        end_session(run);
    else
        loop_timer_start(loop, timer, loop_now_us(loop) + LOOK_US, await_late_calls);
}

static void advance(struct loop_task *task)
{
    struct run_loop *run = RUN_OF(task, step);
    if (!stops_here(run)) {
        start_next(run);
        return;
    }
    run->waits_since_us = loop_now_us(run->setup.loop);
    await_late_calls(&run->look);
}

static void turn_ended(void *data)
{
    struct run_loop *run = data;
    loop_post(run->setup.loop, &run->step, advance);
}

/* ---- life of a run ---- */

static struct sink *open_show(struct run_loop *run, const struct options *options)
{
    struct sink *show = NULL;
    run->sink.event = see_event;
    cli_out_init(&run->output, STDOUT_FILENO);
    if (!run->quiet && options->headless) {
        headless_init(&run->headless, &run->output);
        show = &run->headless.sink;
    } else if (!run->quiet) {
        struct plain_style style = plain_style_for(STDOUT_FILENO);
        run->plain = plain_new(&run->output, &style);
        show = plain_sink(run->plain);
    }
    struct sink *first = &run->sink;
    if (show) {
        show->next = first;
        first = show;
    }
    if (run->extra) {
        run->extra->next = first;
        first = run->extra;
    }
    return first;
}

static void run_until_over(struct run_loop *run)
{
    struct loop *loop = run->setup.loop;
    static const struct {
        int signum;
        void (*caught)(void *data);
    } signals[] = {{SIGINT, interrupted}, {SIGTERM, terminated}, {SIGHUP, hung_up}};
    struct loop_watch *watches[COUNT_OF(signals)];
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        watches[i] = loop_watch_signal(loop, signals[i].signum, signals[i].caught, run);
    run->running = true;
    headless_run(&run->headless, loop);
    engine_on_turn_end(run->setup.engine, turn_ended, run);
    turn_ended(run);
    loop_run(loop);
    headless_run(&run->headless, NULL);
    run->running = false;
    /* The program is exiting. A second signal now would only leave its scratch folder behind. */
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
    loop_timer_stop(loop, &run->look);
    loop_unpost(loop, &run->step);
    loop_unpost(loop, &run->stop);
    if (!run->over && run->status == STATUS_DONE)
        run->status = cli_error(STATUS_FAILED, "the turn stopped without an end (a bug in keyturn; its log may "
                                               "say more)");
}

/* The plain text already says how the turn ended. For JSON output, print a readable line on stderr. */
static void say_failed(const struct run_loop *run)
{
    if (run->limit)
        cli_notice("%s", run->limit);
    else
        cli_notice("the turn failed: %s", run->trouble ? run->trouble : "see the events above");
}

/* Says which writes were denied because no user could approve them. */
static void say_refused(const struct engine *engine)
{
    size_t more;
    const char *line = engine_refused(engine, &more);
    for (; line && *line; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n");
        cli_notice("denied: %.*s", (int)len, line);
        line += len;
    }
    if (more)
        cli_notice("denied: %zu more writes", more);
}

static void conclude_run(struct run_loop *run)
{
    const struct engine *engine = run->setup.engine;
    if (run->plain) {
        plain_end(run->plain);
        if (run->setup.journal && !run->output.failed) {
            const char *record = run->record;
            strbuf_addf(&run->output.text, "%-10skeyturn replay ", "again");
            text_show(&run->output.text, record ? record : run->setup.id, strlen(record ? record : run->setup.id), 0);
            strbuf_addch(&run->output.text, '\n');
            cli_out_flush(&run->output);
        }
    }
    if (run->output.failed)
        run->status = cli_out_error(&run->output);
    else if (engine_failed(engine))
        run->status = cli_error(STATUS_FAILED, "%s: %s (turn ended: actions that cannot be recorded are not done)",
                                run->setup.journal ? run->setup.journal : "journal", engine_failed(engine));
    else if (run->interrupts)
        run->status = run->stopped;
    else if (run->status == STATUS_FAILED && run->headless.output && run->over)
        say_failed(run);
    else if (run->status == STATUS_DONE && engine_nobody_asked(engine))
        run->status = STATUS_REFUSED;
    say_refused(engine);
    run->unusable = run->output.failed || engine_failed(engine) || !run->over;
    setup_list_session(&run->setup);
}

/* Warns that programs run without isolation. The workbench shows this all the time. */
static void warn_unsafe(const struct setup *setup)
{
    const struct sandbox_engine *engine =
        setup->engine_config.runtime ? runtime_said(setup->engine_config.runtime)->engine : NULL;
    if (engine && engine->unsafe && engine->program)
        cli_notice("the engine %s is UNSAFE: programs run with your rights", engine->name);
}

int run_loop_turns(struct run_loop *run, struct setup_plan *plan)
{
    run->recording = plan->recording;
    run->turns = run->recording ? recording_turn_count(run->recording) : 1;
    if (run->turns_max && run->turns > run->turns_max)
        run->turns = run->turns_max;
    run->unusable = true;
    run->record = plan->options->record;
    plan->sinks = open_show(run, plan->options);
    /* A closed pipe must be an error of write(2), not the end of the program. */
    signal(SIGPIPE, SIG_IGN);
    int status = setup_open(&run->setup, plan);
    if (status == 0) {
        if (!run->recording)
            warn_unsafe(&run->setup);
        run_until_over(run);
        conclude_run(run);
        status = run->status;
        if (!engine_idle(run->setup.engine))
            leave_now(run, status);
    }
    setup_close(&run->setup);
    plain_free(run->plain);
    cli_out_release(&run->output);
    free(run->limit);
    free(run->trouble);
    return status;
}

#define PROMPT_BYTES_MAX (1u << 20)

/* The speed of a recorded model: the recorded speed on a terminal, else no delay. */
static double usual_speed(void)
{
    return isatty(STDOUT_FILENO) ? 1 : 0;
}

/* ---- the prompt of `run` ---- */

static void trim(struct strbuf *text)
{
    while (text->len && strchr(" \t\r\n", text->buf[text->len - 1]) && text->buf[text->len - 1])
        strbuf_set_len(text, text->len - 1);
}

static int read_prompt(const struct options *options, struct strbuf *prompt)
{
    if (options->operand && strcmp(options->operand, "-") != 0) {
        strbuf_addstr(prompt, options->operand);
    } else {
        if (!options->operand && isatty(STDIN_FILENO))
            return cli_error(STATUS_USAGE, "keyturn run needs a prompt (keyturn run \"what to do\", or pipe it in)");
        if (strbuf_read(prompt, STDIN_FILENO, PROMPT_BYTES_MAX))
            return errno == EFBIG
                       ? cli_error(STATUS_USAGE, "the prompt on standard input is larger than 1 MB (put the "
                                                 "material into a file of the project)")
                       : cli_error(STATUS_USAGE, "cannot read the prompt from standard input: %s", strerror(errno));
    }
    if (memchr(prompt->buf, '\0', prompt->len))
        return cli_error(STATUS_USAGE, "the prompt has a NUL byte (it must be text)");
    trim(prompt);
    if (!prompt->len)
        return cli_error(STATUS_USAGE, "the prompt is empty (describe the task)");
    return 0;
}

/* ---- resuming ---- */

/* The newest session of the folder that the options name. Returns 0, or the exit status after printing the error. */
static int find_newest(const struct options *options, struct session_rows *rows)
{
    const char *named = options->workspace ? options->workspace : ".";
    CLEANUP(free) char *folder = realpath(named, NULL);
    sessions_load(rows, SIZE_MAX);
    if (folder)
        sessions_keep_folder(rows, folder);
    if (folder && rows->count)
        return 0;
    CLEANUP(free) char *shown = sessions_folder(folder ? folder : named);
    return cli_error(STATUS_USAGE, "no session in %s yet (keyturn run starts one; keyturn sessions lists all)", shown);
}

/* Runs one more turn of a session, without the workbench. */
static int run_resumed(struct run_loop *run, struct setup_plan *plan, const struct session_row *row)
{
    struct err err = ERR_INIT;
    struct journal_reader *reader = journal_open(row->path, &err);
    if (!reader)
        return cli_file_error(STATUS_USAGE, row->path, &err);
    plan->resume = reader;
    plan->journal = row->path;
    plan->session = row->id;
    plan->workspace = row->workspace;
    int status = run_loop_turns(run, plan);
    journal_reader_free(reader);
    return status;
}

int cmd_resume(const struct options *options)
{
    if (!app_wanted(options))
        return cli_error(STATUS_USAGE, "keyturn resume needs a terminal (keyturn run -c PROMPT continues the newest "
                                       "session of this folder without one)");
    struct session_rows rows;
    sessions_load(&rows, SIZE_MAX);
    int status;
    if (options->operand)
        sessions_keep_named(&rows, options->operand);
    if (!rows.count)
        status = cli_error(STATUS_USAGE,
                           options->operand ? "no session is named '%s' or mentions it (keyturn sessions "
                                              "lists them)"
                                            : "no sessions yet (keyturn run starts one)",
                           options->operand);
    else
        status = app_resume(options, options->operand && rows.count == 1 ? rows.items : NULL);
    sessions_release(&rows);
    return status;
}

static int run_piped(const struct options *options, const struct session_row *resumed);

int cmd_run(const struct options *options)
{
    bool screen = app_wanted(options) && !(options->operand && strcmp(options->operand, "-") == 0);
    struct session_rows rows = {0};
    int status = options->newest ? find_newest(options, &rows) : 0;
    const struct session_row *newest = options->newest && !status ? rows.items : NULL;
    if (!status && newest && options->record)
        status =
            cli_error(STATUS_USAGE, "--record starts a new file, --continue appends to the old one (leave one out)");
    if (!status)
        status = !screen ? run_piped(options, newest) : newest ? app_resume(options, newest) : app_live(options, false);
    sessions_release(&rows);
    return status;
}

static int run_piped(const struct options *options, const struct session_row *resumed)
{
    CLEANUP(config) struct config *config = setup_config(options);
    CLEANUP(strbuf) struct strbuf prompt = STRBUF_INIT;
    struct model_choice model = {0};
    if (!config)
        return STATUS_USAGE;
    if (!options->model && !config->model)
        return setup_say_no_model(options);
    /* Before reading standard input: a user without a model should not type a prompt first. */
    int status = setup_choose_model(options, config, &model);
    free(model.file);
    if (!status)
        status = read_prompt(options, &prompt);
    if (status)
        return status;
    struct run_loop drv = {.prompt = prompt.buf};
    struct setup_plan plan = {
        .options = options,
        .config = config,
        .workspace = options->workspace ? options->workspace : ".",
        .keep = true,
        .memory = true,
        .speed = usual_speed(),
    };
    return resumed ? run_resumed(&drv, &plan, resumed) : run_loop_turns(&drv, &plan);
}

/* ---- the demo ---- */

static int run_demo(const struct options *options, const struct config *config, struct recording *recording,
                    const char *temp)
{
    CLEANUP(free) char *workspace = NULL;
    int status = demo_workspace(options, recording, temp, &workspace);
    if (status)
        return status;
    struct run_loop drv = {.scratch = temp};
    struct setup_plan plan = {
        .options = options,
        .config = config,
        .workspace = workspace,
        .recording = recording,
        /* The temporary files are deleted, so an undo is impossible and checkpoints are not needed. */
        .temp = options->workspace ? NULL : temp,
        .keep = true,
        .speed = usual_speed(),
    };
    status = run_loop_turns(&drv, &plan);
    if (options->workspace)
        cli_notice("the demo's files are in %s", options->workspace);
    return status;
}

int cmd_demo(const struct options *options)
{
    if (app_wanted(options))
        return app_live(options, true);
    struct err err = ERR_INIT;
    CLEANUP(config) struct config *config = setup_config(options);
    CLEANUP(free) char *file = config ? demo_find() : NULL;
    if (!file)
        return STATUS_USAGE;
    struct recording *recording = recording_open(file, &err);
    if (!recording)
        return cli_file_error(STATUS_USAGE, file, &err);
    struct scratch_dirs *scratch = scratch_dirs_open_scratch(&err);
    int status = scratch ? run_demo(options, config, recording, scratch_dirs_path(scratch))
                         : cli_error(STATUS_USAGE, "%s", err.text);
    recording_free(recording);
    scratch_dirs_close(scratch);
    return status;
}
