/* Tests of request bodies: a body that was extended has the bytes of one written from nothing, whatever changed. */

#include "base/mem.h"
#include "model/body.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>

static const struct tool_offer tools[] = {{"read_file", "Reads.", "{\"type\":\"object\"}"}};

static unsigned seed = 7;
static unsigned any(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % below;
}

static const char *any_text(void)
{
    static const char *const texts[] = {"", "  \n", "a", "\"quoted\"\n", "größer", "a longer text of several words"};
    return texts[any(COUNT_OF(texts))];
}

static char *any_opaque(void)
{
    static const char *const opaques[] = {
        "{\"provider\":\"anthropic\",\"model\":\"m\",\"blocks\":[{\"keep\":{\"type\":\"thinking\"}}]}",
        "{\"provider\":\"anthropic\",\"model\":\"m\",\"paused\":true,\"blocks\":[{\"keep\":{\"type\":\"thinking\"}}]}",
        "{\"provider\":\"openai\",\"model\":\"m\",\"reasoning_content\":\"because\"}", "{}"};
    unsigned i = any(8);
    return i < COUNT_OF(opaques) ? xstrdup(opaques[i]) : NULL;
}

static void add_answer(struct message_list *list)
{
    static unsigned number;
    unsigned calls = any(4), place = (unsigned)list->count;
    message_list_add(list, ROLE_ASSISTANT, any_text())->opaque = any_opaque();
    for (unsigned k = 0; k < calls; k++) {
        CLEANUP(free) char *id = xasprintf("c:%u", number++);
        message_add_call(&list->items[place], id, "read_file", any(4) ? "{\"path\": \"a\"}" : "{\"pa");
    }
    for (unsigned k = 0; k < calls && any(8); k++) {
        struct message *result = message_list_add(list, ROLE_TOOL, any_text());
        result->call_id = xstrdup(list->items[place].calls[any(8) ? k : 0].id);
        result->failed = any(4) == 0;
    }
}

static void add_any(struct message_list *list)
{
    static const enum role roles[] = {ROLE_SYSTEM, ROLE_USER, ROLE_TOOL};
    if (any(3))
        add_answer(list);
    else
        message_list_add(list, roles[any(COUNT_OF(roles))], any_text());
}

static void remove_from(struct message_list *list, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        message_release(&list->items[i]);
    memmove(&list->items[first], &list->items[end], (list->count - end) * sizeof(*list->items));
    list->count -= end - first;
}

/* What happens to a conversation between two requests. */
static void change(struct message_list *list)
{
    size_t count = list->count, place = count ? any((unsigned)count) : 0;
    switch (count ? any(10) : 9) {
    case 0: /* compaction or an edit at a gate */
        message_set_text(&list->items[place], xstrdup(any_text()));
        break;
    case 1: /* a digest instead of messages */
        remove_from(list, place, place + 1 + any((unsigned)(count - place)));
        break;
    case 2: /* a retry: nothing */
        break;
    case 3: /* a shorter list, as after a reflection */
        remove_from(list, place, count);
        break;
    default:
        for (unsigned i = 1 + any(3); i-- > 0;)
            add_any(list);
    }
}

struct asking {
    const struct dialect *dialect;
    struct message_list *messages;
    bool reflection;
    int thinking;
};

static void write_request(struct body *body, const struct asking *how)
{
    static const struct live_spec spec = {.provider = "any", .model = "m"};
    const struct model_request request = {.messages = how->messages,
                                          .reflection = how->reflection,
                                          .tools = tools,
                                          .tool_count = 1,
                                          .thinking_tokens = how->thinking};
    body_write(body, how->dialect, &(struct dialect_request){&spec, NULL, &request});
}

static void changes_in_any_order(const struct dialect *dialect)
{
    for (int round = 0; round < 400; round++) {
        struct message_list list;
        struct body body;
        body_init(&body);
        message_list_init(&list);
        for (unsigned i = any(4); i-- > 0;)
            message_list_add(&list, ROLE_SYSTEM, any_text());
        for (int step = 0; step < 25; step++) {
            struct body fresh;
            struct asking how = {dialect, &list, any(4) == 0, any(2) ? 2000 : 0};
            change(&list);
            write_request(&body, &how);
            body_init(&fresh);
            write_request(&fresh, &how);
            assert_string_equal(body.text.buf, fresh.text.buf);
            assert_int_equal(body.text.len, strlen(body.text.buf));
            body_release(&fresh);
        }
        body_release(&body);
        message_list_release(&list);
    }
}

TEST(extended_body_is_what_a_new_one_would_be_for_anthropic)
{
    changes_in_any_order(&dialect_anthropic);
}

TEST(extended_body_is_what_a_new_one_would_be_for_openai)
{
    changes_in_any_order(&dialect_openai);
}

/* A stamp that stays means that a message is not read again: its new text is not in the body. */
static void old_messages_are_not_written_again(const struct dialect *dialect)
{
    struct message_list list, copy;
    struct body body;
    body_init(&body);
    message_list_init(&list);
    message_list_add(&list, ROLE_SYSTEM, "Be careful.");
    message_list_add(&list, ROLE_USER, "the prompt");
    for (int i = 0; i < 3; i++) {
        CLEANUP(free) char *id = xasprintf("c%d", i);
        message_add_call(message_list_add(&list, ROLE_ASSISTANT, ""), id, "read_file", "{}");
        message_list_add(&list, ROLE_TOOL, "the result")->call_id = xstrdup(id);
    }
    struct asking how = {.dialect = dialect, .messages = &list};
    write_request(&body, &how);
    memcpy(list.items[1].text, "THE PROMPT", 10);
    memcpy(list.items[3].text, "THE RESULT", 10);
    message_add_call(message_list_add(&list, ROLE_ASSISTANT, ""), "c3", "read_file", "{}");
    message_list_add(&list, ROLE_TOOL, "a new result")->call_id = xstrdup("c3");
    write_request(&body, &how);
    assert_null(strstr(body.text.buf, "THE PROMPT"));
    assert_null(strstr(body.text.buf, "THE RESULT"));
    assert_non_null(strstr(body.text.buf, "a new result"));
    /* A reflection asks with a copy, and a longer head moves the messages. */
    message_list_copy(&copy, &list);
    message_list_add(&copy, ROLE_USER, "Review.");
    how = (struct asking){dialect, &copy, true, 0};
    write_request(&body, &how);
    assert_null(strstr(body.text.buf, "THE PROMPT"));
    assert_non_null(strstr(body.text.buf, "Review."));
    /* An edit is written, and so is what follows it. */
    message_changed(&list.items[1]);
    how = (struct asking){.dialect = dialect, .messages = &list};
    write_request(&body, &how);
    assert_non_null(strstr(body.text.buf, "THE PROMPT"));
    assert_non_null(strstr(body.text.buf, "THE RESULT"));
    assert_null(strstr(body.text.buf, "Review."));
    body_release(&body);
    message_list_release(&list);
    message_list_release(&copy);
}

TEST(old_messages_are_not_written_again_for_anthropic)
{
    old_messages_are_not_written_again(&dialect_anthropic);
}

TEST(old_messages_are_not_written_again_for_openai)
{
    old_messages_are_not_written_again(&dialect_openai);
}
