/* Compilers, interpreters and build tools still work in the sandbox, with its system call filter and limits: every file
 * of toolchains/ builds and tests a small project there. toolchains/README.md says how a file is written.
 *
 *     sandbox_test_toolchains ['*' ENGINE IMAGE]      bubblewrap without an argument
 *
 * $KEYTURN_TOOLCHAIN is a folder outside /usr with tools in its bin, which is shown to the programs. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/program_rig.h"
#include "support/test.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define SCRIPT_MAX 100000u

static const char *engine = "bwrap", *folder = TOOLCHAINS_DIR, *more;
static struct programs_options options;
static struct program_rig rig;
static unsigned ran, failed;

static bool sh(const char *command)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = xasprintf("%s%s/usr/local/bin:/usr/bin:/bin", more ? more : "", more ? "/bin:" : "");
    struct env_var vars[] = {{"PATH", path}};
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", command, NULL},
                                .env = {vars, COUNT_OF(vars)},
                                .timeout_ms = 240000};
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
    return rig.result.end.exit_code == 0 && !rig.result.end.why;
}

/* The rest of the line that begins with this text, or NULL. */
static char *find_line(const char *text, const char *beginning)
{
    const char *at = strstr(text, beginning);
    return at ? xmemdup0(at + strlen(beginning), strcspn(at + strlen(beginning), "\n")) : NULL;
}

static void try_file(const char *name)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(free) char *path = xasprintf("%s/%s", folder, name);
    assert_int_equal(file_read(path, &text, SCRIPT_MAX, NULL), 0);
    CLEANUP(free) char *needs = find_line(text.buf, "\n# needs:");
    CLEANUP(free) char *script = xasprintf("mkdir project && cd project || exit 99\n%s", text.buf);
    CLEANUP(free) char *look = xasprintf("for tool in %s; do command -v $tool >/dev/null || echo $tool; done", needs);
    CLEANUP(free) char *optional = find_line(text.buf, "\n# optional");
    const char *visible[] = {more, NULL};
    struct programs_options own = options;
    own.visible = visible;
    assert_non_null(needs);
    program_rig_open(&rig, engine, &own);
    bool looked = sh(look), absent = rig.result.out.len > 0;
    if (!looked || (absent && !optional)) {
        failed++;
        print_message("FAIL %s: not installed: %s%s\n", name, rig.result.out.buf, rig.result.err.buf);
    } else if (absent) {
        print_message("left out: %s (not installed: %.*s)\n", name, (int)strcspn(rig.result.out.buf, "\n"),
                      rig.result.out.buf);
    } else if (sh(script)) {
        ran++;
        print_message("ok %s\n", name);
    } else {
        failed++;
        print_message("FAIL %s (status %d, signal %d): %s\n%s%s\n", name, rig.result.end.exit_code,
                      rig.result.end.signum, rig.result.end.why ? rig.result.end.why : "", rig.result.out.buf,
                      rig.result.err.buf);
    }
    program_rig_close(&rig);
}

static int is_script(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 3 && strcmp(entry->d_name + len - 3, ".sh") == 0;
}

TEST(projects_are_built_and_tested)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_script, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        try_file(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(failed, 0);
    assert_true(ran >= 7);
}

void test_begin(void)
{
    more = getenv("KEYTURN_TOOLCHAIN");
    if (getenv("KEYTURN_TOOLCHAINS"))
        folder = getenv("KEYTURN_TOOLCHAINS"); /* the user nobody may have no access to the source folder */
    if (test_program_arguments[0] && test_program_arguments[1]) {
        engine = test_program_arguments[0];
        options.image = test_program_arguments[1];
    }
}
