/* Writes the body of a request, and keeps it for the next one.
 *
 * body_write finds the first message that differs by the stamps, goes back to the group before it, and writes from
 * there. The group before, because the changed message may be one that now belongs to that group: a further result of
 * its calls, for example. */

#include "body.h"
#include "base/mem.h"

void body_init(struct body *body)
{
    *body = (struct body){.text = STRBUF_INIT, .head = STRBUF_INIT};
}

void body_release(struct body *body)
{
    strbuf_release(&body->text);
    strbuf_release(&body->head);
    free(body->groups);
    free(body->stamps);
    body_init(body);
}

/* Replaces the head, which seldom changes. The messages move only if its length differs. */
static void put_head(struct body *body, const struct strbuf *head)
{
    size_t old = body->head.len, rest = body->text.len - old;
    if (head->len == old && memcmp(head->buf, body->head.buf, old) == 0)
        return;
    if (head->len > old)
        strbuf_grow(&body->text, head->len - old);
    if (rest && head->len != old)
        memmove(body->text.buf + head->len, body->text.buf + old, rest);
    strbuf_set_len(&body->text, head->len + rest);
    memcpy(body->text.buf, head->buf, head->len);
    strbuf_reset(&body->head);
    strbuf_add(&body->head, head->buf, head->len);
}

static size_t count_same(const struct body *body, const struct message_list *messages)
{
    size_t same = 0, most = body->stamp_count < messages->count ? body->stamp_count : messages->count;
    while (same < most && body->stamps[same] == messages->items[same].stamp)
        same++;
    return same;
}

/* Drops what must be written again: the groups from the one that holds message `same` - 1 on. Returns the first message
 * to write. */
static size_t go_back(struct body *body, size_t same, size_t first, struct writer_state *state)
{
    size_t keep = body->group_count;
    while (keep > 0 && body->groups[keep - 1].message >= same)
        keep--;
    struct body_group from = {.message = first, .state = WRITER_STATE_INIT};
    if (keep > 0)
        from = body->groups[--keep];
    body->group_count = keep;
    strbuf_set_len(&body->text, body->head.len + from.at);
    *state = from.state;
    return from.message;
}

static void write_group(struct body *body, const struct dialect *dialect, struct request_writer *writer, size_t *next)
{
    writer->state.comma = writer->w.comma;
    GROW(body->groups, body->group_count, body->group_room);
    body->groups[body->group_count++] =
        (struct body_group){.message = *next, .at = body->text.len - body->head.len, .state = writer->state};
    *next = dialect->write_group(writer, *next);
    arena_reset(&writer->arena);
}

static void note_stamps(struct body *body, const struct message_list *messages, size_t from)
{
    for (body->stamp_count = from; body->stamp_count < messages->count;) {
        GROW(body->stamps, body->stamp_count, body->stamp_room);
        body->stamps[body->stamp_count] = messages->items[body->stamp_count].stamp;
        body->stamp_count++;
    }
}

void body_write(struct body *body, const struct dialect *dialect, const struct dialect_request *ask)
{
    CLEANUP(strbuf) struct strbuf head = STRBUF_INIT;
    const struct message_list *messages = ask->request->messages;
    struct request_writer writer = {.ask = ask, .messages = messages, .arena = ARENA_INIT};
    size_t same = count_same(body, messages);
    writer.w = json_begin(&head);
    size_t first = dialect->write_head(&writer);
    put_head(body, &head);
    size_t next = go_back(body, same, first, &writer.state);
    writer.w = (struct json_writer){&body->text, writer.state.comma};
    while (next < messages->count)
        write_group(body, dialect, &writer, &next);
    dialect->write_end(&writer);
    note_stamps(body, messages, same);
    arena_release(&writer.arena);
}
