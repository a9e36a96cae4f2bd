/* Damage that a program does to its own workspace breaks no later call: files in the way are moved aside and reported,
 * and links by the paths of programs work like others. In real sandboxes. */

#include "base/mem.h"
#include "support/runtime_rig.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>

static struct runtime_rig rig;

static int set_up(void **state)
{
    *state = &rig;
    return runtime_rig_set_up(state);
}

#define RUNTIME_TEST(NAME) TEST_WITH(NAME, set_up, runtime_rig_tear_down)

static void exec(const char *call, const char *command)
{
    CLEANUP(free) char *arguments = xasprintf("{\"command\":\"%s\"}", command);
    runtime_rig_call(&rig, call, "workspace_exec", arguments);
}

static void expect_warning(const char *call, const char *warning)
{
    assert_string_equal(runtime_rig_of(&rig, call, "warning"), warning);
}

RUNTIME_TEST(files_in_the_way_of_workspace_folders_are_moved)
{
    turn_rig_file(&rig.turn, "a.txt", "one\n");
    runtime_rig_open(&rig);
    exec("c1", "rm -rf out; echo mine > out; touch out.1");
    exec("c2", "cat out.2; rm -rf runs; touch runs");
    runtime_rig_call(&rig, "c3", "run_code", "{\"code\":\"print(1)\"}");
    exec("c4", "mv work w2; ln -s /workspace/w2 work");
    runtime_rig_call(&rig, "c5", "stage_input", "{\"from\":\"a.txt\"}");
    exec("c6", "cat work/inputs/a.txt; rm -rf skills; mkfifo skills");
    exec("c7", "mv work w3; ln -s w3 work");
    exec("c8", "cat work/inputs/a.txt");
    runtime_rig_turn(&rig);
    expect_warning("c1", "out blocked a folder and was renamed to out.2");
    assert_string_equal(runtime_rig_of(&rig, "c2", "output"), "mine\n");
    expect_warning("c2", "runs blocked a folder and was renamed to runs.1");
    assert_string_equal(runtime_rig_of(&rig, "c3", "output"), "1\n");
    expect_warning("c3", "");
    expect_warning("c4", "work blocked a folder and was renamed to work.1");
    assert_string_equal(runtime_rig_of(&rig, "c5", "staged"), "true");
    assert_string_equal(runtime_rig_of(&rig, "c6", "output"), "one\n");
    expect_warning("c6", "skills blocked a folder and was renamed to skills.1");
    expect_warning("c7", ""); /* it is still a folder */
    assert_string_equal(runtime_rig_of(&rig, "c8", "output"), "one\n");
}

/* The same in the folder for code. */
RUNTIME_TEST(code_finds_its_folder)
{
    static const char *const kinds[] = {"rm -rf src; echo x > src", "rm -rf src; ln -s /etc src",
                                        "rm -rf src; mkfifo src", "rm -rf src; mkdir -p src/code_0.py/x",
                                        "chmod 000 src"};
    static const char *const told[] = {"src blocked a folder and was renamed to src.1",
                                       "src blocked a folder and was renamed to src.2",
                                       "src blocked a folder and was renamed to src.3",
                                       "src/code_0.py blocked a folder and was renamed to src/code_0.py.1", ""};
    char calls[COUNT_OF(kinds)][2][8];
    runtime_rig_open(&rig);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        snprintf(calls[i][0], sizeof(calls[i][0]), "s%zu", i);
        snprintf(calls[i][1], sizeof(calls[i][1]), "r%zu", i);
        exec(calls[i][0], kinds[i]);
        runtime_rig_call(&rig, calls[i][1], "run_code", "{\"code\":\"print(2)\"}");
    }
    runtime_rig_turn(&rig);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        expect_warning(calls[i][0], told[i]);
        assert_string_equal(runtime_rig_of(&rig, calls[i][1], "output"), "2\n");
    }
}

/* A result names what killed a block, and what the block left. */
RUNTIME_TEST(signals_and_leftover_processes_of_code_are_reported)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "b1", "run_code",
                     "{\"code\":\"setsid sleep 60 & sleep 0.3; kill -SEGV $$\",\"language\":\"bash\"}");
    runtime_rig_turn(&rig);
    const char *blocks = runtime_rig_of(&rig, "b1", "blocks");
    assert_non_null(strstr(blocks, "\"exit_code\":-1,\"signal\":11,\"signal_name\":\"SIGSEGV\",\"left_behind\":[\""));
    assert_non_null(strstr(blocks, " sleep\"]"));
}

RUNTIME_TEST(broken_metadata_is_replaced)
{
    static const char *const kinds[] = {"mkfifo metadata.json", "mkdir metadata.json", "ln -s /etc metadata.json",
                                        "ln -s metadata.json metadata.json", "ln -s work metadata.json"};
    turn_rig_file(&rig.turn, "a.txt", "one\n");
    runtime_rig_open(&rig);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        CLEANUP(free) char *command = xasprintf("rm -rf metadata.json; %s", kinds[i]);
        CLEANUP(free) char *first = xasprintf("e%zu", i), *then = xasprintf("s%zu", i), *last = xasprintf("t%zu", i);
        exec(first, command);
        runtime_rig_call(&rig, then, "stage_input", "{\"from\":\"a.txt\"}");
        exec(last, "test ! -L metadata.json && test -f metadata.json && echo good");
    }
    runtime_rig_turn(&rig);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        CLEANUP(free) char *then = xasprintf("s%zu", i), *last = xasprintf("t%zu", i);
        assert_string_equal(runtime_rig_of(&rig, then, "staged"), "true");
        assert_string_equal(runtime_rig_of(&rig, last, "output"), "good\n");
    }
    expect_warning("e1", "metadata.json blocked a folder and was renamed to metadata.json.1");
}

RUNTIME_TEST(links_are_resolved_by_the_paths_of_programs)
{
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig);
    exec("c1", "mkdir work/d; echo one > work/a; echo two > work/d/b; ln -s $WORK_DIR/a $OUTPUT_DIR/a; "
               "ln -s $WORK_DIR/d $OUTPUT_DIR/d; ln -s /workspaces/a out/far");
    runtime_rig_call(&rig, "c2", "collect_outputs", "{\"inline\":true}");
    runtime_rig_call(&rig, "c3", "save_artifact", "{\"path\":\"out/a\"}");
    runtime_rig_call(&rig, "c4", "bring_back", "{\"from\":\"out/a\",\"to\":\"a\"}");
    runtime_rig_call(&rig, "c5", "bring_back", "{\"from\":\"out/d\",\"to\":\"d/\"}");
    runtime_rig_call(&rig, "c6", "save_artifact", "{\"path\":\"out/far\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[0].content"), "one\n");
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[1].name"), "out/d/b");
    assert_string_equal(runtime_rig_of(&rig, "c3", "ref"), "artifact://a@0");
    CLEANUP(free) char *a = turn_rig_read(&rig.turn, "a"), *b = turn_rig_read(&rig.turn, "d/b");
    assert_string_equal(a, "one\n");
    assert_string_equal(b, "two\n");
    assert_non_null(strstr(runtime_rig_error(&rig, "c6"), "path escapes workspace"));
}

/* A file that exceeded the size limit is not called binary: it was not read. */
RUNTIME_TEST(files_beyond_the_limit_are_marked_as_not_shown)
{
    runtime_rig_open(&rig);
    exec("c1", "echo one > out/a; echo two > out/b");
    runtime_rig_call(&rig, "c2", "collect_outputs",
                     "{\"globs\":[\"out/a\",\"out/b\"],\"inline\":true,\"max_total_bytes\":4}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[0].content"), "one\n");
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[1].not_shown"), "true");
    assert_string_equal(runtime_rig_of(&rig, "c2", "files[1].binary"), "");
}
