/* Tests of the start screen's list: sessions from the index and from their journals, each once, fixtures with a
 * description, and the config file that it creates. */

#include "app/open_list.h"
#include "app/session_list.h"
#include "app/setup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"
#include "event/journal.h"
#include "event/store.h"
#include "support/scratch.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

#define JOURNAL                                                                  \
    "{\"type\":\"session.started\",\"v\":1,\"workspace\":\"/home/you/lines\"}\n" \
    "{\"type\":\"turn.started\",\"turn\":1,\"prompt\":\"Find it.\\n\\tFix it.\"}\n"

static struct scratch scratch;

static int begin(void **state)
{
    (void)state;
    scratch_init(&scratch);
    CLEANUP(free) char *data = scratch_path(&scratch, "data");
    setenv("XDG_DATA_HOME", data, 1);
    scratch_mkdir(&scratch, "data/keyturn/sessions");
    return 0;
}

static int end(void **state)
{
    (void)state;
    scratch_release(&scratch);
    return 0;
}

TEST(every_fixture_has_a_description)
{
    struct open_list list;
    open_list_load(&list, SOURCE_DIR "/fixtures", 0);
    assert_true(list.count - list.sessions >= 5);
    assert_string_equal(list.items[list.sessions].name, "demo");
    assert_string_equal(list.items[list.sessions].path, "demo");
    for (size_t i = list.sessions; i < list.count; i++) {
        assert_true(list.items[i].fixture);
        assert_true(strlen(list.items[i].title) > 10 && strlen(list.items[i].title) < 60);
    }
    open_list_release(&list);
}

TEST(unlisted_session_is_found_by_its_file)
{
    struct open_list list;
    scratch_write(&scratch, "data/keyturn/sessions/one.jsonl", JOURNAL);
    open_list_load(&list, SOURCE_DIR "/fixtures", 0);
    assert_int_equal(list.sessions, 1);
    assert_string_equal(list.items[0].title, "Find it. Fix it.");
    assert_string_equal(list.items[0].folder, "lines");
    assert_string_equal(list.items[0].state, "cut off");
    assert_string_equal(list.items[0].writes, "0 writes");
    assert_string_equal(list.items[0].when, "just now");
    open_list_release(&list);
}

TEST(locked_session_is_shown_as_running)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&scratch, "data/keyturn/sessions/one.jsonl");
    struct journal *journal = journal_resume(path, clock_system(), &err);
    struct session_rows rows;
    assert_non_null(journal);
    sessions_load(&rows, 10);
    assert_int_equal(rows.count, 1);
    assert_true(rows.items[0].running);
    assert_string_equal(rows.items[0].status, "running");
    sessions_release(&rows);
    journal_close(journal);
    sessions_load(&rows, 10);
    assert_false(rows.items[0].running);
    sessions_release(&rows);
}

/* A session in the index is not read; one that is missing there (an older version wrote it) is. */
TEST(listed_session_appears_once)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&scratch, "data/keyturn/sessions/one.jsonl");
    CLEANUP(free) char *db = file_xdg_path(FILE_DATA, "keyturn.db");
    struct store *store = store_open(db, &err);
    struct store_session entry = {.id = (char *)"another name",
                                  .path = path,
                                  .workspace = (char *)"/tmp/keyturn-Xy12/workspace",
                                  .title = (char *)"",
                                  .status = (char *)"done",
                                  .model = (char *)"",
                                  .created_us = 1,
                                  .updated_us = INT64_C(4000000000000000), /* after the journal */
                                  .turns = 1,
                                  .writes = 3,
                                  .undone = 1};
    struct open_list list;
    assert_non_null(store);
    assert_int_equal(store_session_put(store, &entry, &err), 0);
    store_close(store);
    open_list_load(&list, SOURCE_DIR "/fixtures", 0);
    assert_int_equal(list.sessions, 1);
    assert_string_equal(list.items[0].title, "Find it. Fix it.");
    assert_string_equal(list.items[0].folder, "scratch copy");
    assert_string_equal(list.items[0].state, "done");
    assert_string_equal(list.items[0].writes, "3 writes, 1 undone");
    open_list_release(&list);
}

/* A session that was resumed and killed has a newer journal than the list says. */
TEST(a_listed_session_that_continued_is_read_again)
{
    struct err err = ERR_INIT;
    struct session_rows rows;
    CLEANUP(free) char *path = scratch_path(&scratch, "data/keyturn/sessions/two.jsonl");
    CLEANUP(free) char *db = file_xdg_path(FILE_DATA, "keyturn.db");
    struct store *store = store_open(db, &err);
    struct store_session entry = {.id = (char *)"two",
                                  .path = path,
                                  .workspace = (char *)"/old",
                                  .title = (char *)"given name",
                                  .status = (char *)"done",
                                  .model = (char *)"",
                                  .updated_us = 1,
                                  .turns = 1,
                                  .writes = 3};
    assert_non_null(store);
    assert_int_equal(store_session_put(store, &entry, &err), 0);
    store_close(store);
    scratch_write(&scratch, "data/keyturn/sessions/two.jsonl", JOURNAL);
    sessions_load(&rows, 10);
    sessions_keep_named(&rows, "two");
    assert_int_equal(rows.count, 1);
    assert_string_equal(rows.items[0].status, "cut off");
    assert_int_equal(rows.items[0].writes, 0);
    assert_string_equal(rows.items[0].title, "given name");
    assert_true(rows.items[0].when_us > 1);
    sessions_release(&rows);
}

/* It sets nothing, and everything in it is right once the // at the beginning of lines is taken away. */
TEST(the_config_file_that_is_made)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    config_example_write(&text);
    struct config *config = config_parse(text.buf, text.len, &err);
    assert_non_null(config);
    assert_null(config->model);
    config_free(config);
    for (char *at = text.buf; (at = strstr(at, "\n  //"));)
        memcpy(at, "\n    ", 5);
    config = config_parse(text.buf, text.len, &err);
    assert_non_null(config);
    assert_string_equal(config->model, "claude");
    assert_non_null(config_model(config, "claude"));
    assert_non_null(config_model(config, "local"));
    config_free(config);
}

TEST_GROUP(begin, end)
