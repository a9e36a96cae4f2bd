/* Starts the zygote, and restarts it if it dies or makes no child in time. Each time it reports the output of the tools
 * while they load.
 *
 * A tool file can do anything while it is loaded. The zygote names each file before it opens it. If a file kills the
 * zygote or does not finish, the next zygote skips that file and loads the others. */

#include "base/json.h"
#include "base/mem.h"
#include "supervisor_internal.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many zygotes, or spares, may die in a row before the harness gives up. */
#define DEATHS_MAX 3
/* Time for one tool file, which may import large modules. */
#define FILE_S 10

/* ---- skipped files ---- */

/* Blames the file being loaded. Returns false if there is none, or if skipping it has not helped. */
static bool leave_file_out(struct supervisor *s, const char *why)
{
    for (size_t i = 0; s->file && i < s->left_out_count; i++)
        if (strcmp(s->left_out[i].path, s->file) == 0)
            return false;
    if (!s->file)
        return false;
    GROW(s->left_out, s->left_out_count, s->left_out_room);
    s->left_out[s->left_out_count++] = (struct left_out){steal(&s->file), xstrdup(why)};
    return true;
}

static void tell_left_out(struct supervisor *s)
{
    for (size_t i = 0; i < s->left_out_count; i++) {
        CLEANUP(free)
        char *text = xasprintf("tools: %s: %s; ignored", s->left_out[i].path, s->left_out[i].why);
        event_log(&s->notes, "error", text, strlen(text));
    }
}

static int spawn_without_them(struct supervisor *s, struct err *err)
{
    size_t count = 0, given;
    char **arguments;
    while (s->options->arguments[count])
        count++;
    arguments = xcalloc(count + s->left_out_count + 1, sizeof(*arguments));
    memcpy(arguments, s->options->arguments, count * sizeof(*arguments));
    given = count;
    for (size_t i = 0; i < s->left_out_count; i++)
        arguments[count++] = xasprintf("--leave-out=%s", s->left_out[i].path);
    int result = spawn_zygote(&s->zygote, s->options->program, arguments, s->options->workspace, err);
    for (size_t i = given; i < count; i++)
        free(arguments[i]);
    free(arguments);
    return result;
}

void release_files(struct supervisor *s)
{
    for (size_t i = 0; i < s->left_out_count; i++) {
        free(s->left_out[i].path);
        free(s->left_out[i].why);
    }
    free(s->left_out);
    free(s->file);
}

/* ---- loading ---- */

/* Drops the output of a zygote that failed: the next one repeats it. */
static void forget_notes(struct supervisor *s)
{
    for (size_t i = 0; i < COUNT_OF(s->printed); i++)
        stream_finish(&s->printed[i], &s->notes);
    strbuf_reset(&s->notes.out);
}

void start_zygote(struct supervisor *s)
{
    struct err err = ERR_INIT;
    s->tools_told = s->spare_asked = false;
    free(steal(&s->file));
    forget_notes(s);
    tell_left_out(s);
    record_reader_release(&s->loading);
    record_reader_init(&s->loading);
    if (spawn_without_them(s, &err) < 0)
        give_up(s, 1, err.text);
}

void want_spare(struct supervisor *s)
{
    if (s->tools_told && !s->spare.pid && !s->spare_asked && s->zygote.control >= 0)
        s->spare_asked = spawn_ask_spare(&s->zygote) == 0;
}

/* The tools are loaded. After a restart, only the output of the tools is new. */
static void take_tools(struct supervisor *s, const struct json *tools)
{
    if (!s->ready)
        event_ready(&s->sink, tools, s->sandbox.len ? s->sandbox.buf : "null", s->options->missing_tools);
    s->ready = s->tools_told = true;
    free(steal(&s->file));
    for (size_t i = 0; i < COUNT_OF(s->printed); i++)
        stream_finish(&s->printed[i], &s->notes);
    strbuf_add(&s->sink.out, s->notes.out.buf, s->notes.out.len);
    strbuf_release(&s->notes.out);
}

static void take_loading(struct supervisor *s, const struct record *record)
{
    switch (record->kind) {
    case RECORD_SANDBOX:
        strbuf_reset(&s->sandbox);
        json_write(&s->sandbox, record->value, JSON_COMPACT);
        break;
    case RECORD_LOG:
        event_log(&s->notes, record->more, record->text, record->len);
        break;
    case RECORD_STDOUT:
    case RECORD_STDERR:
        stream_add(&s->printed[record->kind == RECORD_STDERR], &s->notes, record->text, record->len);
        break;
    case RECORD_FILE:
        free(s->file);
        s->file = xmemdup0(record->text, record->len);
        s->file_due_us = now_us() + FILE_S * INT64_C(1000000);
        break;
    case RECORD_TOOLS:
        take_tools(s, record->value);
        break;
    default:
        break;
    }
}

bool read_loading(struct supervisor *s)
{
    CLEANUP(arena) struct arena memory = ARENA_INIT;
    struct record record;
    char chunk[8192];
    ssize_t count = read(s->zygote.loading, chunk, sizeof(chunk));
    if (count == 0) { /* closed; if too early, the zygote's death is reported as well */
        close(s->zygote.loading);
        s->zygote.loading = -1;
    }
    if (count <= 0)
        return false;
    record_reader_add(&s->loading, chunk, (size_t)count);
    while (record_reader_next(&s->loading, &memory, &record))
        take_loading(s, &record);
    want_spare(s);
    return true;
}

/* A spare ended while it waited. One that was killed is replaced. One that exited has left the reason in its pipe, for
 * the request that gets it. */
static void spare_exited(struct supervisor *s, int status)
{
    if (!WIFSIGNALED(status) || ++s->spare_deaths >= DEATHS_MAX)
        return;
    spare_close(&s->spare);
    want_spare(s);
}

static void take_control(struct supervisor *s, const struct control *message, struct spare *spare)
{
    if (message->kind == CONTROL_SPARE && spare->pid) {
        s->spare_asked = false;
        s->replaced = 0;
        spare_close(&s->spare);
        s->spare = *spare;
    } else if (message->kind == CONTROL_EXITED && s->execution.running && message->pid == s->execution.child.pid) {
        execution_exited(&s->execution, message->status);
    } else if (message->kind == CONTROL_EXITED && message->pid == s->spare.pid) {
        spare_exited(s, message->status);
    }
}

static char *death_of_zygote(int status)
{
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
    if (WIFSIGNALED(status))
        return xasprintf("the process that loads the tools was killed by signal %d (SIG%s)", WTERMSIG(status),
                         name ? name : "?");
    return xasprintf("the process that loads the tools ended with status %d", WEXITSTATUS(status));
}

static void end_zygote(struct supervisor *s)
{
    spawn_close(&s->zygote);
    spare_close(&s->spare);
    if (s->zygote.pid > 0) {
        kill(s->zygote.pid, SIGKILL);
        waitpid(s->zygote.pid, &s->zygote_status, 0);
        s->zygote.pid = 0;
    }
    if (s->execution.running && !s->execution.over)
        execution_fail(&s->execution,
                       "The harness lost the process that starts scripts; the script was killed with it");
}

void lose_file(struct supervisor *s)
{
    CLEANUP(free) char *why = xasprintf("it was not loaded within %d s", FILE_S);
    if (!leave_file_out(s, why))
        give_up(s, 1, why);
    end_zygote(s);
    start_zygote(s);
}

static void zygote_gone(struct supervisor *s)
{
    CLEANUP(free) char *why = NULL;
    while (s->zygote.loading >= 0 && read_loading(s))
        ; /* its last records name the file it was loading */
    end_zygote(s);
    why = death_of_zygote(s->zygote_status);
    if (!s->replacing && leave_file_out(s, why))
        start_zygote(s);
    else if (WIFEXITED(s->zygote_status) && WEXITSTATUS(s->zygote_status) == STATUS_LAYER && !s->ready)
        give_up(s, STATUS_LAYER, NULL); /* the zygote has printed the reason */
    else if (!s->ready || (!s->replacing && ++s->zygote_deaths >= DEATHS_MAX))
        give_up(s, 1, why);
    else
        start_zygote(s);
    s->replacing = false;
}

void replace_zygote(struct supervisor *s)
{
    s->replacing = true; /* we kill it, so its death does not count */
    s->replaced++;
    zygote_gone(s);
}

void read_control(struct supervisor *s)
{
    struct control message;
    struct spare spare;
    int got;
    while ((got = spawn_receive(&s->zygote, &message, &spare)) > 0)
        take_control(s, &message, &spare);
    if (got < 0)
        zygote_gone(s);
}
