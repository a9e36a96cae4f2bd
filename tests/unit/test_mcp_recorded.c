/* Recorded conversations with real servers: a stand-in repeats their answers, and the test makes every recorded call
 * again. The recordings are beside the sources; if they are missing, the test prints a line. */

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "support/mcp_rig.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define RECORDED SOURCE_DIR "/../shared/mcp"
#define STAND_IN SOURCE_DIR "/tests/support/replay_mcp.py"
#define LONG_S   60

struct recording {
    struct strbuf text;
    struct arena arena;
    const struct json *rows[512];
    size_t count;
};

static void read_recording(struct recording *recording, const char *path)
{
    struct err err = ERR_INIT;
    *recording = (struct recording){.text = STRBUF_INIT};
    if (file_read(path, &recording->text, 0, &err))
        fail_msg("%s", err.text);
    for (const char *at = recording->text.buf; *at;) {
        size_t len = strcspn(at, "\n");
        assert_true(recording->count < COUNT_OF(recording->rows));
        recording->rows[recording->count] = json_parse(&recording->arena, at, len, &err);
        assert_non_null(recording->rows[recording->count++]);
        at += len + (at[len] == '\n');
    }
}

static bool comes_from(const struct json *row, const char *side)
{
    return strcmp(json_str(json_get(row, "dir"), ""), side) == 0;
}

/* Returns the answer to the request in row `asked`, or NULL. */
static const struct json *answer_to(const struct recording *recording, size_t asked)
{
    int64_t id = json_int(json_get(json_get(recording->rows[asked], "msg"), "id"), -1);
    for (size_t i = asked + 1; i < recording->count; i++) {
        const struct json *message = json_get(recording->rows[i], "msg");
        if (comes_from(recording->rows[i], "s2c") && !json_get(message, "method") &&
            json_int(json_get(message, "id"), -2) == id)
            return message;
    }
    return NULL;
}

static void check_outcome(const struct mcp_rig *rig, const struct json *answer)
{
    const struct outcome *outcome = &rig->test.heard.outcomes[rig->test.heard.outcome_count - 1];
    const char *error = json_str(json_get(json_get(answer, "error"), "message"), NULL);
    struct tool_reply reply = {0};
    if (error)
        tool_reply_error(&reply, "%s", error);
    else
        mcp_content_reply(json_get(answer, "result"), &reply);
    if (reply.type == REPLY_ERROR)
        assert_string_equal(mcp_rig_error(rig), reply.error);
    else if (outcome->type != OUTCOME_ARTIFACT)
        assert_string_equal(mcp_rig_output(rig), reply.output);
    tool_reply_release(&reply);
}

/* Makes the call of a row again; returns false if Keyturn would not even send it. */
static bool call_again(struct mcp_rig *rig, const struct recording *recording, size_t row)
{
    CLEANUP(strbuf) struct strbuf arguments = STRBUF_INIT;
    const struct json *params = json_get(json_get(recording->rows[row], "msg"), "params");
    const struct json *value = json_get(params, "arguments");
    CLEANUP(free) char *name = xasprintf("s__%s", json_str(json_get(params, "name"), ""));
    const struct tool *tool = registry_find(rig->registry, name);
    const struct json *answer = answer_to(recording, row);
    if (!tool || registry_validate(rig->registry, tool, value, NULL))
        return false;
    json_write(&arguments, value, JSON_COMPACT);
    char *kept = arena_strdup(&rig->test.rig.arena, arguments.buf);
    struct bounded_call *call = mcp_rig_begin(rig, name, kept);
    if (!answer) /* it was canceled then */
        bounded_cancel(call);
    mcp_rig_wait(rig);
    if (answer)
        check_outcome(rig, answer);
    else
        assert_non_null(strstr(mcp_rig_error(rig), "canceled"));
    /* There are more calls than a rig remembers. */
    outcome_release(&rig->test.heard.outcomes[--rig->test.heard.outcome_count]);
    return true;
}

static void replay(const char *name, const char *protocol, size_t expected)
{
    static struct recording recording;
    struct mcp_rig rig;
    size_t calls = 0;
    CLEANUP(free) char *path = xasprintf(RECORDED "/%s.jsonl", name);
    if (access(RECORDED, R_OK)) {
        print_message("%s is not there: recorded conversations are not replayed\n", RECORDED);
        return;
    }
    read_recording(&recording, path);
    mcp_rig_init(&rig);
    mcp_rig_server(&rig, "s", "python3", STAND_IN, path, NULL);
    mcp_rig_open(&rig, LONG_S);
    struct mcp_status status = mcp_status(rig.mcp, 0);
    if (status.state != MCP_READY)
        fail_msg("%s: %s", name, status.why ? status.why : "not ready");
    assert_string_equal(status.protocol, protocol);
    for (size_t i = 0; i < recording.count; i++)
        if (comes_from(recording.rows[i], "c2s") &&
            strcmp(json_str(json_get(json_get(recording.rows[i], "msg"), "method"), ""), "tools/call") == 0)
            calls += call_again(&rig, &recording, i);
    if (calls < expected)
        fail_msg("%s: only %zu calls", name, calls);
    mcp_rig_release(&rig);
    arena_release(&recording.arena);
    strbuf_release(&recording.text);
}

TEST(the_recorded_everything_server_works)
{
    replay("everything", "2025-06-18", 6); /* an older version, which the recorded client requested */
}

TEST(the_recorded_filesystem_server_works)
{
    replay("filesystem", "2025-11-25", 10);
    replay("filesystem-noinit", "2025-11-25", 1);
}

TEST(the_recorded_memory_server_works)
{
    replay("memory", "2025-11-25", 1);
}

TEST(the_probe_is_answered_like_the_recording)
{
    replay("everything-discover-probe", "2025-11-25", 0);
    replay("filesystem-discover-probe", "2025-11-25", 0);
}
