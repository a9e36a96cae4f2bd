/* Tests of compaction: what a too long conversation leaves out, in which order, and what it always keeps. */

#include "base/arena.h"
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

/* One message for each call, in its place, and none without its call. Returns the number of calls. */
static size_t check_pairs(const struct message_list *list)
{
    size_t calls = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct message *message = &list->items[i];
        for (size_t k = 0; k < message->call_count; k++) {
            assert_true(i + 1 + k < list->count);
            assert_int_equal(list->items[i + 1 + k].role, ROLE_TOOL);
            assert_string_equal(list->items[i + 1 + k].call_id, message->calls[k].id);
        }
        calls += message->call_count;
        i += message->call_count;
        assert_int_not_equal(message->role, ROLE_TOOL);
    }
    return calls;
}

static struct compaction run(struct message_list *list, int64_t target)
{
    make(list);
    struct compaction done = compaction_run(list, target, target);
    assert_int_equal(done.after, compaction_tokens(list, 0));
    assert_int_equal(check_pairs(list), 3 - done.steps);
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
    assert_int_equal(done.turns, 1); /* enough */
    assert_string_equal(list.items[3].text, "Second question?");
    message_list_release(&list);
    done = run(&list, 1900);
    assert_int_equal(done.results, 2);
    assert_int_equal(done.turns, 2);
    assert_int_equal(list.count, 11);
    assert_int_equal(list.items[2].role, ROLE_SYSTEM);
    assert_non_null(strstr(list.items[2].text, "- asked: First question?\n  answered: xxxx"));
    assert_non_null(strstr(list.items[2].text, "- asked: Second question?\n  answered: Short answer.\n"));
    assert_true(strlen(list.items[2].text) < 500);
    assert_string_equal(list.items[3].text, "<context_pack>");
    assert_string_equal(list.items[4].text, "This question.");
    assert_int_equal(strlen(list.items[10].text), 4000); /* the newest result stays whole */
    compaction_how(&how, &done);
    assert_string_equal(how.buf, "2 tool results shortened, 2 earlier turns summarized, 1 call's arguments shortened");
    message_list_release(&list);
}

/* 1,500 tokens: after the digest of turns, the long argument and one result too many are left. */
TEST(arguments_are_cut_after_earlier_turns)
{
    struct message_list list;
    struct compaction done = run(&list, 1500);
    assert_int_equal(done.turns, 2);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.steps, 0);
    const char *arguments = list.items[5].calls[0].arguments;
    assert_memory_equal(arguments, "{\"path\":\"a.c\",\"content\":\"www", 27);
    assert_non_null(strstr(arguments, "1800 more bytes left out to make room]\",\"deep\":[{\"n\":1}]}"));
    message_list_release(&list);
}

TEST(old_steps_and_newest_results_are_the_last_to_go)
{
    struct message_list list;
    CLEANUP(strbuf) struct strbuf how = STRBUF_INIT;
    make(&list);
    struct compaction done = compaction_run(&list, 1200, 10000);
    assert_int_equal(done.steps, 2);
    assert_int_equal(check_pairs(&list), 1);
    assert_int_equal(list.count, 8);
    assert_string_equal(list.items[4].text, "This question.");
    assert_int_equal(list.items[5].role, ROLE_SYSTEM);
    assert_non_null(strstr(list.items[5].text, "\n- said: I look.\n- read_file {\"path\":\"a.c\",\"content\":\"www"));
    assert_non_null(strstr(list.items[5].text, "…: aaaaaaaa"));
    assert_non_null(strstr(list.items[5].text, "- read_file {}: bbbbbbbb"));
    assert_null(strstr(list.items[5].text, "earlier lines are left out"));
    assert_int_equal(strlen(list.items[7].text), 4000);
    message_list_release(&list);
    done = run(&list, 1);
    assert_int_equal(done.results, 3);
    compaction_how(&how, &done);
    assert_string_equal(how.buf,
                        "3 tool results shortened, 2 earlier turns summarized, 2 steps of this turn summarized, "
                        "1 call's arguments shortened");
    assert_non_null(strstr(list.items[5].text, "(4 earlier lines are left out)\n"));
    /* Again: there is nothing left to leave out, and the digests are not digested. */
    strbuf_reset(&how);
    done = compaction_run(&list, 1, 1);
    compaction_how(&how, &done);
    assert_string_equal(how.buf, "");
    assert_int_equal(done.after, done.before);
    assert_int_equal(done.part_count, 0);
    message_list_release(&list);
}

/* Four earlier turns with a call each, and this turn's prompt. */
static void make_earlier_turns(struct message_list *list)
{
    message_list_init(list);
    message_list_add(list, ROLE_SYSTEM, "You are careful.");
    for (int turn = 0; turn < 4; turn++) {
        CLEANUP(free) char *id = xasprintf("t%d", turn);
        message_list_add(list, ROLE_USER, "An earlier question.");
        add_step(list, id, "{}", 'e');
        message_list_add(list, ROLE_ASSISTANT, "An earlier answer.");
    }
    message_list_add(list, ROLE_USER, "This question.");
}

/* Earlier turns may hold calls too: their results go first, then the oldest turns, as many as necessary. */
TEST(earlier_turns_with_calls_are_shortened_before_they_are_digested)
{
    struct message_list list;
    make_earlier_turns(&list);
    add_step(&list, "now", "{}", 'n');
    struct compaction done = compaction_run(&list, 3500, 10000);
    assert_int_equal(done.results, 2);
    assert_int_equal(done.turns, 0);
    assert_int_equal(strlen(list.items[11].text), 4000);
    done = compaction_run(&list, 1450, 10000);
    assert_int_equal(done.results, 2);
    assert_int_equal(done.turns, 2);
    assert_true(done.after <= 1450);
    assert_int_equal(check_pairs(&list), 3);
    assert_int_equal(list.items[2].role, ROLE_USER);
    message_list_release(&list);
}

TEST(before_the_first_answer_of_a_turn_only_the_prompt_is_new)
{
    struct message_list list;
    int64_t unseen;
    make_earlier_turns(&list);
    int64_t last = compaction_tokens(&list, list.count - 1), first = 8; /* "You are careful." */
    assert_int_equal(compaction_fixed(&list, &unseen), first + last);
    assert_int_equal(unseen, 0);
    struct compaction done = compaction_run(&list, 700, 700);
    assert_int_equal(done.results, 4);
    assert_true(done.after <= 700);
    message_list_release(&list);
}

/* ---- many steps ---- */

#define STEP_BYTES 4000

static void add_steps(struct message_list *list, int from, int to)
{
    for (int i = from; i < to; i++) {
        CLEANUP(free) char *id = xasprintf("s%d", i);
        add_step(list, id, "{\"path\": \"a.c\"}", (char)('a' + i % 26));
    }
}

/* However many steps came before, the target is reached, and the newest half of it stays whole. */
TEST(target_is_reached_after_any_number_of_steps)
{
    struct message_list list;
    make(&list);
    int64_t target = 10000, near = 17000;
    for (int step = 3; step < 3000; step++) {
        add_steps(&list, step, step + 1);
        if (compaction_tokens(&list, 0) < near)
            continue;
        struct compaction done = compaction_run(&list, target, near);
        assert_true(done.after <= target);
        assert_int_equal(done.after, compaction_tokens(&list, 0));
        check_pairs(&list);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(strlen(list.items[list.count - 1 - 2 * k].text), STEP_BYTES);
    }
    assert_true(list.count < 200);
    message_list_release(&list);
}

/* ---- recorded parts ---- */

static unsigned seed = 1;
static unsigned any(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 8) % below;
}

static void add_anything(struct message_list *list)
{
    CLEANUP(free) char *text = filler(any(4) ? any(6000) : 0, (char)('a' + any(26)));
    struct message *message;
    unsigned calls = any(4);
    switch (any(12)) {
    case 0:
        message_list_add(list, ROLE_USER, text);
        break;
    case 1:
        message_list_add(list, ROLE_SYSTEM, text);
        break;
    case 2:
        message_list_add(list, ROLE_ASSISTANT, text);
        break;
    default:
        message = message_list_add(list, ROLE_ASSISTANT, any(2) ? "I look.\nThere." : "");
        for (unsigned k = 0; k < calls; k++) {
            CLEANUP(free) char *id = xasprintf("c%zu.%u", list->count, k);
            CLEANUP(free) char *arguments = xasprintf("{\"a\": \"%s\"}", any(3) ? "é\\n" : text);
            message_add_call(message, id, "look", arguments);
        }
        for (unsigned k = 0, place = (unsigned)list->count - 1; k < calls; k++) {
            CLEANUP(free) char *result = filler(any(5000), (char)('A' + any(26)));
            message = message_list_add(list, ROLE_TOOL, result);
            message->call_id = xstrdup(list->items[place].calls[k].id);
            message->failed = any(5) == 0;
        }
    }
}

/* As a recording holds them: arguments without the model's white space. */
static void recorded_copy(struct message_list *to, const struct message_list *from)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event_message_list events = message_list_to_event(&arena, from);
    message_list_init(to);
    message_list_read(to, &events);
}

static void assert_same_messages(const struct message_list *one, const struct message_list *other)
{
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++) {
        const struct message *a = &one->items[i], *b = &other->items[i];
        assert_int_equal(a->role, b->role);
        assert_string_equal(a->text, b->text);
        assert_int_equal(a->call_count, b->call_count);
        assert_string_equal(a->call_id ? a->call_id : "", b->call_id ? b->call_id : "");
        assert_int_equal(a->failed, b->failed);
    }
}

TEST(recorded_parts_make_the_same_messages)
{
    size_t parts = 0;
    for (int round = 0; round < 300; round++) {
        struct message_list live, recalled;
        message_list_init(&live);
        message_list_add(&live, ROLE_SYSTEM, "You are careful.");
        for (unsigned i = any(40); i-- > 0;)
            add_anything(&live);
        recorded_copy(&recalled, &live);
        for (int again = 0; again < 3; again++) {
            int64_t target = compaction_tokens(&live, 0) * any(110) / 100;
            struct compaction done = compaction_run(&live, target, target + any(2) * target);
            struct event_compaction_part_list list = {done.parts, done.part_count};
            compaction_repeat(&recalled, &list);
            assert_true(done.part_count <= COMPACTION_PARTS_MAX);
            assert_same_messages(&live, &recalled);
            assert_int_equal(done.after, compaction_tokens(&live, 0));
            check_pairs(&live);
            parts += done.part_count;
            for (unsigned i = any(5); i-- > 0;) {
                message_list_release(&recalled);
                add_anything(&live);
                recorded_copy(&recalled, &live);
            }
        }
        message_list_release(&live);
        message_list_release(&recalled);
    }
    assert_true(parts > 1000);
}

/* A recording may say anything. */
TEST(invalid_parts_tear_nothing)
{
    static const char *const kinds[] = {"results", "arguments", "turns", "steps", "everything", NULL};
    for (int round = 0; round < 2000; round++) {
        struct message_list list;
        make(&list);
        struct event_compaction_part part = {.what = kinds[any(6)],
                                             .first = (int64_t)any(20) - 2,
                                             .end = any(10) ? (int64_t)any(20) - 2 : INT64_MAX,
                                             .keep = any(10) ? (int64_t)any(1000) - 10 : INT64_MAX};
        compaction_repeat(&list, &(struct event_compaction_part_list){&part, 1});
        check_pairs(&list);
        assert_string_equal(list.items[0].text, "You are careful.");
        message_list_release(&list);
    }
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
    assert_int_equal(done.results + done.turns + done.steps + done.calls, 0);
    message_list_release(&list);
    message_list_init(&list);
    done = compaction_run(&list, 0, 0);
    assert_int_equal(done.after, 0);
    message_list_release(&list);
}
