/* keyturn.db: stored rows come back unchanged, and no user input is run as a query. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/store.h"
#include "support/test.h"
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = file_make_temp_dir(NULL, "test_store", NULL);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    int result = file_remove_tree(folder, NULL);
    free(folder);
    return result;
}

static struct store *must_open(const char *path)
{
    struct err err = ERR_INIT;
    struct store *store = store_open(path, &err);
    if (!store)
        fail_msg("%s", err.text);
    return store;
}

#define OK(call)                      \
    do {                              \
        struct err err = ERR_INIT;    \
        if ((call) < 0)               \
            fail_msg("%s", err.text); \
    } while (0)

TEST(sessions_are_listed_newest_first)
{
    struct store *store = must_open(":memory:");
    for (int i = 0; i < 5; i++) {
        char id[16], title[32];
        snprintf(id, sizeof(id), "s%d", i);
        snprintf(title, sizeof(title), "it's \"%d\"; DROP", i);
        OK(store_session_put(store,
                             &(struct store_session){.id = id,
                                                     .path = (char *)"/p",
                                                     .title = title,
                                                     .created_us = i,
                                                     .updated_us = 100 + i,
                                                     .turns = i,
                                                     .approved = i,
                                                     .denied = 2},
                             &err));
    }
    char one[] = "s1", done[] = "done";
    OK(store_session_put(store, &(struct store_session){.id = one, .status = done, .updated_us = 900, .turns = 7},
                         &err));
    struct store_session *list;
    size_t count;
    OK(store_sessions(store, 3, &list, &count, &err));
    assert_int_equal(count, 3);
    assert_string_equal(list[0].id, "s1");
    assert_string_equal(list[0].status, "done");
    assert_string_equal(list[0].path, "");
    assert_int_equal(list[0].turns, 7);
    assert_string_equal(list[1].id, "s4");
    assert_string_equal(list[1].title, "it's \"4\"; DROP");
    assert_string_equal(list[1].path, "/p");
    assert_int_equal(list[1].approved, 4);
    assert_int_equal(list[1].denied, 2);
    assert_string_equal(list[2].id, "s3");
    store_sessions_free(list, count);
    OK(store_sessions(store, 0, &list, &count, &err));
    assert_int_equal(count, 0);
    store_sessions_free(list, count);
    OK(store_sessions(store, SIZE_MAX, &list, &count, &err));
    assert_int_equal(count, 5);
    store_sessions_free(list, count);
    store_close(store);
    store_close(NULL);
}

static size_t found(struct store *store, const char *query, const char *first)
{
    struct store_memory *list;
    size_t count;
    OK(store_memory_search(store, query, 10, &list, &count, &err));
    if (first) {
        assert_true(count > 0);
        assert_string_equal(list[0].text, first);
        assert_true(list[0].id > 0);
    }
    for (size_t i = 1; i < count; i++)
        assert_true(list[i - 1].score >= list[i].score);
    store_memory_free(list, count);
    return count;
}

TEST(memory_is_found_by_words)
{
    static const char *const texts[] = {
        "The parser of dates treats February wrongly",
        "Tests run with make check, never with make test",
        "The user prefers tabs in Makefiles",
        "Straße and café are words too",
        "The build needs the library and the compiler and the rest",
    };
    struct store *store = must_open(":memory:");
    assert_int_equal(found(store, "anything", NULL), 0);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        OK(store_memory_add(store, i ? "s1" : NULL, texts[i], 1000, &err));
    assert_int_equal(found(store, "Why does the PARSER fail on dates?", texts[0]), 3);
    assert_int_equal(found(store, "makefiles", texts[2]), 1);
    assert_int_equal(found(store, "cafe", texts[3]), 1);
    assert_int_equal(found(store, "STRAßE", texts[3]), 1);
    assert_int_equal(found(store, "zebra", NULL), 0);
    store_close(store);
}

TEST(queries_are_plain_text)
{
    static const char *const queries[] = {
        "",
        " ",
        "\"",
        "\"\"",
        "'",
        "*",
        "a*",
        "AND",
        "OR OR",
        "NOT tests",
        "NEAR(a b)",
        "text:tests",
        "(",
        ")",
        "a AND (b",
        "^tests",
        "-tests",
        "{text}:x",
        "tests\" OR \"x",
        "a\nb",
        "\xff\xfe",
        "\xf0\x9f\x94\x91",
        "\xe2\x80\xae",
        "?1",
        ";DROP TABLE memory",
        "\x01\x02",
    };
    struct store *store = must_open(":memory:");
    OK(store_memory_add(store, "s", "tests and text", 1, &err));
    for (size_t i = 0; i < COUNT_OF(queries); i++)
        found(store, queries[i], NULL);
    assert_int_equal(found(store, "NOT tests", "tests and text"), 1);
    assert_int_equal(found(store, "AND", "tests and text"), 1);
    CLEANUP(free) char *flood = xmalloc(1 << 20);
    for (size_t i = 0; i + 1 < 1 << 20; i++)
        flood[i] = i % 3 ? 'a' : ' ';
    flood[(1 << 20) - 1] = '\0';
    found(store, flood, NULL);
    store_close(store);
}

TEST(files_are_private_and_kept)
{
    CLEANUP(free) char *path = xasprintf("%s/keyturn.db", folder);
    struct store *store = must_open(path);
    OK(store_memory_add(store, "s", "remember me", 1, &err));
    struct store *second = must_open(path); /* another keyturn */
    OK(store_memory_add(second, "s", "me too", 1, &err));
    store_close(second);
    store_close(store);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    store = must_open(path);
    assert_int_equal(found(store, "me", NULL), 2);
    store_close(store);
}

TEST(unusable_files_are_reported)
{
    CLEANUP(free) char *path = xasprintf("%s/other.db", folder);
    struct err err = ERR_INIT;
    static const char text[] =
        "This is a shopping list and no database at all. It is long enough for a header, though, "
        "so that SQLite has something to look at and to be disappointed by.";
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
    assert_null(store_open(path, &err));
    assert_non_null(strstr(err.text, "not a database"));
    assert_non_null(strstr(err.text, "move it away"));
    CLEANUP(strbuf) struct strbuf sb = STRBUF_INIT;
    assert_int_equal(file_read(path, &sb, 0, NULL), 0);
    assert_string_equal(sb.buf, text);
    assert_null(store_open("/nowhere/at/all.db", &err));
    assert_null(store_open(folder, &err));
}

static void *hammer(void *data)
{
    struct store *store = data;
    for (int i = 0; i < 50; i++) {
        struct store_memory *list;
        size_t count;
        OK(store_memory_add(store, "s", "words for everybody", 1, &err));
        OK(store_memory_search(store, "words", 3, &list, &count, &err));
        store_memory_free(list, count);
    }
    return NULL;
}

TEST(threads_may_share_it)
{
    struct store *store = must_open(":memory:");
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, store), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    struct store_memory *list;
    size_t count;
    OK(store_memory_search(store, "everybody", 1000, &list, &count, &err));
    assert_int_equal(count, 200);
    store_memory_free(list, count);
    store_close(store);
}

TEST_GROUP(make_folder, remove_folder)
