/* A recording is run again: its model, its decisions, real tools in a scratch copy of its files. Every event of the run
 * is compared with the recording. A check does it in virtual time and without showing the run. */

#include "replay_run.h"
#include "base/file.h"
#include "base/mem.h"
#include "drive.h"
#include "say.h"
#include "turn/departure.h"
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

struct comparison {
    struct sink sink;
    struct departures *departures;
};

static void compare(struct sink *sink, const struct event *event, const struct session *session)
{
    (void)session;
    departures_see(((struct comparison *)sink)->departures, event);
}

static const char *or_nothing(const char *text)
{
    return text ? text : "nothing";
}

static int report(const struct options *options, const char *file, const struct departures *departures, size_t events)
{
    size_t count = departures_count(departures);
    if (options->check && count) {
        const struct departure *first = departures_at(departures, 0);
        /* Where something happened that is not in the recording, there is no event whose field it could be. */
        return say_error(STATUS_DEPARTED, "%s: departed at seq %" PRId64 ": %s: recorded %s, got %s", file, first->seq,
                         first->seq ? first->field : first->type, or_nothing(first->recorded), or_nothing(first->got));
    }
    for (size_t i = 0; i < count; i++) {
        const struct departure *each = departures_at(departures, i);
        say_notice("departed: seq %" PRId64 " %s.%s: recorded %s, got %s", each->seq, each->type, each->field,
                   or_nothing(each->recorded), or_nothing(each->got));
    }
    if (options->check) {
        struct output output;
        output_init(&output, STDOUT_FILENO);
        strbuf_addf(&output.text, "%s: %zu events agree\n", file, events);
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
    if (!files && !options->check)
        say_notice("no files belong to this recording: it runs in an empty folder (--workspace DIR copies one)");
    if (files ? file_copy_tree(files, to, &err) : file_mkdirs(to, 0700, &err))
        return say_error(STATUS_USAGE, "%s", err.text);
    return 0;
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
    struct comparison comparison = {.sink = {.event = compare},
                                    .departures = departures_new(recording_reader(recording))};
    struct drive drv = {.extra = &comparison.sink, .quiet = options->check, .patient = true, .scratch = temp};
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
    status = drive(&drv, &plan);
    /* A run that was interrupted or never began has not departed from anything. */
    bool ran = status == STATUS_DONE || status == STATUS_FAILED || status == STATUS_REFUSED;
    if (ran && !drv.unusable) {
        departures_end(comparison.departures);
        int agreed = report(options, file, comparison.departures, journal_count(recording_reader(recording)));
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
    int status;
    CLEANUP(free) char *temp = NULL;
    if (recording_turn_count(recording) == 0)
        status =
            say_error(STATUS_USAGE, "%s: there is no turn to run in it (keyturn replay shows what there is)", file);
    else if (!(temp = file_make_temp_dir(NULL, "keyturn-replay-", &err)))
        status = say_error(STATUS_USAGE, "%s", err.text);
    else
        status = run_again(options, file, recording, temp);
    recording_free(recording);
    if (temp && file_remove_tree(temp, &err))
        say_notice("%s", err.text);
    return status;
}
