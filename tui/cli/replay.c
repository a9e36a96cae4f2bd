/* keyturn replay without a screen: prints a recording, or runs it again with --execute and --check. */

#include "app/app.h"
#include "app/cli_error.h"
#include "app/session_list.h"
#include "app/setup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "cli_out.h"
#include "event/journal.h"
#include "options.h"
#include "plain.h"
#include "run.h"
#include "sandbox/scratch_dirs.h"
#include "screen/text.h"
#include "turn/divergence.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct playback {
    const char *file;
    const struct journal_reader *reader;
    struct cli_out output;
    struct plain *plain; /* NULL: print raw lines */
    size_t next;
    int64_t until; /* the last seq to print; -1: all */
    double speed;
    struct arena arena;
    struct event event; /* the next event to print */
    int status;

    struct loop *loop;
    struct loop_timer timer;
    int64_t began_us, first_t;
};

/* Decodes the next event. False at the end, which may be an error. */
static bool fetch(struct playback *player)
{
    struct err err = ERR_INIT;
    if (player->next == journal_count(player->reader))
        return false;
    arena_reset(&player->arena);
    if (journal_event(player->reader, player->next, &player->event, &player->arena, &err)) {
        cli_out_flush(&player->output);
        player->status = cli_file_error(STATUS_USAGE, player->file, &err);
        return false;
    }
    if (player->until >= 0 && player->event.seq > player->until)
        return false;
    player->next++;
    return true;
}

static void show(struct playback *player)
{
    if (player->plain) {
        plain_event(player->plain, &player->event);
        return;
    }
    size_t len;
    const char *line = journal_line(player->reader, player->next - 1, &len);
    if (json_is_printable(line, len)) {
        cli_out_add(&player->output, line, len);
    } else { /* recorded by an older version */
        CLEANUP(strbuf) struct strbuf printable = STRBUF_INIT;
        strbuf_add(&printable, line, len);
        json_make_printable(&printable, 0);
        cli_out_add(&player->output, printable.buf, printable.len);
    }
    cli_out_add(&player->output, "\n", 1);
    if (player->loop)
        cli_out_flush(&player->output);
}

/* As fast as possible. */

static void leave_at_once(int signum)
{
    (void)signum;
    _exit(STATUS_INTERRUPTED);
}

static void play_through(struct playback *player)
{
    signal(SIGINT, leave_at_once);
    while (!player->output.failed && fetch(player))
        show(player);
}

/* At the recorded pace. */

static void show_due(struct loop_timer *timer);

static void wait_for_next(struct playback *player)
{
    if (player->output.failed || !fetch(player)) {
        loop_stop(player->loop);
        return;
    }
    if (player->next == 1)
        player->first_t = player->event.t;
    double after_us = (double)(player->event.t - player->first_t) / player->speed;
    /* Times come from the file, so they may decrease or be huge. Such an event is printed at once or after a bounded
     * wait. */
    int64_t due = player->began_us + (after_us > 0 ? after_us < 1e17 ? (int64_t)after_us : (int64_t)1e17 : 0);
    loop_timer_start(player->loop, &player->timer, due, show_due);
}

static void show_due(struct loop_timer *timer)
{
    struct playback *player = (struct playback *)((char *)timer - offsetof(struct playback, timer));
    show(player);
    wait_for_next(player);
}

static void interrupted(void *data)
{
    struct playback *player = data;
    player->status = STATUS_INTERRUPTED;
    loop_stop(player->loop);
}

static void play_in_time(struct playback *player)
{
    player->loop = loop_new(clock_system());
    struct loop_watch *watch = loop_watch_signal(player->loop, SIGINT, interrupted, player);
    player->began_us = loop_now_us(player->loop);
    wait_for_next(player);
    loop_run(player->loop);
    loop_timer_stop(player->loop, &player->timer);
    loop_watch_free(watch);
    loop_free(player->loop);
}

static int play(const struct options *options, const char *file, const struct journal_reader *reader)
{
    struct playback player = {
        .file = file, .reader = reader, .until = options->until, .speed = options->speed, .arena = ARENA_INIT};
    if (isnan(player.speed))
        player.speed = isatty(STDOUT_FILENO) ? 1 : 0;
    cli_out_init(&player.output, STDOUT_FILENO);
    signal(SIGPIPE, SIG_IGN);
    if (!options->headless) {
        struct plain_style style = plain_style_for(STDOUT_FILENO);
        player.plain = plain_new(&player.output, &style);
    }
    if (player.speed > 0)
        play_in_time(&player);
    else
        play_through(&player);
    if (player.plain)
        plain_end(player.plain);
    if (cli_out_flush(&player.output))
        player.status = cli_out_error(&player.output);
    else if (player.status == STATUS_DONE && player.next == journal_count(reader) && journal_was_cut(reader))
        cli_notice("%s: the last line is incomplete and was skipped", file);
    plain_free(player.plain);
    cli_out_release(&player.output);
    arena_release(&player.arena);
    return player.status;
}

/* ---- --execute and --check ---- */

struct comparison {
    struct sink sink;
    struct divergences *divergences;
    struct run_loop run;
};

static void compare(struct sink *sink, const struct event *event, const struct session *session)
{
    struct comparison *comparison = (struct comparison *)sink;
    (void)session;
    divergences_see(comparison->divergences, event);
    comparison->run.enough = divergences_reached(comparison->divergences);
}

/* Says which calls were not executed: programs, scripts and external tools are answered from the recording, so their
 * agreement proves nothing. */
static void tell_answered(const char *file, const struct recording *recording)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t count = recording_answered(recording);
    text_plural(&text, (int64_t)count, "call answered from the recording", "calls answered from the recording");
    if (count)
        cli_notice("%s: %s", file, text.buf);
}

/* Prints the divergences: --check only the first, --execute all of them, in the same words. */
static int report(const struct options *options, const char *file, const struct divergences *divergences)
{
    size_t count = divergences_count(divergences);
    for (size_t i = 0; divergences_notice(divergences, i); i++)
        cli_notice("%s: %s", file, divergences_notice(divergences, i));
    for (size_t i = 0; i < count && (i == 0 || !options->check); i++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        divergence_write(&text, divergences_at(divergences, i));
        cli_error(STATUS_DIVERGED, "%s: %s", file, text.buf);
    }
    if (options->check && !count) {
        struct cli_out output;
        cli_out_init(&output, STDOUT_FILENO);
        text_show(&output.text, file, strlen(file), 0);
        strbuf_addstr(&output.text, ": ");
        text_plural(&output.text, (int64_t)divergences_compared(divergences), "event agrees", "events agree");
        strbuf_addch(&output.text, '\n');
        int failed = cli_out_flush(&output);
        int status = failed ? cli_out_error(&output) : STATUS_DONE;
        cli_out_release(&output);
        return status;
    }
    return count ? STATUS_DIVERGED : STATUS_DONE;
}

static int copy_files(const struct options *options, const struct recording *recording, const char *to)
{
    struct err err = ERR_INIT;
    const char *files = options->workspace ? options->workspace : recording_files(recording);
    if (!files)
        cli_notice("the recording has no files, so it runs in an empty folder (--workspace DIR copies one)");
    if (files ? file_copy_tree(files, to, &err) : file_mkdirs(to, 0700, &err))
        return cli_error(STATUS_USAGE, "%s", err.text);
    return 0;
}

/* Warns about redacted secrets. A recording has only the marks that replace them, so calls run with the marks, and a
 * divergence may come from that. */
static void tell_secrets(const char *file, const struct journal_reader *lines)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < journal_count(lines); i++, arena_reset(&arena)) {
        struct event event;
        size_t len;
        if (journal_event(lines, i, &event, &arena, NULL) < 0 || event.type != EVENT_MODEL_RESPONDED)
            continue;
        const struct event_tool_request_list *calls = &event.model_responded.tool_calls;
        const char *name = NULL;
        for (size_t k = 0; k < calls->count && !name; k++)
            name = calls->items[k].arguments ? redact_mark(calls->items[k].arguments, &len) : NULL;
        if (!name)
            continue;
        cli_notice("%s: secret %.*s is redacted; calls that use it will diverge "
                   "(seq %" PRId64 ")",
                   file, (int)len, name, event.seq);
        return;
    }
}

static int run_again(const struct options *options, const char *file, struct recording *recording, const char *temp)
{
    CLEANUP(config) struct config *config = setup_config(options);
    CLEANUP(free) char *workspace = xasprintf("%s/workspace", temp);
    if (!config)
        return STATUS_USAGE;
    int status = copy_files(options, recording, workspace);
    if (status)
        return status;
    tell_secrets(file, recording_reader(recording));
    struct comparison comparison = {
        .sink = {.event = compare},
        .divergences = divergences_new(recording),
        .run = {.quiet = options->check, .patient = true, .scratch = temp},
    };
    struct run_loop *drv = &comparison.run;
    drv->extra = &comparison.sink;
    if (options->until >= 0) {
        divergences_until(comparison.divergences, options->until);
        drv->turns_max = recording_turns_until(recording, options->until);
    } else if (divergences_cut_short(comparison.divergences)) {
        cli_notice("%s: recording ends mid-turn; compared up to there", file);
    }
    struct setup_plan plan = {
        .options = options,
        .config = config,
        .workspace = workspace,
        .recording = recording,
        .temp = temp,
        .virtual_time = options->check,
        .speed = !isnan(options->speed)                     ? options->speed
                 : isatty(STDOUT_FILENO) && !options->check ? 1
                                                            : 0,
    };
    status = run_loop_turns(drv, &plan);
    /* An interrupted run, or one that never began, is not compared. A recorded turn that was interrupted is. */
    bool ran = !drv->interrupts && (status == STATUS_DONE || status == STATUS_FAILED || status == STATUS_REFUSED ||
                                    status == STATUS_INTERRUPTED);
    if (ran && !drv->unusable) {
        divergences_end(comparison.divergences);
        int agreed = report(options, file, comparison.divergences);
        tell_answered(file, recording);
        if (agreed != STATUS_DONE || options->check)
            status = agreed;
    }
    divergences_free(comparison.divergences);
    return status;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, two;
    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

static int run_recording(const struct options *options, const char *file)
{
    struct err err = ERR_INIT;
    if (options->record && same_file(options->record, file))
        return cli_error(STATUS_USAGE, "%s: this is the replayed recording (name another file for --record)",
                         options->record);
    struct recording *recording = recording_open(file, &err);
    if (!recording)
        return cli_file_error(STATUS_USAGE, file, &err);
    if (journal_was_cut(recording_reader(recording)))
        cli_notice("%s: the last line is incomplete and was skipped", file);
    int status;
    struct scratch_dirs *scratch = NULL;
    if (recording_turn_count(recording) == 0)
        status = cli_error(STATUS_USAGE, "%s: no turn to run (keyturn replay shows the events)", file);
    else if (options->until >= 0 && recording_turns_until(recording, options->until) == 0)
        status = cli_error(STATUS_USAGE, "%s: no turn starts by seq %" PRId64 " (name a later one for --until)", file,
                           options->until);
    else if (!(scratch = scratch_dirs_open_scratch(&err)))
        status = cli_error(STATUS_USAGE, "%s", err.text);
    else
        status = run_again(options, file, recording, scratch_dirs_path(scratch));
    recording_free(recording);
    scratch_dirs_close(scratch);
    return status;
}

int cmd_replay(const struct options *options)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *file = sessions_find(options->operand);
    if (access(file, F_OK) < 0 && errno == ENOENT)
        return cli_error(STATUS_USAGE, "cannot open '%s': no such file or session; keyturn sessions lists them",
                         options->operand);
    if (options->execute && app_wanted(options) && !options->check)
        return app_replay(options);
    if (options->execute || options->check)
        return run_recording(options, file);
    if (options->record)
        return cli_error(STATUS_USAGE, "--record needs --execute (plain replay runs nothing)");
    if (app_wanted(options))
        return app_replay(options);
    if (setup_check(options))
        return STATUS_USAGE;
    struct journal_reader *reader = journal_open(file, &err);
    if (!reader)
        return cli_file_error(STATUS_USAGE, file, &err);
    int status = play(options, file, reader);
    journal_reader_free(reader);
    return status;
}
