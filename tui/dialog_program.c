/* A program that goes on beyond its call, as its terminal would show it: what it printed, newest at the end, followed
 * until somebody scrolls. Several programs are tabs. Into one that runs a person can type while the turn is held or
 * over, and end it; a recording shows the same and can do neither. */

#include "dialog_program.h"
#include "base/mem.h"
#include "text.h"
#include "ui.h"
#include <string.h>

static const struct dialog_ops program_ops;

static void program_release(struct dialog *dialog)
{
    struct program_dialog *shown = program_of(dialog);
    program_text_release(&shown->text);
    input_release(&shown->search_line);
    strbuf_release(&shown->footer);
    free(shown->search);
    free(shown->ending);
}

bool program_dialog_empty(struct program_dialog *shown, const struct view *view)
{
    uint32_t count = view->session->program_count;
    if (count && shown->program >= count) /* there was none, or a recording went back before it began */
        shown->program = program_wanted(view, SESSION_NONE);
    if (count)
        shown->kept->shown = shown->program;
    return !count;
}

const char *program_dialog_name(const struct program_dialog *shown, const struct view *view)
{
    return session_name(view->session, view->session->programs[shown->program].id);
}

/* ---- searching ---- */

static void search(struct program_dialog *shown, struct ui *ui, bool back)
{
    if (!shown->search)
        return;
    if (termtext_search(&shown->text.text, shown->search, back, &shown->hit))
        list_show(&shown->dialog.list, shown->hit, shown->dialog.height);
    else
        ui_say(ui, LOOK_WARN, "\"%.60s\" is not here.", shown->search);
}

static void type_search(struct program_dialog *shown, struct ui *ui, const struct key *key)
{
    struct input *line = &shown->search_line;
    switch (input_key(line, key)) {
    case INPUT_DONE:
        input_remember(line);
        free(shown->search);
        shown->search = line->text.len ? xstrdup(line->text.buf) : NULL;
        shown->typing = TYPING_NOT;
        shown->hit = 0;
        search(shown, ui, true); /* what was printed last is wanted first */
        break;
    case INPUT_CLOSED:
        shown->typing = TYPING_NOT;
        break;
    case INPUT_CHANGED:
    case INPUT_IGNORED:
        break;
    }
}

/* ---- ending ---- */

static void kill_now(struct ui *ui, void *data)
{
    const struct program_dialog *shown = data; /* below the question all the time */
    if (ui_submit(ui, &(struct intent){.type = INTENT_PROGRAM_KILL, .program_kill = {shown->ending}}))
        ui_say(ui, LOOK_TEXT, "Program %.40s is told to end.", shown->ending);
}

static void ask_to_kill(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf question = STRBUF_INIT;
    strbuf_addf(&question, "End program %s and all it started? ", program_dialog_name(shown, view));
    text_show_cut(&question, program_command(view, shown->program, &arena),
                  strlen(program_command(view, shown->program, &arena)), 100);
    free(shown->ending);
    shown->ending = xstrdup(program_dialog_name(shown, view));
    ui_open_dialog(ui, dialog_confirm_new(question.buf, kill_now, shown));
}

/* ---- keys ---- */

static void copy(struct program_dialog *shown, struct ui *ui)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
    const struct termtext_line *line;
    for (size_t i = 0; (line = termtext_line(&shown->text.text, i)); i++) {
        strbuf_add(&text, line->text, line->len);
        strbuf_addch(&text, '\n');
    }
    ui_get_host(ui)->copy(ui_get_host(ui), text.buf ? text.buf : "", text.len);
    text_bytes(&size, text.len);
    ui_say(ui, LOOK_GOOD, "Copied what it printed, %s.", size.buf);
}

/* The line is the shown program's: what was meant for another one is found among what was typed before. */
static void begin(struct program_dialog *shown, uint32_t program)
{
    shown->program = program;
    list_init(&shown->dialog.list, true);
    shown->hit = 0;
    if (shown->kept->shown != program) {
        input_remember(&shown->kept->line);
        input_set(&shown->kept->line, "");
    }
}

static void show(struct program_dialog *shown, uint32_t program)
{
    if (program != shown->program)
        begin(shown, program);
}

/* In a recording time goes on by the keys that have no other meaning here. */
static bool plays(struct ui *ui, const struct view *view, const struct key *key)
{
    enum action action = view->mode == VIEW_REPLAY ? keymap_find(ui_keymap(ui), IN_REPLAY, key) : ACTION_NONE;
    if (action != ACTION_PLAY && action != ACTION_STEP_NEXT && action != ACTION_STEP_PREVIOUS &&
        action != ACTION_FASTER && action != ACTION_SLOWER)
        return false;
    ui_replay(ui, action, NULL);
    return true;
}

/* A key while a line is open. False: the key is not for the line. */
static bool typed(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key,
                  enum action action)
{
    bool types = shown->typing == TYPING_INPUT, pasting = types && shown->kept->line.pasting;
    if (action == ACTION_SUSPEND || action == ACTION_REDRAW || (action == ACTION_CANCEL && !types))
        return false;
    if (types && !pasting && (action == ACTION_CANCEL || (key->ctrl && key->code == 'c')))
        program_dialog_send_interrupt(shown, ui, view); /* of a program that is typed into, never of the turn */
    else if (!pasting && dialog_pages(&shown->dialog, key, action))
        return true;
    else if (types)
        program_dialog_type(shown, ui, view, key);
    else
        type_search(shown, ui, key);
    return true;
}

/* The line of a paste may be gone before its end: no character of the rest is a key. */
static bool rest_of_paste(struct program_dialog *shown, const struct key *key)
{
    struct input *line = &shown->kept->line;
    bool rest = line->pasting;
    if (key->code == KEYSYM_PASTE_END)
        line->pasting = false;
    return rest;
}

static struct program_dialog *shown_program(struct ui *ui)
{
    struct dialog *dialog = ui_top_dialog(ui);
    return dialog && dialog->ops == &program_ops ? program_of(dialog) : NULL;
}

void dialog_program_interrupt(struct ui *ui, const struct view *view, enum action action)
{
    struct program_dialog *shown = shown_program(ui);
    (void)action;
    if (shown && !program_dialog_refuses(shown, ui, view, true))
        program_dialog_send_interrupt(shown, ui, view);
}

void dialog_program_end(struct ui *ui, const struct view *view, enum action action)
{
    struct program_dialog *shown = shown_program(ui);
    (void)action;
    if (shown && !program_dialog_refuses(shown, ui, view, false))
        ask_to_kill(shown, ui, view);
}

/* True when the key is one for the program itself. */
static bool for_program(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    enum action own = keymap_find(ui_keymap(shown->dialog.ui), IN_PROGRAM, key);
    bool acts = key->code && (action_contexts(own) & IN_PROGRAM);
    bool types = key->code && !acts && action == ACTION_PROMPT;
    if (acts)
        ui_act(ui, view, own);
    else if (types && !program_dialog_refuses(shown, ui, view, true))
        shown->typing = TYPING_INPUT;
    return acts || types;
}

static bool program_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    struct program_dialog *shown = program_of(dialog);
    if (program_dialog_empty(shown, view))
        return false;
    program_dialog_mask(shown, view);
    if (program_dialog_leave(shown, ui, view) && !shown->kept->line.pasting)
        return true; /* it was pressed before anybody could see that */
    if (shown->typing != TYPING_NOT && key->code)
        return typed(shown, ui, view, key, action);
    if (rest_of_paste(shown, key) || program_dialog_too_late(shown, ui, key) ||
        for_program(shown, ui, view, key, action))
        return true;
    uint32_t count = view->session->program_count, call = view->session->programs[shown->program].call;
    switch (action) {
    case ACTION_PANE_NEXT:
        show(shown, (shown->program + 1) % count);
        return true;
    case ACTION_PANE_PREVIOUS:
        show(shown, (shown->program + count - 1) % count);
        return true;
    case ACTION_SEARCH:
        input_set(&shown->search_line, "");
        shown->typing = TYPING_SEARCH;
        return true;
    case ACTION_SEARCH_NEXT:
    case ACTION_SEARCH_PREVIOUS:
        search(shown, ui, action == ACTION_SEARCH_PREVIOUS);
        return true;
    case ACTION_COPY:
        copy(shown, ui);
        return true;
    case ACTION_HELP:
        ui_open_dialog(ui, dialog_help_new(ui_contexts(ui, view) | IN_PROGRAM));
        return true;
    case ACTION_INSPECT:
        if (call != SESSION_NONE)
            ui_open_dialog(ui,
                           dialog_inspect_new(
                               view, (struct selection){SELECT_CALL, view->session->calls[call].responded_seq, call}));
        return true;
    case ACTION_PROGRAM: /* the key that opened it closes it */
        ui_close_dialog(ui);
        return true;
    default:
        return plays(ui, view, key) || ui_step_key(ui, view, key) || list_scroll(&dialog->list, action, dialog->height);
    }
}

static const struct dialog_ops program_ops = {
    .name = "program",
    .size = sizeof(struct program_dialog),
    .release = program_release,
    .place = program_dialog_place,
    .paint = program_dialog_paint,
    .key = program_key,
    .title_of = program_dialog_title,
    .footer_of = program_dialog_footer,
};

struct dialog *dialog_program_new(uint32_t program, struct program_kept *kept)
{
    struct program_dialog *shown = (struct program_dialog *)dialog_alloc(&program_ops);
    shown->kept = kept;
    program_text_init(&shown->text);
    strbuf_init(&shown->footer);
    input_init(&shown->search_line, false);
    begin(shown, program);
    return &shown->dialog;
}
