/* What was said in a session, item by item, as wrapped text. */

#include "talk.h"
#include "base/mem.h"
#include "event/words.h"
#include "text.h"
#include <string.h>

#define PARTIAL_MAX 32768 /* bytes of an unfinished answer that are wrapped anew with every frame */

size_t talk_count(const struct session *session)
{
    return 2 * ((size_t)session->turn_count + session->step_count);
}

static size_t first_item(const struct session *session, uint32_t turn)
{
    return 2 * ((size_t)turn + session->turns[turn].first_step);
}

struct talk_item talk_item(const struct session *session, size_t number)
{
    uint32_t low = 0, high = session->turn_count;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (first_item(session, middle) <= number)
            low = middle;
        else
            high = middle;
    }
    const struct session_turn *turn = &session->turns[low];
    size_t within = number - first_item(session, low);
    if (within == 0)
        return (struct talk_item){TALK_PROMPT, low, SESSION_NONE};
    uint32_t step = (uint32_t)((within - 1) / 2);
    if (step >= turn->step_count)
        return (struct talk_item){TALK_END, low, SESSION_NONE};
    return (struct talk_item){within % 2 ? TALK_ANSWER : TALK_REFLECTION, low, turn->first_step + step};
}

int64_t talk_seq(const struct session *session, struct talk_item item)
{
    switch (item.kind) {
    case TALK_PROMPT:
        return session->turns[item.turn].started_seq;
    case TALK_ANSWER:
        return session->steps[item.step].responded_seq;
    case TALK_REFLECTION:
        return session->steps[item.step].reflection_seq;
    case TALK_END:
        return session->turns[item.turn].finished_seq;
    }
    return 0;
}

/* ---- their texts ---- */

static void add(struct wrapped *out, enum look look, const char *label, const char *text, int width)
{
    if (text && *text)
        wrapped_add(out, look, label, text, strlen(text), width);
}

static void add_thinking(struct wrapped *out, const char *text, size_t len, int width)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (!len)
        return;
    strbuf_addstr(&words, "(thinking) ");
    strbuf_add(&words, text, len);
    wrapped_add(out, LOOK_THINKING, "agt", words.buf, words.len, width);
}

static void add_calls(struct wrapped *out, const struct event_tool_request_list *calls, int width)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    for (size_t i = 0; i < calls->count; i++)
        strbuf_addf(&words, "%s%s", i ? ", " : "(asks for ", calls->items[i].name ? calls->items[i].name : "?");
    if (!words.len)
        strbuf_addstr(&words, "(an empty answer");
    strbuf_addch(&words, ')');
    wrapped_add(out, LOOK_DIM, "agt", words.buf, words.len, width);
}

static void add_answer(struct wrapped *out, const struct event_model_responded *answer, int width)
{
    bool text = answer->text && *answer->text;
    if (answer->thinking)
        add_thinking(out, answer->thinking, strlen(answer->thinking), width);
    bool thought = answer->thinking && *answer->thinking;
    if (thought && text)
        wrapped_add_blank(out);
    add(out, LOOK_AGENT, thought ? "" : "agt", answer->text, width);
    if (!text && !thought)
        add_calls(out, &answer->tool_calls, width);
}

/* The end of an answer that is still coming. All of it comes with the answer. */
static const char *partial_end(const struct strbuf *partial, size_t *len)
{
    if (partial->len <= PARTIAL_MAX) {
        *len = partial->len;
        return partial->buf;
    }
    const char *from = partial->buf + partial->len - PARTIAL_MAX;
    const char *newline = memchr(from, '\n', PARTIAL_MAX);
    from = newline ? newline + 1 : from;
    *len = partial->len - (size_t)(from - partial->buf);
    return from;
}

/* Below what came of its answer where that had begun, unless another attempt has begun since. False: nothing failed. */
static bool add_failure(struct wrapped *out, const struct view *view, bool begun, int width)
{
    const struct session *session = view->session;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    const struct event *event = view_event_of(view, session->last_model_failure_seq, EVENT_MODEL_FAILED);
    if (!event || (begun && event->seq < session->steps[session->step_count - 1].requested_seq))
        return false;
    strbuf_addf(&words, "%s: %s", begun ? "broke off" : "could not be asked",
                event->model_failed.error ? event->model_failed.error : "?");
    if (event->model_failed.retry_in_ms > 0 && session_turn_running(session)) {
        strbuf_addstr(&words, "; tries again in ");
        text_ms(&words, event->model_failed.retry_in_ms);
    }
    wrapped_add(out, LOOK_ERROR, begun ? "" : "agt", words.buf, words.len, width);
    return true;
}

static void add_partial(struct wrapped *out, const struct view *view, int width)
{
    const struct session *session = view->session;
    size_t len;
    const char *text;
    if (session->partial_text.len > PARTIAL_MAX || session->partial_thinking.len > PARTIAL_MAX)
        add(out, LOOK_DIM, "agt", "(the beginning is shown when the answer is complete)", width);
    if (session->partial_thinking.len) {
        text = partial_end(&session->partial_thinking, &len);
        add_thinking(out, text, len, width);
    }
    if (session->partial_text.len) {
        text = partial_end(&session->partial_text, &len);
        if (session->partial_thinking.len)
            wrapped_add_blank(out);
        wrapped_add(out, LOOK_AGENT, session->partial_thinking.len ? "" : "agt", text, len, width);
    }
    bool begun = session->partial_text.len || session->partial_thinking.len;
    if (!add_failure(out, view, begun, width) && !begun && session_turn_running(session))
        add(out, LOOK_DIM, "agt", "(has been asked)", width);
}

/* The final text is that of the last answer with sources below it, as a rule. The answer stands right above, so only
 * what comes after it is told. */
static const char *beyond_answer(const struct view *view, const struct session_turn *turn, const char *text)
{
    for (uint32_t step = turn->first_step + turn->step_count; step-- > turn->first_step;) {
        uint32_t seq = view->session->steps[step].responded_seq;
        if (!seq)
            continue;
        const struct event *event = view_event_of(view, seq, EVENT_MODEL_RESPONDED);
        if (!event || !event->model_responded.text)
            return text;
        size_t len = strlen(event->model_responded.text);
        if (strncmp(text, event->model_responded.text, len) != 0)
            return text;
        return text + len + strspn(text + len, " \t\r\n");
    }
    return text;
}

static void add_end(struct wrapped *out, const struct view *view, const struct session_turn *turn,
                    const struct event *event, int width)
{
    const struct event_turn_finished *end = &event->turn_finished;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    const char *status = end->status && *end->status ? end->status : "ended";
    const char *text = end->text ? beyond_answer(view, turn, end->text) : "";
    if (*text) {
        add(out, LOOK_AGENT, text == end->text ? "agt" : "", text, width);
        wrapped_add_blank(out);
    }
    event_words(&words, WORDS_HEAD, event);
    bool good = strcmp(status, "done") == 0;
    add(out, good ? LOOK_GOOD : strcmp(status, "failed") == 0 ? LOOK_ERROR : LOOK_WARN, "end", words.buf, width);
}

/* What the model no longer had before it when it gave this answer. */
static void add_compacted(struct wrapped *out, const struct view *view, const struct session_step *step, int width)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    const struct event *event = view_event_of(view, step->compacted_seq, EVENT_CONTEXT_COMPACTED);
    if (!event)
        return;
    strbuf_addch(&words, '(');
    event_words(&words, WORDS_HEAD, event);
    strbuf_addch(&words, ')');
    wrapped_add(out, LOOK_WARN, "ctx", words.buf, words.len, width);
    wrapped_add_blank(out);
}

void talk_wrap(struct wrapped *out, const struct view *view, size_t number, int width)
{
    const struct session *session = view->session;
    struct talk_item item = talk_item(session, number);
    int64_t seq = talk_seq(session, item);
    const struct event *event = seq ? view_event(view, seq) : NULL;
    wrapped_reset(out);
    if (number)
        wrapped_add_blank(out);
    if (item.kind == TALK_ANSWER)
        add_compacted(out, view, &session->steps[item.step], width);
    if (seq && !event)
        add(out, LOOK_ERROR, "?", "this line of the recording cannot be read", width);
    else if (item.kind == TALK_PROMPT && seq && event->type == EVENT_TURN_STARTED)
        add(out, LOOK_USER, "you", event->turn_started.prompt, width);
    else if (item.kind == TALK_PROMPT)
        add(out, LOOK_DIM, "you", "(the prompt was not recorded)", width);
    else if (item.kind == TALK_ANSWER && seq && event->type == EVENT_MODEL_RESPONDED)
        add_answer(out, &event->model_responded, width);
    else if (item.kind == TALK_ANSWER && !seq && item.step + 1 == session->step_count)
        add_partial(out, view, width);
    else if (item.kind == TALK_REFLECTION && seq && event->type == EVENT_REFLECTION && event->reflection.text &&
             *event->reflection.text) {
        CLEANUP(free) char *words = xasprintf("(looking back) %s", event->reflection.text);
        add(out, LOOK_THINKING, "agt", words, width);
    } else if (item.kind == TALK_END && seq && event->type == EVENT_TURN_FINISHED)
        add_end(out, view, &session->turns[item.turn], event, width);
    if (number && out->count == 1) /* only the empty line */
        wrapped_reset(out);
}
