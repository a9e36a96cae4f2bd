/* Events and calls in words: what the goldens of rows and accounts do not show. */

#include "base/mem.h"
#include "event/session.h"
#include "event/words.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

void test_begin(void)
{
    setenv("LC_ALL", "C.UTF-8", 1);
}

static void assert_words(enum words_form form, const char *line, const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct event event;
    assert_int_equal(event_decode(&event, &arena, line, strlen(line), NULL), 0);
    strbuf_addstr(&out, "> ");
    event_words(&out, form, &event);
    assert_string_equal(out.buf + 2, want);
}

TEST(a_decision_has_its_reason_only_in_an_account)
{
    static const char line[] =
        "{\"type\":\"write.decided\",\"ask\":\"a1\",\"decision\":\"partial\",\"by\":\"key\","
        "\"reason\":\"keep the rest\",\"waited_ms\":4200,"
        "\"hunks\":[{\"path\":\"a\",\"keep\":[2],\"of\":2},{\"path\":\"b\",\"keep\":[],\"of\":1}]}";
    assert_words(WORDS_ROW, line, "a1 partial by key keep the rest");
    assert_words(WORDS_HEAD, line, "approved in part by key, 1 of 3 hunks after 4.2 s");
    assert_words(WORDS_PLAIN, line, "approved in part by key, 1 of 3 hunks after 4.2 s: keep the rest");
}

TEST(names_cannot_break_a_sentence)
{
    assert_words(WORDS_PLAIN, "{\"type\":\"write.undone\",\"checkpoint\":\"c\\np\",\"paths\":[\"a\\nb\",\"c\"]}",
                 "c^Jp: a^Jb, c");
    assert_words(WORDS_PLAIN, "{\"type\":\"late.suppressed\",\"elapsed_ms\":61000}",
                 "a call came back after 1 min 01 s; nothing of it was used");
}

TEST(a_type_without_a_sentence_has_its_row)
{
    static const char line[] =
        "{\"type\":\"context.compacted\",\"step\":4,\"before\":190000,\"after\":80000,\"how\":\"cut\"}";
    assert_words(WORDS_PLAIN, line, "step 4 190000 tokens now 80000 cut");
    assert_words(WORDS_HEAD, line, "the context was made smaller, 190,000 to 80,000 tokens: cut");
    assert_words(WORDS_PLAIN, "{\"type\":\"program.ended\",\"program\":\"p1\",\"exit_code\":3}", "p1 exit 3");
}

TEST(what_needs_no_sentence_says_nothing)
{
    assert_words(WORDS_PLAIN, "{\"type\":\"released\",\"gate\":\"before write\",\"by\":\"decision\"}", "");
    assert_words(WORDS_PLAIN, "{\"type\":\"workspace.op\",\"op\":\"workspace.run\",\"elapsed_ms\":3}", "");
    assert_words(WORDS_PLAIN, "{\"type\":\"model.responded\",\"step\":1,\"text\":\"Hello\"}", "");
    assert_words(WORDS_PLAIN, "{\"type\":\"reflection\",\"step\":1,\"text\":\" \\n\"}", "(nothing was said)");
}

static void assert_arguments(void (*words)(struct strbuf *out, const struct json *arguments), const char *text,
                             const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    words(&out, event_leaf(&arena, text));
    assert_string_equal(out.buf, want);
}

TEST(arguments_begin_with_what_they_are_about)
{
    static const char edit[] = "{\"old\":\"a\",\"path\":\"src/x.c\",\"list\":[1,2]}";
    assert_arguments(words_arguments, edit, "src/x.c old=a list=(2)");
    assert_arguments(words_subject, edit, "src/x.c");
    assert_arguments(words_subject, "{\"from\":\"a\",\"to\":\"b\",\"force\":true}", "a to=b");
    assert_arguments(words_subject, "{\"session_id\":\"p2\",\"submit\":true}", "session_id=p2 submit=true");
    assert_arguments(words_arguments, "[1]", "");
    assert_arguments(words_arguments, NULL, "");
}

TEST(times_of_a_call_tell_whether_it_ran)
{
    static const struct {
        struct session_call call;
        const char *want;
    } cases[] = {
        {{0}, "has not begun"},
        {{.finished_seq = 9}, "never began"},
        {{.started_seq = 3, .started_t = 120000}, "began at 0.120 s"},
        {{.started_seq = 3, .finished_seq = 9, .proposed_seq = 5, .started_t = 120000, .finished_t = 3320000},
         "began at 0.120 s, took 3.2 s with the question"},
        {{.started_seq = 3, .finished_seq = 9, .started_t = 5000, .finished_t = 0, .late = true},
         "began at 0.005 s, took 0 ms; it came back late: nothing of it was used"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        words_call_times(&out, &cases[i].call);
        assert_string_equal(out.buf, cases[i].want);
    }
}
