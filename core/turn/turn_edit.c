/* What a person changes while the turn stands at a gate: the prompt, the arguments of a call, the result the model will
 * read. Each change is an event with what was there before and after. */

#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "turn.h"
#include <string.h>

const char *edit_what_name(enum edit_what what)
{
    static const char *const names[] = {"arguments", "result", "prompt"};

    return names[what];
}

static struct message *newest_prompt(struct turn *turn)
{
    struct message *message = NULL;

    for (size_t i = 0; i < turn->messages.count; i++)
        if (turn->messages.items[i].role == ROLE_USER)
            message = &turn->messages.items[i];
    return message;
}

/* What the edit takes the place of. */
static const char *edited_text(struct turn *turn, const struct hold *hold, enum edit_what what)
{
    const struct message *prompt = newest_prompt(turn);
    const char *text = what == EDIT_PROMPT   ? (prompt ? prompt->text : NULL)
                       : !hold->call         ? NULL
                       : what == EDIT_RESULT ? hold->call->message
                                             : hold->call->arguments;

    return text ? text : "";
}

static int edit_prompt(struct turn *turn, const char *text)
{
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    struct message *message = newest_prompt(turn);

    if (!message)
        return -1;
    json_write_str(&before, message->text, strlen(message->text), JSON_COMPACT);
    json_write_str(&after, text, strlen(text), JSON_COMPACT);
    free(message->text);
    message->text = xstrdup(text);
    /* The turn's own copy too: memory and later turns are told what the model read. */
    free(turn->prompt);
    turn->prompt = xstrdup(text);
    emit(&turn->emitter,
         &(struct event){.type = EVENT_EDITED,
                         .edited = {.what = edit_what_name(EDIT_PROMPT), .before = before.buf, .after = after.buf}});
    return 0;
}

static int edit_result(struct turn *turn, struct turn_call *call, const char *text, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = json_parse(&arena, text, strlen(text), err);
    CLEANUP(free) char *before = call->message;
    struct strbuf after = STRBUF_INIT;

    if (!value) {
        call->message = steal(&before);
        return err_prefix(err, "result");
    }
    json_write(&after, value, JSON_COMPACT);
    call->message = strbuf_detach(&after, NULL);
    call->failed = false; /* what a person gives is a result */
    emit(&turn->emitter, &(struct event){.type = EVENT_EDITED,
                                         .edited = {.what = edit_what_name(EDIT_RESULT),
                                                    .call = call->id,
                                                    .before = before,
                                                    .after = call->message}});
    return 0;
}

int turn_edit(struct turn *turn, const struct intent *intent, struct err *err)
{
    struct hold *hold = turn ? turn->holds : NULL;
    CLEANUP(strbuf) struct strbuf real = STRBUF_INIT;
    const char *text = intent->edit.text;

    if (!hold)
        return err_set(err, "nothing stands at a gate");
    /* It was shown without its secrets, and is done with them. */
    if (redact_any() && text) {
        redact_restore(&real, text, edited_text(turn, hold, intent->edit.what), intent->edit.what != EDIT_PROMPT);
        text = real.buf;
    }
    switch (intent->edit.what) {
    case EDIT_ARGUMENTS:
        if (hold->gate != GATE_TOOL)
            return err_set(err, "arguments can be edited before a tool runs");
        return turn_edit_arguments(turn, hold->call, text, err);
    case EDIT_RESULT:
        if (hold->gate != GATE_RESULT)
            return err_set(err, "a result can be edited after its tool ended");
        return edit_result(turn, hold->call, text, err);
    case EDIT_PROMPT:
        if (hold->gate != GATE_MODEL || !*text)
            return err_set(err, "a prompt can be edited before the model is asked, and not be empty");
        return edit_prompt(turn, text) < 0 ? err_set(err, "there is no prompt") : 0;
    }
    return err_set(err, "this cannot be edited");
}
