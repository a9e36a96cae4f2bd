/* Tests skills of a turn, in real sandboxes: where their links may lead, and what the arguments of their calls may be.
 */

#include "base/mem.h"
#include "support/runtime_rig.h"
#include "support/test.h"
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
    runtime_rig_open(&rig);
}

/* ---- the command policy ---- */

RUNTIME_TEST(variables_do_not_choose_programs)
{
    static const char *const allow[] = {"ls", NULL};
    write_skill("skills/s", "s");
    turn_rig_file(&rig.turn, "ls", "#!/bin/sh\necho mine\n");
    CLEANUP(free) char *script = scratch_path(&rig.turn.scratch, "work/ls");
    assert_int_equal(chmod(script, 0755), 0);
    rig.options.commands.allow = allow;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "stage_input", "{\"from\":\"ls\",\"to\":\"work/ls\"}");
    runtime_rig_call(&rig, "c2", "skill_run",
                     "{\"skill\":\"s\",\"command\":\"ls\",\"env\":{\"PATH\":\"/workspace/work:/usr/bin\"}}");
    runtime_rig_call(&rig, "c3", "workspace_exec",
                     "{\"command\":\"ls skills/s\",\"env\":{\"PATH\":\"/workspace/work:/usr/bin\"}}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "stdout"), "SKILL.md\n");
    assert_string_equal(runtime_rig_of(&rig, "c3", "output"), "SKILL.md\n");
}

/* Without a check no names need to be kept, and other variables pass in any case. */
RUNTIME_TEST(other_variables_reach_the_program)
{
    static const char *const allow[] = {"printenv", NULL};
    write_skill("skills/s", "s");
    rig.options.commands.allow = allow;
    runtime_rig_open(&rig);
    runtime_rig_call(
        &rig, "c1", "skill_run",
        "{\"skill\":\"s\",\"command\":\"printenv X SKILL_NAME LD_PRELOAD BASH_ENV\",\"env\":{\"X\":\"y\","
        "\"LD_PRELOAD\":\"/workspace/work/a.so\",\"BASH_ENV\":\"/workspace/work/rc\",\"SKILL_NAME\":\"no\"}}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "stdout"), "y\ns\n");
}

RUNTIME_TEST(unchecked_variables_are_free)
{
    write_skill("skills/s", "s");
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "skill_run",
                     "{\"skill\":\"s\",\"command\":\"echo $PATH\",\"env\":{\"PATH\":\"/workspace/work:/usr/bin\"}}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "stdout"), "/workspace/work:/usr/bin\n");
}

/* ---- links ---- */

static void expect_nothing_of_priv(void)
{
    runtime_rig_call(&rig, "c1", "skill_list", "{}");
    runtime_rig_call(&rig, "c2", "skill_load", "{\"name\":\"priv\",\"file\":\".env\"}");
    runtime_rig_call(&rig, "c3", "skill_run", "{\"skill\":\"priv\",\"command\":\"cat .env\"}");
    runtime_rig_call(&rig, "c4", "stage_input", "{\"from\":\"skill://priv/.env\"}");
    runtime_rig_turn(&rig);
    assert_null(strstr(runtime_rig_result(&rig, "c1"), "of other"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c2"), "unknown skill priv"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c3"), "unknown skill priv"));
    runtime_rig_error(&rig, "c4");
}

static void make_other(const char *folder)
{
    CLEANUP(free) char *secret = xasprintf("%s/.env", folder);
    write_skill(folder, "priv");
    scratch_write(&rig.turn.scratch, secret, "TOKEN=secret\n");
}

RUNTIME_TEST(skills_linked_from_outside_the_project_are_left_out)
{
    make_other("other");
    write_skill("work/.keyturn/skills/own", "own");
    turn_rig_file(&rig.turn, ".keyturn/skills/head/x", "x");
    link_to("../../../other", "work/.keyturn/skills/x");
    link_to("../../../../other/SKILL.md", "work/.keyturn/skills/head/SKILL.md");
    open_project();
    expect_nothing_of_priv();
    assert_string_equal(runtime_rig_of(&rig, "c1", "skills[0].name"), "own");
    assert_string_equal(runtime_rig_of(&rig, "c1", "skills[1].name"), "");
    assert_string_equal(runtime_rig_of(&rig, "c1", "left_out[0].name"), "head");
    assert_string_equal(runtime_rig_of(&rig, "c1", "left_out[1].name"), "x");
    assert_string_equal(runtime_rig_of(&rig, "c1", "left_out[1].why"), "it is a link that leads outside the project");
}

RUNTIME_TEST(a_linked_skills_folder_is_left_out)
{
    make_other("others/priv");
    turn_rig_file(&rig.turn, ".keyturn/x", "x");
    link_to("../../others", "work/.keyturn/skills");
    open_project();
    expect_nothing_of_priv();
    assert_string_equal(runtime_rig_of(&rig, "c1", "left_out[0].name"), ".keyturn/skills");
}

/* Skills of the project work the same way and take precedence. */
RUNTIME_TEST(skills_of_a_project_are_listed_and_run)
{
    write_skill("work/.keyturn/skills/own", "own");
    write_skill("work/tools/near", "near");
    write_skill("skills/own", "own");
    scratch_write(&rig.turn.scratch, "work/.keyturn/skills/own/a.txt", "of the project\n");
    scratch_write(&rig.turn.scratch, "work/tools/near/a.txt", "near\n");
    scratch_write(&rig.turn.scratch, "home/key", "secret\n");
    link_to("../../tools/near", "work/.keyturn/skills/near");
    link_to("../../../../home/key", "work/.keyturn/skills/own/stolen");
    open_project();
    runtime_rig_call(&rig, "c1", "skill_list", "{}");
    runtime_rig_call(&rig, "c2", "skill_load", "{\"name\":\"own\",\"file\":\"stolen\"}");
    runtime_rig_call(&rig, "c3", "skill_run", "{\"skill\":\"own\",\"command\":\"cat a.txt; cat stolen\"}");
    runtime_rig_call(&rig, "c4", "skill_run", "{\"skill\":\"near\",\"command\":\"cat a.txt\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "left_out[0].name"), "own");
    assert_string_equal(runtime_rig_of(&rig, "c1", "left_out[0].why"), "hidden by another skill of the same name");
    assert_string_equal(runtime_rig_error(&rig, "c2"), "stolen leads out of the skill");
    assert_string_equal(runtime_rig_of(&rig, "c3", "stdout"), "of the project\n");
    assert_string_equal(runtime_rig_of(&rig, "c3", "links_left_out"), "stolen");
    assert_string_equal(runtime_rig_of(&rig, "c4", "stdout"), "near\n");
}

/* Programs must see the staged copy. */
RUNTIME_TEST(a_skill_that_becomes_a_link)
{
    make_other("other");
    write_skill("work/.keyturn/skills/own", "own");
    open_project();
    runtime_rig_call(&rig, "c1", "skill_run", "{\"skill\":\"own\",\"command\":\"ls -A\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "stdout"), "SKILL.md\n");
    scratch_remove(&rig.turn.scratch, "work/.keyturn/skills/own");
    link_to("../../../other", "work/.keyturn/skills/own");
    runtime_rig_call(&rig, "c2", "workspace_exec", "{\"command\":\"ls -A skills/own\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c2", "output"), "SKILL.md\n");
}
