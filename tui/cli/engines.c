/* keyturn engines: tests every sandbox engine.
 *
 * Each engine starts a sandbox, all at the same time, and a script in it tries what must not work. The result shows
 * what was refused, whatever the engine's command line promises. If the engine must limit memory and processes itself,
 * a second sandbox without the harness's own layers tests these limits alone, because a container engine may run
 * without a limit that it cannot set. Engines on other machines start pods and jobs there, so they are tested only if
 * the user names them. */

#include "app/cli_error.h"
#include "app/setup.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cli_out.h"
#include "options.h"
#include "plain.h"
#include "sandbox/engines_program.h"
#include "sandbox/scratch_dirs.h"
#include "sandbox/user.h"
#include "screen/text.h"
#include "self_test.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct engines {
    struct loop *loop;
    struct scratch_dirs *scratch;
    struct cli_out output;
    struct self_test *tests;
    size_t count, shown;
    size_t width; /* length of the longest name */
    bool json, stopped;
};

/* What limits the programs of this engine. */
static const char *limits_of(const struct self_test *test)
{
    return sandbox_program_holder_words(sandbox_program_holder(test->engine));
}

/* The user id of its code on this machine when Keyturn runs as root. */
static unsigned uid_of(const struct self_test *test)
{
    return sandbox_engine_is_other_user(test->engine) ? (unsigned)sandbox_user()->uid : 0;
}

static void show_text(struct engines *engines, const struct self_test *test)
{
    struct strbuf *out = &engines->output.text;
    size_t begin = out->len;
    static const char *const words[] = {
        [SELF_TEST_WORKS] = "ok", [SELF_TEST_FAILED] = "no", [SELF_TEST_UNTRIED] = "-", [SELF_TEST_WEAK] = "warn"};
    strbuf_addf(out, "%-5s%s", words[test->result], test->engine->name);
    text_pad(out, begin, 5 + engines->width + 2);
    size_t indent = 5 + engines->width + 2;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_add(&text, test->text.buf, test->text.len);
    if (test->engine->program && test->result != SELF_TEST_FAILED)
        strbuf_addf(&text, "; programs: %s", limits_of(test));
    if (sandbox_user() && !test->engine->remote && test->result != SELF_TEST_FAILED)
        strbuf_addf(&text, "; runs as uid %u", uid_of(test));
    text_wrap(out, text.buf, text.len, indent, plain_style_for(STDOUT_FILENO).width);
}

static void show_json(struct engines *engines, const struct self_test *test)
{
    static const char *const words[] = {[SELF_TEST_WORKS] = "works",
                                        [SELF_TEST_FAILED] = "fails",
                                        [SELF_TEST_UNTRIED] = "untried",
                                        [SELF_TEST_WEAK] = "weak"};
    CLEANUP(doc) struct doc *doc = doc_new();
    doc_add_text(doc, "engine", test->engine->name);
    doc_add_text(doc, "about", test->engine->about);
    doc_add_text(doc, "verdict", words[test->result]);
    doc_add_text(doc, "text", test->text.buf);
    if (test->engine->program)
        doc_add_text(doc, "program_limits", limits_of(test));
    if (sandbox_user() && !test->engine->remote)
        doc_add_int(doc, "uid", uid_of(test));
    if (test->layers)
        doc_add_json(doc, "layers", test->layers);
    doc_write(doc, &engines->output.text);
    strbuf_addch(&engines->output.text, '\n');
}

/* Prints the results in table order: each one as soon as it and all before it are known. */
static void on_tried(void *user)
{
    struct engines *engines = user;
    while (!engines->stopped && engines->shown < engines->count && engines->tests[engines->shown].over) {
        const struct self_test *test = &engines->tests[engines->shown++];
        if (engines->json)
            show_json(engines, test);
        else
            show_text(engines, test);
    }
    cli_out_flush(&engines->output);
    if (engines->shown == engines->count)
        loop_stop(engines->loop);
}

static void on_signal(void *data)
{
    struct engines *engines = data;
    engines->stopped = true;
    loop_stop(engines->loop);
}

static int try_all(struct engines *engines, const struct sandbox_choice *sandbox, bool named)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct loop_watch *watches[COUNT_OF(signals)];
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        watches[i] = loop_watch_signal(engines->loop, signals[i], on_signal, engines);
    for (size_t i = 0; i < engines->count; i++) {
        struct box_options spec = sandbox->spec;
        spec.engine = named ? sandbox->spec.engine : &sandbox->engines.items[i];
        self_test_start(&engines->tests[i], engines->loop, engines->scratch, &spec, named, on_tried, engines);
    }
    loop_run(engines->loop);
    int status = STATUS_FAILED;
    for (size_t i = 0; i < engines->count; i++) {
        if (engines->tests[i].result == SELF_TEST_WORKS && (named || !engines->tests[i].engine->unsafe))
            status = STATUS_DONE;
        self_test_end(&engines->tests[i]);
    }
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_watch_free(watches[i]);
    return status;
}

int cmd_engines(const struct options *options)
{
    struct err err = ERR_INIT;
    struct sandbox_choice sandbox;
    struct options own = *options;
    own.engine = options->operand;
    int status = sandbox_choice_open(&sandbox, &own);
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "boxes");
    struct engines engines = {.json = options->json};
    if (!status && !(engines.scratch = scratch_dirs_open(folder, &err)))
        status = cli_error(STATUS_USAGE, "%s (make it writable, or set XDG_CACHE_HOME)", err.text);
    if (!status) {
        bool named = options->operand;
        engines.loop = loop_new(clock_system());
        engines.count = named ? 1 : sandbox.engines.count;
        engines.tests = xcalloc(engines.count, sizeof(*engines.tests));
        for (size_t i = 0; i < engines.count; i++) {
            size_t len = strlen(named ? sandbox.spec.engine->name : sandbox.engines.items[i].name);
            engines.width = len > engines.width ? len : engines.width;
        }
        cli_out_init(&engines.output, STDOUT_FILENO);
        status = try_all(&engines, &sandbox, named);
        if (engines.output.failed)
            status = cli_out_error(&engines.output);
        else if (!named && !options->json && !engines.stopped && status == STATUS_FAILED)
            cli_notice("no sandbox works here: scripts cannot run (install bubblewrap)");
        cli_out_release(&engines.output);
        free(engines.tests);
        loop_free(engines.loop);
    }
    scratch_dirs_close(engines.scratch);
    sandbox_choice_close(&sandbox);
    return engines.stopped ? STATUS_INTERRUPTED : status;
}
