/* The diff of two 50,000 line files with 500 changed lines, made and printed, against `git diff --no-index`. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include "tools/diff.h"

#define LINES 50000
#define STEP  100

static struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
static char *old_path, *new_path;

static void ours(void *none)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    (void)none;
    strbuf_reset(&old);
    strbuf_reset(&new);
    if (file_read(old_path, &old, 0, NULL) < 0 || file_read(new_path, &new, 0, NULL) < 0)
        abort();
    struct diff *diff = diff_new("file.c", old.buf, old.len, new.buf, new.len, NULL);
    if (!diff || diff->hunk_count != LINES / STEP)
        abort();
    diff_write(&out, diff, "file.c", true, true);
    diff_free(diff);
}

static void git(void *none)
{
    const char *const argv[] = {"git", "diff", "--no-index", "--no-ext-diff", old_path, new_path, NULL};
    (void)none;
    if (bench_run_program(argv, 1) < 0)
        abort();
}

int main(void)
{
    char *dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    if (!dir)
        return 2;
    old_path = xasprintf("%s/old.c", dir);
    new_path = xasprintf("%s/new.c", dir);
    for (int i = 0; i < LINES; i++) {
        strbuf_addf(&old, "    value[%d] = compute(%d, %d);\n", i, i * 7 % 1013, i % 17);
        strbuf_addf(&new, "    value[%d] = %s(%d, %d);\n", i, i % STEP == STEP / 2 ? "measure" : "compute",
                    i * 7 % 1013, i % 17);
    }
    if (file_replace(old_path, old.buf, old.len, 0600, NULL) < 0 ||
        file_replace(new_path, new.buf, new.len, 0600, NULL) < 0)
        return 2;
    struct bench_pair pair = bench_compare(7, ours, git, NULL);
    bench_report("diff", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.5);
    if (file_remove_tree(dir, NULL) < 0)
        return 2;
    strbuf_release(&old);
    strbuf_release(&new);
    free(old_path);
    free(new_path);
    free(dir);
    return bench_status();
}
