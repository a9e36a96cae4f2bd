/* What the user types into a program: lines, the end of the input, an interrupt. A paste is typed as its lines are; one
 * that is refused stays in the line with all that follows, so that nothing comes out of order. */

#include "base/mem.h"
#include "dialog_program.h"
#include "ui.h"
#include "workspace/program_control.h"

bool program_dialog_refuses(const struct program_dialog *shown, struct ui *ui, const struct view *view, bool typing)
{
    if (view->mode == VIEW_REPLAY)
        ui_say(ui, LOOK_TEXT, "This is a recording: the program ran then, and nobody can type into it now.");
    else if (!session_program_running(view->session, shown->program))
        ui_say(ui, LOOK_TEXT, "The program has ended.");
    else if (typing && program_agent_works(view))
        ui_say(ui, LOOK_TEXT, "The agent is at work: %s holds the turn at its next gate; then you can type.",
               keymap_key(ui_keymap(shown->dialog.ui), ACTION_PAUSE));
    else
        return false;
    return true;
}

/* An emptied line may still be in a paste. */
static void empty_line(struct input *line)
{
    bool pasting = line->pasting;
    input_remember(line);
    input_set(line, "");
    line->pasting = pasting;
}

void program_dialog_mask(struct program_dialog *shown, const struct view *view)
{
    struct input *line = &shown->kept->line;
    bool hides = program_hides(view, shown->program);
    if (line->masked && !hides)
        empty_line(line);
    line->masked = hides;
}

static void say_ended(const struct program_dialog *shown, struct ui *ui)
{
    ui_say(ui, LOOK_WARN, "The program has ended%s.", shown->unsent ? ": what you were typing was not sent" : "");
}

bool program_dialog_leave(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    if (shown->typing != TYPING_INPUT || session_program_running(view->session, shown->program))
        return false;
    shown->unsent = shown->kept->line.text.len > 0;
    empty_line(&shown->kept->line);
    shown->typing = TYPING_NOT;
    shown->left = true;
    shown->left_us = ui_now_us(ui);
    say_ended(shown, ui);
    return true;
}

bool program_dialog_too_late(struct program_dialog *shown, struct ui *ui, const struct key *key)
{
    bool text = key->code && !key->ctrl && !key->alt && (key->code < KEYSYM_BASE || key->code == KEYSYM_ENTER);
    shown->left = shown->left && ui_too_new(ui, shown->left_us);
    if (!shown->left || !text)
        return false;
    say_ended(shown, ui);
    return true;
}

static bool send(struct program_dialog *shown, struct ui *ui, const struct view *view, const char *text)
{
    struct intent intent = {.type = INTENT_PROGRAM_INPUT, .program_input = {program_dialog_name(shown, view), text}};
    shown->dialog.list.follow = true;
    return ui_submit(ui, &intent);
}

static bool send_line(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    struct input *line = &shown->kept->line;
    CLEANUP(free) char *text = xasprintf("%s\n", line->text.buf ? line->text.buf : "");
    if (!send(shown, ui, view, text))
        return false; /* what was typed is still there */
    empty_line(line);
    return true;
}

static void end_input(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    if (!send(shown, ui, view, PROGRAM_INPUT_END) || view->session->programs[shown->program].tty)
        return;
    shown->typing = TYPING_NOT;
    ui_say(ui, LOOK_TEXT, "Its input has ended.");
}

void program_dialog_send_interrupt(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    bool typing = shown->typing == TYPING_INPUT;
    if (!view->session->programs[shown->program].tty) {
        ui_say(ui, LOOK_TEXT, "It has no terminal to be interrupted from; %s%s ends it.",
               typing ? "Esc closes the line, " : "", keymap_key(ui_keymap(shown->dialog.ui), ACTION_PROGRAM_END));
        return;
    }
    if (!send(shown, ui, view, "\x03"))
        return;
    if (typing) /* a terminal forgets the line as well */
        empty_line(&shown->kept->line);
    ui_say(ui, LOOK_TEXT, "Ctrl-C was typed.");
}

/* True when the key was a line's end in a paste, and the line was sent. */
static bool pasted_line(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key)
{
    struct input *line = &shown->kept->line;
    if (key->code == KEYSYM_PASTE_BEGIN)
        shown->unsent = false;
    if (!line->pasting || key->code != KEYSYM_ENTER || key->ctrl || key->alt || shown->unsent)
        return false;
    shown->unsent = !send_line(shown, ui, view);
    return !shown->unsent;
}

void program_dialog_type(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key)
{
    struct input *line = &shown->kept->line;
    if (!line->pasting && !line->text.len && key->ctrl && key->code == 'd') {
        end_input(shown, ui, view);
        return;
    }
    if (pasted_line(shown, ui, view, key))
        return;
    switch (input_key(line, key)) {
    case INPUT_DONE:
        send_line(shown, ui, view);
        break;
    case INPUT_CLOSED:
        shown->typing = TYPING_NOT;
        break;
    case INPUT_CHANGED:
    case INPUT_IGNORED:
        break;
    }
}
