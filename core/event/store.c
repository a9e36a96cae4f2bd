/* keyturn.db: the only file that uses SQLite (store.h).
 *
 * Every call takes the store's mutex. SQLite could serialize calls itself, but here a search and reading its rows
 * are one operation. Another keyturn may have the same file open. Its writes are short, and we wait for them.
 *
 * Memory is searched by words. The query is the user's prompt and must never be read as query syntax. So its words
 * are extracted, quoted and joined with OR. BM25 then ranks memories with shared rare words above those with shared
 * common words. */

#include "store.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define BUSY_MS         3000
#define QUERY_WORDS_MAX 64

struct store {
    sqlite3 *db;
    pthread_mutex_t mutex;
};

/* Each entry upgrades the schema from one version (its index) to the next. Never change a released entry. */
static const char *const migrations[] = {
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
    "CREATE TABLE lesson (tool TEXT PRIMARY KEY, calls INTEGER NOT NULL, failures INTEGER NOT NULL) WITHOUT ROWID;",
    "ALTER TABLE session ADD COLUMN writes INTEGER NOT NULL DEFAULT -1;", /* -1: unknown */
    /* A memory without a project is older than projects: it is listed and never found. */
    ("ALTER TABLE session ADD COLUMN undone INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE memory ADD COLUMN project TEXT;"),
    /* Nothing read the tables. A decision is in its journal; the list of sessions shows how many there were. */
    "DROP TABLE decision; DROP TABLE lesson;"
    "ALTER TABLE session ADD COLUMN approved INTEGER NOT NULL DEFAULT -1;"
    "ALTER TABLE session ADD COLUMN denied INTEGER NOT NULL DEFAULT -1;",
};

static int store_failed(struct store *store, struct err *err)
{
    return err_set(err, "cannot use the database: %s", sqlite3_errmsg(store->db));
}

/* ---- statements ---- */

static void statement_cleanup(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}

static void unlock_cleanup(struct store **store)
{
    pthread_mutex_unlock(&(*store)->mutex);
}

static struct store *locked(struct store *store)
{
    pthread_mutex_lock(&store->mutex);
    return store;
}

/* Until the end of the scope. */
#define LOCK(store)                                      \
    CLEANUP(unlock) struct store *lock_ = locked(store); \
    (void)lock_

static sqlite3_stmt *prepare(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return NULL;
    return statement;
}

/* Binding fails only when memory runs out, or for a parameter that does not exist. */
static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    if (sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC) != SQLITE_OK)
        BUG("cannot bind parameter %d of a statement", place);
}

static void bind_int(sqlite3_stmt *statement, int place, int64_t number)
{
    if (sqlite3_bind_int64(statement, place, number) != SQLITE_OK)
        BUG("cannot bind parameter %d of a statement", place);
}

static char *column_text(sqlite3_stmt *statement, int place)
{
    const unsigned char *text = sqlite3_column_text(statement, place);
    return xstrdup(text ? (const char *)text : "");
}

/* Runs a statement without result rows. */
static int run(struct store *store, sqlite3_stmt *statement, struct err *err)
{
    return sqlite3_step(statement) == SQLITE_DONE ? 0 : store_failed(store, err);
}

static int64_t limit_of(size_t limit)
{
    return limit > INT32_MAX ? INT32_MAX : (int64_t)limit;
}

/* ---- opening ---- */

static int execute(struct store *store, const char *sql)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

static int read_version(struct store *store, int *version)
{
    CLEANUP(statement) sqlite3_stmt *statement = prepare(store, "PRAGMA user_version");
    if (!statement || sqlite3_step(statement) != SQLITE_ROW)
        return -1;
    *version = sqlite3_column_int(statement, 0);
    return 0;
}

/* Runs inside a transaction that takes the write lock first, so that two programs that start at once do not both
 * create the schema. */
static int migrate(struct store *store, struct err *err)
{
    const int newest = (int)COUNT_OF(migrations);
    int version;
    if (read_version(store, &version) == 0 && version == newest)
        return 0;
    if (execute(store, "BEGIN IMMEDIATE") < 0 || read_version(store, &version) < 0)
        return store_failed(store, err);
    if (version > newest || version < 0)
        return err_set(err, "the database was written by a newer keyturn (schema %d, this program knows %d)", version,
                       newest);
    for (; version < newest; version++)
        if (execute(store, migrations[version]) < 0)
            return store_failed(store, err);
    char sql[48];
    snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", newest);
    if (execute(store, sql) < 0 || execute(store, "COMMIT") < 0)
        return store_failed(store, err);
    return 0;
}

/* The journals are the source of truth, so a turn must not wait for the disk because of this file. With a
 * write-ahead log a power cut loses at most the last memories, never the database. SQLite merges the log after it
 * has grown, not at every close. */
static void relax(struct store *store)
{
    execute(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

/* SQLite would create the file with the permissions of the umask. */
static int make_private(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot open the database");
    close(fd);
    return 0;
}

struct store *store_open(const char *path, struct err *err)
{
    bool in_memory = strcmp(path, ":memory:") == 0;
    if (!in_memory && make_private(path, err) < 0)
        return NULL;
    struct store *store = xcalloc(1, sizeof(*store));
    pthread_mutex_init(&store->mutex, NULL);
    int code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) {
        sqlite3_busy_timeout(store->db, BUSY_MS);
        sqlite3_extended_result_codes(store->db, 1);
        if (migrate(store, err) == 0) {
            relax(store);
            return store;
        }
        code = sqlite3_errcode(store->db) & 0xff;
    } else {
        err_set(err, "cannot open the database: %s", store->db ? sqlite3_errmsg(store->db) : "out of memory");
    }
    if (code == SQLITE_NOTADB)
        err_set(err, "not a database; move it away, and keyturn creates a new one");
    else if (code == SQLITE_CORRUPT)
        err_set(err, "the database is damaged; move it away, and keyturn creates a new one (only memory is lost)");
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    sqlite3_close(store->db);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}

/* ---- sessions ---- */

int store_session_put(struct store *store, const struct store_session *session, struct err *err)
{
    LOCK(store);
    CLEANUP(statement)
    sqlite3_stmt *statement =
        prepare(store, "INSERT INTO session (id, path, workspace, title, status, model, created_us, updated_us, turns,"
                       " writes, undone, approved, denied)"
                       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (id) DO UPDATE SET"
                       " path = ?2, workspace = ?3, title = ?4, status = ?5, model = ?6, updated_us = ?8,"
                       " turns = ?9, writes = ?10, undone = ?11, approved = ?12, denied = ?13");
    if (!statement)
        return store_failed(store, err);
    bind_text(statement, 1, session->id);
    bind_text(statement, 2, session->path);
    bind_text(statement, 3, session->workspace);
    bind_text(statement, 4, session->title);
    bind_text(statement, 5, session->status);
    bind_text(statement, 6, session->model);
    bind_int(statement, 7, session->created_us);
    bind_int(statement, 8, session->updated_us);
    bind_int(statement, 9, session->turns);
    bind_int(statement, 10, session->writes);
    bind_int(statement, 11, session->undone);
    bind_int(statement, 12, session->approved);
    bind_int(statement, 13, session->denied);
    return run(store, statement, err);
}

int store_sessions(struct store *store, size_t limit, struct store_session **list, size_t *count, struct err *err)
{
    LOCK(store);
    CLEANUP(statement)
    sqlite3_stmt *statement =
        prepare(store, "SELECT id, path, workspace, title, status, model, created_us, updated_us, turns, writes,"
                       " undone, approved, denied FROM session ORDER BY updated_us DESC, id LIMIT ?1");
    if (!statement)
        return store_failed(store, err);
    bind_int(statement, 1, limit_of(limit));
    struct store_session *items = NULL;
    size_t used = 0, room = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        GROW(items, used, room);
        items[used++] = (struct store_session){
            .id = column_text(statement, 0),
            .path = column_text(statement, 1),
            .workspace = column_text(statement, 2),
            .title = column_text(statement, 3),
            .status = column_text(statement, 4),
            .model = column_text(statement, 5),
            .created_us = sqlite3_column_int64(statement, 6),
            .updated_us = sqlite3_column_int64(statement, 7),
            .turns = sqlite3_column_int64(statement, 8),
            .writes = sqlite3_column_int64(statement, 9),
            .undone = sqlite3_column_int64(statement, 10),
            .approved = sqlite3_column_int64(statement, 11),
            .denied = sqlite3_column_int64(statement, 12),
        };
    }
    if (code != SQLITE_DONE) {
        store_sessions_free(items, used);
        return store_failed(store, err);
    }
    *list = items;
    *count = used;
    return 0;
}

void store_sessions_free(struct store_session *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].id);
        free(list[i].path);
        free(list[i].workspace);
        free(list[i].title);
        free(list[i].status);
        free(list[i].model);
    }
    free(list);
}

/* ---- memory ---- */

int store_memory_add(struct store *store, const char *project, const char *session, const char *text, int64_t wall_us,
                     struct err *err)
{
    LOCK(store);
    CLEANUP(statement)
    sqlite3_stmt *statement =
        prepare(store, "INSERT INTO memory (session, text, wall_us, project) VALUES (?1, ?2, ?3, ?4)");
    if (!statement)
        return store_failed(store, err);
    bind_text(statement, 1, session);
    bind_text(statement, 2, text);
    bind_int(statement, 3, wall_us);
    bind_text(statement, 4, project);
    return run(store, statement, err);
}

/* Reads the rows of a query for id, text, project, session, wall_us and score. */
static int read_memories(struct store *store, sqlite3_stmt *statement, struct store_memory **list, size_t *count,
                         struct err *err)
{
    struct store_memory *items = NULL;
    size_t used = 0, room = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        GROW(items, used, room);
        items[used++] = (struct store_memory){
            .id = sqlite3_column_int64(statement, 0),
            .text = column_text(statement, 1),
            .project = sqlite3_column_type(statement, 2) == SQLITE_NULL ? NULL : column_text(statement, 2),
            .session = column_text(statement, 3),
            .wall_us = sqlite3_column_int64(statement, 4),
            .score = sqlite3_column_double(statement, 5),
        };
    }
    if (code != SQLITE_DONE) {
        store_memory_free(items, used);
        return store_failed(store, err);
    }
    *list = items;
    *count = used;
    return 0;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* Turns "fix the parser!" into "fix" OR "the" OR "parser". Keeps letters, digits and all characters beyond ASCII.
 * The tokenizer may split them, but quoted text without a quote is never syntax. */
static void query_words(struct strbuf *out, const char *text)
{
    CLEANUP(strbuf) struct strbuf clean = STRBUF_INIT;
    utf8_scrub(&clean, text, strlen(text));
    size_t words = 0;
    for (const char *at = clean.buf; *at && words < QUERY_WORDS_MAX;) {
        size_t len = 0;
        while (is_word_byte(at[len]))
            len++;
        if (len) {
            strbuf_addstr(out, words++ ? " OR \"" : "\"");
            strbuf_add(out, at, len);
            strbuf_addch(out, '"');
        }
        at += len ? len : 1;
    }
}

int store_memory_search(struct store *store, const char *project, const char *query, size_t limit,
                        struct store_memory **list, size_t *count, struct err *err)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    query_words(&words, query);
    if (words.len == 0) {
        *list = NULL;
        *count = 0;
        return 0;
    }
    LOCK(store);
    /* bm25() is negative; smaller is better. */
    CLEANUP(statement)
    sqlite3_stmt *statement =
        prepare(store, "SELECT memory.id, memory.text, project, session, wall_us, -bm25(memory_words) AS score"
                       " FROM memory_words JOIN memory ON memory.id = memory_words.rowid WHERE memory_words MATCH ?1"
                       " AND project IS NOT NULL AND (?3 IS NULL OR project = ?3)"
                       " ORDER BY score DESC, memory.id DESC LIMIT ?2");
    if (!statement)
        return store_failed(store, err);
    bind_text(statement, 1, words.buf);
    bind_int(statement, 2, limit_of(limit));
    bind_text(statement, 3, project);
    return read_memories(store, statement, list, count, err);
}

int store_memory_list(struct store *store, struct store_memory **list, size_t *count, struct err *err)
{
    LOCK(store);
    CLEANUP(statement)
    sqlite3_stmt *statement =
        prepare(store, "SELECT id, text, project, session, wall_us, 0 FROM memory ORDER BY wall_us DESC, id DESC");
    if (!statement)
        return store_failed(store, err);
    return read_memories(store, statement, list, count, err);
}

int store_memory_forget(struct store *store, int64_t id, int64_t *count, struct err *err)
{
    LOCK(store);
    CLEANUP(statement)
    sqlite3_stmt *statement = prepare(store, "DELETE FROM memory WHERE id = ?1 OR ?1 = 0");
    if (!statement)
        return store_failed(store, err);
    bind_int(statement, 1, id);
    if (run(store, statement, err))
        return -1;
    *count = sqlite3_changes(store->db);
    return 0;
}

void store_memory_free(struct store_memory *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].text);
        free(list[i].project);
        free(list[i].session);
    }
    free(list);
}
