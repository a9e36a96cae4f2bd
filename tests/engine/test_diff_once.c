/* Tests that a write approved as proposed compares two files once, and that no answer compares files on the loop. A
 * large file would stop everything else for seconds, and write.applied would come long after the file was replaced. A
 * stand-in for the compare function counts the comparisons. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/comparing.h"
#include "support/event_json.h"
#include "support/test.h"
#include "support/turn_check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int compared, compared_on_loop;
static struct fake_clock *slowly; /* comparing takes seven seconds with it */
static pthread_t loop_thread;

static void before_comparing(void)
{
    if (slowly)
        fake_clock_advance(slowly, 7000000);
    atomic_fetch_add(&compared, 1);
    atomic_fetch_add(&compared_on_loop, pthread_equal(pthread_self(), loop_thread) ? 1 : 0);
}

static const char before[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\n";
static const char after[] = "A\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nN\nO\n";

static void approve_part(struct turn_rig *rig, const struct question *question)
{
    struct event_hunk_choice_list second = HUNKS("a.txt", 2, 2);
    struct intent part = answer_part(question, second);
    turn_rig_submit(rig, &part);
}

static void approve_edited(struct turn_rig *rig, const struct question *question)
{
    struct change_set *edited = change_set_copy(question->changes);
    struct intent mine = answer_edited(question, edited);
    change_side_set(&edited->items[0].new, "mine\n", 5, 0644);
    turn_rig_submit(rig, &mine);
    change_set_free(edited);
}

static void write_with(void (*answer)(struct turn_rig *, const struct question *), const char *expected,
                       const char *added, const char *removed, int most)
{
    struct turn_rig rig;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    CLEANUP(free) char *content = NULL;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", before);
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", "a.txt");
    json_add_str(&w, "content", after);
    json_close(&w, '}');
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", text.buf);
    rig.answer = answer;
    compared = compared_on_loop = 0;
    loop_thread = pthread_self();
    turn_rig_turn(&rig, "write");
    content = turn_rig_read(&rig, "a.txt");
    assert_string_equal(content, expected);
    assert_int_equal(compared_on_loop, 0);
    assert_in_range(compared, 1, most);
    /* The journal and the model get the diff of what was written. */
    const char *files = event_json(turn_rig_event(&rig, EVENT_WRITE_APPLIED, 0), "files");
    assert_string_equal(turn_check_json(&rig, files, "[0].added"), added);
    assert_string_equal(turn_check_json(&rig, files, "[0].removed"), removed);
    const char *message = turn_check_message(&rig, "w");
    assert_string_equal(turn_check_json(&rig, message, "added"), added);
    assert_string_equal(turn_check_json(&rig, message, "removed"), removed);
    turn_check_end(&rig);
}

TEST(approved_write_is_compared_once)
{
    write_with(turn_rig_say_yes, after, "3", "2", 1);
}

TEST(part_of_a_write_is_compared_on_the_pool)
{
    write_with(approve_part, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nN\nO\n", "2", "1", 4);
}

TEST(edited_write_is_compared_on_the_pool)
{
    write_with(approve_edited, "mine\n", "1", "14", 3);
}

/* Waiting for the user begins with the question, not while it is being made; that time is not the turn's either. */
TEST(comparing_does_not_count_as_waiting)
{
    struct turn_rig rig;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", before);
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"x\\n\"}");
    rig.answer = turn_rig_say_yes;
    rig.answer_after_us = 3000000;
    slowly = &rig.clock;
    turn_rig_turn(&rig, "write");
    slowly = NULL;
    assert_int_equal(rig.clock.now_us, 10000000);
    assert_int_equal(turn_check_finished(&rig)->waited_ms, 3000);
    assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 0);
    assert_int_equal(turn_rig_event(&rig, EVENT_WRITE_DECIDED, 0)->write_decided.waited_ms, 3000);
    assert_int_equal(turn_rig_finished(&rig, "w")->tool_finished.elapsed_ms, 0);
    turn_check_end(&rig);
}
