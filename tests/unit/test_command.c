/* The `:` commands: completion, errors that name the nearest, and what reaches the host. */

#include "app/command.h"
#include "base/mem.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

struct rig {
    struct ui_host host;
    struct keymap *keymap;
    struct ui *ui;
    struct session session;
    struct view view;
    struct strbuf heard;
};

static struct rig *rig_of(struct ui_host *host)
{
    return (struct rig *)host;
}

static int submit(struct ui_host *host, const struct intent *intent, struct err *err)
{
    struct strbuf *heard = &rig_of(host)->heard;
    (void)err;
    if (intent->type == INTENT_BREAK)
        strbuf_addf(heard, "break %s;", intent->breakpoint.spec);
    else if (intent->type == INTENT_EXTEND)
        strbuf_addf(heard, "extend %s %s %g;", budget_key_name(intent->extend.key), intent->extend.to > 0 ? "to" : "by",
                    intent->extend.to > 0 ? intent->extend.to : intent->extend.share);
    else if (intent->type == INTENT_UNDO || intent->type == INTENT_REDO)
        strbuf_addf(heard, "%s %s;", intent->type == INTENT_UNDO ? "undo" : "redo", intent->undo.what);
    else
        strbuf_addf(heard, "intent %d;", (int)intent->type);
    return 0;
}

static int replay(struct ui_host *host, enum action action, const char *argument, struct err *err)
{
    (void)err;
    strbuf_addf(&rig_of(host)->heard, "%s %s;", action_name(action), argument ? argument : "");
    return 0;
}

static int open_file(struct ui_host *host, const char *what, struct err *err)
{
    if (strcmp(what, "missing") == 0)
        return err_set(err, "there is no such file");
    strbuf_addf(&rig_of(host)->heard, "open %s;", what);
    return 0;
}

static void quit(struct ui_host *host)
{
    strbuf_addstr(&rig_of(host)->heard, "quit;");
}

static void rig_init(struct rig *rig, enum view_mode mode)
{
    *rig = (struct rig){.host = {.submit = submit, .replay = replay, .open = open_file, .quit = quit}};
    rig->keymap = keymap_new();
    rig->ui = ui_new(&rig->host, rig->keymap, "default");
    session_init(&rig->session);
    rig->session.budget.limit[BUDGET_STEPS] = 6;
    rig->view = (struct view){.mode = mode, .session = &rig->session};
    strbuf_init(&rig->heard);
}

static void rig_release(struct rig *rig)
{
    ui_free(rig->ui);
    keymap_free(rig->keymap);
    session_release(&rig->session);
    strbuf_release(&rig->heard);
}

/* The host's request, or the error. */
static void expect(struct rig *rig, const char *line, const char *want)
{
    struct err err = ERR_INIT;
    strbuf_reset(&rig->heard);
    int result = command_run(rig->ui, &rig->view, line, &err);
    assert_string_equal(result ? err.text : rig->heard.buf, want);
}

TEST(commands_reach_the_host)
{
    struct rig rig;
    rig_init(&rig, VIEW_LIVE);
    expect(&rig, "break tool=edit_file", "break tool=edit_file;");
    expect(&rig, "  break   gate=model  ", "break gate=model;");
    expect(&rig, "budget steps", "extend steps by 1;");
    expect(&rig, "budget steps=12", "extend steps to 12;");
    expect(&rig, "open demo", "open demo;");
    expect(&rig, "save a b.jsonl", "command save a b.jsonl;");
    expect(&rig, "q", "quit;");
    expect(&rig, "", "");
    rig_release(&rig);
    rig_init(&rig, VIEW_REPLAY);
    expect(&rig, "goto 12.4s", "command goto 12.4s;");
    expect(&rig, "speed 4", "command speed 4;");
    expect(&rig, "fork do it otherwise", "fork do it otherwise;");
    rig_release(&rig);
}

/* Like the key, the command asks before it ends running programs. */
TEST(quit_asks_about_programs_that_run)
{
    struct rig rig;
    rig_init(&rig, VIEW_LIVE);
    session_apply(&rig.session, &(struct event){.type = EVENT_PROGRAM_STARTED,
                                                .type_name = event_type_name(EVENT_PROGRAM_STARTED),
                                                .seq = 1,
                                                .program_started = {.program = "p1", .cmd = "make watch"}});
    expect(&rig, "quit", "");
    assert_non_null(ui_top_dialog(rig.ui));
    assert_string_equal(ui_top_dialog(rig.ui)->name, "confirm");
    rig_release(&rig);
}

TEST(impossible_commands_are_answered)
{
    struct rig rig;
    rig_init(&rig, VIEW_LIVE);
    expect(&rig, "thene mono", "unknown command \"thene\" (did you mean theme?)");
    expect(&rig, "xyzzy", "unknown command \"xyzzy\" (Tab lists them)");
    expect(&rig, "break",
           "break needs SPEC: pause at tool=NAME, effect=CLASS, path=GLOB, outcome=TYPE, budget=N%, gate=NAME");
    expect(&rig, "budget stpes=9", "unknown limit \"stpes\" (did you mean steps?)");
    expect(&rig, "budget steps=3", "the limit of steps is 6; it can only be raised");
    expect(&rig, "budget steps=x", "\"x\" is no number");
    expect(&rig, "goto 5", "only a recording has positions; this turn is live");
    expect(&rig, "open missing", "there is no such file");
    expect(&rig, "unbreak 3x", "unknown breakpoint \"3x\" (:breaks lists them)");
    expect(&rig, "gate", "the turn is not paused");
    expect(&rig, "b", "unknown command \"b\" (Tab lists them)"); /* break, breaks or budget? */
    rig_release(&rig);
}

static void complete(struct rig *rig, const char *line, const char *completed, const char *offers)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf offered = STRBUF_INIT;
    bool changed = command_complete(&rig->view, line, &got, &offered);
    assert_string_equal(got.buf, completed);
    assert_string_equal(offered.buf, offers);
    assert_int_equal(changed, strcmp(line, completed) != 0);
}

TEST(tab_completes)
{
    struct rig rig;
    rig_init(&rig, VIEW_LIVE);
    complete(&rig, "th", "theme ", "");
    complete(&rig, "b", "b", "break  breaks  budget");
    complete(&rig, "br", "break", "break  breaks");
    complete(&rig, "xyz", "xyz", "");
    complete(&rig, "serial o", "serial o", "on  off");
    complete(&rig, "serial of", "serial off", "");
    complete(&rig, "break gate=w", "break gate=w", "gate=wave  gate=write");
    complete(&rig, "budget wal", "budget wall_s=", "");
    rig_release(&rig);
}
