/* Tests copying files from a turn's workspace into the project, which is a write like any other. In real sandboxes. */

#include "base/mem.h"
#include "support/event_json.h"
#include "support/runtime_rig.h"
#include "support/test.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct runtime_rig rig;

static int set_up(void **state)
{
    *state = &rig;
    return runtime_rig_set_up(state);
}

#define RUNTIME_TEST(NAME) TEST_WITH(NAME, set_up, runtime_rig_tear_down)

static void make_result(void)
{
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"mkdir out/d; echo new > out/a.txt; echo b > out/d/b.txt; echo same > out/s; chmod "
                     "+x out/d/b.txt\"}");
}

RUNTIME_TEST(approved_files_are_copied_back)
{
    turn_rig_file(&rig.turn, "res/a.txt", "old\n");
    turn_rig_file(&rig.turn, "res/s", "same\n");
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig);
    make_result();
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":\"out\",\"to\":\"res/\"}");
    runtime_rig_call(&rig, "c3", "bring_back", "{\"from\":[\"out/s\"],\"to\":\"res/s\"}");
    runtime_rig_call(&rig, "c4", "bring_back", "{\"from\":\"$OUTPUT_DIR/d/b.txt\",\"to\":\"single\"}");
    runtime_rig_turn(&rig);
    CLEANUP(free) char *a = turn_rig_read(&rig.turn, "res/a.txt");
    CLEANUP(free) char *b = turn_rig_read(&rig.turn, "res/d/b.txt");
    CLEANUP(free) char *one = turn_rig_read(&rig.turn, "single");
    assert_string_equal(a, "new\n");
    assert_string_equal(b, "b\n");
    assert_string_equal(one, "b\n");
    const struct event *proposed = turn_rig_event(&rig.turn, EVENT_WRITE_PROPOSED, 0);
    assert_non_null(strstr(event_json(proposed, "files"), "-old"));
    assert_null(strstr(event_json(proposed, "files"), "res/s")); /* an unchanged file needs no approval */
    assert_string_equal(runtime_rig_of(&rig, "c2", "paths[1]"), "res/d/b.txt");
    assert_string_equal(runtime_rig_of(&rig, "c3", "unchanged"), "true");
    assert_int_equal(rig.turn.questions, 2);
    CLEANUP(free) char *path = scratch_path(&rig.turn.scratch, "work/res/d/b.txt");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_mode & S_IXUSR);
}

/* A record must stay readable and a question must fit a screen, for every program. All bytes are written. */
RUNTIME_TEST(a_question_about_much_is_short)
{
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig);
    runtime_rig_call(
        &rig, "c1", "workspace_exec",
        "{\"command\":\"for i in 1 2 3 4; do yes some words | head -c 3000000 > out/$i; done; yes "
        "\\\"$(printf '\\\\033\\\\177')\\\" | head -c 2000000 > out/5; for i in $(seq 10 109); do yes 1,2,3,4 | head "
        "-c 150000 > out/$i; done\"}");
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":\"out\",\"to\":\"res/\"}");
    runtime_rig_turn(&rig);
    const struct event *proposed = turn_rig_event(&rig.turn, EVENT_WRITE_PROPOSED, 0);
    assert_true(strlen(event_json(proposed, "files")) < (size_t)3 << 20);
    assert_non_null(strstr(event_json(proposed, "files"), "Too large to be shown whole: 272728 lines added"));
    CLEANUP(free) char *last = turn_rig_read(&rig.turn, "res/4");
    assert_int_equal(strlen(last), 3000000);
}

static void expect_file(const char *path, const char *text)
{
    CLEANUP(free) char *got = turn_rig_read(&rig.turn, path);
    if (!got)
        fail_msg("there is no %s", path);
    assert_string_equal(got, text);
}

/* With several results each keeps its folder. A link is copied under its own name, with the content of its target. */
RUNTIME_TEST(folders_and_links_keep_their_names)
{
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig);
    runtime_rig_call(
        &rig, "c1", "workspace_exec",
        "{\"command\":\"mkdir -p out/sub work/made; echo b > out/bin; echo z > out/sub/z; echo m > work/made/m; "
        "ln -s ../work/made/m out/report; ln -s ../work/made out/all; ln -s bin out/same\"}");
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":[\"out/bin\",\"out/sub\"],\"to\":\"res/\"}");
    runtime_rig_call(&rig, "c3", "bring_back", "{\"from\":\"out/report\",\"to\":\"links/\"}");
    runtime_rig_call(&rig, "c4", "bring_back", "{\"from\":[\"out/all\",\"out/report\"],\"to\":\"links\"}");
    runtime_rig_call(&rig, "c5", "bring_back", "{\"from\":\"out\",\"to\":\"whole/\"}");
    runtime_rig_turn(&rig);
    expect_file("res/bin", "b\n");
    expect_file("res/sub/z", "z\n");
    expect_file("links/report", "m\n");
    expect_file("links/all/m", "m\n");
    expect_file("whole/report", "m\n");
    expect_file("whole/all/m", "m\n");
    expect_file("whole/bin", "b\n");
    expect_file("whole/same", "b\n");
    CLEANUP(free) char *path = scratch_path(&rig.turn.scratch, "work/links/report");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & S_IXUSR, 0); /* the target decides, not the link */
}

RUNTIME_TEST(a_denial_copies_nothing)
{
    turn_rig_file(&rig.turn, "a.txt", "old\n");
    rig.turn.answer = turn_rig_say_no;
    runtime_rig_open(&rig);
    make_result();
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":\"out/a.txt\",\"to\":\"a.txt\"}");
    runtime_rig_call(&rig, "c3", "bring_back", "{\"from\":\"out/d/**\",\"to\":\"made\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(turn_check_outcome(&rig.turn, "c2"), "denied:write_denied");
    assert_string_equal(turn_check_outcome(&rig.turn, "c3"), "denied:write_denied");
    CLEANUP(free) char *a = turn_rig_read(&rig.turn, "a.txt");
    CLEANUP(free) char *made = turn_rig_read(&rig.turn, "made/b.txt");
    assert_string_equal(a, "old\n");
    assert_null(made);
}

RUNTIME_TEST(bad_sources_and_targets_are_refused)
{
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"ln -s /etc/passwd out/p; head -c 5000000 /dev/zero > out/big; echo x > out/x\"}");
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":\"out/p\",\"to\":\"p\"}");
    runtime_rig_call(&rig, "c3", "bring_back", "{\"from\":\"out/big\",\"to\":\"big\"}");
    runtime_rig_call(&rig, "c4", "bring_back", "{\"from\":\"../x\",\"to\":\"x\"}");
    runtime_rig_call(&rig, "c5", "bring_back", "{\"from\":\"out/x\",\"to\":\"../x\"}");
    runtime_rig_call(&rig, "c6", "bring_back", "{\"from\":\"out/none\",\"to\":\"x\"}");
    runtime_rig_turn(&rig);
    runtime_rig_error(&rig, "c2");
    assert_non_null(strstr(runtime_rig_error(&rig, "c3"), "too large"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c4"), "path escapes workspace"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c5"), "path escapes workspace"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c6"), "no file of the workspace matches out/none"));
    assert_int_equal(rig.turn.questions, 0);
}

/* Unreadable files are reported to the user and to the model. */
RUNTIME_TEST(skipped_entries_are_reported)
{
    turn_rig_file(&rig.turn, "same/x", "x\n");
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"ln -s /etc/passwd out/p; mkfifo out/pipe; echo x > out/x\"}");
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":\"out\",\"to\":\"res/\"}");
    runtime_rig_call(&rig, "c3", "bring_back", "{\"from\":\"out\",\"to\":\"same/\"}");
    runtime_rig_call(&rig, "c4", "bring_back", "{\"from\":\"out/pipe\",\"to\":\"pipe\"}");
    runtime_rig_turn(&rig);
    expect_file("res/x", "x\n");
    static const char left[] = "out/pipe (it is a FIFO, not a file), out/p (path escapes workspace: out/p)";
    assert_string_equal(runtime_rig_of(&rig, "c2", "left_out"), left);
    assert_string_equal(runtime_rig_of(&rig, "c3", "left_out"), left);
    assert_string_equal(runtime_rig_of(&rig, "c3", "unchanged"), "true");
    assert_string_equal(runtime_rig_error(&rig, "c4"), "cannot bring back out/pipe (it is a FIFO, not a file)");
    size_t asked = turn_check_place(&rig.turn, EVENT_WRITE_PROPOSED, NULL, 0);
    bool told = false;
    for (size_t i = 0; i < turn_rig_count(&rig.turn, EVENT_TOOL_OUTPUT); i++)
        told |= strstr(turn_rig_event(&rig.turn, EVENT_TOOL_OUTPUT, i)->tool_output.text, "left out: out/pipe") &&
                turn_check_place(&rig.turn, EVENT_TOOL_OUTPUT, NULL, i) < asked;
    assert_true(told);
}

RUNTIME_TEST(unreadable_files_are_reported)
{
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig); /* the teardown of a test releases only an open rig */
    if (geteuid() == 0)     /* root can read everything */
        skip();
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo x > out/x; echo y > out/y; chmod 0 out/y\"}");
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":\"out\",\"to\":\"res/\"}");
    runtime_rig_call(&rig, "c3", "bring_back", "{\"from\":\"out/y\",\"to\":\"y\"}");
    runtime_rig_turn(&rig);
    expect_file("res/x", "x\n");
    assert_string_equal(runtime_rig_of(&rig, "c2", "left_out"), "out/y (Permission denied)");
    assert_string_equal(runtime_rig_error(&rig, "c3"), "cannot bring back out/y (Permission denied)");
}

/* The name of an existing file is that file, even if it is also a pattern. A brace pattern drops the common folder. */
RUNTIME_TEST(an_existing_name_beats_its_meaning_as_a_pattern)
{
    rig.turn.answer = turn_rig_say_yes;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"mkdir -p 'out/p/[slug]'; echo id > 'out/p/[id].tsx'; echo i > out/p/i.tsx; "
                     "echo s > 'out/p/[slug]/x'; echo l > out/p/l; echo bad > out/p/$(printf 'b\\\\377'); "
                     "ln -s nothing out/p/dangling\"}");
    runtime_rig_call(&rig, "c2", "bring_back", "{\"from\":\"out/p/[id].tsx\",\"to\":\"n2/\"}");
    runtime_rig_call(&rig, "c3", "bring_back", "{\"from\":\"out/p/[slug]\",\"to\":\"n3/\"}");
    runtime_rig_call(&rig, "c4", "bring_back", "{\"from\":\"out/p/{i.tsx,l}\",\"to\":\"n4/\"}");
    runtime_rig_call(&rig, "c5", "bring_back", "{\"from\":\"/workspace/out/p/l\",\"to\":\"n5/\"}");
    runtime_rig_call(&rig, "c6", "bring_back", "{\"from\":\".\",\"to\":\"n6/\"}");
    runtime_rig_call(&rig, "c7", "bring_back", "{\"from\":\"out/p/dangling\",\"to\":\"n7\"}");
    runtime_rig_turn(&rig);
    expect_file("n2/[id].tsx", "id\n");
    expect_file("n3/x", "s\n");
    expect_file("n4/i.tsx", "i\n");
    expect_file("n4/l", "l\n");
    expect_file("n5/l", "l\n");
    expect_file("n6/out/p/l", "l\n");
    CLEANUP(free) char *record = turn_rig_read(&rig.turn, "n6/metadata.json");
    assert_null(record); /* an internal file, not a result */
    const char *left = runtime_rig_of(&rig, "c6", "left_out");
    assert_non_null(strstr(left, "out/p/dangling (it is a dangling link)"));
    assert_non_null(strstr(left, "(its name is not UTF-8; bring it back in a separate call)"));
    assert_string_equal(runtime_rig_error(&rig, "c7"), "cannot bring back out/p/dangling (it is a dangling link)");
}
