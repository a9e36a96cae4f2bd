/* A loop and a workspace in which tests run programs. */

#include "program_rig.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/engines_program.h"
#include "workspace/workspace.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_US (60 * INT64_C(1000000))
#define LOOK_US     5000

static struct sandbox_engines engines;
static char mark[16]; /* distinguishes processes of this test from those of another that runs at the same time */

static struct env_vars give_mark(void *user)
{
    static const struct env_var var[] = {{"MARK", mark}};
    (void)user;
    return (struct env_vars){var, 1};
}

void program_rig_open(struct program_rig *rig, const char *engine, const struct programs_options *options)
{
    struct err err = ERR_INIT;
    struct programs_options own = options ? *options : (struct programs_options){0};
    *rig = (struct program_rig){.loop = loop_new(clock_system()),
                                .folder = file_make_temp_dir(NULL, "keyturn-programs-", &err)};
    recorder_init(&rig->recorder);
    strbuf_init(&rig->result.out);
    strbuf_init(&rig->result.err);
    if (!rig->folder || sandbox_engines_load(&engines, NULL, &err))
        BUG("%s", err.text);
    if (!*mark)
        snprintf(mark, sizeof(mark), "%d", (int)getpid());
    if (!own.provider.variables)
        own.provider.variables = give_mark;
    own.loop = rig->loop;
    if (!own.emitter)
        own.emitter = &rig->recorder.emitter;
    if (!own.engine)
        own.engine = sandbox_engines_find(&engines, engine);
    struct workspace_options ws = {.base = rig->folder,
                                   .other_user = own.engine && sandbox_program_is_other_user(own.engine),
                                   .ops = rig->recorder.queue};
    rig->ws = workspace_create(&ws, "test", NULL, &err);
    rig->programs = rig->ws && own.engine ? programs_new(&own, &err) : NULL;
    if (!rig->programs)
        BUG("no programs: %s", err.text);
}

void program_rig_close(struct program_rig *rig)
{
    programs_free(rig->programs);
    workspace_free(rig->ws);
    loop_free(rig->loop);
    program_result_release(&rig->result);
    recorder_release(&rig->recorder);
    sandbox_engines_release(&engines);
    if (file_remove_tree(rig->folder, NULL))
        BUG("the folder stays");
    free(rig->folder);
}

static void on_done(void *user, struct program_result *take_result)
{
    struct program_rig *rig = user;
    rig->result = *take_result;
    loop_stop(rig->loop);
}

bool program_rig_run(struct program_rig *rig, const struct program_spec *spec, struct err *err)
{
    program_result_release(&rig->result);
    rig->result = (struct program_result){0};
    strbuf_init(&rig->result.out);
    strbuf_init(&rig->result.err);
    if (!program_run(rig->programs, rig->ws, spec, on_done, rig, err))
        return false;
    loop_run(rig->loop);
    return true;
}

void program_rig_sh(struct program_rig *rig, const char *command)
{
    struct err err = ERR_INIT;
    struct program_spec spec = {.cmd = "sh", .args = (const char *const[]){"-c", command, NULL}, .timeout_ms = 60000};
    if (!program_rig_run(rig, &spec, &err))
        BUG("%s", err.text);
}

/* ---- waiting ---- */

static struct {
    struct loop_timer timer;
    struct loop *loop;
    bool (*holds)(void *user);
    void *user;
    int64_t until_us;
} waiting;

static void look(struct loop_timer *timer)
{
    if (waiting.holds(waiting.user)) {
        loop_stop(waiting.loop);
        return;
    }
    if (loop_now_us(waiting.loop) > waiting.until_us)
        BUG("it does not come");
    loop_timer_start(waiting.loop, timer, loop_now_us(waiting.loop) + LOOK_US, look);
}

void program_rig_await(struct program_rig *rig, bool (*holds)(void *user), void *user)
{
    waiting.loop = rig->loop;
    waiting.holds = holds;
    waiting.user = user;
    waiting.until_us = loop_now_us(rig->loop) + PATIENCE_US;
    if (holds(user))
        return;
    loop_timer_start(rig->loop, &waiting.timer, loop_now_us(rig->loop) + LOOK_US, look);
    loop_run(rig->loop);
    loop_timer_stop(rig->loop, &waiting.timer);
}

/* Counts the processes whose file in /proc holds the text. */
static int count(const char *file, const char *text)
{
    int found = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        char path[300], bytes[32768];
        if (!isdigit((unsigned char)entry->d_name[0]) || strtol(entry->d_name, NULL, 10) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name, file);
        CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));
        for (ssize_t i = 0; i < len; i++)
            bytes[i] = bytes[i] ? bytes[i] : ' ';
        found += len > 0 && memmem(bytes, (size_t)len, text, strlen(text)) != NULL;
    }
    if (proc)
        closedir(proc);
    return found;
}

int program_rig_count(const char *text)
{
    CLEANUP(free) char *marked = xasprintf("%s.%s", text, mark);
    return count("cmdline", marked);
}

int program_rig_count_within(const char *path)
{
    CLEANUP(free) char *own = xasprintf(" WORKSPACE_DIR=%s ", path);
    return count("environ", own);
}
