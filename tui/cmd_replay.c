/* keyturn replay: showing a recording (here), and running it again (replay_run.c). */

#include "app.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cmd.h"
#include "event/journal.h"
#include "output.h"
#include "plain.h"
#include "replay_run.h"
#include "say.h"
#include "sessions.h"
#include "setup.h"
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct playback {
    const char *file;
    const struct journal_reader *reader;
    struct output output;
    struct plain *plain; /* NULL: raw lines */
    size_t next;
    int64_t until; /* the last seq to show; -1: all */
    double speed;
    struct arena arena;
    struct event event; /* the one to show next */
    int status;

    struct loop *loop;
    struct loop_timer timer;
    int64_t began_us, first_t;
};

/* Decodes the next event; false at the end, which may be an error. */
static bool fetch(struct playback *player)
{
    struct err err = ERR_INIT;
    if (player->next == journal_count(player->reader))
        return false;
    arena_reset(&player->arena);
    if (journal_event(player->reader, player->next, &player->event, &player->arena, &err)) {
        output_flush(&player->output);
        player->status = say_file_error(STATUS_USAGE, player->file, &err);
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
        output_add(&player->output, line, len);
    } else { /* recorded by an older version */
        CLEANUP(strbuf) struct strbuf printable = STRBUF_INIT;
        strbuf_add(&printable, line, len);
        json_make_printable(&printable, 0);
        output_add(&player->output, printable.buf, printable.len);
    }
    output_add(&player->output, "\n", 1);
    if (player->loop)
        output_flush(&player->output);
}

/* As fast as it goes. */

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
    /* Times are the file's: those that run backwards or lead out of this world are shown at once, or never end. */
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
    output_init(&player.output, STDOUT_FILENO);
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
    if (output_flush(&player.output))
        player.status = output_say_failed(&player.output);
    else if (player.status == STATUS_DONE && player.next == journal_count(reader) && journal_was_cut(reader))
        say_notice("%s: the last line was cut off and is left out", file);
    plain_free(player.plain);
    output_release(&player.output);
    arena_release(&player.arena);
    return player.status;
}

int cmd_replay(const struct options *options)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *file = sessions_find(options->operand);
    if (options->execute && app_wanted(options) && !options->check)
        return app_replay(options);
    if (options->execute || options->check)
        return replay_run(options, file);
    if (options->record)
        return say_error(STATUS_USAGE, "--record needs --execute (a replay alone does nothing that could be recorded)");
    if (app_wanted(options))
        return app_replay(options);
    if (setup_check(options))
        return STATUS_USAGE;
    struct journal_reader *reader = journal_open(file, &err);
    if (!reader)
        return say_file_error(STATUS_USAGE, file, &err);
    int status = play(options, file, reader);
    journal_reader_free(reader);
    return status;
}
