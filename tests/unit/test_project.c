/* The project of a folder: the git top level around it, else the folder, without links. */

#include "base/mem.h"
#include "base/project.h"
#include "support/scratch.h"
#include "support/test.h"
#include <string.h>
#include <unistd.h>

static struct scratch files;

static int begin(void **state)
{
    (void)state;
    scratch_init(&files);
    scratch_mkdir(&files, "repo/.git");
    scratch_mkdir(&files, "repo/src/deep");
    scratch_mkdir(&files, "repo/vendor/other/.git");
    scratch_mkdir(&files, "repo-not/src");
    scratch_write(&files, "tree/.git", "gitdir: /elsewhere");
    scratch_mkdir(&files, "tree/src");
    scratch_mkdir(&files, "plain/folder");
    return 0;
}

static int end(void **state)
{
    (void)state;
    scratch_release(&files);
    return 0;
}

static void expect(const char *folder, const char *project)
{
    CLEANUP(free) char *path = scratch_path(&files, folder);
    CLEANUP(free) char *want = scratch_path(&files, project);
    CLEANUP(free) char *real = realpath(want, NULL);
    CLEANUP(free) char *got = project_root(path);
    assert_string_equal(got, real ? real : want);
}

TEST(project_is_the_git_top_level_or_the_folder)
{
    expect("repo", "repo");
    expect("repo/src/deep", "repo");
    expect("repo/src/../src/deep/", "repo");
    expect("repo/vendor/other", "repo/vendor/other"); /* a repository within */
    expect("repo-not/src", "repo-not/src");           /* only the name is alike */
    expect("tree/src", "tree");                       /* a worktree has a file */
    expect("plain/folder", "plain/folder");
    expect("not/there", "not/there");
}

TEST(links_do_not_make_another_project)
{
    CLEANUP(free) char *target = scratch_path(&files, "repo/src");
    CLEANUP(free) char *link = scratch_path(&files, "link");
    assert_int_equal(symlink(target, link), 0);
    expect("link", "repo");
    expect("link/deep", "repo");
}

TEST_GROUP(begin, end)
