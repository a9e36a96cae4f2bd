/* Tests of compaction: what a too long conversation leaves out, in which order, and what it always keeps. */

#include "base/mem.h"
#include "support/test.h"
#include "turn/compaction.h"
#include <stdint.h>
#include <string.h>

static char *filler(size_t len, char c)
{
    char *text = xmalloc(len + 1);
    memset(text, c, len);
    text[len] = '\0';
    return text;
}

/* An answer with one call, and its result. */
static void add_step(struct message_list *list, const char *id, const char *arguments, char c)
{
    CLEANUP(free) char *result = filler(4000, c);
    message_add_call(message_list_add(list, ROLE_ASSISTANT, "I look."), id, "read_file", arguments);
    message_list_add(list, ROLE_TOOL, result)->call_id = xstrdup(id);
}

/* Prompt, metadata, two earlier turns, context pack, this turn's prompt, three steps. */
static void make(struct message_list *list)
{
    CLEANUP(free) char *answer = filler(4000, 'x');
    CLEANUP(free) char *content = filler(2000, 'w');
    CLEANUP(free) char *arguments = xasprintf("{\"path\":\"a.c\",\"content\":\"%s\",\"deep\":[{\"n\":1}]}", content);
    message_list_init(list);
    message_list_add(list, ROLE_SYSTEM, "You are careful.");
    message_list_add(list, ROLE_SYSTEM, "today: 2026-11-16");
    message_list_add(list, ROLE_USER, "First\nquestion?");
    message_list_add(list, ROLE_ASSISTANT, answer);
    message_list_add(list, ROLE_USER, "Second question?");
    message_list_add(list, ROLE_ASSISTANT, "Short answer.");
    message_list_add(list, ROLE_SYSTEM, "<context_pack>");
    message_list_add(list, ROLE_USER, "This question.");
    add_step(list, "c1", arguments, 'a');
    add_step(list, "c2", "{}", 'b');
    add_step(list, "c3", "{}", 'c');
}

/* One message for each call, in its place. */
static void check_pairs(const struct message_list *list)
{
    size_t calls = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].call_count) {
            assert_int_equal(list->items[i + 1].role, ROLE_TOOL);
            assert_string_equal(list->items[i + 1].call_id, list->items[i].calls[0].id);
            calls++;
        }
    assert_int_equal(calls, 3);
}

static struct compaction run(struct message_list *list, int64_t target)
{
    make(list);
    struct compaction done = compaction_run(list, target, target);
    assert_int_equal(done.after, compaction_tokens(list, 0));
    check_pairs(list);
    return done;
}

TEST(old_results_go_first_and_no_more_than_needed)
{
    struct message_list list;
    CLEANUP(strbuf) struct strbuf how = STRBUF_INIT;
    make(&list);
    int64_t all = compaction_tokens(&list, 0);
    message_list_release(&list);
    struct compaction done = run(&list, all - 500);
    assert_int_equal(done.before, all);
    assert_int_equal(done.results, 1);
    assert_int_equal(done.turns + done.calls, 0);
    assert_int_equal(list.count, 14);
    assert_memory_equal(list.items[9].text, "aaaaaaaa", 8);
    assert_non_null(strstr(list.items[9].text, "3600 more bytes are left out"));
    assert_non_null(strstr(list.items[9].text, "call read_file again"));
    assert_int_equal(strlen(list.items[11].text), 4000);
    compaction_how(&how, &done);
    assert_string_equal(how.buf, "1 tool result shortened");
    message_list_release(&list);
}

TEST(earlier_turns_become_a_digest_next)
{
    struct message_list list;
    CLEANUP(strbuf) struct strbuf how = STRBUF_INIT;
    struct compaction done = run(&list, 2000);
    assert_int_equal(done.results, 2);
    assert_int_equal(done.turns, 2);
    assert_int_equal(done.calls, 0);
    assert_int_equal(list.count, 11);
    assert_int_equal(list.items[2].role, ROLE_SYSTEM);
    assert_non_null(strstr(list.items[2].text, "- asked: First question?\n  answered: xxxx"));
    assert_non_null(strstr(list.items[2].text, "- asked: Second question?\n  answered: Short answer.\n"));
    assert_true(strlen(list.items[2].text) < 500);
    assert_string_equal(list.items[3].text, "<context_pack>");
    assert_string_equal(list.items[4].text, "This question.");
    assert_int_equal(strlen(list.items[10].text), 4000); /* the newest result stays whole */
    compaction_how(&how, &done);
    assert_string_equal(how.buf, "2 tool results shortened, 2 earlier turns summarized");
    message_list_release(&list);
}

TEST(arguments_and_newest_results_are_the_last_to_go)
{
    struct message_list list;
    CLEANUP(strbuf) struct strbuf how = STRBUF_INIT;
    struct compaction done = run(&list, 1);
    assert_int_equal(done.results, 3);
    assert_int_equal(done.calls, 1);
    const char *arguments = list.items[5].calls[0].arguments;
    assert_memory_equal(arguments, "{\"path\":\"a.c\",\"content\":\"www", 27);
    assert_non_null(strstr(arguments, "1800 more bytes left out to make room]\",\"deep\":[{\"n\":1}]}"));
    compaction_how(&how, &done);
    assert_string_equal(how.buf, "3 tool results shortened, 2 earlier turns summarized, 1 call's arguments shortened");
    /* Again: there is nothing left to leave out, and the digest is not digested. */
    strbuf_reset(&how);
    done = compaction_run(&list, 1, 1);
    compaction_how(&how, &done);
    assert_string_equal(how.buf, "");
    assert_int_equal(done.after, done.before);
    message_list_release(&list);
}

/* Results that the model has not seen yet stay complete while they fit, even above the target size. */
TEST(new_results_stay_while_they_fit)
{
    struct message_list list, again;
    make(&list);
    make(&again);
    CLEANUP(free) char *newest = xstrdup(list.items[list.count - 1].text);
    struct compaction done = compaction_run(&list, 1, 1000000);
    assert_string_equal(list.items[list.count - 1].text, newest);
    assert_true(done.after < done.before);
    compaction_run(&again, 1, 1);
    assert_string_not_equal(again.items[again.count - 1].text, newest);
    message_list_release(&list);
    message_list_release(&again);
}

TEST(short_conversation_stays)
{
    struct message_list list;
    make(&list);
    int64_t all = compaction_tokens(&list, 0);
    struct compaction done = compaction_run(&list, all, all);
    assert_int_equal(done.results + done.turns + done.calls, 0);
    message_list_release(&list);
    message_list_init(&list);
    done = compaction_run(&list, 0, 0);
    assert_int_equal(done.after, 0);
    message_list_release(&list);
}
