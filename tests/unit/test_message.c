/* Tests of messages: roles, copies and their form in events. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/message.h"
#include "model/provider.h"
#include "support/event_json.h"
#include "support/test.h"

TEST(roles_have_names)
{
    assert_string_equal(role_name(ROLE_SYSTEM), "system");
    assert_string_equal(role_name(ROLE_USER), "user");
    assert_string_equal(role_name(ROLE_ASSISTANT), "assistant");
    assert_string_equal(role_name(ROLE_TOOL), "tool");
}

static void fill(struct message_list *list)
{
    message_list_init(list);
    message_list_add(list, ROLE_SYSTEM, "be good")->meaning = "prompt";
    struct message *answer = message_list_add(list, ROLE_ASSISTANT, NULL);
    message_add_call(answer, "c1", "read_file", "{\"path\": \"a\"}");
    message_add_call(answer, "c2", "bad", "{\"path\": ");
    message_add_call(answer, "c3", "scalar", "\"x\"");
    message_add_call(answer, "c4", "none", NULL);
    message_list_add(list, ROLE_TOOL, "{\"ok\":true}")->call_id = xstrdup("c1");
}

static const char filled[] = "[{\"role\":\"system\",\"text\":\"be good\"},"
                             "{\"role\":\"assistant\",\"text\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"read_"
                             "file\",\"arguments\":{\"path\":\"a\"}},"
                             "{\"id\":\"c2\",\"name\":\"bad\",\"arguments\":\"{\\\"path\\\": \"},"
                             "{\"id\":\"c3\",\"name\":\"scalar\",\"arguments\":\"\\\"x\\\"\"},"
                             "{\"id\":\"c4\",\"name\":\"none\",\"arguments\":{}}]},"
                             "{\"role\":\"tool\",\"text\":\"{\\\"ok\\\":true}\",\"call\":\"c1\"}]";

static const char *messages_json(const struct message_list *list)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    return event_json(&(struct event){.type = EVENT_TURN_PREPARED,
                                      .turn_prepared = {.messages = message_list_to_event(&arena, list)}},
                      "messages");
}

TEST(lists_are_written_for_the_event)
{
    struct message_list list;
    fill(&list);
    assert_string_equal(messages_json(&list), filled);
    message_list_release(&list);
    assert_string_equal(messages_json(&list), "[]");
}

TEST(provider_data_is_read_back)
{
    static const char text[] = "[{\"role\":\"assistant\",\"text\":\"so\",\"opaque\":{\"provider\":\"p\",\"x\":[1]}},"
                               "{\"role\":\"assistant\",\"text\":\"no\",\"opaque\":7}]";
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct message_list list;
    struct event event;
    message_list_init(&list);
    strbuf_addf(&line, "{\"type\":\"turn.prepared\",\"messages\":%s}", text);
    assert_int_equal(event_decode(&event, &arena, line.buf, line.len, NULL), 0);
    message_list_read(&list, &event.turn_prepared.messages);
    assert_string_equal(list.items[0].opaque, "{\"provider\":\"p\",\"x\":[1]}");
    assert_null(list.items[1].opaque);
    list.count--;
    const char *out = messages_json(&list);
    list.count++;
    assert_memory_equal(out, text, strlen(out) - 1);
    message_list_release(&list);
}

TEST(earlier_messages_are_recorded_as_one_and_read_back)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct message_list list, history, back;
    message_list_init(&list);
    message_list_init(&history);
    message_list_init(&back);
    fill(&history);
    for (size_t i = 0; i < history.count; i++)
        history.items[i].meaning = message_history;
    message_list_add(&list, ROLE_SYSTEM, "P");
    message_list_add_copies(&list, &history);
    message_list_add(&list, ROLE_USER, "and?");
    struct event_message_list events = message_list_to_event_briefly(&arena, &list);
    assert_int_equal(events.count, 3);
    assert_string_equal(events.items[1].role, "earlier");
    assert_string_equal(events.items[1].text, "3 messages of earlier turns");
    message_list_read_with(&back, &events, &history);
    assert_int_equal(back.count, list.count);
    for (size_t i = 0; i < back.count; i++) {
        assert_string_equal(back.items[i].text, list.items[i].text);
        assert_int_equal(message_is_earlier(&back.items[i]), message_is_earlier(&list.items[i]));
    }
    message_list_release(&back);
    message_list_read(&back, &events); /* without the history they are missing */
    assert_int_equal(back.count, 2);
    message_list_release(&back);
    events = message_list_to_event(&arena, &list); /* after compaction they are written out, and marked */
    message_list_read(&back, &events);
    assert_int_equal(back.count, 5);
    assert_true(message_is_earlier(&back.items[1]) && !message_is_earlier(&back.items[0]));
    message_list_release(&back);
    message_list_release(&list);
    message_list_release(&history);
}

TEST(an_id_is_freed_with_its_result)
{
    struct message_list list;
    message_list_init(&list);
    for (int i = 0; i < 3; i++) {
        message_list_free_id(&list, "x");
        message_add_call(message_list_add(&list, ROLE_ASSISTANT, ""), "x", "t", "{}");
        message_list_add(&list, ROLE_TOOL, "r")->call_id = xstrdup("x");
    }
    message_list_free_id(&list, "other");
    static const char *const ids[] = {"x#3", "x#5", "x"};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        assert_string_equal(list.items[2 * i].calls[0].id, ids[i]);
        assert_string_equal(list.items[2 * i + 1].call_id, ids[i]);
    }
    message_list_release(&list);
}

TEST(a_copy_is_deep)
{
    struct message_list list, copy;
    fill(&list);
    message_list_copy(&copy, &list);
    assert_string_equal(copy.items[0].meaning, "prompt");
    message_list_release(&list);
    message_list_add(&copy, ROLE_USER, "more");
    assert_int_equal(copy.count, 4);
    copy.count = 3;
    assert_string_equal(messages_json(&copy), filled);
    copy.count = 4;
    message_list_release(&copy);
    message_list_release(&copy); /* twice does no harm */
}

TEST(a_list_grows)
{
    struct message_list list;
    message_list_init(&list);
    for (int i = 0; i < 1000; i++)
        message_list_add(&list, ROLE_USER, "x");
    assert_int_equal(list.count, 1000);
    message_list_release(&list);
}

TEST(a_reply_is_released_whole)
{
    struct model_reply reply = {.text = xstrdup("t"), .thinking = xstrdup("h"), .stop = xstrdup("s"), .call_count = 1};
    reply.calls = xcalloc(1, sizeof(*reply.calls));
    reply.calls[0] = (struct tool_call){.id = xstrdup("c"), .name = xstrdup("n"), .arguments = xstrdup("{}")};
    model_reply_release(&reply);
    assert_null(reply.calls);
    model_reply_release(&reply);
}
