/* Tests whole turns with the tools of the real MCP filesystem server, in real time, because it is a process of its own.
 */

#include "base/beneath.h"
#include "base/mem.h"
#include "mcp/mcp.h"
#include "support/event_json.h"
#include "support/test.h"
#include "support/turn_check.h"
#include <string.h>

#define LONG_S 120
#define SERVER MCP_SERVERS "/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"

struct stage {
    struct turn_rig rig;
    struct mcp *mcp;
    struct mcp_spec spec;
    struct mcp_specs specs;
    const char *argv[4];
    const char *answers; /* answers to the questions in order, one letter each: y, n */
};

static void turn_ended(void *data)
{
    loop_stop(((struct stage *)data)->rig.loop);
}

static void say_next(struct turn_rig *rig, const struct question *question)
{
    struct stage *stage = rig->data;
    char answer = stage->answers[rig->questions - 1];
    assert_true(answer);
    (answer == 'y' ? turn_rig_say_yes : turn_rig_say_no)(rig, question);
}

static void begin(struct stage *stage, bool trust, const char *answers)
{
    struct turn_rig *rig = &stage->rig;
    turn_rig_init(rig);
    loop_free(rig->loop);
    rig->loop = rig->config.loop = rig->model->loop = loop_new(clock_system());
    turn_rig_file(rig, "a.txt", "alpha\nbeta\ngamma\n");
    turn_rig_file(rig, "b.txt", "bee\n");
    stage->answers = answers;
    rig->answer = say_next;
    rig->data = stage;
    stage->argv[0] = "node";
    stage->argv[1] = SERVER;
    stage->argv[2] = beneath_path(rig->config.root);
    stage->argv[3] = NULL;
    stage->spec = (struct mcp_spec){.name = "fs", .argv = stage->argv, .trust = trust};
    stage->specs = (struct mcp_specs){.items = &stage->spec, .count = 1, .room = 1};
    stage->mcp = mcp_open(rig->loop, &stage->specs, beneath_path(rig->config.root));
    mcp_wait(stage->mcp, LONG_S);
    mcp_register(stage->mcp, rig->config.registry);
    assert_int_equal(mcp_status(stage->mcp, 0).state, MCP_READY);
    turn_rig_open(rig);
    engine_on_turn_end(rig->engine, turn_ended, stage);
}

static void answer(struct stage *stage, const char *call, const char *tool, const char *arguments)
{
    fake_answer_call(fake_provider_answer(stage->rig.model), call, tool, arguments);
}

static void end(struct stage *stage)
{
    mcp_close(stage->mcp);
    turn_check_end(&stage->rig);
}

static void check_file(const struct stage *stage, const char *path, const char *expected)
{
    CLEANUP(free) char *content = turn_rig_read(&stage->rig, path);
    assert_string_equal(content ? content : "(none)", expected);
}

TEST(a_denied_write_and_an_approved_one)
{
    struct stage stage;
    begin(&stage, true, "nyy");
    struct fake_answer *reads = fake_provider_answer(stage.rig.model);
    fake_answer_call(reads, "r1", "fs__read_text_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(reads, "r2", "fs__read_text_file", "{\"path\":\"b.txt\"}");
    answer(&stage, "w1", "fs__write_file", "{\"path\":\"a.txt\",\"content\":\"gone\\n\"}");
    answer(&stage, "w2", "fs__write_file", "{\"path\":\"c.txt\",\"content\":\"new\\n\"}");
    answer(&stage, "e1", "fs__edit_file",
           "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"beta\",\"newText\":\"BETA\"}]}");
    turn_rig_turn(&stage.rig, "go on");
    assert_string_equal(turn_check_outcome(&stage.rig, "r1"), "result");
    assert_string_equal(turn_check_outcome(&stage.rig, "r2"), "result");
    assert_string_equal(turn_check_outcome(&stage.rig, "w1"), "denied:write_denied");
    assert_string_equal(turn_check_outcome(&stage.rig, "w2"), "result");
    assert_string_equal(turn_check_outcome(&stage.rig, "e1"), "result");
    check_file(&stage, "a.txt", "alpha\nBETA\ngamma\n");
    check_file(&stage, "c.txt", "new\n");
    /* The question about the edit shows its diff before anything is written. */
    const struct event *proposed = turn_rig_event(&stage.rig, EVENT_WRITE_PROPOSED, 2);
    assert_non_null(strstr(event_json(proposed, "files"), "-beta\\n+BETA"));
    assert_int_equal(turn_rig_count(&stage.rig, EVENT_CHECKPOINT_SAVED), 2);
    assert_int_equal(turn_rig_count(&stage.rig, EVENT_WRITE_APPLIED), 2);
    /* Two reads of a trusted server run in parallel. */
    const struct event *waves = turn_rig_event(&stage.rig, EVENT_WAVES_PLANNED, 0);
    assert_non_null(strstr(event_json(waves, "waves"), "\"mode\":\"parallel\",\"calls\":[\"r1\",\"r2\"]"));
    end(&stage);
}

TEST(an_untrusted_server_asks_for_everything)
{
    struct stage stage;
    begin(&stage, false, "ny");
    answer(&stage, "r1", "fs__read_text_file", "{\"path\":\"a.txt\"}");
    answer(&stage, "r2", "fs__read_text_file", "{\"path\":\"b.txt\"}");
    turn_rig_turn(&stage.rig, "go on");
    assert_string_equal(turn_check_outcome(&stage.rig, "r1"), "denied:write_denied");
    assert_string_equal(turn_check_outcome(&stage.rig, "r2"), "result");
    assert_int_equal(stage.rig.questions, 2);
    end(&stage);
}
