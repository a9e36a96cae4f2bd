/* Tests of actions: each has a handler that can be called at any time, an unknown action does nothing, and no handler
 * decides a write if none waits. */

#include "app/ui.h"
#include "base/mem.h"
#include "dialogs/dialog.h"
#include "support/scratch.h"
#include "support/test.h"
#include <stdlib.h>

struct rig {
    struct ui_host host;
    struct keymap *keymap;
    struct ui *ui;
    struct session session;
    struct view view;
    struct scratch scratch;
    int heard;
};

static int submit(struct ui_host *host, const struct intent *intent, struct err *err)
{
    (void)intent;
    ((struct rig *)host)->heard++;
    return err_set(err, "not here");
}

static int replay(struct ui_host *host, enum action action, const char *argument, struct err *err)
{
    (void)action, (void)argument;
    ((struct rig *)host)->heard++;
    return err_set(err, "not here");
}

static void hear(struct ui_host *host)
{
    ((struct rig *)host)->heard++;
}

static void hear_copy(struct ui_host *host, const char *text, size_t len)
{
    (void)text, (void)len;
    hear(host);
}

static void begin(struct rig *rig, enum view_mode mode)
{
    *rig = (struct rig){
        .host = {.submit = submit, .replay = replay, .copy = hear_copy, .suspend = hear, .redraw = hear, .quit = hear}};
    scratch_init(&rig->scratch);
    CLEANUP(free) char *data = scratch_path(&rig->scratch, "data");
    setenv("XDG_DATA_HOME", data, 1); /* do not list the sessions of the user who runs the test */
    rig->keymap = keymap_new();
    rig->ui = ui_new(&rig->host, rig->keymap, "default");
    session_init(&rig->session);
    rig->view = (struct view){.mode = mode, .session = &rig->session, .title = ""};
}

static void end(struct rig *rig)
{
    ui_free(rig->ui);
    keymap_free(rig->keymap);
    session_release(&rig->session);
    scratch_release(&rig->scratch);
}

TEST(every_action_has_a_handler_and_none_decides_where_nothing_waits)
{
    static const enum view_mode modes[] = {VIEW_LIVE, VIEW_REPLAY};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct rig rig;
        begin(&rig, modes[i]);
        for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
            int before = rig.heard;
            ui_act(rig.ui, &rig.view, action);
            if (action_contexts(action) & IN_QUESTION)
                assert_int_equal(rig.heard, before);
            while (ui_top_dialog(rig.ui))
                ui_close_dialog(rig.ui);
        }
        assert_true(rig.heard > 0);
        end(&rig);
    }
}

TEST(unknown_action_does_nothing)
{
    struct rig rig;
    begin(&rig, VIEW_LIVE);
    ui_act(rig.ui, &rig.view, ACTION_NONE);
    ui_act(rig.ui, &rig.view, ACTION_COUNT);
    assert_int_equal(rig.heard, 0);
    assert_null(ui_top_dialog(rig.ui));
    end(&rig);
}

TEST(no_key_decides_where_nothing_waits)
{
    static const enum action answers[] = {ACTION_APPROVE, ACTION_ALLOW, ACTION_DENY_REASON};
    struct rig rig;
    begin(&rig, VIEW_LIVE);
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct key key;
        struct err err = ERR_INIT;
        assert_int_equal(key_parse(&key, keymap_key(rig.keymap, answers[i]), &err), 0);
        ui_key(rig.ui, &rig.view, &key);
        assert_null(ui_top_dialog(rig.ui));
    }
    assert_int_equal(rig.heard, 0);
    end(&rig);
}
