/* Tests files of a turn's workspace: inputs, results, artifacts and skills. In real sandboxes. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/runtime_rig.h"
#include "support/test.h"
#include "tools/artifact.h"
#include <string.h>
#include <sys/stat.h>

static struct runtime_rig rig;

static int set_up(void **state)
{
    *state = &rig;
    return runtime_rig_set_up(state);
}

#define RUNTIME_TEST(NAME) TEST_WITH(NAME, set_up, runtime_rig_tear_down)

static void link_to(const char *target, const char *path)
{
    CLEANUP(free) char *at = scratch_path(&rig.turn.scratch, path);
    assert_int_equal(symlink(target, at), 0);
}

/* ---- inputs ---- */

RUNTIME_TEST(the_project_may_be_staged)
{
    turn_rig_file(&rig.turn, "a.txt", "one\n");
    turn_rig_file(&rig.turn, "src/b/c.txt", "two\n");
    runtime_rig_open(&rig);
    CLEANUP(free) char *path = scratch_path(&rig.turn.scratch, "work/src");
    CLEANUP(free) char *folder = xasprintf("{\"from\":\"host://%s\",\"to\":\"work/copy\"}", path);
    runtime_rig_call(&rig, "c1", "stage_input", "{\"from\":\"a.txt\"}");
    runtime_rig_call(&rig, "c2", "stage_input", folder);
    runtime_rig_call(&rig, "c3", "workspace_exec",
                     "{\"command\":\"cat work/inputs/a.txt work/copy/b/c.txt; echo no > work/inputs/a.txt\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "to"), "work/inputs/a.txt");
    assert_string_equal(runtime_rig_of(&rig, "c3", "output"), "one\ntwo\n");
    CLEANUP(free) char *mine = turn_rig_read(&rig.turn, "a.txt");
    assert_string_equal(mine, "one\n"); /* it is a copy */
    const struct event *now = turn_rig_event(&rig.turn, EVENT_WORKSPACE_STATE, 0);
    assert_string_equal(turn_check_json(&rig.turn, event_json(now, "inputs"), "[0].to"), "work/inputs/a.txt");
}

RUNTIME_TEST(files_outside_the_project_are_not_staged)
{
    scratch_write(&rig.turn.scratch, "home/.ssh/id", "key\n");
    turn_rig_file(&rig.turn, "src/x", "x");
    link_to("../home/.ssh", "work/keys");
    link_to("../../home/.ssh/id", "work/src/key");
    runtime_rig_open(&rig);
    CLEANUP(free) char *path = scratch_path(&rig.turn.scratch, "home/.ssh/id");
    CLEANUP(free) char *outside = xasprintf("{\"from\":\"host://%s\"}", path);
    CLEANUP(free) char *project = scratch_path(&rig.turn.scratch, "work");
    CLEANUP(free) char *climbs = xasprintf("{\"from\":\"host://%s/../home/.ssh/id\"}", project);
    runtime_rig_call(&rig, "c1", "stage_input", outside);
    runtime_rig_call(&rig, "c2", "stage_input", climbs);
    runtime_rig_call(&rig, "c3", "stage_input", "{\"from\":\"keys/id\"}");
    runtime_rig_call(&rig, "c4", "stage_input", "{\"from\":\"src/x\",\"mode\":\"link\"}");
    runtime_rig_call(&rig, "c5", "stage_input", "{\"from\":\"src\",\"to\":\"work/src\"}");
    runtime_rig_call(&rig, "c6", "workspace_exec", "{\"command\":\"cat work/src/key; grep -r key work\"}");
    runtime_rig_turn(&rig);
    assert_non_null(strstr(runtime_rig_error(&rig, "c1"), "it is outside the project"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c1"), "workspace.inputs"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c2"), "is outside the project"));
    runtime_rig_error(&rig, "c3");
    assert_non_null(strstr(runtime_rig_error(&rig, "c4"), "use mode copy"));
    assert_string_equal(runtime_rig_of(&rig, "c5", "staged"), "true");
    assert_null(strstr(runtime_rig_of(&rig, "c6", "output"),
                       "key\n")); /* the link stayed a link, and its target does not exist there */
}

RUNTIME_TEST(inputs_go_to_the_named_folder)
{
    turn_rig_file(&rig.turn, "a.txt", "one\n");
    turn_rig_file(&rig.turn, "d/metadata.json", "{}\n");
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "stage_input", "{\"from\":\"a.txt\",\"to\":\"work/in/\"}");
    runtime_rig_call(&rig, "c2", "workspace_exec", "{\"command\":\"cat work/in/a.txt\"}");
    runtime_rig_call(&rig, "c3", "save_artifact", "{\"path\":\"work/in/a.txt\"}");
    runtime_rig_call(&rig, "c4", "load_artifact", "{\"ref\":\"a.txt\",\"to\":\"work/again/\"}");
    runtime_rig_call(&rig, "c5", "stage_input", "{\"from\":\"a.txt\",\"to\":\"metadata.json\"}");
    runtime_rig_call(&rig, "c6", "load_artifact", "{\"ref\":\"a.txt\",\"to\":\"./metadata.json\"}");
    runtime_rig_call(&rig, "c7", "load_artifact", "{\"ref\":\"a.txt\",\"to\":\"../a.txt\"}");
    runtime_rig_call(&rig, "c8", "stage_input", "{\"from\":\"a.txt\",\"to\":\"$OUTPUT_DIR/\"}");
    runtime_rig_call(&rig, "c9", "stage_input",
                     "{\"from\":\"workspace://$OUTPUT_DIR/a.txt\",\"to\":\"/workspace/work/b\"}");
    runtime_rig_call(&rig, "c10", "stage_input", "{\"from\":\"d\",\"to\":\".\"}");
    runtime_rig_call(&rig, "c11", "stage_input", "{\"from\":\"a.txt\",\"to\":\"work\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "to"), "work/in/a.txt");
    assert_string_equal(runtime_rig_of(&rig, "c2", "output"), "one\n");
    assert_string_equal(runtime_rig_of(&rig, "c4", "to"), "work/again/a.txt");
    assert_non_null(strstr(runtime_rig_error(&rig, "c5"), "it is reserved"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c6"), "it is reserved"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c7"), "escapes"));
    assert_string_equal(runtime_rig_of(&rig, "c8", "to"), "out/a.txt");
    assert_string_equal(runtime_rig_of(&rig, "c9", "to"), "work/b");
    assert_non_null(strstr(runtime_rig_error(&rig, "c10"), "it is reserved"));
    assert_string_equal(runtime_rig_error(&rig, "c11"), "cannot replace the folder work with a file");
}

RUNTIME_TEST(folders_of_the_config_may_be_staged)
{
    scratch_write(&rig.turn.scratch, "data/set.csv", "1,2\n");
    CLEANUP(free) char *folder = scratch_path(&rig.turn.scratch, "data");
    const char *const host[] = {folder, NULL};
    rig.options.host = host;
    runtime_rig_open(&rig);
    CLEANUP(free) char *from = xasprintf("{\"from\":\"host://%s/set.csv\"}", folder);
    runtime_rig_call(&rig, "c1", "stage_input", from);
    runtime_rig_call(&rig, "c2", "workspace_exec", "{\"command\":\"cat work/inputs/set.csv\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "output"), "1,2\n");
}

/* ---- results ---- */

RUNTIME_TEST(outputs_are_collected_and_saved_as_artifacts)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"echo one > out/a.txt; head -c 9 /dev/zero > out/b.bin\"}");
    runtime_rig_call(&rig, "c2", "collect_outputs", "{\"inline\":true}");
    runtime_rig_call(&rig, "c3", "save_artifact", "{\"path\":\"out/a.txt\",\"name\":\"notes\"}");
    runtime_rig_call(&rig, "c4", "workspace_exec", "{\"command\":\"echo two > out/a.txt\"}");
    runtime_rig_call(&rig, "c5", "collect_outputs",
                     "{\"globs\":[\"out/a.txt\"],\"save\":true,\"name_template\":\"run/\"}");
    runtime_rig_call(&rig, "c6", "save_artifact", "{\"path\":\"out/a.txt\",\"name\":\"notes\"}");
    runtime_rig_call(&rig, "c7", "load_artifact", "{\"ref\":\"notes@0\"}");
    runtime_rig_call(&rig, "c8", "load_artifact", "{\"ref\":\"notes\",\"to\":\"work/n.txt\"}");
    runtime_rig_call(&rig, "c9", "workspace_exec", "{\"command\":\"cat work/n.txt\"}");
    runtime_rig_call(&rig, "c10", "save_artifact", "{\"path\":\"../../../etc/passwd\"}");
    runtime_rig_call(&rig, "c11", "load_artifact", "{\"ref\":\"nothing\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[0].content"), "one\n");
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[1].binary"), "true");
    assert_string_equal(runtime_rig_of(&rig, "c3", "ref"), "artifact://notes@0");
    assert_string_equal(runtime_rig_of(&rig, "c5", "files[0].saved"), "artifact://run/out/a.txt@0");
    assert_string_equal(runtime_rig_of(&rig, "c6", "version"), "1");
    assert_string_equal(runtime_rig_of(&rig, "c7", "content"), "one\n");
    assert_string_equal(runtime_rig_of(&rig, "c9", "output"), "two\n");
    runtime_rig_error(&rig, "c10");
    runtime_rig_error(&rig, "c11");
    /* Only what saves is a write. */
    size_t reads = 0;
    for (size_t i = 0; i < 11; i++)
        reads += strcmp(turn_rig_event(&rig.turn, EVENT_TOOL_STARTED, i)->tool_started.effect, "READ_ONLY") == 0;
    assert_int_equal(reads, 3);
}

static size_t ops_named(const char *op)
{
    size_t count = 0;
    for (size_t i = 0; i < turn_rig_count(&rig.turn, EVENT_WORKSPACE_OP); i++)
        count += strcmp(turn_rig_event(&rig.turn, EVENT_WORKSPACE_OP, i)->workspace_op.op, op) == 0;
    return count;
}

RUNTIME_TEST(saving_an_artifact_is_recorded)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo one > out/a.txt\"}");
    runtime_rig_call(&rig, "c2", "save_artifact", "{\"path\":\"out/a.txt\"}");
    runtime_rig_call(&rig, "c3", "save_artifact", "{\"path\":\"out/b.txt\"}");
    runtime_rig_turn(&rig);
    runtime_rig_error(&rig, "c3");
    assert_int_equal(ops_named("workspace.collect"), 2);
    const struct event *failed =
        turn_rig_event(&rig.turn, EVENT_WORKSPACE_OP, turn_rig_count(&rig.turn, EVENT_WORKSPACE_OP) - 1);
    assert_non_null(failed->workspace_op.error);
    assert_string_equal(turn_check_json(&rig.turn, failed->workspace_op.attrs, "path"), "out/b.txt");
}

/* A path in a long result can be read and staged under that name. */
RUNTIME_TEST(a_long_output_is_an_artifact)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"seq 100000\"}");
    runtime_rig_turn(&rig);
    const char *ref = runtime_rig_of(&rig, "c1", "artifact");
    CLEANUP(free) char *load = xasprintf("{\"ref\":\"%s\"}", ref);
    CLEANUP(free) char *bare = xasprintf("{\"ref\":\"%s\",\"to\":\"work/bare\"}", ref + strlen("artifact://"));
    CLEANUP(free) char *stage = xasprintf("{\"from\":\"%s\",\"to\":\"work/staged\"}", ref);
    CLEANUP(free) char *usual = xasprintf("{\"from\":\"%s\"}", ref);
    runtime_rig_call(&rig, "c2", "load_artifact", load);
    runtime_rig_call(&rig, "c3", "load_artifact", bare);
    runtime_rig_call(&rig, "c4", "stage_input", stage);
    runtime_rig_call(&rig, "c5", "stage_input", usual);
    runtime_rig_call(&rig, "c6", "workspace_exec",
                     "{\"command\":\"cmp work/bare work/staged && tail -1 work/staged; ls work/inputs\"}");
    runtime_rig_call(&rig, "c7", "stage_input", "{\"from\":\"artifact://art_0123456789abcdef\"}");
    /* That of another session cannot. */
    struct artifact *other = artifact_store_put(rig.turn.config.artifacts, "other", "t", "not yours", 9);
    assert_non_null(other);
    CLEANUP(free) char *load_other = xasprintf("{\"ref\":\"artifact://%s\"}", other->id);
    CLEANUP(free) char *stage_other = xasprintf("{\"from\":\"artifact://%s\"}", other->id);
    runtime_rig_call(&rig, "c8", "load_artifact", load_other);
    runtime_rig_call(&rig, "c9", "stage_input", stage_other);
    artifact_free(other);
    runtime_rig_turn(&rig);
    assert_int_equal(strncmp(runtime_rig_of(&rig, "c2", "content"), "1\n2\n", 4), 0);
    assert_string_equal(runtime_rig_of(&rig, "c2", "size"), "588895");
    assert_string_equal(runtime_rig_of(&rig, "c2", "artifact"), runtime_rig_of(&rig, "c1", "artifact"));
    assert_int_equal(strncmp(runtime_rig_of(&rig, "c6", "output"), "100000\nart_", 11), 0);
    runtime_rig_error(&rig, "c7");
    assert_non_null(strstr(runtime_rig_error(&rig, "c8"), "artifact not found"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c9"), "artifact not found"));
}

/* Dangling links and special files do not hide the other files. */
RUNTIME_TEST(pipes_and_dangling_links_are_listed_as_skipped)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"ln -s nowhere out/dangling; mkfifo out/pipe; ln -s pipe out/to_pipe; "
                     "echo 1 > out/z\"}");
    runtime_rig_call(&rig, "c2", "collect_outputs", "{}");
    runtime_rig_call(&rig, "c3", "collect_outputs", "{\"globs\":[\"out/pipe\"]}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[0].name"), "out/z");
    assert_string_equal(runtime_rig_of(&rig, "c2", "skipped[0].name"), "out/pipe");
    assert_string_equal(runtime_rig_of(&rig, "c2", "skipped[0].why"), "it is a FIFO, not a file");
    assert_string_equal(runtime_rig_of(&rig, "c2", "skipped[1].name"), "out/dangling");
    assert_string_equal(runtime_rig_of(&rig, "c2", "skipped[1].why"), "it is a dangling link");
    assert_string_equal(runtime_rig_of(&rig, "c2", "skipped[2].name"), "out/to_pipe");
    assert_string_equal(runtime_rig_of(&rig, "c2", "skipped[2].why"), "it is a FIFO, not a file");
    assert_string_equal(runtime_rig_of(&rig, "c2", "limits_hit"), "false");
    assert_string_equal(runtime_rig_of(&rig, "c3", "skipped[0].why"), "it is a FIFO, not a file");
}

/* Looking at a FIFO does not wake its writers. */
RUNTIME_TEST(a_writer_is_not_woken)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"mkfifo out/pipe; echo ready; echo x > out/pipe; echo woken\",\"background\":true,"
                     "\"yield_time_ms\":60000}");
    runtime_rig_call(&rig, "c2", "save_artifact", "{\"path\":\"out/pipe\"}");
    runtime_rig_call(&rig, "c3", "stage_input", "{\"from\":\"workspace://out/pipe\"}");
    runtime_rig_call(&rig, "c4", "collect_outputs", "{}");
    runtime_rig_call(&rig, "c5", "workspace_exec", "{\"command\":\"cat out/pipe\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_error(&rig, "c2"), "out/pipe is a FIFO, not a file");
    assert_non_null(strstr(runtime_rig_error(&rig, "c3"), "it is a FIFO"));
    assert_string_equal(runtime_rig_of(&rig, "c5", "output"), "x\n");
}

/* A file that is too large for a collection does not exclude the others. */
RUNTIME_TEST(too_large_files_are_not_saved)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"echo a > out/a; head -c 5000000 /dev/zero > out/b; echo c > out/c\"}");
    runtime_rig_call(&rig, "c2", "collect_outputs", "{\"save\":true,\"globs\":[\"/workspace/out/**\"]}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[0].saved"), "artifact://out/a@0");
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[1].saved"), "artifact://out/c@0");
    assert_string_equal(runtime_rig_of(&rig, "c2", "skipped[0].name"), "out/b");
    assert_non_null(strstr(runtime_rig_of(&rig, "c2", "skipped[0].why"), "use save_artifact"));
}

/* Two parallel calls need the workspace first; an unchanged file is not reported again. */
RUNTIME_TEST(reads_side_by_side)
{
    runtime_rig_open(&rig);
    struct fake_answer *both = fake_provider_answer(rig.turn.model);
    fake_answer_call(both, "c1", "collect_outputs", "{}");
    fake_answer_call(both, "c2", "load_artifact", "{\"ref\":\"x\"}");
    runtime_rig_call(&rig, "c3", "collect_outputs", "{}");
    runtime_rig_call(&rig, "c4", "stage_input", "{\"from\":\"artifact://x\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(
        turn_check_json(&rig.turn, event_json(turn_rig_event(&rig.turn, EVENT_WAVES_PLANNED, 0), "waves"), "[0].mode"),
        "parallel");
    assert_string_equal(runtime_rig_of(&rig, "c1", "limits_hit"), "false");
    size_t made = 0;
    for (size_t i = 0; i < turn_rig_count(&rig.turn, EVENT_WORKSPACE_OP); i++)
        made += strcmp(turn_rig_event(&rig.turn, EVENT_WORKSPACE_OP, i)->workspace_op.op, "workspace.create") == 0;
    assert_int_equal(made, 1);
    size_t states = turn_rig_count(&rig.turn, EVENT_WORKSPACE_STATE);
    runtime_rig_call(&rig, "c5", "stage_input", "{\"from\":\"artifact://x\"}");
    runtime_rig_turn(&rig);
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_WORKSPACE_STATE), states);
}

/* ---- skills ---- */

static void make_skill(void)
{
    scratch_write(&rig.turn.scratch, "skills/count/SKILL.md",
                  "---\nname: count\ndescription: Counts words\n---\nRun bin/count.\n");
    scratch_write(
        &rig.turn.scratch, "skills/count/bin/count",
        "#!/bin/sh\necho \"$SKILL_NAME at $SKILL_DIR\"\nwc -w > $OUTPUT_DIR/words.txt\ntouch here || echo read-only\n");
    CLEANUP(free) char *program = scratch_path(&rig.turn.scratch, "skills/count/bin/count");
    assert_int_equal(chmod(program, 0755), 0);
}

RUNTIME_TEST(skills_are_listed_loaded_and_run)
{
    make_skill();
    runtime_rig_open(&rig);
    struct fake_answer *both = fake_provider_answer(rig.turn.model);
    fake_answer_call(both, "c1", "skill_list", "{}");
    fake_answer_call(both, "c2", "skill_load", "{\"name\":\"count\"}");
    runtime_rig_call(&rig, "c3", "skill_run", "{\"skill\":\"count\",\"command\":\"bin/count\",\"stdin\":\"a b c\"}");
    runtime_rig_call(
        &rig, "c4", "skill_run",
        "{\"skill\":\"count\",\"command\":\"echo $X >&2; touch $OUTPUT_DIR/empty; exit 7\",\"env\":{\"X\":\"y\"}}");
    runtime_rig_call(&rig, "c5", "skill_load", "{\"name\":\"cuont\"}");
    runtime_rig_call(&rig, "c6", "skill_run",
                     "{\"skill\":\"count\",\"command\":\"touch $OUTPUT_DIR/ran\",\"outputs\":{\"globs\":3}}");
    runtime_rig_call(&rig, "c7", "collect_outputs", "{\"globs\":[\"out/ran\"]}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "skills[0].description"), "Counts words");
    assert_non_null(strstr(runtime_rig_of(&rig, "c2", "text"), "Run bin/count."));
    /* Two reads, side by side. */
    assert_string_equal(
        turn_check_json(&rig.turn, event_json(turn_rig_event(&rig.turn, EVENT_WAVES_PLANNED, 0), "waves"), "[0].mode"),
        "parallel");
    assert_string_equal(runtime_rig_of(&rig, "c3", "exit_code"), "0");
    assert_non_null(strstr(runtime_rig_of(&rig, "c3", "stdout"), "count at /workspace/skills/count\n"));
    assert_string_equal(runtime_rig_of(&rig, "c3", "files[0].name"), "out/words.txt");
    assert_string_equal(runtime_rig_of(&rig, "c3", "files[0].content"), "3\n");
    assert_string_equal(runtime_rig_of(&rig, "c4", "exit_code"), "7");
    assert_string_equal(runtime_rig_of(&rig, "c4", "stderr"), "y\n");
    assert_string_equal(runtime_rig_of(&rig, "c4", "files[1].name"), ""); /* what a failed command left empty */
    assert_non_null(strstr(runtime_rig_error(&rig, "c5"), "unknown skill cuont (known: count)"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c6"), "outputs: globs is not"));
    assert_string_equal(runtime_rig_of(&rig, "c7", "files[0].name"), ""); /* nothing has run for it */
    const struct event_workspace_state *now = runtime_rig_state(&rig);
    assert_string_equal(now->skills.items[0].name, "count");
    assert_int_equal(now->skills.items[0].files, 2);
    assert_string_equal(now->outputs.items[0].name, "out/words.txt");
}

/* Space that one stream leaves unused goes to the other. The omitted part is in an artifact. */
RUNTIME_TEST(long_output_of_a_skill_is_kept)
{
    make_skill();
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "skill_run", "{\"skill\":\"count\",\"command\":\"seq 1000000; echo err >&2\"}");
    runtime_rig_call(&rig, "c2", "skill_run", "{\"skill\":\"count\",\"command\":\"seq 10000; seq 20000 >&2\"}");
    runtime_rig_turn(&rig);
    assert_true(strlen(runtime_rig_of(&rig, "c1", "stdout")) > 8000);
    assert_string_equal(runtime_rig_of(&rig, "c1", "stdout_total_bytes"), "6888896");
    assert_int_equal(strncmp(runtime_rig_of(&rig, "c1", "stdout_artifact"), "artifact://art_", 15), 0);
    assert_string_equal(runtime_rig_of(&rig, "c1", "stderr"), "err\n");
    assert_true(strlen(runtime_rig_of(&rig, "c2", "stdout")) > 4000);
    assert_true(strlen(runtime_rig_of(&rig, "c2", "stderr")) > 4000);
    assert_string_equal(runtime_rig_of(&rig, "c2", "stderr_total_bytes"), "108894");
}

RUNTIME_TEST(signals_and_leftover_processes_of_a_skill_are_reported)
{
    make_skill();
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "skill_run",
                     "{\"skill\":\"count\",\"command\":\"setsid sleep 60 & sleep 0.3; kill -SEGV $$\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "exit_code"), "-1");
    assert_string_equal(runtime_rig_of(&rig, "c1", "signal"), "11");
    assert_string_equal(runtime_rig_of(&rig, "c1", "signal_name"), "SIGSEGV");
    assert_non_null(strstr(runtime_rig_of(&rig, "c1", "left_behind"), " sleep\"]"));
}

RUNTIME_TEST(links_of_a_skill_do_not_lead_outside)
{
    make_skill();
    scratch_write(&rig.turn.scratch, "home/key", "secret\n");
    link_to("../../home/key", "skills/count/stolen");
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "skill_load", "{\"name\":\"count\",\"file\":\"stolen\"}");
    runtime_rig_call(&rig, "c2", "skill_run", "{\"skill\":\"count\",\"command\":\"cat stolen\"}");
    runtime_rig_turn(&rig);
    runtime_rig_error(&rig, "c1");
    assert_string_equal(runtime_rig_of(&rig, "c2", "stdout"), "");
}

/* Read-only is more than mode bits, which a program may change. It includes links within a skill. */
RUNTIME_TEST(programs_cannot_change_a_skill)
{
    make_skill();
    scratch_write(&rig.turn.scratch, "home/key", "secret\n");
    scratch_write(&rig.turn.scratch, "skills/count/data/one", "1\n");
    link_to("data", "skills/count/same");
    link_to("../../home", "skills/count/away");
    runtime_rig_open(&rig);
    runtime_rig_call(
        &rig, "c1", "skill_run",
        "{\"skill\":\"count\",\"command\":\"cat same/one; chmod -R u+w . ; echo x > SKILL.md; rm -f data/one; "
        "touch new; mv ../count ../c; ls; ls away/\"}");
    runtime_rig_call(&rig, "c2", "skill_run", "{\"skill\":\"count\",\"command\":\"head -n 2 SKILL.md; cat data/one\"}");
    runtime_rig_call(&rig, "c3", "stage_input", "{\"from\":\"skill://count/same/one\",\"to\":\"work/one\"}");
    runtime_rig_call(&rig, "c4", "stage_input", "{\"from\":\"skill://count/same/one\",\"to\":\"skills/count/two\"}");
    runtime_rig_call(&rig, "c5", "stage_input", "{\"from\":\"skill://count/same/one\",\"to\":\"./metadata.json\"}");
    runtime_rig_call(&rig, "c6", "stage_input", "{\"from\":\"skill://\"}");
    runtime_rig_call(&rig, "c7", "save_artifact", "{\"path\":\"$WORK_DIR/one\"}");
    runtime_rig_turn(&rig);
    assert_non_null(strstr(runtime_rig_error(&rig, "c4"), "it is a read-only skill folder"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c5"), "it is reserved"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c6"), "unknown skill"));
    assert_string_equal(runtime_rig_of(&rig, "c7", "ref"), "artifact://one@0");
    assert_string_equal(runtime_rig_of(&rig, "c1", "stdout"), "1\nSKILL.md\naway\nbin\ndata\nsame\n");
    assert_string_equal(runtime_rig_of(&rig, "c1", "links_left_out"), "away");
    assert_string_equal(runtime_rig_of(&rig, "c2", "stdout"), "---\nname: count\n1\n");
    runtime_rig_result(&rig, "c3");
    size_t mounted = 0;
    for (size_t i = 0; i < rig.turn.event_count; i++) {
        const struct event *event = &rig.turn.events[i];
        if (event->type == EVENT_WORKSPACE_OP && strstr(event->workspace_op.attrs, "\"mount_used\":true"))
            mounted++;
    }
    assert_int_equal(mounted, 1); /* and not staged again: nothing changed */
}
