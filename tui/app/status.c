/* Paints the first and the last line of the screen, and the timeline bar. The first line shows what the session is
 * waiting for. The last line shows what the keys do now, in specific words ("approve 1 of 2 hunks"). On a narrow screen
 * whole pieces are left out: the model, the engine, the last keys. What the session waits for and the help key are
 * never left out. */

#include "status.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "config/config.h"
#include "dialogs/dialog.h"
#include "dialogs/inspect_docs.h"
#include "event/words.h"
#include "player.h"
#include "screen/text.h"
#include "tools/change.h"
#include "turn/divergence.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDE             100 /* columns from which all pieces fit */
#define RUNNING_SHOWN    3
#define LEFT_LEAST       8 /* least columns for the title */
#define PATH_LEAST       8
#define FOOTER_GAP(rect) ((rect).cols >= WIDE ? 3 : 2)
#define LEGEND           "● step  ▲ write  ✗ error  ‖ paused  ┤├ here"

static int columns_of(const char *text)
{
    return (int)utf8_columns(text, strlen(text));
}

/* ---- the first line ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "12.4 s", "2 min 03 s": the elapsed time of the newest turn. Waiting at a gate or a question does not count. */
static void add_elapsed(struct strbuf *out, const struct view *view)
{
    const struct session_turn *turn = session_turn(view->session);
    if (!turn)
        return;
    /* In doubles, because the times of a recording may have any value. */
    double us =
        (double)(turn->finished_seq ? turn->finished_t : view->now_t) - (double)turn->started_t - (double)turn->held_us;
    if (view->session->held_seq && !turn->finished_seq)
        us -= (double)view->now_t - (double)view->session->held_t;
    int64_t ms = us > 0 && us < 1e17 ? (int64_t)(us / 1000) : 0;
    if (turn->elapsed_ms > 0)
        ms = turn->elapsed_ms; /* the turn's own clock is more precise than the times of its events */
    if (ms < 1000)
        strbuf_addf(out, "%.1f s", (double)ms / 1000);
    else
        text_ms(out, ms);
}

/* The model whose name is shown. A replayed model is shown as replayed, not by its name, unless it replaced another
 * model. */
static uint32_t model_shown(const struct session *session)
{
    bool played = strcmp(session_name(session, session->provider), CONFIG_SCRIPTED) == 0;
    return played && !session->counts[EVENT_MODEL_CHANGED] ? session->provider : session->model;
}

static void add_left(struct strbuf *out, const struct view *view, bool wide)
{
    const struct session *session = view->session;
    const struct session_turn *turn = session_turn(session);
    const char *title = view->title && *view->title ? view->title : session_name(session, session->workspace);
    if (view->mode == VIEW_REPLAY) {
        strbuf_addf(out, "replay %s%s", wide ? title : base_name(title), " · read only");
        return;
    }
    strbuf_addf(out, "%s%s", view->mode == VIEW_EXECUTE ? "re-run " : "", base_name(title));
    if (turn)
        strbuf_addf(out, " · turn %u", turn->number);
    if (wide && *session_name(session, session->model))
        strbuf_addf(out, " · %s", session_name(session, model_shown(session)));
    if (view->mode == VIEW_EXECUTE && view->divergences) {
        strbuf_addstr(out, " · ");
        text_plural(out, (int64_t)divergences_count(view->divergences), "divergence", "divergences");
    }
}

/* The questions that wait, with the one that is shown. */
static size_t open_questions(const struct session *session)
{
    size_t open = 0;
    for (uint32_t row = session->open_question; row < session->ask_count; row++) {
        const struct session_question *ask = &session->asks[row];
        open += !ask->decision && (ask->call == SESSION_NONE || !session->calls[ask->call].finished_seq);
    }
    return open;
}

/* If the question is too long, it gets shorter words. Then the path is cut, but the file name stays. */
static void add_question(struct strbuf *out, const struct view *view, const struct canvas *canvas, bool fresh, int room)
{
    const struct question *question = view_question(view);
    const struct change_set *changes = question->changes;
    const char *path = changes->count ? changes->items[0].path : "";
    size_t open = open_questions(view->session);
    CLEANUP(strbuf) struct strbuf rest = STRBUF_INIT;
    if (changes->count > 1)
        strbuf_addf(&rest, " and %zu more", changes->count - 1);
    if (open > 1)
        strbuf_addf(&rest, " (1 of %zu)", open);
    int wants = canvas_str_columns(canvas, path, strlen(path)) + 1 + columns_of(rest.buf);
    strbuf_addf(out, "? %s%s: %s",
                question->no_undo ? "no undo, "
                : question->again ? "changed, "
                                  : "",
                fresh ? "new" : "waiting for approval", question->tool);
    if (columns_of(out->buf) + wants > room) {
        strbuf_reset(out);
        strbuf_addf(out, "? %s: %s", fresh ? "new" : "waiting", question->tool);
    }
    if (!*path)
        return;
    int left = room - columns_of(out->buf) - 1 - columns_of(rest.buf);
    strbuf_addch(out, ' ');
    paragraph_path(out, canvas, path, left > PATH_LEAST ? left : PATH_LEAST);
    strbuf_addstr(out, rest.buf);
}

static void add_held(struct strbuf *out, const struct view *view, bool wide)
{
    const struct session_turn *turn = session_turn(view->session);
    strbuf_addstr(out, "‖ paused ");
    words_gate(out, view->session, gate_name(view->gate.gate), view->gate.call, turn ? turn->number : 0);
    if (view->gate.limit >= 0 && view->gate.gate == GATE_BUDGET) {
        strbuf_addstr(out, " of ");
        words_limit(out, budget_key_name((enum budget_key)view->gate.limit),
                    view->session->budget.limit[view->gate.limit]);
        if (view->gate.call) {
            strbuf_addstr(out, ", ");
            words_gate(out, view->session, gate_name(GATE_TOOL), view->gate.call, turn ? turn->number : 0);
        }
    } else if (wide && view->gate.why && *view->gate.why) {
        strbuf_addf(out, " (%s)", view->gate.why);
    }
}

static bool add_running(struct strbuf *out, const struct session *session)
{
    const struct session_turn *turn = session_turn(session);
    size_t running = 0;
    /* Running calls are among the newest; older ones have ended. */
    for (uint32_t i = turn->call_count; i > 0 && turn->call_count - i < 64; i--) {
        const struct session_call *call = &session->calls[turn->first_call + i - 1];
        if (call->state != CALL_RUNNING)
            continue;
        if (running < RUNNING_SHOWN)
            strbuf_addf(out, "%s%s", running ? ", " : "running ", session_name(session, call->tool));
        running++;
    }
    if (running > RUNNING_SHOWN)
        strbuf_addf(out, " and %zu more", running - RUNNING_SHOWN);
    return running > 0;
}

/* The countdown ends at 1: at 0 the request is sent again. */
static void add_failed(struct strbuf *out, const struct view *view)
{
    double left_us = (double)view->session->model_retry_t - (double)view->now_t;
    if (view->session->model_retry_t && left_us > 0)
        strbuf_addf(out, "model failed, retry in %.0f s", ceil(left_us / 1e6));
    else
        strbuf_addstr(out, "model failed, retrying");
}

static bool ended_at_limit(const struct session *session)
{
    const struct session_turn *turn = session_turn(session);
    return turn && strcmp(session_name(session, turn->status), "budget") == 0;
}

static void add_live(struct strbuf *out, const struct view *view)
{
    const struct session *session = view->session;
    const struct session_turn *turn = session_turn(session);
    const struct session_step *step =
        turn && turn->step_count ? &session->steps[turn->first_step + turn->step_count - 1] : NULL;
    if (session->ended_seq)
        strbuf_addstr(out, "ended");
    else if (!turn)
        strbuf_addstr(out, "waiting for your prompt");
    else if (turn->finished_seq)
        strbuf_addf(out, "%s · waiting for your prompt",
                    ended_at_limit(session) ? "stopped at a limit"
                                            : words_turn_status(session_name(session, turn->status)));
    else if (session->last_model_failure_seq)
        add_failed(out, view);
    else if (add_running(out, session))
        return;
    else if (step && step->requested_seq && !step->responded_seq)
        strbuf_addstr(out, session->partial_text.len       ? "model answering"
                           : session->partial_thinking.len ? "model thinking"
                                                           : "waiting for the model");
    else
        strbuf_addstr(out, "working");
}

static enum look add_middle(struct strbuf *out, const struct view *view, const struct canvas *canvas, bool fresh,
                            bool wide, int room)
{
    if (view->mode == VIEW_REPLAY) {
        strbuf_addf(out, "%s %gx", view->playing ? "▶" : "‖ paused", view->speed > 0 ? view->speed : 1.0);
        return LOOK_STATUS_MODE;
    }
    if (view_question(view)) {
        add_question(out, view, canvas, fresh, room);
        return LOOK_STATUS_WAIT;
    }
    if (view->held) {
        add_held(out, view, wide);
        return LOOK_STATUS_WAIT;
    }
    add_live(out, view);
    return session_turn_running(view->session) ? LOOK_STATUS_MODE : LOOK_STATUS_WAIT;
}

static void add_right(struct strbuf *out, const struct view *view, bool wide)
{
    const struct session *session = view->session;
    const char *engine = session_name(session, session->engine);
    if (view->mode == VIEW_REPLAY) {
        strbuf_addf(out, "%s%zu of %zu · %.3f s", wide ? "event " : "", view->position, view->count,
                    (double)view->now_t / 1e6);
        return;
    }
    if (wide && view->gates && view->gates->serial)
        strbuf_addstr(out, "serial   ");
    const char *programs = view->program_engine;
    if (wide && *engine && strcmp(engine, "none") != 0)
        strbuf_addf(out, "%s%s%s", programs ? "scripts " : "", engine, programs ? " · " : "   ");
    /* Programs without isolation are shown at any width. */
    if (programs && (wide || view->program_unsafe)) {
        sandbox_view_programs(out, programs, view->program_unsafe);
        strbuf_addstr(out, "   ");
    }
    add_elapsed(out, view);
}

/* "p1 waits for input", "2 programs run". Nothing for a recording, because the user cannot act on it. */
static enum look add_programs(struct strbuf *out, const struct view *view)
{
    const struct session *session = view->session;
    uint32_t run = 0, wait = 0, waits = 0;
    for (uint32_t row = 0; view->mode != VIEW_REPLAY && row < session->program_count; row++) {
        bool running = session_program_running(session, row);
        run += running;
        if (!running || !session->programs[row].asks)
            continue;
        wait++;
        waits = row;
    }
    if (wait == 1)
        strbuf_addf(out, "%.20s waits for input", session_name(session, session->programs[waits].id));
    else if (wait)
        strbuf_addf(out, "%u programs wait for input", wait);
    else if (run)
        strbuf_addf(out, run == 1 ? "1 program running" : "%u programs running", run);
    return wait ? LOOK_STATUS_WAIT : LOOK_STATUS;
}

/* Paints the programs to the left of the right part, if no other piece needs the room. Returns the columns used. */
static int paint_programs(struct canvas *canvas, struct rect rect, const struct view *view, int from, int end)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    enum look look = add_programs(&words, view);
    int wants = columns_of(words.buf) + 3;
    if (!words.len || from + wants > end)
        return 0;
    canvas_right(canvas, rect, 0, rect.cols - end + 3, look, words.buf);
    return wants;
}

void statusline_top(struct canvas *canvas, struct rect rect, const struct view *view, bool fresh)
{
    CLEANUP(strbuf) struct strbuf left = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf middle = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf right = STRBUF_INIT;
    bool wide = rect.cols >= WIDE;
    if (rect.rows < 1)
        return;
    canvas_fill(canvas, rect, LOOK_STATUS);
    add_left(&left, view, wide);
    add_right(&right, view, wide);
    int end = rect.cols - 1 - columns_of(right.buf);
    int at = 1 + canvas_str(canvas, rect, 0, 1, LOOK_STATUS_MODE, "keyturn") + 2;
    enum look look = add_middle(&middle, view, canvas, fresh, wide, end - 1 - (at + LEFT_LEAST + 3));
    /* What the session waits for has priority over the title. */
    int want = columns_of(middle.buf);
    end -= paint_programs(canvas, rect, view, at + columns_of(left.buf) + 3 + want + 1, end);
    int spare = end - 4 - want;
    struct rect first = rect_make(rect.row, rect.col, 1, spare > at + LEFT_LEAST ? spare : at + LEFT_LEAST);
    at += canvas_str(canvas, first, 0, at, LOOK_STATUS, left.buf);
    if (at > first.cols)
        at = first.cols;
    int from = at + 3;
    if (end - want - from > 8)
        from += (end - want - from) / 2;
    struct rect second = rect_make(rect.row, rect.col, 1, end > 1 ? end - 1 : 1);
    canvas_str(canvas, second, 0, from, look, middle.buf);
    if (from + want > second.cols)
        canvas_put_sign(canvas, second, 0, second.cols - 1, look, SIGN_MORE);
    canvas_right(canvas, rect, 0, 1, LOOK_STATUS, right.buf);
}

/* ---- the last line ---- */

struct footer {
    struct canvas *canvas;
    struct rect rect;
    int at, end;
};

static void paint_entry(struct footer *footer, const char *keys, const char *words)
{
    int gap = FOOTER_GAP(footer->rect);
    int width = columns_of(keys) + 1 + columns_of(words);
    if (!*keys || footer->at + width > footer->end)
        return;
    footer->at += canvas_str(footer->canvas, footer->rect, 0, footer->at, LOOK_FOOTER_KEY, keys) + 1;
    footer->at += canvas_str(footer->canvas, footer->rect, 0, footer->at, LOOK_FOOTER, words) + gap;
}

/* "Enter find   Esc close": entries separated by two or more spaces. The first word of each is its key. */
static void paint_words(struct footer *footer, const char *words)
{
    /* The last entry says how to leave, so its room is reserved. */
    const char *last = words;
    for (const char *gap = words; (gap = strstr(gap, "  ")); last = gap)
        gap += strspn(gap, " ");
    while (*words) {
        words += strspn(words, " ");
        footer->end = footer->rect.cols - (words < last ? columns_of(last) + FOOTER_GAP(footer->rect) : 0);
        const char *end = strstr(words, "  ");
        size_t len = end ? (size_t)(end - words) : strlen(words), key = strcspn(words, " ");
        if (key >= len) {
            CLEANUP(free) char *all = xmemdup0(words, len);
            if (len)
                footer->at += canvas_str(footer->canvas, footer->rect, 0, footer->at, LOOK_FOOTER, all) + 3;
        } else {
            CLEANUP(free) char *keys = xmemdup0(words, key);
            CLEANUP(free) char *rest = xmemdup0(words + key + 1, len - key - 1);
            paint_entry(footer, keys, rest);
        }
        words += len;
    }
}

struct status_entry {
    enum action action, second; /* a pair of keys shares its words: "] [ hunk" */
    const char *words;          /* NULL: the words of the action */
};

static void paint_action(struct footer *footer, const struct keymap *keymap, const struct status_entry *entry)
{
    CLEANUP(strbuf) struct strbuf keys = STRBUF_INIT;
    strbuf_addstr(&keys, keymap_key(keymap, entry->action));
    if (entry->second && *keymap_key(keymap, entry->second))
        strbuf_addf(&keys, " %s", keymap_key(keymap, entry->second));
    paint_entry(footer, keys.buf, entry->words ? entry->words : action_short(entry->action));
}

static const char *approve_words(char out[64], const struct write_choice *choice)
{
    if (choice && choice->unseen) {
        snprintf(out, 64, "show %zu more row%s", choice->unseen, choice->unseen == 1 ? "" : "s");
        return out;
    }
    if (choice && choice->no_undo && (choice->kept || !choice->hunks))
        return "approve without undo";
    if (!choice || !choice->hunks)
        return "approve";
    if (choice->edited)
        return "approve your version";
    if (!choice->kept)
        return "(all hunks discarded)";
    if (choice->kept == choice->hunks)
        snprintf(out, 64, choice->hunks == 1 ? "approve 1 hunk" : "approve all %zu hunks", choice->hunks);
    else
        snprintf(out, 64, "approve %zu of %zu hunks", choice->kept, choice->hunks);
    return out;
}

/* Without hunks no key selects hunks, and without a diff no key edits it. */
static size_t question_entries(struct status_entry *out, const char *approve, const struct write_choice *choice,
                               bool wide)
{
    bool hunks = !choice || choice->hunks;
    const struct status_entry entries[] = {
        {ACTION_APPROVE, 0, approve},
        {ACTION_DENY, 0, NULL},
        {ACTION_DENY_REASON, 0, wide ? NULL : "reason"},
        {ACTION_HUNK_TOGGLE, 0, NULL},
        {ACTION_EDIT_WRITE, 0, NULL},
        {ACTION_HUNK_NEXT, ACTION_HUNK_PREVIOUS, NULL},
        {ACTION_ALLOW, 0, choice && choice->call ? "allow this tool" : "allow this path"},
        {ACTION_ZOOM, 0, NULL}};
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        bool of_hunks = entries[i].action == ACTION_HUNK_TOGGLE || entries[i].action == ACTION_HUNK_NEXT;
        bool of_text = entries[i].action == ACTION_EDIT_WRITE;
        bool offered = entries[i].action != ACTION_ALLOW || !choice || !choice->guarded;
        if (offered && (hunks || !of_hunks) && !(choice && choice->call && of_text))
            out[count++] = entries[i];
    }
    return count;
}

/* While the question is new: the keys that help to read it. */
static size_t fresh_entries(struct status_entry *out, bool hunks)
{
    size_t count = 0;
    if (hunks)
        out[count++] = (struct status_entry){ACTION_HUNK_NEXT, ACTION_HUNK_PREVIOUS, NULL};
    out[count++] = (struct status_entry){ACTION_ZOOM, 0, NULL};
    return count;
}

/* While the question is not on the screen: the key that shows it, and the keys of the visible pane. */
static size_t hidden_entries(struct status_entry *out)
{
    const struct status_entry entries[] = {
        {ACTION_PANE_6, 0, "show the waiting write"}, {ACTION_INSPECT, 0, NULL}, {ACTION_SEARCH, 0, NULL}};
    memcpy(out, entries, sizeof(entries));
    return COUNT_OF(entries);
}

static size_t replay_entries(struct status_entry *out, const struct view *view)
{
    const struct status_entry entries[] = {{ACTION_PLAY, 0, view->playing ? "pause" : "play"},
                                           {ACTION_EVENT_PREVIOUS, ACTION_EVENT_NEXT, "event"},
                                           {ACTION_STEP_PREVIOUS, ACTION_STEP_NEXT, "step"},
                                           {ACTION_FASTER, ACTION_SLOWER, "speed"},
                                           {ACTION_NEXT_WRITE, 0, NULL},
                                           {ACTION_NEXT_ERROR, 0, NULL},
                                           {ACTION_FORK, 0, "fork"},
                                           {ACTION_INSPECT, 0, NULL},
                                           {ACTION_QUIT, 0, NULL}};
    memcpy(out, entries, sizeof(entries));
    return COUNT_OF(entries);
}

static const char *edit_words(const struct view *view)
{
    switch (view->gate.gate) {
    case GATE_TOOL:
        return script_within(view->gate.arguments) ? "edit the script" : "edit the arguments";
    case GATE_RESULT:
        return "edit the result";
    case GATE_MODEL:
        return "edit the prompt";
    default:
        return NULL;
    }
}

static size_t held_entries(struct status_entry *out, const struct view *view)
{
    const char *edit = edit_words(view);
    size_t count = 0;
    bool at_limit = view->gate.gate == GATE_BUDGET && view->gate.limit >= 0;
    if (view->gate.limit >= 0)
        out[count++] = (struct status_entry){ACTION_EXTEND, 0, "raise the limit, continue"};
    out[count++] = (struct status_entry){ACTION_STEP, 0, at_limit ? "twice ends the turn" : "step"};
    if (!at_limit)
        out[count++] = (struct status_entry){ACTION_CONTINUE, 0, NULL};
    if (edit)
        out[count++] = (struct status_entry){ACTION_EDIT_GATE, 0, edit};
    if (view->gate.gate == GATE_TOOL && script_within(view->gate.arguments))
        out[count++] = (struct status_entry){ACTION_EDIT_ARGUMENTS, 0, NULL};
    if (!at_limit)
        out[count++] = (struct status_entry){ACTION_STEP_WAVE, 0, NULL};
    out[count++] = (struct status_entry){ACTION_BREAK_HERE, 0, NULL};
    if (!at_limit)
        out[count++] = (struct status_entry){ACTION_RUN_TO, 0, NULL};
    out[count++] = (struct status_entry){ACTION_CANCEL, 0, "cancel the turn"};
    return count;
}

static size_t live_entries(struct status_entry *out, const struct view *view)
{
    uint32_t write = session_last_write(view->session);
    bool undone = write != SESSION_NONE && view->session->asks[write].undone_seq;
    const struct status_entry running[] = {{ACTION_PAUSE, 0, NULL},   {ACTION_CANCEL, 0, "cancel the turn"},
                                           {ACTION_INSPECT, 0, NULL}, {ACTION_BREAK_HERE, 0, NULL},
                                           {ACTION_ZOOM, 0, NULL},    {ACTION_SEARCH, 0, NULL}};
    const struct status_entry between[] = {
        {ACTION_EXTEND, 0, "continue"}, {ACTION_PROMPT, 0, "next prompt"},
        {ACTION_INSPECT, 0, NULL},      {ACTION_UNDO, 0, undone ? "redo the write" : "undo the newest write"},
        {ACTION_QUIT, 0, NULL},         {ACTION_SEARCH, 0, NULL},
        {ACTION_SESSIONS, 0, NULL}};
    bool runs = session_turn_running(view->session);
    size_t count = 0;
    for (size_t i = 0; !runs && i < COUNT_OF(between); i++)
        if ((between[i].action != ACTION_UNDO || write != SESSION_NONE) &&
            (between[i].action != ACTION_EXTEND || ended_at_limit(view->session)))
            out[count++] = between[i];
    if (runs)
        memcpy(out, running, sizeof(running));
    return runs ? COUNT_OF(running) : count;
}

/* Paints as many entries as fit. Room is reserved for the key that restores all panes and for the help key. */
static void paint_entries(struct footer *footer, const struct statusline_keys *keys, const struct status_entry *entries,
                          size_t count)
{
    const struct status_entry always[] = {{ACTION_ZOOM, 0, "all panes"},
                                          {ACTION_HELP, 0, footer->rect.cols >= WIDE ? "all keys" : "keys"}};
    size_t first = keys->zoomed ? 0 : 1;
    footer->end = footer->rect.cols;
    for (size_t i = first; i < COUNT_OF(always); i++)
        footer->end -= columns_of(keymap_key(keys->keymap, always[i].action)) + 1 + columns_of(always[i].words) +
                       FOOTER_GAP(footer->rect);
    for (size_t i = 0; i < count; i++)
        if (!keys->zoomed || entries[i].action != ACTION_ZOOM)
            paint_action(footer, keys->keymap, &entries[i]);
    footer->end = footer->rect.cols;
    for (size_t i = first; i < COUNT_OF(always); i++)
        paint_action(footer, keys->keymap, &always[i]);
}

void statusline_footer(struct canvas *canvas, struct rect rect, const struct view *view,
                       const struct statusline_keys *keys)
{
    const struct write_choice *choice = keys->choice;
    bool asks = keys->contexts & IN_QUESTION;
    struct footer footer = {.canvas = canvas, .rect = rect, .at = 1, .end = rect.cols};
    struct status_entry entries[16];
    char approve[64];
    size_t count;
    if (rect.rows < 1)
        return;
    canvas_fill(canvas, rect, LOOK_FOOTER);
    if (keys->words) {
        paint_words(&footer, keys->words);
        return;
    }
    if (asks && choice && choice->hidden) {
        count = hidden_entries(entries);
    } else if (asks && choice && choice->fresh) {
        footer.at += canvas_str(canvas, rect, 0, footer.at, LOOK_FOOTER, "New question: read it first.");
        footer.at += FOOTER_GAP(rect);
        count = fresh_entries(entries, choice->hunks);
    } else if (asks) {
        count = question_entries(entries, approve_words(approve, choice), choice, rect.cols >= WIDE);
    } else if (keys->contexts & IN_REPLAY) {
        count = replay_entries(entries, view);
    } else if (view->held) {
        count = held_entries(entries, view);
    } else {
        count = live_entries(entries, view);
    }
    if (keys->tree && !asks) {
        entries[count++] = (struct status_entry){ACTION_UNFOLD, 0, NULL};
        entries[count++] = (struct status_entry){ACTION_FILTER, 0, NULL};
    }
    paint_entries(&footer, keys, entries, count);
}

/* ---- the bar of a recording ---- */

int statusline_timeline_columns(struct rect rect)
{
    int columns = rect.cols - 4 - (rect.cols >= WIDE ? columns_of(LEGEND) + 3 : 0);
    return columns > 1 ? columns : 1;
}

size_t statusline_timeline_seq(struct rect rect, int col, size_t count)
{
    int columns = statusline_timeline_columns(rect), at = col - rect.col - 2;
    at = at < 0 ? 0 : at >= columns ? columns - 1 : at;
    return columns > 1 ? (size_t)at * count / (size_t)(columns - 1) : count;
}

static enum sign mark_sign(unsigned char marks, enum look *look)
{
    *look = LOOK_TIMELINE_MARK;
    if (marks & PLAYER_ERROR)
        return SIGN_ERROR;
    if (marks & PLAYER_WRITE)
        return SIGN_WRITE;
    if (marks & PLAYER_HELD)
        return SIGN_PAUSE;
    if (marks & PLAYER_STEP)
        return SIGN_STEP;
    *look = LOOK_TIMELINE;
    return SIGN_H;
}

void statusline_timeline(struct canvas *canvas, struct rect rect, const struct view *view, const unsigned char *marks)
{
    int columns = statusline_timeline_columns(rect);
    if (rect.rows < 1)
        return;
    canvas_fill(canvas, rect, LOOK_TIMELINE);
    canvas_put_sign(canvas, rect, 0, 1, LOOK_TIMELINE, SIGN_HERE_RIGHT);
    for (int i = 0; i < columns; i++) {
        enum look look;
        enum sign sign = mark_sign(marks ? marks[i] : 0, &look);
        canvas_put_sign(canvas, rect, 0, 2 + i, look, sign);
    }
    canvas_put_sign(canvas, rect, 0, 2 + columns, LOOK_TIMELINE, SIGN_HERE_LEFT);
    int here = view->count ? (int)((double)(columns - 1) * (double)view->position / (double)view->count + 0.5) : 0;
    canvas_put_sign(canvas, rect, 0, 2 + here - 1, LOOK_TIMELINE_HERE, SIGN_HERE_LEFT);
    canvas_put_sign(canvas, rect, 0, 2 + here + 1, LOOK_TIMELINE_HERE, SIGN_HERE_RIGHT);
    canvas_tint(canvas, rect_make(rect.row, rect.col + 2 + here, 1, 1), LOOK_TIMELINE_HERE);
    if (rect.cols >= WIDE)
        canvas_str(canvas, rect, 0, columns + 5, LOOK_DIM, LEGEND);
}
