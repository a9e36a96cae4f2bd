/* keyturn engines: every sandbox, really tried.
 *
 * An engine is tried by a box of its own, all at once, and by a script in it that does what must not work; what was
 * refused holds, whatever its vector says. Where the engine is to limit memory and processes by itself, a second box
 * with the harness's own layers off tries these alone: a container engine that cannot set a limit may go on without it.
 * Engines on other machines start pods and jobs there, so they are tried only when somebody names them. */

#include "base/file.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cmd.h"
#include "output.h"
#include "plain.h"
#include "sandbox.h"
#include "sandbox/engines_program.h"
#include "sandbox/rooms.h"
#include "sandbox/user.h"
#include "say.h"
#include "text.h"
#include "trial.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct engines {
    struct loop *loop;
    struct rooms *rooms;
    struct output output;
    struct trial *trials;
    size_t count, shown;
    size_t width; /* of the longest name */
    bool json, stopped;
};

/* What limits its programs. */
static const char *limits_of(const struct trial *trial)
{
    return sandbox_program_holder_words(sandbox_program_holder(trial->engine));
}

/* Who its code is on this machine when we are root. */
static unsigned uid_of(const struct trial *trial)
{
    return sandbox_engine_is_other_user(trial->engine) ? (unsigned)sandbox_user()->uid : 0;
}

static void show_text(struct engines *engines, const struct trial *trial)
{
    struct strbuf *out = &engines->output.text;
    size_t begin = out->len;
    static const char *const words[] = {
        [TRIAL_WORKS] = "ok", [TRIAL_FAILED] = "no", [TRIAL_UNTRIED] = "-", [TRIAL_WEAK] = "warn"};
    strbuf_addf(out, "%-5s%s", words[trial->verdict], trial->engine->name);
    text_pad(out, begin, 5 + engines->width + 2);
    size_t indent = 5 + engines->width + 2;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_add(&text, trial->text.buf, trial->text.len);
    if (trial->engine->program && trial->verdict != TRIAL_FAILED)
        strbuf_addf(&text, "; programs: %s", limits_of(trial));
    if (sandbox_user() && !trial->engine->remote && trial->verdict != TRIAL_FAILED)
        strbuf_addf(&text, "; runs as uid %u", uid_of(trial));
    text_wrap(out, text.buf, text.len, indent, plain_style_for(STDOUT_FILENO).width);
}

static void show_json(struct engines *engines, const struct trial *trial)
{
    static const char *const words[] = {
        [TRIAL_WORKS] = "works", [TRIAL_FAILED] = "fails", [TRIAL_UNTRIED] = "untried", [TRIAL_WEAK] = "weak"};
    struct json_writer w = json_begin(&engines->output.text);
    size_t begin = engines->output.text.len;
    json_open(&w, NULL, '{');
    json_add_str(&w, "engine", trial->engine->name);
    json_add_str(&w, "about", trial->engine->about);
    json_add_str(&w, "verdict", words[trial->verdict]);
    json_add_str(&w, "text", trial->text.buf);
    if (trial->engine->program)
        json_add_str(&w, "program_limits", limits_of(trial));
    if (sandbox_user() && !trial->engine->remote)
        json_add_int(&w, "uid", uid_of(trial));
    if (trial->layers)
        json_add_raw(&w, "layers", trial->layers);
    json_close(&w, '}');
    json_make_printable(&engines->output.text, begin);
    strbuf_addch(&engines->output.text, '\n');
}

/* In their order, each as soon as it and those before it have been tried. */
static void on_tried(void *user)
{
    struct engines *engines = user;
    while (!engines->stopped && engines->shown < engines->count && engines->trials[engines->shown].over) {
        const struct trial *trial = &engines->trials[engines->shown++];
        if (engines->json)
            show_json(engines, trial);
        else
            show_text(engines, trial);
    }
    output_flush(&engines->output);
    if (engines->shown == engines->count)
        loop_stop(engines->loop);
}

static void on_signal(void *data)
{
    struct engines *engines = data;
    engines->stopped = true;
    loop_stop(engines->loop);
}

static int try_all(struct engines *engines, const struct sandbox *sandbox, bool named)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct loop_watch *watches[COUNT_OF(signals)];
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        watches[i] = loop_watch_signal(engines->loop, signals[i], on_signal, engines);
    for (size_t i = 0; i < engines->count; i++) {
        struct box_spec spec = sandbox->spec;
        spec.engine = named ? sandbox->spec.engine : &sandbox->engines.items[i];
        trial_start(&engines->trials[i], engines->loop, engines->rooms, &spec, named, on_tried, engines);
    }
    loop_run(engines->loop);
    int status = STATUS_FAILED;
    for (size_t i = 0; i < engines->count; i++) {
        if (engines->trials[i].verdict == TRIAL_WORKS && (named || !engines->trials[i].engine->unsafe))
            status = STATUS_DONE;
        trial_end(&engines->trials[i]);
    }
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_watch_free(watches[i]);
    return status;
}

int cmd_engines(const struct options *options)
{
    struct err err = ERR_INIT;
    struct sandbox sandbox;
    struct options own = *options;
    own.engine = options->operand;
    int status = sandbox_open(&sandbox, &own);
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "boxes");
    struct engines engines = {.json = options->json};
    if (!status && !(engines.rooms = rooms_open(folder, &err)))
        status = say_error(STATUS_USAGE, "%s (make it writable, or set XDG_CACHE_HOME)", err.text);
    if (!status) {
        bool named = options->operand;
        engines.loop = loop_new(clock_system());
        engines.count = named ? 1 : sandbox.engines.count;
        engines.trials = xcalloc(engines.count, sizeof(*engines.trials));
        for (size_t i = 0; i < engines.count; i++) {
            size_t len = strlen(named ? sandbox.spec.engine->name : sandbox.engines.items[i].name);
            engines.width = len > engines.width ? len : engines.width;
        }
        output_init(&engines.output, STDOUT_FILENO);
        status = try_all(&engines, &sandbox, named);
        if (engines.output.failed)
            status = output_say_failed(&engines.output);
        else if (!named && !options->json && !engines.stopped && status == STATUS_FAILED)
            say_notice("no sandbox works here: scripts cannot be run (install bubblewrap)");
        output_release(&engines.output);
        free(engines.trials);
        loop_free(engines.loop);
    }
    rooms_close(engines.rooms);
    sandbox_close(&sandbox);
    return engines.stopped ? STATUS_INTERRUPTED : status;
}
