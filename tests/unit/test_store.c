/* keyturn.db: stored rows come back unchanged, and no user input is run as a query. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/store.h"
#include "support/test.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
    OK(store_memory_search(store, "/p", query, 10, &list, &count, &err));
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
        OK(store_memory_add(store, "/p", i ? "s1" : NULL, texts[i], 1000, &err));
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
    OK(store_memory_add(store, "/p", "s", "tests and text", 1, &err));
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
    OK(store_memory_add(store, "/p", "s", "remember me", 1, &err));
    struct store *second = must_open(path); /* another keyturn */
    OK(store_memory_add(second, "/p", "s", "me too", 1, &err));
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

/* ---- projects ---- */

TEST(memory_is_found_in_its_project_only)
{
    struct store *store = must_open(":memory:");
    struct store_memory *list;
    size_t count;
    OK(store_memory_add(store, "/p", "s1", "the parser of p", 1, &err));
    OK(store_memory_add(store, "/p/below", "s2", "the parser below p", 2, &err));
    OK(store_memory_add(store, "/other", "s3", "the parser of another client", 3, &err));
    OK(store_memory_add(store, NULL, "s4", "the parser of nobody knows whom", 4, &err));
    assert_int_equal(found(store, "parser", "the parser of p"), 1);
    OK(store_memory_search(store, NULL, "parser", 10, &list, &count, &err)); /* "global" */
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++)
        assert_non_null(list[i].project);
    store_memory_free(list, count);
    OK(store_memory_list(store, &list, &count, &err));
    assert_int_equal(count, 4);
    assert_null(list[0].project);
    assert_string_equal(list[1].project, "/other");
    assert_string_equal(list[1].session, "s3");
    assert_int_equal(list[1].wall_us, 3);
    store_memory_free(list, count);
    store_close(store);
}

TEST(forgotten_memories_are_not_found)
{
    struct store *store = must_open(":memory:");
    int64_t count;
    OK(store_memory_add(store, "/p", "s", "the parser", 1, &err));
    OK(store_memory_add(store, "/p", "s", "the lexer", 2, &err));
    OK(store_memory_add(store, "/q", "s", "the printer", 3, &err));
    OK(store_memory_forget(store, 1, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(found(store, "parser", NULL), 0);
    assert_int_equal(found(store, "lexer", "the lexer"), 1);
    OK(store_memory_forget(store, 1, &count, &err));
    assert_int_equal(count, 0);
    OK(store_memory_forget(store, 0, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(found(store, "lexer", NULL), 0);
    store_close(store);
}

/* ---- older and newer files ---- */

/* The schema of version 2, as released. */
static const char old_schema[] =
    "CREATE TABLE session (id TEXT PRIMARY KEY, path TEXT, workspace TEXT, title TEXT, status TEXT, model TEXT,"
    " created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL, turns INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX session_updated ON session (updated_us);"
    "CREATE TABLE memory (id INTEGER PRIMARY KEY, session TEXT, text TEXT NOT NULL, wall_us INTEGER NOT NULL);"
    "CREATE VIRTUAL TABLE memory_words USING fts5 (text, content='memory', content_rowid='id',"
    " tokenize='unicode61 remove_diacritics 2');"
    "CREATE TRIGGER memory_added AFTER INSERT ON memory BEGIN"
    " INSERT INTO memory_words (rowid, text) VALUES (new.id, new.text); END;"
    "CREATE TRIGGER memory_removed AFTER DELETE ON memory BEGIN"
    " INSERT INTO memory_words (memory_words, rowid, text) VALUES ('delete', old.id, old.text); END;"
    "CREATE TABLE decision (id INTEGER PRIMARY KEY, session TEXT, turn INTEGER NOT NULL, text TEXT NOT NULL,"
    " wall_us INTEGER NOT NULL);"
    "CREATE TABLE lesson (tool TEXT PRIMARY KEY, calls INTEGER NOT NULL, failures INTEGER NOT NULL) WITHOUT ROWID;"
    "ALTER TABLE session ADD COLUMN writes INTEGER NOT NULL DEFAULT -1;"
    "INSERT INTO session VALUES ('s1', '/j', '/w', 'fix it', 'done', 'm', 1, 2, 3, 4);"
    "INSERT INTO memory (session, text, wall_us) VALUES ('s1', 'the parser of whom', 5);"
    "INSERT INTO memory (session, text, wall_us) VALUES ('s1', 'the lexer', 6);"
    "INSERT INTO lesson VALUES ('grep', 7, 1);"
    "PRAGMA user_version = 2;";

static char *make_file(const char *name, const char *sql)
{
    char *path = xasprintf("%s/%s", folder, name);
    sqlite3 *db;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    return path;
}

static void check_upgraded(const char *path)
{
    struct store *store = must_open(path);
    struct store_session *sessions;
    struct store_memory *list;
    size_t count;
    OK(store_sessions(store, 9, &sessions, &count, &err));
    assert_int_equal(count, 1);
    assert_string_equal(sessions[0].title, "fix it");
    assert_int_equal(sessions[0].writes, 4);
    assert_int_equal(sessions[0].undone, 0);
    assert_int_equal(sessions[0].approved, -1);
    store_sessions_free(sessions, count);
    OK(store_memory_list(store, &list, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(list[0].text, "the lexer");
    assert_null(list[0].project);
    store_memory_free(list, count);
    assert_int_equal(found(store, "parser lexer", NULL), 0);
    OK(store_memory_add(store, "/p", "s2", "the parser of p", 7, &err));
    assert_int_equal(found(store, "parser", "the parser of p"), 1);
    store_close(store);
}

TEST(an_older_file_opens_with_all_that_is_in_it)
{
    CLEANUP(free) char *path = make_file("old.db", old_schema);
    check_upgraded(path);
}

/* The statement before or after which the process is killed; 0: none. */
static int kill_at, executed;
static bool kill_after;

typedef int execute_statement(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *data,
                              char **message);

int sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *data, char **message)
{
    union {
        void *object;
        execute_statement *function;
    } real = {dlsym(RTLD_NEXT, "sqlite3_exec")};
    executed++;
    if (executed == kill_at && !kill_after)
        raise(SIGKILL);
    int code = real.function(db, sql, row, data, message);
    if (executed == kill_at && kill_after)
        raise(SIGKILL);
    return code;
}

TEST(a_kill_during_the_upgrade_loses_nothing)
{
    int killed = 0;
    for (int at = 1; at <= 8; at++)
        for (int after = 0; after <= 1; after++) {
            CLEANUP(free) char *path = make_file("killed.db", old_schema);
            pid_t child = fork();
            if (child == 0) {
                executed = 0;
                kill_at = at;
                kill_after = after;
                store_close(store_open(path, NULL));
                _exit(0);
            }
            int status;
            assert_int_equal(waitpid(child, &status, 0), child);
            killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            check_upgraded(path);
        }
    assert_true(killed >= 8); /* before and after: begin, the upgrade, the version, the commit */
}

TEST(a_newer_file_says_so_and_stays_as_it_is)
{
    CLEANUP(free) char *path = make_file("newer.db", "CREATE TABLE x (y); PRAGMA user_version = 999;");
    struct err err = ERR_INIT;
    assert_null(store_open(path, &err));
    assert_non_null(strstr(err.text, "the database was written by a newer keyturn (schema 999"));
    CLEANUP(free) char *again = xstrdup(path);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(again, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT y FROM x", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void *hammer(void *data)
{
    struct store *store = data;
    for (int i = 0; i < 50; i++) {
        struct store_memory *list;
        size_t count;
        OK(store_memory_add(store, "/p", "s", "words for everybody", 1, &err));
        OK(store_memory_search(store, "/p", "words", 3, &list, &count, &err));
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
    OK(store_memory_search(store, "/p", "everybody", 1000, &list, &count, &err));
    assert_int_equal(count, 200);
    store_memory_free(list, count);
    store_close(store);
}

TEST_GROUP(make_folder, remove_folder)
