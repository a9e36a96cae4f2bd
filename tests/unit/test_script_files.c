/* Tests of which workspace files a script gets, and which requests are refused. */

#include "base/arena.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "support/test.h"
#include "tools/script_tool.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch scratch;
static struct beneath *root;
static struct script_files files;
static atomic_bool cancelled;

static int set_up(void **state)
{
    (void)state;
    scratch_init(&scratch);
    scratch_write(&scratch, "work/src/a.py", "a = 1\n");
    scratch_write(&scratch, "work/src/deep/b.py", "b = 2\n");
    scratch_write(&scratch, "work/src/c.txt", "c");
    scratch_write(&scratch, "work/tests/test_a.py", "import a\n");
    scratch_write(&scratch, "work/.git/config", "secret");
    scratch_write(&scratch, "outside", "not yours");
    CLEANUP(free) char *path = scratch_path(&scratch, "work");
    root = beneath_open(path, NULL);
    assert_non_null(root);
    atomic_store(&cancelled, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    script_files_release(&files);
    beneath_close(root);
    scratch_release(&scratch);
    return 0;
}

/* The paths with a space between them, or the sentence of the refusal. */
static char *read_list(const char *list)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    script_files_release(&files);
    const struct json *parsed = json_parse(&arena, list, strlen(list), NULL);
    if (script_files_read(&files, root, parsed, &cancelled, &err) < 0)
        strbuf_addstr(&text, err.text);
    else
        for (size_t i = 0; i < files.count; i++)
            strbuf_addf(&text, "%s%s", i ? " " : "", files.items[i].path);
    return strbuf_detach(&text, NULL);
}

static void gives(const char *list, const char *expected)
{
    CLEANUP(free) char *text = read_list(list);
    assert_string_equal(text, expected);
}

TEST_WITH(paths_folders_and_globs, set_up, tear_down)
{
    gives("[\"src/a.py\"]", "src/a.py");
    assert_int_equal(files.items[0].len, 6);
    assert_memory_equal(files.items[0].bytes, "a = 1\n", 6);
    gives("[\"./src//a.py\"]", "src/a.py");
    gives("[\"src\"]", "src/a.py src/c.txt src/deep/b.py");
    gives("[\"src/*.py\"]", "src/a.py");
    gives("[\"./src/**/*.py\"]", "src/a.py src/deep/b.py");
    gives("[\"**/*.py\"]", "src/a.py src/deep/b.py tests/test_a.py");
    gives("[\"{src,tests}/*.py\"]", "src/a.py tests/test_a.py");
    gives("[\".\"]", "src/a.py src/c.txt src/deep/b.py tests/test_a.py");
    gives("[]", "");
}

TEST_WITH(each_file_once_in_the_order_of_the_list, set_up, tear_down)
{
    gives("[\"tests\",\"src/a.py\",\"**/*.py\"]", "tests/test_a.py src/a.py src/deep/b.py");
    assert_int_equal(files.bytes, 9 + 6 + 6);
}

TEST_WITH(files_stay_executable, set_up, tear_down)
{
    CLEANUP(free) char *path = scratch_path(&scratch, "work/src/a.py");
    assert_int_equal(chmod(path, 0755), 0);
    gives("[\"src/*\"]", "src/a.py src/c.txt");
    assert_true(files.items[0].executable);
    assert_false(files.items[1].executable);
}

TEST_WITH(refusals_name_their_cause, set_up, tear_down)
{
    gives("[\"../outside\"]", "files: path escapes workspace: ../outside");
    gives("[\"../*\"]", "files: path escapes workspace: ../");
    gives("[\"src/a.py\",\"src/none.py\"]", "files: src/none.py does not exist");
    gives("[\"none/*.py\"]", "files: no match for none/*.py");
    gives("[\"src/a.py/*\"]", "files: no match for src/a.py/*");
    gives("[\"src/[\"]", "files: bad pattern src/[: a class is empty or not closed");
    CLEANUP(free) char *link = scratch_path(&scratch, "work/out");
    assert_int_equal(symlink("../outside", link), 0);
    gives("[\"out\"]", "files: path escapes workspace: out");
    gives("[\"*\"]", "files: no match for *"); /* a walk does not return links */
    assert_int_equal(mkfifo(link, 0600), -1);
    assert_int_equal(unlink(link) | mkfifo(link, 0600), 0);
    gives("[\"out\"]", "files: out is a FIFO, not a file");
}

TEST_WITH(too_many_or_too_large_files_are_refused, set_up, tear_down)
{
    CLEANUP(free) char *bytes = xcalloc(1, SCRIPT_FILES_BYTES + 1);
    memset(bytes, 'x', SCRIPT_FILES_BYTES);
    scratch_write(&scratch, "work/big", bytes);
    gives("[\"big\"]", "big");
    gives("[\"src/c.txt\",\"big\"]", "files: more than 8 MB with big; name fewer");
    gives("[\"big\",\"src/c.txt\"]", "files: more than 8 MB with src/c.txt; name fewer");
    for (int i = 0; i <= SCRIPT_FILES_MAX; i++) {
        CLEANUP(free) char *name = xasprintf("work/many/%d", i);
        scratch_write(&scratch, name, "");
    }
    gives("[\"many\"]", "files: more than 500; name fewer");
}

TEST_WITH(a_canceled_call_reads_no_further, set_up, tear_down)
{
    atomic_store(&cancelled, true);
    gives("[\"src\"]", "canceled");
}
