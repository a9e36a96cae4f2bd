/* Skills of a turn, in real sandboxes: where they may lead, and what a call of theirs may say. */

#include "base/mem.h"
#include "support/place_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct place_rig rig;

static void link_to(const char *target, const char *path)
{
    CLEANUP(free) char *at = scratch_path(&rig.turn.scratch, path);
    assert_int_equal(symlink(target, at), 0);
}

static void write_skill(const char *folder, const char *name)
{
    CLEANUP(free) char *path = xasprintf("%s/SKILL.md", folder);
    CLEANUP(free) char *text = xasprintf("---\nname: %s\ndescription: of %s\n---\n", name, folder);
    scratch_write(&rig.turn.scratch, path, text);
}

/* The project is work/ of the scratch folder, as for the other tools. */
static void open_project(void)
{
    CLEANUP(free) char *project = scratch_path(&rig.turn.scratch, "work");
    rig.options.project = project;
    place_rig_open(&rig);
}

/* ---- what decides what runs ---- */

static void test_variables_do_not_choose_programs(void **state)
{
    (void)state;
    static const char *const allow[] = {"ls", NULL};
    write_skill("skills/s", "s");
    turn_rig_file(&rig.turn, "ls", "#!/bin/sh\necho mine\n");
    CLEANUP(free) char *script = scratch_path(&rig.turn.scratch, "work/ls");
    assert_int_equal(chmod(script, 0755), 0);
    rig.options.commands.allow = allow;
    place_rig_open(&rig);
    place_rig_call(&rig, "c1", "stage_input", "{\"from\":\"ls\",\"to\":\"work/ls\"}");
    place_rig_call(&rig, "c2", "skill_run",
                   "{\"skill\":\"s\",\"command\":\"ls\",\"env\":{\"PATH\":\"/workspace/work:/usr/bin\"}}");
    place_rig_call(&rig, "c3", "workspace_exec",
                   "{\"command\":\"ls skills/s\",\"env\":{\"PATH\":\"/workspace/work:/usr/bin\"}}");
    place_rig_turn(&rig);
    assert_string_equal(place_rig_of(&rig, "c2", "stdout"), "SKILL.md\n");
    assert_string_equal(place_rig_of(&rig, "c3", "output"), "SKILL.md\n");
}

/* Where nothing is checked there is nothing to keep, and other names are given on in any case. */
static void test_other_variables_are_given_on(void **state)
{
    (void)state;
    static const char *const allow[] = {"printenv", NULL};
    write_skill("skills/s", "s");
    rig.options.commands.allow = allow;
    place_rig_open(&rig);
    place_rig_call(
        &rig, "c1", "skill_run",
        "{\"skill\":\"s\",\"command\":\"printenv X SKILL_NAME LD_PRELOAD BASH_ENV\",\"env\":{\"X\":\"y\","
        "\"LD_PRELOAD\":\"/workspace/work/a.so\",\"BASH_ENV\":\"/workspace/work/rc\",\"SKILL_NAME\":\"no\"}}");
    place_rig_turn(&rig);
    assert_string_equal(place_rig_of(&rig, "c1", "stdout"), "y\ns\n");
}

static void test_unchecked_variables_are_free(void **state)
{
    (void)state;
    write_skill("skills/s", "s");
    place_rig_open(&rig);
    place_rig_call(&rig, "c1", "skill_run",
                   "{\"skill\":\"s\",\"command\":\"echo $PATH\",\"env\":{\"PATH\":\"/workspace/work:/usr/bin\"}}");
    place_rig_turn(&rig);
    assert_string_equal(place_rig_of(&rig, "c1", "stdout"), "/workspace/work:/usr/bin\n");
}

/* ---- where they lead ---- */

static void expect_nothing_of_priv(void)
{
    place_rig_call(&rig, "c1", "skill_list", "{}");
    place_rig_call(&rig, "c2", "skill_load", "{\"name\":\"priv\",\"file\":\".env\"}");
    place_rig_call(&rig, "c3", "skill_run", "{\"skill\":\"priv\",\"command\":\"cat .env\"}");
    place_rig_call(&rig, "c4", "stage_input", "{\"from\":\"skill://priv/.env\"}");
    place_rig_turn(&rig);
    assert_null(strstr(place_rig_result(&rig, "c1"), "of other"));
    assert_non_null(strstr(place_rig_error(&rig, "c2"), "there is no skill priv"));
    assert_non_null(strstr(place_rig_error(&rig, "c3"), "there is no skill priv"));
    place_rig_error(&rig, "c4");
}

static void make_other(const char *folder)
{
    CLEANUP(free) char *secret = xasprintf("%s/.env", folder);
    write_skill(folder, "priv");
    scratch_write(&rig.turn.scratch, secret, "TOKEN=secret\n");
}

static void test_a_project_has_no_skills_elsewhere(void **state)
{
    (void)state;
    make_other("other");
    write_skill("work/.keyturn/skills/own", "own");
    turn_rig_file(&rig.turn, ".keyturn/skills/head/x", "x");
    link_to("../../../other", "work/.keyturn/skills/x");
    link_to("../../../../other/SKILL.md", "work/.keyturn/skills/head/SKILL.md");
    open_project();
    expect_nothing_of_priv();
    assert_string_equal(place_rig_of(&rig, "c1", "skills[0].name"), "own");
    assert_string_equal(place_rig_of(&rig, "c1", "skills[1].name"), "");
    assert_string_equal(place_rig_of(&rig, "c1", "left_out[0].name"), "head");
    assert_string_equal(place_rig_of(&rig, "c1", "left_out[1].name"), "x");
    assert_string_equal(place_rig_of(&rig, "c1", "left_out[1].why"), "it is a link that leads out of the project");
}

static void test_nor_all_of_its_skills(void **state)
{
    (void)state;
    make_other("others/priv");
    turn_rig_file(&rig.turn, ".keyturn/x", "x");
    link_to("../../others", "work/.keyturn/skills");
    open_project();
    expect_nothing_of_priv();
    assert_string_equal(place_rig_of(&rig, "c1", "left_out[0].name"), ".keyturn/skills");
}

/* Those of the project are used like any other, and have the first word. */
static void test_skills_of_a_project(void **state)
{
    (void)state;
    write_skill("work/.keyturn/skills/own", "own");
    write_skill("work/tools/near", "near");
    write_skill("skills/own", "own");
    scratch_write(&rig.turn.scratch, "work/.keyturn/skills/own/a.txt", "of the project\n");
    scratch_write(&rig.turn.scratch, "work/tools/near/a.txt", "near\n");
    scratch_write(&rig.turn.scratch, "home/key", "secret\n");
    link_to("../../tools/near", "work/.keyturn/skills/near");
    link_to("../../../../home/key", "work/.keyturn/skills/own/stolen");
    open_project();
    place_rig_call(&rig, "c1", "skill_list", "{}");
    place_rig_call(&rig, "c2", "skill_load", "{\"name\":\"own\",\"file\":\"stolen\"}");
    place_rig_call(&rig, "c3", "skill_run", "{\"skill\":\"own\",\"command\":\"cat a.txt; cat stolen\"}");
    place_rig_call(&rig, "c4", "skill_run", "{\"skill\":\"near\",\"command\":\"cat a.txt\"}");
    place_rig_turn(&rig);
    assert_string_equal(place_rig_of(&rig, "c1", "left_out[0].name"), "own");
    assert_string_equal(place_rig_of(&rig, "c1", "left_out[0].why"), "another skill is called so too, and comes first");
    assert_string_equal(place_rig_error(&rig, "c2"), "stolen leads out of the skill");
    assert_string_equal(place_rig_of(&rig, "c3", "stdout"), "of the project\n");
    assert_string_equal(place_rig_of(&rig, "c3", "links_left_out"), "stolen");
    assert_string_equal(place_rig_of(&rig, "c4", "stdout"), "near\n");
}

/* What programs are shown in the place of the copy must be what was staged. */
static void test_a_skill_that_becomes_a_link(void **state)
{
    (void)state;
    make_other("other");
    write_skill("work/.keyturn/skills/own", "own");
    open_project();
    place_rig_call(&rig, "c1", "skill_run", "{\"skill\":\"own\",\"command\":\"ls -A\"}");
    place_rig_turn(&rig);
    assert_string_equal(place_rig_of(&rig, "c1", "stdout"), "SKILL.md\n");
    scratch_remove(&rig.turn.scratch, "work/.keyturn/skills/own");
    link_to("../../../other", "work/.keyturn/skills/own");
    place_rig_call(&rig, "c2", "workspace_exec", "{\"command\":\"ls -A skills/own\"}");
    place_rig_turn(&rig);
    assert_string_equal(place_rig_of(&rig, "c2", "output"), "SKILL.md\n");
}

#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, place_rig_set_up, place_rig_tear_down, &rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_variables_do_not_choose_programs),
        TEST(test_other_variables_are_given_on),
        TEST(test_unchecked_variables_are_free),
        TEST(test_a_project_has_no_skills_elsewhere),
        TEST(test_nor_all_of_its_skills),
        TEST(test_skills_of_a_project),
        TEST(test_a_skill_that_becomes_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
