/* Tests of the client with widely used servers: everything, filesystem, memory. */

#include "base/beneath.h"
#include "base/mem.h"
#include "support/mcp_rig.h"
#include "support/test.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LONG_S       120
#define SERVER(name) MCP_SERVERS "/node_modules/@modelcontextprotocol/server-" name "/dist/index.js"

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" has no \"%s\"", text, part);
}

static void open_ready(struct mcp_rig *rig)
{
    mcp_rig_open(rig, LONG_S);
    struct mcp_status status = mcp_status(rig->mcp, 0);
    if (status.state != MCP_READY)
        fail_msg("%s: %s", status.why ? status.why : "not ready", status.said);
    assert_string_equal(status.protocol, "2025-11-25");
}

static void check_class(const struct mcp_rig *rig, const char *tool, enum effect effect, bool idempotent)
{
    const struct tool *found = registry_find(rig->registry, tool);
    if (!found)
        fail_msg("there is no tool %s", tool);
    assert_string_equal(effect_name(found->spec.effect), effect_name(effect));
    assert_int_equal(found->spec.idempotent, idempotent);
}

TEST(the_everything_server_works)
{
    struct mcp_rig rig;
    setenv("FAKE_LEAK", "1", 1);
    mcp_rig_init(&rig);
    mcp_rig_server(&rig, "all", "node", SERVER("everything"), NULL);
    open_ready(&rig);
    check_class(&rig, "all__echo", EFFECT_READ_ONLY, true);
    check_class(&rig, "all__gzip-file-as-resource", EFFECT_NETWORK, true);
    assert_null(registry_find(rig.registry, "all__simulate-research-query")); /* as a task only */
    mcp_rig_call(&rig, "all__echo", "{\"message\":\"hello\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"Echo: hello\"}");
    mcp_rig_call(&rig, "all__get-sum", "{\"a\":2,\"b\":40}");
    check_has(mcp_rig_output(&rig), "42");
    mcp_rig_call(&rig, "all__get-tiny-image", "{}");
    check_has(mcp_rig_output(&rig), "\"attached\":[{\"type\":\"image\",\"mimeType\":\"image/png\"");
    mcp_rig_call(&rig, "all__get-structured-content", "{\"location\":\"New York\"}");
    check_has(mcp_rig_output(&rig), "temperature");
    mcp_rig_call(&rig, "all__trigger-long-running-operation", "{\"duration\":1,\"steps\":4}");
    check_has(mcp_rig_output(&rig), "completed");
    check_has(rig.test.heard.output.buf, " of 4\n");
    mcp_rig_call(&rig, "all__get-env", "{}");
    assert_null(strstr(mcp_rig_output(&rig), "FAKE_LEAK"));
    mcp_rig_call(&rig, "all__get-roots-list", "{}");
    check_has(mcp_rig_output(&rig), "work");
    assert_int_equal(rig.test.questions, 0);
    mcp_rig_release(&rig);
}

TEST(the_server_gets_the_cancellation)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    mcp_rig_server(&rig, "all", "node", SERVER("everything"), NULL);
    open_ready(&rig);
    struct bounded_call *call =
        mcp_rig_begin(&rig, "all__trigger-long-running-operation", "{\"duration\":20,\"steps\":100}");
    mcp_rig_call(&rig, "all__echo", "{\"message\":\"meanwhile\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"Echo: meanwhile\"}");
    bounded_cancel(call);
    mcp_rig_wait(&rig);
    check_has(mcp_rig_error(&rig), "canceled");
    mcp_rig_call(&rig, "all__echo", "{\"message\":\"after\"}"); /* whatever it sends about the other one */
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"Echo: after\"}");
    mcp_rig_release(&rig);
}

TEST(the_memory_server_works)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    CLEANUP(free) char *file = scratch_path(&rig.test.rig.scratch, "memory.jsonl");
    const char *env[] = {arena_printf(&rig.test.rig.arena, "MEMORY_FILE_PATH=%s", file), NULL};
    mcp_rig_server(&rig, "memory", "node", SERVER("memory"), NULL)->env = env;
    open_ready(&rig);
    mcp_rig_call(&rig, "memory__create_entities",
                 "{\"entities\":[{\"name\":\"key\",\"entityType\":\"thing\",\"observations\":[\"it turns\"]}]}");
    assert_string_equal(rig.test.heard.words.buf, "ask c1, applied c1, result c1");
    mcp_rig_call(&rig, "memory__read_graph", "{}");
    check_has(mcp_rig_output(&rig), "it turns");
    assert_int_equal(rig.test.questions, 1);
    mcp_rig_release(&rig);
}

/* A call with the path of a file of the workspace, as this server wants it. */
static void call_on(struct mcp_rig *rig, const char *tool, const char *file, const char *more)
{
    CLEANUP(free)
    char *arguments = xasprintf("{\"path\":\"%s/%s\"%s}", beneath_path(rig->test.rig.config.root), file, more);
    mcp_rig_call(rig, tool, arguments);
}

static void check_file(const struct mcp_rig *rig, const char *name, const char *expected)
{
    CLEANUP(free) char *content = scratch_read(&rig->test.rig.scratch, name, NULL);
    assert_string_equal(content ? content : "(none)", expected);
}

TEST(the_filesystem_server_works)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    scratch_write(&rig.test.rig.scratch, "work/a.txt", "alpha\nbeta\ngamma\n");
    scratch_write(&rig.test.rig.scratch, "work/dos.txt", "one\r\ntwo\r\n");
    mcp_rig_server(&rig, "fs", "node", SERVER("filesystem"), beneath_path(rig.test.rig.config.root), NULL);
    open_ready(&rig);
    check_class(&rig, "fs__read_text_file", EFFECT_READ_ONLY, true);
    check_class(&rig, "fs__create_directory", EFFECT_LOCAL_WRITE, true);
    check_class(&rig, "fs__write_file", EFFECT_DESTRUCTIVE, true);
    check_class(&rig, "fs__edit_file", EFFECT_DESTRUCTIVE, false);
    check_class(&rig, "fs__move_file", EFFECT_DESTRUCTIVE, false);
    call_on(&rig, "fs__read_text_file", "a.txt", "");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"alpha\\nbeta\\ngamma\\n\"}");
    call_on(&rig, "fs__read_text_file", "missing.txt", "");
    check_has(mcp_rig_error(&rig), "ENOENT");
    assert_int_equal(rig.test.questions, 0);

    call_on(&rig, "fs__edit_file", "a.txt", ",\"edits\":[{\"oldText\":\"beta\",\"newText\":\"BETA\"}]");
    assert_string_equal(rig.test.shown->items[0].path, "a.txt");
    assert_string_equal(rig.test.shown->items[0].new.bytes, "alpha\nBETA\ngamma\n");
    check_file(&rig, "work/a.txt", "alpha\nBETA\ngamma\n");
    call_on(&rig, "fs__edit_file", "a.txt", ",\"edits\":[{\"oldText\":\"not there\",\"newText\":\"x\"}]");
    check_has(mcp_rig_error(&rig), "not there");
    assert_int_equal(rig.test.questions, 1); /* an impossible call asks no question */
    call_on(&rig, "fs__edit_file", "dos.txt", ",\"edits\":[{\"oldText\":\"two\",\"newText\":\"TWO\"}]");
    check_file(&rig, "work/dos.txt", rig.test.shown->items[0].new.bytes);

    const char *root = beneath_path(rig.test.rig.config.root);
    CLEANUP(free) char *move = xasprintf("{\"source\":\"%s/dos.txt\",\"destination\":\"%s/moved.txt\"}", root, root);
    mcp_rig_call(&rig, "fs__move_file", move);
    assert_int_equal(rig.test.shown->count, 2); /* one file deleted, one created */
    assert_false(rig.test.shown->items[0].new.exists);
    check_file(&rig, "work/moved.txt", rig.test.shown->items[1].new.bytes);
    assert_false(scratch_exists(&rig.test.rig.scratch, "work/dos.txt"));

    call_on(&rig, "fs__write_file", "b.txt", ",\"content\":\"new\\n\"");
    check_file(&rig, "work/b.txt", "new\n");
    rig.test.decision = (struct decision){.kind = DECISION_DENIED, .by = BY_KEY};
    call_on(&rig, "fs__write_file", "b.txt", ",\"content\":\"other\\n\"");
    check_file(&rig, "work/b.txt", "new\n");
    call_on(&rig, "fs__create_directory", "sub", "");
    assert_false(scratch_exists(&rig.test.rig.scratch, "work/sub"));
    mcp_rig_release(&rig);
}
