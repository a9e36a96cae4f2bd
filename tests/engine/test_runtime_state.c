/* Tests workspace.state: correct totals of every folder for any number of files, and changes while programs run. */

#include "base/mem.h"
#include "support/event_json.h"
#include "support/runtime_rig.h"
#include "support/test.h"
#include "workspace/look.h"
#include <stdlib.h>
#include <string.h>

static struct runtime_rig rig;

static int set_up(void **state)
{
    *state = &rig;
    return runtime_rig_set_up(state);
}

#define RUNTIME_TEST(NAME) TEST_WITH(NAME, set_up, runtime_rig_tear_down)

static const struct event_workspace_state *state_at(size_t n)
{
    return &turn_rig_event(&rig.turn, EVENT_WORKSPACE_STATE, n)->workspace_state;
}

static size_t states(void)
{
    return turn_rig_count(&rig.turn, EVENT_WORKSPACE_STATE);
}

static const struct event_workspace_state *newest(void)
{
    return runtime_rig_state(&rig);
}

/* The entry of a path in the newest state; NULL. */
static const struct json *entry(const char *path)
{
    json_each (value, turn_check_value(&rig.turn, event_body_json(EVENT_WORKSPACE_STATE, newest(), "entries"), "")) {
        if (strcmp(json_str(json_get(value, "path"), ""), path) == 0)
            return value;
    }
    return NULL;
}

static int64_t number(const char *path, const char *member)
{
    const struct json *value = entry(path);
    if (!value)
        fail_msg("%s is not listed", path);
    return json_int(json_get(value, member), -1);
}

/* Returns how many files are listed in a folder and below it. */
static int64_t listed_in(const char *folder)
{
    int64_t count = 0;
    size_t len = strlen(folder);
    json_each (value, turn_check_value(&rig.turn, event_body_json(EVENT_WORKSPACE_STATE, newest(), "entries"), "")) {
        const char *path = json_str(json_get(value, "path"), "");
        count += strncmp(path, folder, len) == 0 && path[len] == '/';
    }
    return count;
}

static void run(const char *command)
{
    CLEANUP(free) char *arguments = xasprintf("{\"command\":\"%s\"}", command);
    runtime_rig_call(&rig, "c1", "workspace_exec", arguments);
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "exit_code"), "0");
}

/* ---- many files ---- */

RUNTIME_TEST(no_folder_hides_another)
{
    rig.options.policy.max_disk_bytes = 100 << 20;
    runtime_rig_open(&rig);
    run("mkdir src build && for i in $(seq 600); do printf '%0830d' 0 > src/$i.c; done; "
        "truncate -s 5000000 out/result.txt; truncate -s 9000000 build/app; mkdir -p work/a/b && echo x > work/a/b/c");
    assert_int_equal(number("out", "bytes"), 5000000);
    assert_int_equal(number("out/result.txt", "size"), 5000000);
    assert_int_equal(number("build", "bytes"), 9000000);
    assert_int_equal(number("src", "bytes"), 600 * 830);
    assert_int_equal(number("src", "count"), 600);
    assert_true(listed_in("src") >= 50);
    assert_int_equal(number("src", "more"), 600 - listed_in("src"));
    assert_int_equal(newest()->more, 600 - listed_in("src"));
    assert_int_equal(number("work/a", "count"), 2);
    assert_int_equal(number("work/a", "bytes"), 2);
    assert_int_equal(number("work/a", "more"), -1); /* all of it is listed */
    assert_int_equal(number("work/a/b/c", "size"), 2);
    assert_true(newest()->count > 600);
    assert_int_equal(newest()->count_limit, WORKSPACE_ENTRIES_MAX);
}

/* Many large folders: all upper entries are listed, and each folder gets its share. */
RUNTIME_TEST(the_list_is_bounded_and_shared)
{
    runtime_rig_open(&rig);
    run("for d in $(seq -w 60); do mkdir -p work/d$d/e; (cd work/d$d; touch $(seq 40); cd e; touch $(seq 40)); done");
    size_t count = 0;
    int64_t more = 0;
    json_each (value, turn_check_value(&rig.turn, event_body_json(EVENT_WORKSPACE_STATE, newest(), "entries"), "")) {
        count++;
        more += json_int(json_get(value, "more"), 0);
    }
    assert_true(count <= 500);
    assert_int_equal(more, newest()->more); /* each folder lacks one entry */
    assert_int_equal(number("work", "count"), 60 * 82);
    assert_int_equal(number("work/d01", "count"), 81);
    assert_int_equal(number("work/d60", "count"), 81);
    assert_int_equal(number("work/d01", "more") - number("work/d60", "more"), 0);
    assert_int_equal(newest()->count_limit, EVENT_NULL_INT); /* without a byte limit the field is missing */
}

/* Names may be long, but the record is bounded. */
RUNTIME_TEST(long_paths_are_bounded)
{
    runtime_rig_open(&rig);
    run("n=$(printf '%0250d' 0); p=work; for i in 1 2 3 4 5 6; do p=$p/$n; mkdir $p; "
        "for k in $(seq 90); do touch $p/$k$(printf '%0200d' 0); done; done");
    assert_true(strlen(event_body_json(EVENT_WORKSPACE_STATE, newest(), "entries")) < 256 << 10);
    assert_int_equal(number("work", "count"), 6 * 91);
}

RUNTIME_TEST(entries_have_their_kind_and_target)
{
    runtime_rig_open(&rig);
    run("mkfifo work/p; ln -s ../out/none work/l; ln -s $(printf '%0300d' 0) work/long; "
        "echo 12345 > work/a; ln work/a out/b");
    assert_string_equal(json_str(json_get(entry("work/p"), "kind"), ""), "pipe");
    assert_string_equal(json_str(json_get(entry("work/l"), "kind"), ""), "link");
    assert_string_equal(json_str(json_get(entry("work/l"), "target"), ""), "../out/none");
    assert_null(json_get(entry("work/long"), "target"));
    /* A file with two names is in both folders, but counts once on the disk. */
    assert_int_equal(number("work", "bytes"), 6);
    assert_int_equal(number("out", "bytes"), 6);
}

/* A folder without permissions counts too. */
RUNTIME_TEST(a_shut_folder_is_counted)
{
    runtime_rig_open(&rig);
    run("mkdir work/shut && truncate -s 7000 work/shut/x && chmod 0 work/shut");
    assert_int_equal(number("work/shut", "bytes"), 7000);
}

/* ---- while programs run ---- */

RUNTIME_TEST(a_new_workspace_is_recorded)
{
    runtime_rig_open(&rig);
    run("echo hi > out/hi; echo hi");
    assert_int_equal(states(), 2);
    assert_true(turn_check_place(&rig.turn, EVENT_WORKSPACE_STATE, NULL, 0) <
                turn_check_place(&rig.turn, EVENT_TOOL_OUTPUT, NULL, 0));
    assert_null(strstr(event_body_json(EVENT_WORKSPACE_STATE, state_at(0), "entries"), "out/hi"));
    assert_non_null(strstr(event_body_json(EVENT_WORKSPACE_STATE, state_at(1), "entries"), "out/hi"));
}

static bool holds_megabytes(struct runtime_rig *now)
{
    (void)now;
    return states() > 0 && newest()->used > 3 << 20;
}

static bool is_over(struct runtime_rig *now)
{
    return turn_rig_count(&now->turn, EVENT_PROGRAM_ENDED) > 0;
}

RUNTIME_TEST(files_are_reported_while_their_program_runs)
{
    runtime_rig_open(&rig);
    runtime_rig_call(
        &rig, "c1", "workspace_exec",
        "{\"command\":\"while sleep 0.3; do head -c 1000000 /dev/zero >> out/big; done\",\"background\":true}");
    runtime_rig_turn(&rig);
    runtime_rig_await(&rig, holds_megabytes);
    assert_false(is_over(&rig));
    assert_true(states() < 8);
}

RUNTIME_TEST(a_command_that_is_waited_for_is_watched_too)
{
    runtime_rig_open(&rig);
    run("truncate -s 5000000 out/early; sleep 3; rm out/early");
    bool seen = false;
    for (size_t i = 0; i < states(); i++)
        seen = seen || state_at(i)->used > 5000000;
    assert_true(seen);
}

RUNTIME_TEST(unchanged_state_is_not_emitted)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"sleep 5\",\"background\":true}");
    runtime_rig_turn(&rig);
    size_t before = states();
    runtime_rig_await(&rig, is_over);
    assert_int_equal(states(), before);
}

/* Listing and counting leave the folders of a running program unchanged. */
RUNTIME_TEST(a_running_program_keeps_its_modes)
{
    rig.options.policy.max_disk_bytes = 100 << 20;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"mkdir d; chmod 0 d; echo shut; read x; stat -c mode=%a d\",\"background\":true,"
                     "\"yield_time_ms\":60000}");
    runtime_rig_call(&rig, "c2", "collect_outputs", "{}");
    runtime_rig_call(&rig, "c3", "workspace_write_stdin",
                     "{\"session_id\":\"p1\",\"submit\":true,\"yield_time_ms\":60000}");
    runtime_rig_turn(&rig);
    assert_non_null(entry("d")); /* the listing ran */
    assert_non_null(strstr(runtime_rig_of(&rig, "c3", "output"), "mode=0"));
}

/* ---- what a command costs ---- */

static struct workspace_walks walks(void)
{
    struct err err = ERR_INIT;
    return workspace_walks(runtime_workspace(rig.turn.config.runtime, &err));
}

/* A command that changes nothing leaves no folder, no event and no walk behind, also with a disk limit. */
RUNTIME_TEST(a_command_that_changes_nothing_costs_no_look)
{
    rig.options.policy.max_disk_bytes = 100 << 20;
    runtime_rig_open(&rig);
    run("echo x > work/a; mkdir $RUN_DIR/kept");
    size_t told = states();
    struct workspace_walks before = walks();
    assert_int_equal(number("runs", "count"), 2);
    for (int i = 0; i < 5; i++)
        run("cat work/a; test -d $RUN_DIR && cd $RUN_DIR; sleep 0.1");
    assert_int_equal(walks().looks, before.looks);
    assert_int_equal(walks().samples, before.samples);
    assert_int_equal(states(), told);
    run("cd $RUN_DIR; mkdir x; touch x/y; rm -r x");
    assert_int_equal(walks().looks, before.looks + 1);
    assert_int_equal(states(), told);
}

/* One look serves the disk limit, the warnings and the state; what is recorded is what changed. */
RUNTIME_TEST(a_command_that_changes_a_file_costs_one_look)
{
    rig.options.policy.max_disk_bytes = 100 << 20;
    runtime_rig_open(&rig);
    run("cd work; touch $(seq 300); echo x > 0");
    for (int i = 0; i < 5; i++) {
        unsigned before = walks().looks;
        size_t told = states();
        run("echo more >> work/0");
        assert_int_equal(walks().looks, before + 1);
        assert_int_equal(states(), told + 1);
        const struct event_workspace_state *delta = state_at(told);
        assert_true(delta->delta);
        assert_int_equal(delta->entries.count, 2); /* the file and its folder */
        assert_int_equal(number("work/0", "size"), 2 + 5 * (i + 1));
    }
    run("rm work/0");
    assert_null(entry("work/0"));
    assert_string_equal(state_at(states() - 1)->gone.items[0], "work/0");
}

/* Readers need few events: after many deltas comes a full state. */
RUNTIME_TEST(full_states_come_again)
{
    runtime_rig_open(&rig);
    run("touch work/a");
    size_t full = 0, told = 0;
    for (int i = 0; i < WORKSPACE_DELTAS_MAX + 4; i++)
        run("echo x >> work/a");
    for (; told < states(); told++)
        full += !state_at(told)->delta;
    assert_int_equal(told, WORKSPACE_DELTAS_MAX + 4 + 2);
    assert_int_equal(full, 2);
    assert_int_equal(number("work/a", "size"), 2 * (WORKSPACE_DELTAS_MAX + 4));
}
