/* Keeps what a turn leaves to the requests of later turns: its prompt, its answers, its calls and their results.
 *
 * The system messages that prepared the turn are not kept, because the next turn prepares its own. Compaction may have
 * shortened the messages of earlier turns as well; then the shortened ones are kept. A live turn and a recorded one
 * (resume.c) come here with the same messages, so a resumed session sends what the live one would.
 *
 * APIs are strict: a call has its result, and an id occurs once in a request. A turn that ended without an answer gets
 * one that says so. If a part of an answer had arrived, it is kept and marked as interrupted. */

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "event/words.h"
#include "turn.h"
#include <string.h>

#define DECISIONS_MAX 12 /* listed of one turn */
#define NOTES_KEPT    10 /* turns whose decisions stay listed after compaction */

/* The place after the prompt; 0: the messages do not begin with a preparation. */
static size_t after_prompt(const struct message_list *messages)
{
    for (size_t i = messages->count; i-- > 0;)
        if (messages->items[i].role == ROLE_USER && !message_is_earlier(&messages->items[i]))
            return i + 1;
    return 0;
}

static void move(struct message_list *to, struct message *from)
{
    GROW(to->items, to->count, to->room);
    struct message *message = &to->items[to->count++];
    *message = *from;
    message->meaning = message_history;
    *from = (struct message){.role = ROLE_SYSTEM, .text = xstrdup("")};
}

/* ---- decisions ---- */

static const char note_head[] = "Decisions about the writes of this turn:\n";

static bool is_note(const struct message *message)
{
    return message->role == ROLE_SYSTEM && strncmp(message->text, note_head, sizeof(note_head) - 1) == 0;
}

/* Compaction keeps the notes, so the oldest ones go here, whenever it has changed the conversation anyway. */
static void drop_old_notes(struct message_list *history)
{
    size_t notes = 0, kept = 0;
    for (size_t i = 0; i < history->count; i++)
        notes += is_note(&history->items[i]);
    for (size_t i = 0; i < history->count; i++) {
        if (is_note(&history->items[i]) && notes-- > NOTES_KEPT)
            free(history->items[i].text);
        else
            history->items[kept++] = history->items[i];
    }
    history->count = kept;
}

/* The result of a write says what was written, but not who approved it, and compaction may cut it. So each turn ends
 * with a line per decision, which compaction leaves alone. */
static void add_decisions(struct message_list *history, const struct turn *turn)
{
    const struct session *session = engine_session(turn->engine);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t more = 0, count = 0;
    for (uint32_t i = 0; i < session->ask_count; i++) {
        const struct session_question *ask = &session->asks[i];
        const struct session_call *call = ask->call == SESSION_NONE ? NULL : &session->calls[ask->call];
        if (!call || !ask->decision || (int64_t)session->turns[call->turn].number != turn->number)
            continue;
        if (count++ >= DECISIONS_MAX) {
            more++;
            continue;
        }
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        strbuf_addf(&line, "%s %s: ", session_name(session, call->tool), ask->paths);
        words_decision(&line, session_name(session, ask->decision), ask->by, ask->reason);
        strbuf_addstr(&text, text.len ? "- " : note_head);
        strbuf_addstr(&text, text.len == sizeof(note_head) - 1 ? "- " : "");
        words_one_line(&text, line.buf);
        strbuf_addch(&text, '\n');
    }
    if (more)
        strbuf_addf(&text, "- and %zu more\n", more);
    if (text.len)
        message_list_add(history, ROLE_SYSTEM, text.buf)->meaning = message_history;
}

/* ---- messages ---- */

/* Replaces the history by its messages in the turn, which compaction has shortened. Recordings of older versions do not
 * tell which those are; then the history stays whole. */
static void take_shortened(struct message_list *history, struct message_list *messages, size_t prompt)
{
    struct message_list shorter;
    message_list_init(&shorter);
    for (size_t i = 0; i < prompt; i++)
        if (message_is_earlier(&messages->items[i]))
            move(&shorter, &messages->items[i]);
    if (!shorter.count)
        return;
    message_list_release(history);
    *history = shorter;
    drop_old_notes(history);
}

static void take_own(struct message_list *history, struct message_list *messages, size_t from)
{
    for (size_t i = from; i < messages->count; i++) {
        struct message *message = &messages->items[i];
        for (size_t k = 0; k < message->call_count; k++)
            message_list_free_id(history, message->calls[k].id);
        move(history, message);
    }
}

static const char *why_ended(const char *status)
{
    static const struct {
        const char *status, *why;
    } whys[] = {{"cancelled", "the user canceled the turn"},
                {"budget", "the turn reached its limit"},
                {"failed", "the request to the model failed"}};
    for (size_t i = 0; status && i < COUNT_OF(whys); i++)
        if (strcmp(status, whys[i].status) == 0)
            return whys[i].why;
    return status ? "the turn ended" : "the session stopped here";
}

/* The model that paused would have continued. No API takes its open blocks once something else follows. */
static void forget_pause(struct message *message)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (message->opaque && json_bool(json_get(event_leaf(&arena, message->opaque), "paused"), false)) {
        free(message->opaque);
        message->opaque = NULL;
    }
}

static void add_end(struct message_list *history, const struct strbuf *partial, const char *status)
{
    struct message *last = &history->items[history->count - 1];
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (last->role == ROLE_ASSISTANT && !last->call_count)
        forget_pause(last);
    if (partial->buf[strspn(partial->buf, " \t\r\n")]) {
        utf8_scrub(&text, partial->buf, partial->len);
        strbuf_addf(&text, "\n\n[interrupted: %s]", why_ended(status));
    } else if (last->role != ROLE_ASSISTANT || last->call_count || !*last->text) {
        strbuf_addf(&text, "[no answer: %s]", why_ended(status));
    }
    if (text.len)
        message_list_add(history, ROLE_ASSISTANT, text.buf)->meaning = message_history;
}

void history_add_turn(struct message_list *history, struct turn *turn, const char *status)
{
    size_t own = after_prompt(&turn->messages);
    if (turn->tally.context_was_compacted)
        take_shortened(history, &turn->messages, own);
    message_list_add(history, ROLE_USER, turn->prompt)->meaning = message_history;
    take_own(history, &turn->messages, own);
    add_end(history, &turn->partial, status);
    add_decisions(history, turn);
}
