/* Tests of skills: found by the head of their SKILL.md, staged read-only, and staged again only if they changed. */

#include "base/mem.h"
#include "support/test.h"
#include "support/workspace_rig.h"
#include "workspace/skills.h"
#include "workspace/stage.h"
#include <string.h>
#include <sys/stat.h>

static struct workspace_test t;
static struct skills skills;

static int setup(void **state)
{
    (void)state;
    workspace_test_init(&t, NULL);
    skills = (struct skills){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    skills_release(&skills);
    workspace_test_release(&t);
    return 0;
}

TEST_WITH(heads_of_skill_files_are_parsed, setup, teardown)
{
    static const char *const heads[][3] = {
        {"---\nname: pdf\ndescription: Reads PDF files # a comment\n---\n# x", "pdf", "Reads PDF files"},
        {"\xEF\xBB\xBF---\r\nname: \"a \\\"b\\\"\"\r\ndescription: 'it''s'\r\n---\r\n", "a \"b\"", "it's"},
        {"---\ndescription: >-\n  one\n  two\nlicense: x\nname: n\n---\n", "n", "one two"},
        {"---\ndescription: |\n  one\n  two\n\n---\n", "", "one\ntwo"},
        {"---\ndescription: one\n  two: three\n---\n", "", "one two: three"},
        {"---\nmetadata:\n  name: inner\n---\n", "", ""},
        {"name: none\n", "", ""},
        {"", "", ""},
        {"---\nname: open", "open", ""},
        {"---\nname:\n---\n", "", ""},
        {"---\ndescription: a#b \xff\n---\n", "", "a#b \xEF\xBF\xBD"},
    };
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        CLEANUP(free) char *name = NULL, *description = NULL;
        skills_parse_head(heads[i][0], strlen(heads[i][0]), &name, &description);
        assert_string_equal(name, heads[i][1]);
        assert_string_equal(description, heads[i][2]);
    }
}

static void list(void)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = scratch_path(&t.files, "skills");
    skills_release(&skills);
    if (skills_list(&skills, folder, &err) < 0)
        fail_msg("%s", err.text);
}

TEST_WITH(skills_are_listed, setup, teardown)
{
    list();
    assert_int_equal(skills.count, 0); /* no such folder: none */
    scratch_write(&t.files, "skills/z/SKILL.md", "---\nname: pdf\ndescription: d\n---\n");
    scratch_write(&t.files, "skills/a/SKILL.md", "no head");
    scratch_write(&t.files, "skills/evil/SKILL.md", "---\nname: ../../x\n---\n");
    scratch_write(&t.files, "skills/twice/SKILL.md", "---\nname: a\n---\n");
    scratch_write(&t.files, "skills/none/README.md", "x");
    scratch_write(&t.files, "skills/.hidden/SKILL.md", "x");
    scratch_write(&t.files, "skills/file", "x");
    list();
    assert_int_equal(skills.count, 3);
    assert_string_equal(skills.items[0].name, "a");
    assert_string_equal(skills.items[0].description, "");
    assert_string_equal(skills.items[1].name, "evil");
    assert_string_equal(skills_find(&skills, "pdf")->description, "d");
    assert_null(skills_find(&skills, "none"));
    assert_int_equal(skills.left_count, 1);
    assert_string_equal(skills.left[0].name, "a");
    assert_non_null(strstr(skills.left[0].text, "/skills/twice is hidden: "));
    assert_non_null(strstr(skills.left[0].text, "/skills/a has the same name a and comes first"));
}

static void link_to(const char *target, const char *path)
{
    CLEANUP(free) char *at = scratch_path(&t.files, path);
    assert_int_equal(symlink(target, at), 0);
}

/* In a user's own folder, a link is the user's choice. A SKILL.md outside its skill is ignored. */
TEST_WITH(links_of_the_user, setup, teardown)
{
    scratch_write(&t.files, "elsewhere/far/SKILL.md", "---\nname: far\n---\n");
    scratch_write(&t.files, "elsewhere/secret.md", "---\nname: secret\ndescription: private\n---\n");
    scratch_write(&t.files, "skills/thief/x", "x");
    link_to("../elsewhere/far", "skills/far");
    link_to("../../elsewhere/secret.md", "skills/thief/SKILL.md");
    list();
    assert_int_equal(skills.count, 1);
    assert_non_null(skills_find(&skills, "far"));
    assert_int_equal(skills.left_count, 1);
    assert_string_equal(skills.left[0].name, "thief");
    assert_string_equal(skills.left[0].why, "it is a link that leads outside the skill");
    assert_non_null(strstr(skills.left[0].text, "/skills/thief/SKILL.md is ignored: it is a link"));
}

static void list_project(void)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *project = scratch_path(&t.files, "project");
    skills_release(&skills);
    if (skills_list_project(&skills, project, &err) < 0)
        fail_msg("%s", err.text);
}

/* A project may come from a stranger: nothing outside of it is found, whichever part of the path is a link. */
TEST_WITH(links_of_a_project, setup, teardown)
{
    CLEANUP(free) char *other = scratch_path(&t.files, "other");
    list_project();
    assert_int_equal(skills.count + skills.left_count, 0); /* no such folder: none */
    scratch_write(&t.files, "other/SKILL.md", "---\nname: priv\ndescription: private\n---\n");
    scratch_write(&t.files, "project/tools/own/SKILL.md", "---\nname: own\n---\n");
    scratch_write(&t.files, "project/.keyturn/skills/plain/SKILL.md", "---\nname: plain\n---\n");
    scratch_write(&t.files, "project/.keyturn/skills/head/x", "x");
    link_to("../../../other", "project/.keyturn/skills/out");
    link_to(other, "project/.keyturn/skills/absolute");
    link_to("../../tools/own", "project/.keyturn/skills/within");
    link_to("nothing", "project/.keyturn/skills/nothing");
    link_to("../../../../other/SKILL.md", "project/.keyturn/skills/head/SKILL.md");
    list_project();
    assert_int_equal(skills.count, 2);
    assert_non_null(skills_find(&skills, "own"));
    assert_non_null(skills_find(&skills, "plain"));
    assert_int_equal(skills.left_count, 3);
    assert_string_equal(skills.left[0].name, "absolute");
    assert_string_equal(skills.left[1].name, "head");
    assert_string_equal(skills.left[2].why, "it is a link that leads outside the project");
    assert_non_null(
        strstr(skills.left[2].text, "/project/.keyturn/skills/out is ignored: it is a link that leads outside"));
    /* The folder of skills itself, and the one above it. */
    scratch_write(&t.files, "others/priv/SKILL.md", "---\nname: priv\n---\n");
    scratch_remove(&t.files, "project/.keyturn");
    scratch_mkdir(&t.files, "project/.keyturn");
    link_to("../../others", "project/.keyturn/skills");
    list_project();
    assert_int_equal(skills.count, 0);
    assert_int_equal(skills.left_count, 1);
    assert_string_equal(skills.left[0].name, ".keyturn/skills");
    scratch_write(&t.files, "home/skills/priv/SKILL.md", "---\nname: priv\n---\n");
    scratch_remove(&t.files, "project/.keyturn");
    link_to("../home", "project/.keyturn");
    list_project();
    assert_int_equal(skills.count, 0);
    assert_int_equal(skills.left_count, 1);
}

/* A folder at the search may be a link at the staging. */
TEST_WITH(a_folder_that_becomes_a_link, setup, teardown)
{
    struct err err = ERR_INIT;
    scratch_write(&t.files, "other/SKILL.md", "---\nname: own\n---\n");
    scratch_write(&t.files, "project/.keyturn/skills/own/SKILL.md", "---\nname: own\n---\n");
    list_project();
    scratch_remove(&t.files, "project/.keyturn/skills/own");
    link_to("../../../other", "project/.keyturn/skills/own");
    assert_null(skills_open(&skills.items[0], &err));
    assert_int_equal(skills_stage(t.ws, &skills.items[0], NULL, NULL, &err), -1);
    CLEANUP(free) char *staged = workspace_test_read(&t, "skills/own/SKILL.md");
    assert_null(staged);
}

static bool stage(const struct stage_options *options)
{
    struct err err = ERR_INIT;
    bool staged;
    if (skills_stage(t.ws, skills_find(&skills, "pdf"), options, &staged, &err) < 0)
        fail_msg("%s", err.text);
    return staged;
}

static mode_t mode_of(const char *path)
{
    CLEANUP(free) char *full = workspace_test_path(&t, path);
    struct stat st = {0};
    assert_int_equal(lstat(full, &st), 0);
    return st.st_mode & 0777;
}

TEST_WITH(skills_are_staged, setup, teardown)
{
    scratch_write(&t.files, "skills/pdf/SKILL.md", "---\nname: pdf\n---\n");
    scratch_write(&t.files, "skills/pdf/ref/form.md", "form");
    list();
    assert_true(stage(NULL));
    assert_false(stage(NULL));
    assert_int_equal(mode_of("skills/pdf/ref/form.md") & 0222, 0);
    assert_int_equal(mode_of("skills/pdf/ref") & 0222, 0);
    CLEANUP(free) char *metadata = workspace_test_read(&t, "metadata.json");
    CLEANUP(free) char *source = xasprintf("\"source\":\"%s/skills/pdf\"", t.files.path);
    assert_non_null(
        strstr(metadata, "\"skills\":{\"pdf\":{\"name\":\"pdf\",\"rel_path\":\"skills/pdf\",\"digest\":\""));
    assert_non_null(strstr(metadata, source));
    /* Other content, fewer files: exactly the new tree exists. */
    scratch_remove(&t.files, "skills/pdf/ref/form.md");
    scratch_write(&t.files, "skills/pdf/new.md", "new");
    assert_true(stage(NULL));
    CLEANUP(free) char *gone = workspace_test_read(&t, "skills/pdf/ref/form.md");
    assert_null(gone);
    /* A program that changed it, or put a link in its place. */
    CLEANUP(free) char *folder = workspace_test_path(&t, "skills/pdf");
    assert_int_equal(chmod(folder, 0755), 0);
    workspace_test_write(&t, "skills/pdf/added", "x");
    assert_true(stage(NULL));
    CLEANUP(free) char *aside = workspace_test_path(&t, "work/aside");
    assert_int_equal(chmod(folder, 0755), 0); /* moving a folder needs write permission for it */
    assert_int_equal(rename(folder, aside), 0);
    workspace_test_link(&t, "/etc", "skills/pdf");
    assert_true(stage(NULL));
    CLEANUP(free) char *content = workspace_test_read(&t, "skills/pdf/new.md");
    assert_string_equal(content, "new");
    /* Writable if requested. */
    scratch_write(&t.files, "skills/pdf/new.md", "newer");
    assert_true(stage(&(struct stage_options){.read_only = false}));
    assert_int_equal(mode_of("skills/pdf/new.md") & 0200, 0200);
}
