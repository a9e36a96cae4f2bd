/* A recording is run again: its model, its decisions, real tools in a scratch copy of its files. Every event of the run
 * is compared with the recording. A check does it in virtual time and without showing the run. */

#include "replay_run.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/redact.h"
#include "drive.h"
#include "sandbox/rooms.h"
#include "say.h"
#include "text.h"
#include "turn/departure.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct comparison {
    struct sink sink;
    struct departures *departures;
    struct drive drive;
};

static void compare(struct sink *sink, const struct event *event, const struct session *session)
{
    struct comparison *comparison = (struct comparison *)sink;
    (void)session;
    departures_see(comparison->departures, event);
    comparison->drive.enough = departures_reached(comparison->departures);
}

/* Programs, scripts and tools of others do not run again: what agrees there was not tried. */
static void tell_answered(const char *file, const struct recording *recording)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t count = recording_answered(recording);
    text_plural(&text, (int64_t)count, "call was answered as recorded, not run",
                "calls were answered as recorded, not run");
    if (count)
        say_notice("%s: %s", file, text.buf);
}

/* --check names the first departure, --execute all of them; both in the same words. */
static int report(const struct options *options, const char *file, const struct departures *departures)
{
    size_t count = departures_count(departures);
    for (size_t i = 0; departures_notice(departures, i); i++)
        say_notice("%s: %s", file, departures_notice(departures, i));
    for (size_t i = 0; i < count && (i == 0 || !options->check); i++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        departure_write(&text, departures_at(departures, i));
        say_error(STATUS_DEPARTED, "%s: %s", file, text.buf);
    }
    if (options->check && !count) {
        struct output output;
        output_init(&output, STDOUT_FILENO);
        text_show(&output.text, file, strlen(file), 0);
        strbuf_addstr(&output.text, ": ");
        text_plural(&output.text, (int64_t)departures_compared(departures), "event agrees", "events agree");
        strbuf_addch(&output.text, '\n');
        int failed = output_flush(&output);
        int status = failed ? output_say_failed(&output) : STATUS_DONE;
        output_release(&output);
        return status;
    }
    return count ? STATUS_DEPARTED : STATUS_DONE;
}

static int copy_files(const struct options *options, const struct recording *recording, const char *to)
{
    struct err err = ERR_INIT;
    const char *files = options->workspace ? options->workspace : recording_files(recording);
    if (!files)
        say_notice("no files belong to this recording: it runs in an empty folder (--workspace DIR copies one)");
    if (files ? file_copy_tree(files, to, &err) : file_mkdirs(to, 0700, &err))
        return say_error(STATUS_USAGE, "%s", err.text);
    return 0;
}

/* A recording says what was asked for, but not the secrets in it: calls go out with the mark that stands for one, and
 * what comes of that is no fault of the files. */
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
        say_notice("%s: the value of the secret %.*s is not in the recording: a call that needs it departs from here "
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
        .departures = departures_new(recording),
        .drive = {.quiet = options->check, .patient = true, .scratch = temp},
    };
    struct drive *drv = &comparison.drive;
    drv->extra = &comparison.sink;
    if (options->until >= 0) {
        departures_until(comparison.departures, options->until);
        drv->turns_max = recording_turns_until(recording, options->until);
    } else if (departures_cut_short(comparison.departures)) {
        say_notice("%s: the recording ends in the middle of a turn: it is compared as far as it goes", file);
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
    status = drive(drv, &plan);
    /* A run that was interrupted or never began has not departed from anything. A recorded turn that was is compared.
     */
    bool ran = !drv->interrupts && (status == STATUS_DONE || status == STATUS_FAILED || status == STATUS_REFUSED ||
                                    status == STATUS_INTERRUPTED);
    if (ran && !drv->unusable) {
        departures_end(comparison.departures);
        int agreed = report(options, file, comparison.departures);
        tell_answered(file, recording);
        if (agreed != STATUS_DONE || options->check)
            status = agreed;
    }
    departures_free(comparison.departures);
    return status;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, two;
    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

int replay_run(const struct options *options, const char *file)
{
    struct err err = ERR_INIT;
    if (options->record && same_file(options->record, file))
        return say_error(STATUS_USAGE, "%s: this is the recording that is replayed (name another file for --record)",
                         options->record);
    struct recording *recording = recording_open(file, &err);
    if (!recording)
        return say_file_error(STATUS_USAGE, file, &err);
    if (journal_was_cut(recording_reader(recording)))
        say_notice("%s: the last line was cut off and is left out", file);
    int status;
    struct rooms *scratch = NULL;
    if (recording_turn_count(recording) == 0)
        status =
            say_error(STATUS_USAGE, "%s: there is no turn to run in it (keyturn replay shows what there is)", file);
    else if (options->until >= 0 && recording_turns_until(recording, options->until) == 0)
        status = say_error(STATUS_USAGE, "%s: no turn has begun by seq %" PRId64 " (name a later one for --until)",
                           file, options->until);
    else if (!(scratch = rooms_open_scratch(&err)))
        status = say_error(STATUS_USAGE, "%s", err.text);
    else
        status = run_again(options, file, recording, rooms_path(scratch));
    recording_free(recording);
    rooms_close(scratch);
    return status;
}
