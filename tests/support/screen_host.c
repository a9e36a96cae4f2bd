/* The host of a screen in a test: logs the requests of the ui, and does with the stage what the program would do with
 * the turn or the recording. */

#include "base/mem.h"
#include "screen_stage.h"
#include <stdlib.h>
#include <string.h>

static struct screen_stage *stage_of(struct ui_host *host)
{
    return (struct screen_stage *)((char *)host - offsetof(struct screen_stage, host));
}

static const char *intent_word(enum intent_type type)
{
    switch (type) {
    case INTENT_START:
        return "start";
    case INTENT_RESUME_TURN:
        return "go on";
    case INTENT_CANCEL:
        return "cancel";
    case INTENT_ANSWER:
        return "approve";
    case INTENT_REVISE:
        return "revise";
    case INTENT_ALLOW:
        return "allow";
    case INTENT_STEP:
        return "step";
    case INTENT_STEP_WAVE:
        return "step wave";
    case INTENT_CONTINUE:
        return "continue";
    case INTENT_PAUSE:
        return "pause";
    case INTENT_BREAK:
        return "break";
    case INTENT_UNBREAK:
        return "unbreak";
    case INTENT_ENABLE_BREAK:
        return "arm";
    case INTENT_TOUCH:
        return "attend";
    case INTENT_SERIAL:
        return "serial";
    case INTENT_EDIT:
        return "edit";
    case INTENT_EXTEND:
        return "extend";
    case INTENT_UNDO:
        return "undo";
    case INTENT_REDO:
        return "redo";
    case INTENT_PROGRAM_INPUT:
        return "type into";
    case INTENT_PROGRAM_KILL:
        return "kill";
    case INTENT_MODEL:
        return "model";
    case INTENT_NAME:
        return "name";
    case INTENT_END:
        return "end";
    }
    return "?";
}

static void log_hunks(struct screen_stage *stage, const struct event_hunk_choice_list *hunks)
{
    for (size_t i = 0; i < hunks->count; i++) {
        const struct event_hunk_choice *choice = &hunks->items[i];
        strbuf_addf(&stage->log, "%s{\"path\":\"%s\",\"keep\":[", i ? "," : "", choice->path);
        for (size_t k = 0; k < choice->keep.count; k++)
            strbuf_addf(&stage->log, "%s%lld", k ? "," : "", (long long)choice->keep.items[k]);
        strbuf_addf(&stage->log, "],\"of\":%lld}", (long long)choice->of);
    }
    if (hunks->items)
        strbuf_addch(&stage->log, ']');
}

static void log_intent(struct screen_stage *stage, const struct intent *intent)
{
    const struct decision *decision = intent->type == INTENT_ANSWER ? &intent->answer.decision : NULL;
    bool denies = decision && decision_denies(decision);
    strbuf_addf(&stage->log, "intent %s", denies ? "deny" : intent_word(intent->type));
    if (intent->type == INTENT_START)
        strbuf_addf(&stage->log, " %s", intent->start.prompt);
    if (decision && !denies) {
        strbuf_addstr(&stage->log, decision->hunks.items ? " [" : " everything");
        log_hunks(stage, &decision->hunks);
        strbuf_addstr(&stage->log, decision->kind == DECISION_EDITED ? ", edited" : "");
    }
    if (denies && decision->reason)
        strbuf_addf(&stage->log, " %s", decision->reason);
    if (intent->type == INTENT_BREAK)
        strbuf_addf(&stage->log, " %s", intent->breakpoint.spec);
    if (intent->type == INTENT_EDIT)
        strbuf_addf(&stage->log, " %s", edit_what_name(intent->edit.what));
    if (intent->type == INTENT_EXTEND)
        strbuf_addf(&stage->log, " %s by %g", budget_key_name(intent->extend.key), intent->extend.share);
    if (intent->type == INTENT_PROGRAM_INPUT)
        strbuf_addf(&stage->log, " %s: %.*s", intent->program_input.program,
                    (int)strcspn(intent->program_input.text, "\n"), intent->program_input.text);
    if (intent->type == INTENT_PROGRAM_KILL)
        strbuf_addf(&stage->log, " %s", intent->program_kill.program);
    if (intent->type == INTENT_MODEL)
        strbuf_addf(&stage->log, " %s", intent->model.name);
    if (intent->type == INTENT_SERIAL)
        strbuf_addstr(&stage->log, intent->serial.on ? " on" : " off");
}

static int host_submit(struct ui_host *host, const struct intent *intent, struct err *err)
{
    struct screen_stage *stage = stage_of(host);
    log_intent(stage, intent);
    int result = 0;
    if (stage->engine)
        result = engine_submit(stage->engine, intent, err);
    else if (!stage->plan->start)
        result = err_set(err, "this is a recording: nothing runs");
    strbuf_addf(&stage->log, "%s\n", result ? " (refused)" : "");
    return result;
}

void screen_stage_seek(struct screen_stage *stage, size_t position)
{
    if (position != SIZE_MAX)
        while (!player_seek(stage->player, position, 0))
            if (player_fault(stage->player))
                break;
}

static int host_replay(struct ui_host *host, enum action action, const char *argument, struct err *err)
{
    struct screen_stage *stage = stage_of(host);
    strbuf_addf(&stage->log, "replay %s%s%s\n", action_name(action), argument ? " " : "", argument ? argument : "");
    if (!stage->player)
        return action == ACTION_COMMAND ? 0 : err_set(err, "this is no recording");
    size_t at = player_position(stage->player), count = player_count(stage->player);
    switch (action) {
    case ACTION_PLAY:
        stage->playing = !stage->playing;
        break;
    case ACTION_EVENT_NEXT:
        screen_stage_seek(stage, at < count ? at + 1 : at);
        break;
    case ACTION_EVENT_PREVIOUS:
        screen_stage_seek(stage, at ? at - 1 : 0);
        break;
    case ACTION_STEP_NEXT:
        screen_stage_seek(stage, player_next_step(stage->player, false));
        break;
    case ACTION_STEP_PREVIOUS:
        screen_stage_seek(stage, player_next_step(stage->player, true));
        break;
    case ACTION_FASTER:
        stage->speed *= 2;
        break;
    case ACTION_SLOWER:
        stage->speed /= 2;
        break;
    case ACTION_REPLAY_HOME:
        screen_stage_seek(stage, 0);
        break;
    case ACTION_REPLAY_END:
        screen_stage_seek(stage, count);
        break;
    case ACTION_NEXT_WRITE:
        screen_stage_seek(stage, player_next_write(stage->player, false));
        break;
    case ACTION_NEXT_ERROR:
        screen_stage_seek(stage, player_next_error(stage->player, false));
        break;
    case ACTION_COMMAND:
        if (strncmp(argument, "goto ", 5) == 0)
            screen_stage_seek(stage, (size_t)strtoul(argument + 5, NULL, 10));
        break;
    default:
        break;
    }
    return 0;
}

static int host_edit(struct ui_host *host, const char *name, const char *text, size_t len, struct strbuf *out,
                     struct err *err)
{
    struct screen_stage *stage = stage_of(host);
    (void)err;
    strbuf_addf(&stage->log, "edit %s\n", name);
    if (stage->editor) {
        strbuf_addstr(out, stage->editor);
    } else {
        strbuf_add(out, text, len);
        strbuf_addstr(out, " (edited)");
    }
    return 0;
}

static int host_open(struct ui_host *host, const char *what, struct err *err)
{
    const char *slash = strrchr(what, '/');
    (void)err;
    strbuf_addf(&stage_of(host)->log, "open %s\n", slash ? slash + 1 : what);
    return 0;
}

static int host_set_up(struct ui_host *host, struct err *err)
{
    (void)err;
    strbuf_addstr(&stage_of(host)->log, "set up\n");
    return 0;
}

static void host_copy(struct ui_host *host, const char *text, size_t len)
{
    (void)text;
    strbuf_addf(&stage_of(host)->log, "copy %zu bytes\n", len);
}

static void host_suspend(struct ui_host *host)
{
    strbuf_addstr(&stage_of(host)->log, "suspend\n");
}

static void host_redraw(struct ui_host *host)
{
    strbuf_addstr(&stage_of(host)->log, "redraw\n");
}

static void host_quit(struct ui_host *host)
{
    strbuf_addstr(&stage_of(host)->log, "quit\n");
}

static void host_marks(struct ui_host *host, size_t columns, unsigned char *out)
{
    struct screen_stage *stage = stage_of(host);
    if (stage->player)
        player_marks(stage->player, columns, out);
}

const struct ui_host screen_host = {.submit = host_submit,
                                    .replay = host_replay,
                                    .edit_text = host_edit,
                                    .open = host_open,
                                    .set_up = host_set_up,
                                    .copy = host_copy,
                                    .suspend = host_suspend,
                                    .redraw = host_redraw,
                                    .quit = host_quit,
                                    .marks = host_marks};
