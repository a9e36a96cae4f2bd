/* Calls tools on this thread as the executor calls them. */

#include "tool_rig.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/schema.h"
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOBODY 65534

void tool_rig_init(struct tool_rig *rig)
{
    *rig = (struct tool_rig){.arena = ARENA_INIT};
    scratch_init(&rig->files);
    scratch_init(&rig->beside);
    struct err err = ERR_INIT;
    rig->root = beneath_open(rig->files.path, &err);
    if (!rig->root)
        fail_msg("%s", err.text);
    fake_clock_init(&rig->clock);
    hold_clock_init(&rig->hold, &rig->clock.base);
    rig->env = (struct tool_env){.root = rig->root, .session = "test"};
}

void tool_rig_release(struct tool_rig *rig)
{
    tool_reply_release(&rig->reply);
    arena_release(&rig->arena);
    beneath_close(rig->root);
    scratch_release(&rig->files);
    scratch_release(&rig->beside);
}

static void execute(struct tool_rig *rig, const struct tool *tool, const struct json *arguments)
{
    struct tool_run run = {.tool = tool, .env = &rig->env, .call = "call_1", .arguments = arguments};
    deadline_init(&run.deadline, &rig->hold, 60 * 1000 * 1000, 45);
    if (rig->cancelled)
        deadline_cancel(&run.deadline);
    struct tool_reply reply = {0};
    tool->work(&run, &reply);
    tool_reply_release(&rig->reply);
    rig->reply = reply;
    rig->output = NULL;
    if (reply.type != REPLY_OUTPUT)
        return;
    struct err err = ERR_INIT;
    rig->output = json_parse(&rig->arena, reply.output, strlen(reply.output), &err);
    if (!rig->output)
        fail_msg("the output is not JSON: %s: %s", err.text, reply.output);
}

static const struct json *parse(struct tool_rig *rig, const char *text)
{
    struct err err = ERR_INIT;
    const char *copy = arena_strdup(&rig->arena, text);
    const struct json *value = json_parse(&rig->arena, copy, strlen(copy), &err);
    if (!value)
        fail_msg("%s: %s", err.text, text);
    return value;
}

void tool_rig_run(struct tool_rig *rig, const struct tool *tool, const char *arguments)
{
    const struct json *value = parse(rig, arguments), *schema = parse(rig, tool->spec.parameters);
    struct err err = ERR_INIT;
    if (schema_check(schema, &err) < 0 || schema_validate(schema, value, &err) < 0)
        fail_msg("%s: %s", tool->spec.name, err.text);
    execute(rig, tool, value);
}

void tool_rig_runf(struct tool_rig *rig, const struct tool *tool, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    tool_rig_run(rig, tool, text.buf);
}

void tool_rig_commit(struct tool_rig *rig)
{
    if (rig->reply.type != REPLY_PROPOSAL)
        fail_msg("no proposal: %s", rig->reply.error ? rig->reply.error : rig->reply.output);
    struct change_set *changes = steal(&rig->reply.changes);
    struct err err = ERR_INIT;
    tool_reply_release(&rig->reply);
    if (change_set_commit(changes, rig->root, &err) < 0)
        tool_reply_error(&rig->reply, "%s", err.text);
    change_set_free(changes);
}

static const char *error_of(const struct tool_rig *rig)
{
    if (rig->reply.type != REPLY_ERROR)
        fail_msg("no error but %s", rig->reply.output ? rig->reply.output : "a proposal");
    return rig->reply.error;
}

void tool_rig_expect_error(const struct tool_rig *rig, const char *text)
{
    assert_string_equal(error_of(rig), text);
}

void tool_rig_expect_error_with(const struct tool_rig *rig, const char *part)
{
    if (!strstr(error_of(rig), part))
        fail_msg("\"%s\" is not in \"%s\"", part, rig->reply.error);
}

static void need_output(const struct tool_rig *rig)
{
    if (!rig->output)
        fail_msg("no output but %s", rig->reply.error ? rig->reply.error : "a proposal");
}

void tool_rig_expect_output(const struct tool_rig *rig, const char *json)
{
    need_output(rig);
    assert_string_equal(rig->reply.output, json);
}

const char *tool_rig_text(const struct tool_rig *rig, const char *key)
{
    need_output(rig);
    return json_str(json_get(rig->output, key), NULL);
}

int64_t tool_rig_int(const struct tool_rig *rig, const char *key)
{
    need_output(rig);
    return json_int(json_get(rig->output, key), -1);
}

static int find_leftover(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    if (strncmp(path + ftw->base, ".keyturn-", 9) == 0)
        fail_msg("left over: %s", path);
    return 0;
}

void tool_rig_expect_no_leftovers(const struct tool_rig *rig)
{
    nftw(rig->files.path, find_leftover, 16, FTW_PHYS);
}

void tool_rig_in_child(bool (*test)(struct tool_rig *rig), struct tool_rig *rig, bool as_nobody)
{
    if (as_nobody)
        scratch_chmod(&rig->files, ".", 0777);
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        fail_msg("cannot fork");
    if (pid == 0) {
        if (as_nobody && geteuid() == 0 && (setegid(NOBODY) < 0 || seteuid(NOBODY) < 0))
            _exit(2);
        bool ok = test(rig);
        fflush(NULL);
        _exit(ok ? 0 : 1);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid)
        fail_msg("the child is lost");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %#x", (unsigned)status);
}
