/* Tests screens without a terminal.
 *
 * Each folder under cases/ has a script, `case`, and one golden per size: the canvas as text, then its roles, then the
 * requests to the host. UPDATE_GOLDEN=1 updates them; read the diff. SCREENS=NAME runs one case.
 *
 * Together they press every action and show every pane and dialog at the three common sizes. */

#include "base/file.h"
#include "base/mem.h"
#include "support/screen_rig.h"
#include "support/screen_stage.h"
#include "support/test.h"
#include <glob.h>
#include <stdio.h>
#include <string.h>

#define CASES     SOURCE_DIR "/tests/screens/cases/"
#define SHOWN_MAX 30

struct running {
    const char *folder, *name, *script;
    size_t failed;
};

static size_t cases_run;

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

/* The lines that differ, expected above actual. */
static void print_difference(const char *want, const char *got)
{
    int shown = 0;
    for (int line = 1; *want || *got; line++) {
        size_t a = line_length(want), b = line_length(got);
        if (a != b || memcmp(want, got, a) != 0) {
            if (shown++ < SHOWN_MAX)
                fprintf(stderr, "%4d - %.*s\n     + %.*s\n", line, (int)a, want, (int)b, got);
        }
        want += a + (want[a] == '\n');
        got += b + (got[b] == '\n');
    }
    if (shown > SHOWN_MAX)
        fprintf(stderr, "     … and %d more lines\n", shown - SHOWN_MAX);
}

static void run_size(int cols, int rows, void *data)
{
    struct running *running = data;
    CLEANUP(free) char *golden = xasprintf("%s/%dx%d.screen", running->folder, cols, rows);
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf want = STRBUF_INIT;
    struct err err = ERR_INIT;
    screen_rig_run(&got, running->folder, running->script, cols, rows);
    if (getenv("UPDATE_GOLDEN")) {
        if (file_replace(golden, got.buf, got.len, 0644, &err))
            fail_msg("%s", err.text);
        return;
    }
    if (file_read(golden, &want, 0, &err)) {
        fprintf(stderr, "%s %dx%d: %s (UPDATE_GOLDEN=1 writes it)\n", running->name, cols, rows, err.text);
        running->failed++;
    } else if (strcmp(want.buf, got.buf) != 0) {
        fprintf(stderr, "%s %dx%d: not what %s says\n", running->name, cols, rows, golden);
        print_difference(want.buf, got.buf);
        running->failed++;
    }
}

static size_t run_case(const char *path)
{
    CLEANUP(strbuf) struct strbuf script = STRBUF_INIT;
    CLEANUP(free) char *folder = xmemdup0(path, strlen(path) - strlen("/case"));
    struct err err = ERR_INIT;
    const char *only = getenv("SCREENS"), *name = strrchr(folder, '/') + 1;
    if (only && strcmp(only, name) != 0)
        return 0;
    if (file_read(path, &script, 0, &err))
        fail_msg("%s", err.text);
    cases_run++;
    struct running running = {.folder = folder, .name = name, .script = script.buf};
    screen_rig_sizes(script.buf, run_size, &running);
    return running.failed;
}

TEST(every_case_equals_its_golden)
{
    glob_t found;
    size_t failed = 0;
    assert_int_equal(glob(CASES "*/case", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        failed += run_case(found.gl_pathv[i]);
    globfree(&found);
    if (!cases_run)
        fail_msg("there is no case %s", getenv("SCREENS"));
    if (failed)
        fail_msg("%zu screens are not what their goldens say", failed);
}

/* Checks of all cases together make no sense for one. */
static void skip_for_one_case(void)
{
    if (getenv("SCREENS"))
        skip();
}

TEST(every_action_is_pressed_somewhere)
{
    skip_for_one_case();
    size_t missing = 0;
    for (int action = ACTION_NONE + 1; action < ACTION_COUNT; action++)
        if (!screen_seen.actions[action]) {
            fprintf(stderr, "no case presses %s\n", action_name((enum action)action));
            missing++;
        }
    assert_int_equal(missing, 0);
}

TEST(everything_is_shown_at_every_size)
{
    skip_for_one_case();
    static const char *const sizes[] = {"80x24", "120x40", "200x60"};
    static const char *const things[] = {"pane 1",   "pane 2",  "pane 3",      "pane 4",      "pane 5",  "pane 6",
                                         "pane 7",   "help",    "inspect",     "breaks",      "confirm", "text",
                                         "sessions", "gate",    "divergences", "permissions", "start",   "model",
                                         "sandbox",  "program", "document",    "servers"};
    size_t missing = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (size_t k = 0; k < COUNT_OF(things); k++) {
            CLEANUP(free) char *what = xasprintf("%s %s", sizes[i], things[k]);
            if (!screen_seen_frame(what)) {
                fprintf(stderr, "no case shows: %s\n", what);
                missing++;
            }
        }
    assert_int_equal(missing, 0);
}

void test_begin(void)
{
    screen_source = SOURCE_DIR;
}
