/* The `:` commands: one table with name, argument, help, handler and completion of each command. */

#include "command.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "open_list.h"
#include "turn/budget.h"
#include "turn/undo.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int command_fn(struct ui *ui, const struct view *view, const char *argument, struct err *err);

static int submit(struct ui *ui, const struct intent *intent, struct err *err)
{
    struct ui_host *host = ui_get_host(ui);
    return host->engine ? engine_submit(host->engine, intent, err) : host->submit(host, intent, err);
}

static int replay(struct ui *ui, enum action action, const char *argument, struct err *err)
{
    struct ui_host *host = ui_get_host(ui);
    return host->replay(host, action, argument, err);
}

/* ---- the commands ---- */

static int do_theme(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)view;
    struct theme theme;
    if (theme_load(&theme, argument, err))
        return -1;
    ui_set_theme(ui, argument);
    return 0;
}

static int do_break(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    if (submit(ui, &(struct intent){.type = INTENT_BREAK, .breakpoint = {argument}}, err))
        return -1;
    if (view_breaks_on_nothing(view, argument))
        ui_message(ui, LOOK_WARN, "Breakpoint: %s, but no tool has that name (:breaks removes it).", argument);
    else
        ui_message(ui, LOOK_TEXT, "Breakpoint: %s", argument);
    return 0;
}

static int do_unbreak(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    char *end;
    long number = strtol(argument, &end, 10);
    int id = *end || number > 1000000 ? 0 : (int)number;
    for (size_t i = 0; id <= 0 && view->gates && i < view->gates->count; i++)
        if (strcmp(view->gates->breaks[i].text, argument) == 0)
            id = view->gates->breaks[i].id;
    if (id <= 0)
        return err_set(err, "unknown breakpoint \"%.60s\" (:breaks lists them)", argument);
    return submit(ui, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {id}}, err);
}

static int do_breaks(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)argument;
    if (view->mode == VIEW_REPLAY)
        return err_set(err, "a recording runs nothing, so it has no breakpoints");
    ui_open_dialog(ui, dialog_list_new(&dialog_breaks));
    return 0;
}

/* "steps=12": raises the limit to 12. "steps": adds the limit of the turn's start once more. */
static int do_budget(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    const char *equals = strchr(argument, '=');
    CLEANUP(free) char *name = xmemdup0(argument, equals ? (size_t)(equals - argument) : strlen(argument));
    bool seconds = strcmp(name, "wall_s") == 0;
    int key = seconds ? BUDGET_WALL_MS : budget_key_from_name(name);
    if (key < 0) {
        struct nearest near = nearest_to(name);
        for (int i = 0; i < BUDGET_KEY_COUNT; i++)
            nearest_offer(&near, budget_key_name((enum budget_key)i));
        nearest_offer(&near, "wall_s");
        return near.best ? err_set(err, "unknown limit \"%.40s\" (did you mean %s?)", name, near.best)
                         : err_set(err, "unknown limit \"%.40s\"", name);
    }
    double limit = view->session->budget.limit[key], value = 0;
    if (equals) {
        char *end;
        value = strtod(equals + 1, &end) * (seconds ? 1000 : 1);
        if (end == equals + 1 || *end)
            return err_set(err, "\"%.40s\" is no number", equals + 1);
        if (!(limit > 0) || !(value > limit))
            return err_set(err, "the limit of %s is %g; it can only be raised", name,
                           limit > 0 ? limit / (seconds ? 1000 : 1) : 0.0);
    }
    if (submit(ui, &(struct intent){.type = INTENT_EXTEND, .extend = {(enum budget_key)key, 1, value}}, err))
        return -1;
    ui_message(ui, LOOK_TEXT, "Raised the limit of %s.", name);
    return 0;
}

static int do_goto(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    if (view->mode != VIEW_REPLAY)
        return err_set(err, "only a recording has positions; this turn is live");
    CLEANUP(free) char *where = xasprintf("goto %s", argument);
    return replay(ui, ACTION_COMMAND, where, err);
}

static int do_speed(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    if (view->mode != VIEW_REPLAY)
        return err_set(err, "only a recording has a speed");
    CLEANUP(free) char *what = xasprintf("speed %s", argument);
    return replay(ui, ACTION_COMMAND, what, err);
}

static int do_open(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)view;
    struct ui_host *host = ui_get_host(ui);
    return host->open(host, argument, err);
}

static int do_fork(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    if (view->mode != VIEW_REPLAY)
        return err_set(err, "cannot fork a live session; only recordings fork");
    return replay(ui, ACTION_FORK, *argument ? argument : NULL, err);
}

static int restore(struct ui *ui, const struct view *view, const char *argument, bool redo, struct err *err)
{
    if (view->mode == VIEW_REPLAY)
        return err_set(err, "a recording changes no files (F forks a live session from here)");
    uint32_t row = undo_find(view->session, *argument ? argument : NULL, redo, err);
    if (row == SESSION_NONE)
        return -1;
    ui_ask_restore(ui, view, row, redo);
    return 0;
}

static int do_undo(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    return restore(ui, view, argument, false, err);
}

static int do_redo(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    return restore(ui, view, argument, true, err);
}

static int do_filter(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    return ui_filter(ui, view, argument) ? 0 : err_set(err, "this pane has no rows to filter (/ searches it)");
}

static int do_save(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)view;
    CLEANUP(free) char *what = xasprintf("save %s", argument);
    if (replay(ui, ACTION_COMMAND, what, err))
        return -1;
    ui_message(ui, LOOK_TEXT, "Saved: %s", argument);
    return 0;
}

static int do_gate(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)argument;
    if (!view->held)
        return err_set(err, "the turn is not paused");
    ui_open_dialog(ui, dialog_gate_new());
    return 0;
}

static int do_divergences(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)argument;
    if (!view->divergences)
        return err_set(err, "this run is not compared with a recording (keyturn replay --execute FILE does that)");
    ui_open_dialog(ui, dialog_list_new(&dialog_divergences));
    return 0;
}

static int do_permissions(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)view, (void)argument, (void)err;
    ui_open_dialog(ui, dialog_list_new(&dialog_permissions));
    return 0;
}

/* ":program p2", or without an argument the most relevant program. */
static int do_program(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    uint32_t program = SESSION_NONE;
    if (*argument && (program = session_find_program(view->session, argument)) == SESSION_NONE)
        return err_set(err, "unknown program \"%.40s\"", argument);
    ui_show_program(ui, view, program);
    return 0;
}

static int do_serial(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    bool on = strcmp(argument, "off") != 0;
    (void)view;
    if (*argument && on && strcmp(argument, "on") != 0)
        return err_set(err, "serial takes on or off");
    return submit(ui, &(struct intent){.type = INTENT_SERIAL, .serial = {on}}, err);
}

static int do_model(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    if (view->mode == VIEW_REPLAY)
        return err_set(err, "a recording sends no requests (F forks a live session from here)");
    if (!*argument) {
        ui_open_dialog(ui, dialog_list_new(&dialog_models));
        return 0;
    }
    if (submit(ui, &(struct intent){.type = INTENT_MODEL, .model = {argument}}, err))
        return -1;
    ui_message(ui, LOOK_TEXT, "Next request goes to %s.", argument);
    return 0;
}

static int do_name(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    if (view->mode == VIEW_REPLAY)
        return err_set(err, "a recording is read only; resume or fork it to name it");
    if (submit(ui, &(struct intent){.type = INTENT_NAME, .naming = {argument}}, err))
        return -1;
    ui_message(ui, LOOK_TEXT, "Named: %s. keyturn resume finds it by this name.", argument);
    return 0;
}

static int do_cancel(struct ui *ui, const struct view *view, const char *argument, struct err *err)
{
    (void)view, (void)argument;
    return submit(ui, &(struct intent){.type = INTENT_CANCEL}, err);
}

/* Completion of arguments: each function adds all possible values. */

struct words {
    char **items;
    size_t count, room;
};

static void add_word(struct words *words, const char *text)
{
    GROW(words->items, words->count, words->room);
    words->items[words->count++] = xstrdup(text);
}

static void words_cleanup(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
}

static void theme_words(struct words *words, const struct view *view)
{
    char **names = theme_names();
    (void)view;
    for (size_t i = 0; names[i]; i++) {
        add_word(words, names[i]);
        free(names[i]);
    }
    free(names);
}

static void break_words(struct words *words, const struct view *view)
{
    static const char *const fixed[] = {"effect=",      "path=",         "outcome=",   "budget=80%", "gate=model",
                                        "gate=answer",  "gate=wave",     "gate=tool",  "gate=write", "gate=result",
                                        "gate=reflect", "gate=finalize", "gate=budget"};
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        add_word(words, fixed[i]);
    struct event_tool_info_list tools = view_tools(view);
    if (!tools.count)
        add_word(words, "tool=");
    for (size_t i = 0; i < tools.count; i++) {
        CLEANUP(free) char *spec = xasprintf("tool=%s", tools.items[i].name ? tools.items[i].name : "");
        add_word(words, spec);
    }
}

static void unbreak_words(struct words *words, const struct view *view)
{
    for (size_t i = 0; view->gates && i < view->gates->count; i++)
        add_word(words, view->gates->breaks[i].text);
}

static void budget_words(struct words *words, const struct view *view)
{
    (void)view;
    for (int key = 0; key < BUDGET_KEY_COUNT; key++) {
        CLEANUP(free)
        char *word = xasprintf("%s=", key == BUDGET_WALL_MS ? "wall_s" : budget_key_name((enum budget_key)key));
        add_word(words, word);
    }
}

static void open_words(struct words *words, const struct view *view)
{
    struct open_list list;
    (void)view;
    open_list_load(&list, NULL, 0);
    for (size_t i = 0; i < list.count; i++)
        add_word(words, list.items[i].name);
    open_list_release(&list);
}

static void program_words(struct words *words, const struct view *view)
{
    for (uint32_t row = 0; row < view->session->program_count; row++)
        if (session_find_program(view->session, session_name(view->session, view->session->programs[row].id)) == row)
            add_word(words, session_name(view->session, view->session->programs[row].id));
}

static void model_words(struct words *words, const struct view *view)
{
    for (size_t i = 0; i < view->model_count; i++)
        add_word(words, view->models[i].name);
}

/* The numbers of calls whose writes can be undone or redone, newest first, then their paths. */
static void write_words(struct words *words, const struct view *view, bool redo)
{
    const struct session *session = view->session;
    for (int paths = 0; paths <= 1; paths++)
        for (uint32_t row = session->ask_count; row-- > 0;) {
            const struct session_question *ask = &session->asks[row];
            if (ask->call == SESSION_NONE || !undo_possible(ask, redo))
                continue;
            CLEANUP(free) char *word = paths ? xstrdup(ask->paths) : xasprintf("#%u", ask->call + 1);
            if (!paths || ask->files == 1)
                add_word(words, word);
        }
}

static void undo_words(struct words *words, const struct view *view)
{
    write_words(words, view, false);
}

static void redo_words(struct words *words, const struct view *view)
{
    write_words(words, view, true);
}

static void switch_words(struct words *words, const struct view *view)
{
    (void)view;
    add_word(words, "on");
    add_word(words, "off");
}

static const struct command {
    const char *name, *argument, *help;
    bool needs;      /* the argument is required */
    command_fn *run; /* NULL: the command runs the action of the same name */
    void (*words)(struct words *words, const struct view *view);
} command_table[] = {
    {"break", "SPEC", "pause at tool=NAME, effect=CLASS, path=GLOB, outcome=TYPE, budget=N%, gate=NAME", true, do_break,
     break_words},
    {"breaks", "", "list the breakpoints", false, do_breaks, NULL},
    {"budget", "KEY[=VALUE]", "raise a limit by its first value, or to VALUE", true, do_budget, budget_words},
    {"cancel", "", "cancel the turn", false, do_cancel, NULL},
    {"divergences", "", "list the divergences from the recording", false, do_divergences, NULL},
    {"filter", "[TEXT]", "filter rows by kind, call or text", false, do_filter, NULL},
    {"fork", "[PROMPT]", "continue live from here in a new session", false, do_fork, NULL},
    {"gate", "", "show the current stop", false, do_gate, NULL},
    {"goto", "SEQ or TIME", "go to an event of the recording (58) or a time (12.4s)", true, do_goto, NULL},
    {"help", "", "list all keys", false, NULL, NULL},
    {"model", "[NAME]", "switch models from the next request on", false, do_model, model_words},
    {"name", "TEXT", "name this session; lists and keyturn resume use the name", true, do_name, NULL},
    {"open", "FILE", "open a session, a recording or a fixture", true, do_open, open_words},
    {"permissions", "", "list allowed tools and paths", false, do_permissions, NULL},
    {"program", "[NAME]", "show a program's output and type into it", false, do_program, program_words},
    {"quit", "", "quit", false, NULL, NULL},
    {"redo", "[WRITE]", "redo the write that was undone last, or one: a call (#3), a path or cp_3", false, do_redo,
     redo_words},
    {"save", "FILE", "save a copy of the journal", true, do_save, NULL},
    {"serial", "[on|off]", "run calls one at a time", false, do_serial, switch_words},
    {"sessions", "", "list recent sessions and fixtures", false, NULL, NULL},
    {"speed", "X", "set the speed of the replay", true, do_speed, NULL},
    {"theme", "NAME", "switch to a theme", true, do_theme, theme_words},
    {"unbreak", "N or SPEC", "remove a breakpoint", true, do_unbreak, unbreak_words},
    {"undo", "[WRITE]", "undo the newest write that stands, or one: a call (#3), a path or cp_3", false, do_undo,
     undo_words},
};

/* "br tool=x" → the command and the start of its argument. An unambiguous prefix of a name is enough. */
static const struct command *find(const char *line, const char **argument)
{
    line += strspn(line, " ");
    size_t len = strcspn(line, " ");
    const struct command *found = NULL;
    size_t matches = 0;
    for (size_t i = 0; i < COUNT_OF(command_table); i++) {
        if (len && strncmp(command_table[i].name, line, len) == 0) {
            found = &command_table[i];
            matches++;
            if (strlen(found->name) == len) {
                matches = 1;
                break;
            }
        }
    }
    *argument = line + len + strspn(line + len, " ");
    return matches == 1 ? found : NULL;
}

int command_run(struct ui *ui, const struct view *view, const char *line, struct err *err)
{
    const char *argument;
    const struct command *command = find(line, &argument);
    line += strspn(line, " ");
    if (!*line)
        return 0;
    if (!command) {
        CLEANUP(free) char *name = xmemdup0(line, strcspn(line, " "));
        struct nearest near = nearest_to(name);
        for (size_t i = 0; i < COUNT_OF(command_table); i++)
            nearest_offer(&near, command_table[i].name);
        return near.best ? err_set(err, "unknown command \"%.40s\" (did you mean %s?)", name, near.best)
                         : err_set(err, "unknown command \"%.40s\" (Tab lists them)", name);
    }
    /* Trailing blanks are not part of the argument. */
    CLEANUP(free) char *text = xstrdup(argument);
    for (size_t len = strlen(text); len && text[len - 1] == ' '; len--)
        text[len - 1] = '\0';
    if (command->needs && !*text)
        return err_set(err, "%s needs %s: %s", command->name, command->argument, command->help);
    if (command->run)
        return command->run(ui, view, text, err);
    ui_act(ui, view, action_from_name(command->name));
    return 0;
}

bool command_complete(const struct view *view, const char *line, struct strbuf *completed, struct strbuf *offers)
{
    CLEANUP(words) struct words words = {0};
    const char *argument, *typed = line + strspn(line, " ");
    const struct command *command = find(line, &argument);
    bool in_argument = strchr(typed, ' ') != NULL;
    if (in_argument && command && command->words)
        command->words(&words, view);
    for (size_t i = 0; !in_argument && i < COUNT_OF(command_table); i++)
        add_word(&words, command_table[i].name);
    const char *begun = in_argument ? argument : typed, *first = NULL;
    size_t len = strlen(begun), common = 0, matches = 0;
    for (size_t i = 0; i < words.count; i++) {
        if (strncmp(words.items[i], begun, len) != 0)
            continue;
        if (!first) {
            first = words.items[i];
            common = strlen(first);
        }
        while (strncmp(words.items[i], first, common) != 0)
            common--;
        strbuf_addf(offers, "%s%s", matches++ ? "  " : "", words.items[i]);
    }
    strbuf_add(completed, line, (size_t)(begun - line));
    strbuf_add(completed, first ? first : begun, first ? common : len);
    if (matches == 1 && !in_argument)
        strbuf_addch(completed, ' ');
    if (matches == 1)
        strbuf_reset(offers);
    return first && strcmp(completed->buf, line) != 0;
}

const char *command_usage(const char *line)
{
    static char usage[200];
    const char *argument;
    const struct command *command = find(line, &argument);
    if (!command)
        return *line ? NULL : "break budget filter fork goto open quit save theme undo … : Tab completes";
    snprintf(usage, sizeof(usage), "%s %s  %s", command->name, command->argument, command->help);
    return usage;
}
