/* Tests a journal that fails in the middle of a turn: the disk is full after the n-th event, for every n. From there on
 * nothing acts, because it could not be recorded: no write, no request, the turn ends, and the engine reports the
 * cause. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
#include "support/event_json.h"
#include "support/rich_turn.h"
#include "support/test.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct rlimit usual;

/* A limit on file size breaks only the journal: every other file is smaller. */
static void break_journal(const char *path)
{
    struct rlimit full = usual;
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    full.rlim_cur = (rlim_t)st.st_size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
}

static void mend_journal(void)
{
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
}

struct breaking {
    struct rich_turn rich;
    struct sink sink; /* fails at once, while the event is emitted */
    size_t at_event;
    char *path;
};

static void hear(struct sink *sink, const struct event *event, const struct session *session)
{
    struct breaking *breaking = (struct breaking *)((char *)sink - offsetof(struct breaking, sink));
    (void)event;
    (void)session;
    if (breaking->rich.rig.event_count == breaking->at_event)
        break_journal(breaking->path);
}

static void breaking_init(struct breaking *breaking)
{
    rich_turn_init(&breaking->rich);
    breaking->path = scratch_path(&breaking->rich.rig.scratch, "journal.jsonl");
    breaking->rich.journal = breaking->path;
    breaking->sink = (struct sink){.event = hear};
    breaking->rich.sink.next = &breaking->sink;
    breaking->at_event = 0;
}

static void breaking_release(struct breaking *breaking)
{
    rich_turn_release(&breaking->rich);
    free(breaking->path);
}

/* The sinks received exactly the lines of the file. */
static void check_told_is_recorded(const struct breaking *breaking)
{
    const struct turn_rig *rig = &breaking->rich.rig;
    struct journal_reader *reader = journal_open(breaking->path, NULL);
    assert_non_null(reader);
    assert_int_equal(journal_count(reader), rig->event_count);
    for (size_t i = 0; i < rig->event_count; i++) {
        size_t len;
        const char *line = journal_line(reader, i, &len);
        assert_int_equal(len, rig->events[i].raw_len);
        assert_memory_equal(line, rig->events[i].raw, len);
    }
    journal_reader_free(reader);
}

/* A file may change only if its approval and its checkpoint are in the journal. */
static void check_files(struct breaking *breaking)
{
    struct turn_rig *rig = &breaking->rich.rig;
    for (size_t i = 0; i < COUNT_OF(rich_files); i++) {
        CLEANUP(free) char *content = turn_rig_read(rig, rich_files[i].path);
        bool saved = false;
        for (size_t n = 0; n < rig->event_count; n++)
            if (rig->events[n].type == EVENT_CHECKPOINT_SAVED)
                saved |=
                    strcmp(turn_check_json(rig, event_json(&rig->events[n], "paths"), "[0]"), rich_files[i].path) == 0;
        if (strcmp(content, rich_files[i].after) == 0)
            assert_true(saved); /* write.applied follows a decision that allows it */
    }
}

TEST(journal_that_breaks_after_any_event_stops_everything)
{
    struct breaking breaking;
    breaking_init(&breaking);
    rich_turn_run(&breaking.rich);
    size_t events = breaking.rich.rig.event_count;
    check_told_is_recorded(&breaking);
    breaking_release(&breaking);

    for (size_t n = 1; n < events; n++) {
        struct turn_rig *rig = &breaking.rich.rig;
        breaking_init(&breaking);
        breaking.at_event = n;
        rich_turn_run(&breaking.rich);
        mend_journal();
        assert_non_null(engine_failed(rig->engine));
        assert_int_equal(rig->event_count, n);
        assert_true(engine_idle(rig->engine));
        assert_null(engine_question(rig->engine));
        turn_check_promises(rig, false);
        check_told_is_recorded(&breaking);
        check_files(&breaking);
        turn_check_checkpoints(rig);
        /* The session stays ended, even if the disk has room again. */
        assert_string_equal(
            turn_check_submit(rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "again"}}),
            engine_failed(rig->engine));
        breaking_release(&breaking);
    }
}

TEST(foreign_tool_does_not_run_again_if_the_approval_is_not_recorded)
{
    struct breaking breaking;
    size_t at = 0;
    breaking_init(&breaking);
    rich_turn_run(&breaking.rich);
    /* The question is the last but one event of the turn. */
    for (size_t i = 0; i < breaking.rich.rig.event_count; i++)
        if (breaking.rich.rig.events[i].type == EVENT_WRITE_PROPOSED)
            at = i + 1;
    breaking_release(&breaking);
    for (size_t n = at; n <= at + 1; n++) {
        breaking_init(&breaking);
        breaking.at_event = n;
        rich_turn_run(&breaking.rich);
        mend_journal();
        assert_int_equal(breaking.rich.foreign.executions, 1);
        assert_int_equal(breaking.rich.foreign.confirmed, 0);
        breaking_release(&breaking);
    }
}

TEST(undo_that_cannot_be_recorded_is_not_done)
{
    struct turn_rig rig;
    CLEANUP(free) char *path = NULL;
    CLEANUP(free) char *content = NULL;
    turn_rig_init(&rig);
    path = scratch_path(&rig.scratch, "journal.jsonl");
    turn_check_open(&rig, path);
    rig.answer = turn_rig_say_yes;
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}");
    turn_rig_turn(&rig, "write");
    break_journal(path);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_UNDO});
    turn_rig_run(&rig);
    mend_journal();
    assert_non_null(engine_failed(rig.engine));
    content = turn_rig_read(&rig, "a");
    assert_string_equal(content, "b");
    turn_check_end(&rig);
}

TEST(session_that_cannot_be_recorded_does_not_begin)
{
    struct turn_rig rig;
    CLEANUP(free) char *path = NULL;
    struct err err = ERR_INIT;
    turn_rig_init(&rig);
    path = scratch_path(&rig.scratch, "journal.jsonl");
    struct journal *journal = journal_create(path, &rig.clock.base, &err);
    assert_non_null(journal);
    break_journal(path);
    rig.engine = engine_new(&rig.config, journal, &rig.sink, &err);
    mend_journal();
    assert_null(rig.engine);
    assert_string_not_equal(err.text, "");
    assert_int_equal(rig.event_count, 0);
    turn_rig_release(&rig);
}

void test_begin(void)
{
    rich_turn_in_memory();
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &usual) < 0)
        exit(1);
}
