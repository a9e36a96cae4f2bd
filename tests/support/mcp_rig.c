/* Starts tool servers and calls their tools through the executor. */

#include "mcp_rig.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 8

static void on_done(struct write_rig *test)
{
    loop_stop(test->rig.loop);
}

void mcp_rig_init(struct mcp_rig *rig)
{
    *rig = (struct mcp_rig){.changes = STRBUF_INIT};
    write_rig_init_on(&rig->test, clock_system());
    rig->test.on_done = on_done;
    rig->pace = mcp_pace_usual;
    rig->registry = rig->test.rig.config.registry;
}

static struct mcp_spec *add_server(struct mcp_rig *rig, const char *name, const char *const *before, va_list args)
{
    const char **argv = arena_calloc(&rig->test.rig.arena, WORDS_MAX, sizeof(*argv));
    size_t count = 0;
    for (const char *word; before && (word = *before); before++)
        argv[count++] = word;
    for (const char *word; (word = va_arg(args, const char *));) {
        assert_true(count + 1 < WORDS_MAX);
        argv[count++] = word;
    }
    GROW(rig->specs.items, rig->specs.count, rig->specs.room);
    rig->specs.items[rig->specs.count] = (struct mcp_spec){.name = name, .argv = argv, .trust = true};
    return &rig->specs.items[rig->specs.count++];
}

struct mcp_spec *mcp_rig_server(struct mcp_rig *rig, const char *name, ...)
{
    va_list args;
    va_start(args, name);
    struct mcp_spec *spec = add_server(rig, name, NULL, args);
    va_end(args);
    return spec;
}

struct mcp_spec *mcp_rig_fake(struct mcp_rig *rig, const char *name, ...)
{
    static const char *const before[] = {"python3", MCP_FAKE, NULL};
    va_list args;
    va_start(args, name);
    struct mcp_spec *spec = add_server(rig, name, before, args);
    va_end(args);
    return spec;
}

static void on_change(void *user, const struct mcp_status *status)
{
    static const char *const words[] = {[MCP_OFF] = "OFF",
                                        [MCP_STARTING] = "STARTING",
                                        [MCP_READY] = "READY",
                                        [MCP_PAUSING] = "PAUSING",
                                        [MCP_FAILED] = "FAILED"};
    struct mcp_rig *rig = user;
    strbuf_addf(&rig->changes, "%s%s %s", rig->changes.len ? ", " : "", status->name, words[status->state]);
    if (status->state == rig->until)
        loop_stop(rig->test.rig.loop);
}

void mcp_rig_open(struct mcp_rig *rig, double wait_s)
{
    rig->specs.pace = &rig->pace;
    rig->mcp = mcp_open(rig->test.rig.loop, &rig->specs, beneath_path(rig->test.rig.config.root));
    rig->all_ready = mcp_wait(rig->mcp, wait_s);
    mcp_register(rig->mcp, rig->registry);
    mcp_watch(rig->mcp, on_change, rig);
}

void mcp_rig_release(struct mcp_rig *rig)
{
    mcp_close(rig->mcp);
    free(rig->specs.items);
    strbuf_release(&rig->changes);
    write_rig_release(&rig->test);
}

struct bounded_call *mcp_rig_begin(struct mcp_rig *rig, const char *name, const char *arguments)
{
    struct err err = ERR_INIT;
    const struct tool *tool = registry_find(rig->registry, name);
    const struct json *value = json_parse(&rig->test.rig.arena, arguments, strlen(arguments), &err);
    CLEANUP(free) char *call = xasprintf("c%zu", ++rig->calls);
    if (!tool || !value || registry_validate(rig->registry, tool, value, &err))
        fail_msg("%s %s: %s", name, arguments, tool ? err.text : "no such tool");
    return write_rig_start(&rig->test, tool, call, arguments, 600, 0);
}

void mcp_rig_wait(struct mcp_rig *rig)
{
    size_t before = rig->test.heard.outcome_count;
    while (rig->test.heard.outcome_count == before)
        loop_run(rig->test.rig.loop);
}

void mcp_rig_call(struct mcp_rig *rig, const char *tool, const char *arguments)
{
    mcp_rig_begin(rig, tool, arguments);
    mcp_rig_wait(rig);
}

void mcp_rig_until(struct mcp_rig *rig, enum mcp_state state)
{
    rig->until = state;
    loop_run(rig->test.rig.loop);
    rig->until = MCP_OFF;
}

static const struct outcome *last(const struct mcp_rig *rig, enum outcome_type type)
{
    const struct outcome *outcome = &rig->test.heard.outcomes[rig->test.heard.outcome_count - 1];
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_true(rig->test.heard.outcome_count > 0);
    outcome_message(&text, outcome);
    if (outcome->type != type)
        fail_msg("%s", text.buf);
    return outcome;
}

const char *mcp_rig_output(const struct mcp_rig *rig)
{
    return last(rig, OUTCOME_RESULT)->result.output;
}

const char *mcp_rig_error(const struct mcp_rig *rig)
{
    return last(rig, OUTCOME_FAILURE)->failure.error;
}
