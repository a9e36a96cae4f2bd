/* Lists the recorded sessions. The list in keyturn.db has all facts about a session that ended normally. A session that
 * is missing there was cut off or still runs: a lock on its journal shows which. The other facts come from the two ends
 * of the file, never from its middle. */

#include "session_list.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "event/journal.h"
#include "event/journal_summary.h"
#include "event/store.h"
#include "event/words.h"
#include "screen/text.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTED_MAX 1000

static void row_release(struct session_row *row)
{
    free(row->id);
    free(row->path);
    free(row->workspace);
    free(row->title);
    free(row->status);
    free(row->model);
}

void sessions_release(struct session_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        row_release(&rows->items[i]);
    free(rows->items);
    *rows = (struct session_rows){0};
}

static char *copy(const char *text)
{
    return xstrdup(text ? text : "");
}

static const char *state_of(const struct journal_summary *summary, bool running)
{
    if (running)
        return summary->waits ? "waiting" : "running";
    if (summary->broken)
        return "broken line";
    return summary->under_way ? "cut off" : *summary->ended ? words_turn_status(summary->ended) : "no turn";
}

static void take_counts(struct session_row *row, const struct journal_summary *summary)
{
    row->writes = summary->all ? summary->writes : -1;
    row->undone = summary->undone;
    row->approved = summary->all ? summary->approved : -1;
    row->denied = summary->all ? summary->denied : -1;
}

static void replace(char **text, char *take_text)
{
    free(*text);
    *text = take_text;
}

static bool read_journal(struct session_row *row)
{
    CLEANUP(journal_summary) struct journal_summary summary;
    if (journal_summary_read(&summary, row->path, NULL))
        return false;
    row->running = journal_held(row->path);
    replace(&row->workspace, steal(&summary.workspace));
    if (*summary.name || !row->title || !*row->title) /* the name may stand in the part that was not read */
        replace(&row->title, steal(*summary.name ? &summary.name : &summary.prompt));
    replace(&row->model, steal(&summary.model));
    replace(&row->status, copy(state_of(&summary, row->running)));
    row->turns = summary.turns;
    take_counts(row, &summary);
    return true;
}

/* Fills in from the journal what the list does not have. */
static void describe(struct session_row *row)
{
    CLEANUP(journal_summary) struct journal_summary summary = {0};
    if (*row->title && row->writes >= 0)
        return;
    if (journal_summary_read(&summary, row->path, NULL))
        return;
    if (!*row->title) {
        free(row->title);
        row->title = steal(*summary.name ? &summary.name : &summary.prompt);
    }
    if (row->writes < 0)
        take_counts(row, &summary);
}

/* ---- from the list ---- */

/* Marks a session as listed, by its name and by its file's name. They differ only if the user moved the file. */
static void know(struct hash_map *known, const struct store_session *session)
{
    const char *slash = strrchr(session->path, '/');
    const char *file = slash ? slash + 1 : session->path;
    size_t len = strlen(file);
    CLEANUP(free) char *name = xmemdup0(file, len > 6 ? len - 6 : len);
    hash_map_put(known, session->id, 1);
    hash_map_put(known, name, 1);
}

/* The list is written when a session ends. One that was resumed since, and still runs or was killed, has a newer
 * journal. */
static bool is_out_of_date(const struct session_row *row, int64_t *changed_us)
{
    struct stat st;
    if (stat(row->path, &st))
        return false;
    *changed_us = st.st_mtim.tv_sec * (int64_t)1000000 + st.st_mtim.tv_nsec / 1000;
    return *changed_us > row->when_us;
}

static void load_store(struct session_rows *rows, size_t most, struct hash_map *known)
{
    CLEANUP(free) char *path = file_xdg_path(FILE_DATA, "keyturn.db");
    struct err err = ERR_INIT;
    /* Listing sessions must not create the file. */
    if (access(path, R_OK))
        return;
    struct store *store = store_open(path, &err);
    struct store_session *list = NULL;
    size_t count = 0;
    if (store && store_sessions(store, most, &list, &count, &err) == 0) {
        for (size_t i = 0; i < count; i++) {
            know(known, &list[i]);
            if (access(list[i].path, R_OK))
                continue;
            GROW(rows->items, rows->count, rows->room);
            rows->items[rows->count++] = (struct session_row){
                .id = copy(list[i].id),
                .path = copy(list[i].path),
                .workspace = copy(list[i].workspace),
                .title = copy(list[i].title),
                .status = copy(list[i].status),
                .model = copy(list[i].model),
                .when_us = list[i].updated_us,
                .turns = list[i].turns,
                .writes = list[i].writes,
                .undone = list[i].undone,
                .approved = list[i].approved,
                .denied = list[i].denied,
            };
            struct session_row *row = &rows->items[rows->count - 1];
            int64_t changed_us;
            if (is_out_of_date(row, &changed_us) && read_journal(row))
                row->when_us = changed_us;
            else
                describe(row);
        }
        store_sessions_free(list, count);
    }
    store_close(store);
}

/* ---- from the journals ---- */

struct found {
    char *name;
    int64_t when_us;
};
struct found_list {
    struct found *items;
    size_t count, room;
};

static int newest_first(const void *a, const void *b)
{
    const struct found *one = a, *two = b;
    return one->when_us < two->when_us ? 1 : one->when_us > two->when_us ? -1 : strcmp(two->name, one->name);
}

static void find_journals(struct found_list *list, const char *folder, const struct hash_map *known)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        struct stat st;
        if (len <= 6 || strcmp(entry->d_name + len - 6, ".jsonl") != 0 || entry->d_name[0] == '.')
            continue;
        CLEANUP(free) char *id = xmemdup0(entry->d_name, len - 6);
        if (hash_map_has(known, id) || fstatat(dirfd(dir), entry->d_name, &st, 0) || !S_ISREG(st.st_mode))
            continue;
        GROW(list->items, list->count, list->room);
        list->items[list->count++] = (struct found){
            .name = steal(&id), .when_us = st.st_mtim.tv_sec * (int64_t)1000000 + st.st_mtim.tv_nsec / 1000};
    }
    if (dir)
        closedir(dir);
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), newest_first);
}

static void load_journals(struct session_rows *rows, size_t most, const struct hash_map *known)
{
    CLEANUP(free) char *folder = file_xdg_path(FILE_DATA, "sessions");
    struct found_list list = {0};
    find_journals(&list, folder, known);
    for (size_t i = 0, taken = 0; i < list.count; i++) {
        struct session_row row = {.id = list.items[i].name, .when_us = list.items[i].when_us};
        row.path = xasprintf("%s/%s.jsonl", folder, row.id);
        if (taken < most && read_journal(&row)) {
            GROW(rows->items, rows->count, rows->room);
            rows->items[rows->count++] = row;
            taken++;
        } else {
            row_release(&row);
        }
    }
    free(list.items);
}

static int by_time(const void *a, const void *b)
{
    const struct session_row *one = a, *two = b;
    return one->when_us < two->when_us ? 1 : one->when_us > two->when_us ? -1 : strcmp(two->id, one->id);
}

void sessions_load(struct session_rows *rows, size_t most)
{
    struct hash_map known = {0};
    *rows = (struct session_rows){0};
    load_store(rows, most, &known);
    load_journals(rows, most, &known);
    hash_map_release(&known);
    if (rows->count)
        qsort(rows->items, rows->count, sizeof(*rows->items), by_time);
    while (rows->count > most)
        row_release(&rows->items[--rows->count]);
}

char *sessions_find(const char *name)
{
    if (access(name, F_OK) == 0 || strchr(name, '/') || strlen(name) > 200)
        return xstrdup(name);
    CLEANUP(free) char *below = xasprintf("sessions/%s.jsonl", name);
    CLEANUP(free) char *path = file_xdg_path(FILE_DATA, below);
    if (access(path, F_OK) == 0)
        return steal(&path);
    /* A session recorded to another folder is only in the list. */
    struct session_rows rows;
    char *found = NULL;
    sessions_load(&rows, LISTED_MAX);
    for (size_t i = 0; i < rows.count && !found; i++)
        if (strcmp(rows.items[i].id, name) == 0)
            found = xstrdup(rows.items[i].path);
    sessions_release(&rows);
    return found ? found : xstrdup(name);
}

void sessions_writes(struct strbuf *out, const struct session_row *row, bool unit)
{
    if (row->writes < 0)
        return;
    if (unit)
        text_plural(out, row->writes, "write", "writes");
    else
        strbuf_addf(out, "%lld", (long long)row->writes);
    if (row->undone > 0)
        strbuf_addf(out, ", %lld undone", (long long)row->undone);
}

/* ---- choosing ---- */

typedef bool row_test(const struct session_row *row, const char *text);

static bool has_id(const struct session_row *row, const char *text)
{
    return strcmp(row->id, text) == 0;
}

static bool id_begins(const struct session_row *row, const char *text)
{
    return strncmp(row->id, text, strlen(text)) == 0;
}

static bool has_title(const struct session_row *row, const char *text)
{
    return strcasecmp(row->title, text) == 0;
}

static bool is_in(const struct session_row *row, const char *folder)
{
    return strcmp(row->workspace, folder) == 0;
}

/* The prompts after the first are only in the journal. */
static bool mentions(const struct session_row *row, const char *text)
{
    static const char type[] = "\"turn.started\"";
    bool found = strcasestr(row->title, text) != NULL;
    struct journal_reader *reader = found ? NULL : journal_open(row->path, NULL);
    for (size_t i = 0; reader && !found && i < journal_count(reader); i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct event event;
        size_t len;
        const char *line = journal_line(reader, i, &len);
        found = memmem(line, len, type, sizeof(type) - 1) && !journal_event(reader, i, &event, &arena, NULL) &&
                event.type == EVENT_TURN_STARTED && event.turn_started.prompt &&
                strcasestr(event.turn_started.prompt, text);
    }
    journal_reader_free(reader);
    return found;
}

static size_t keep(struct session_rows *rows, row_test *test, const char *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct session_row row = rows->items[i];
        if (test(&row, text))
            rows->items[kept++] = row;
        else
            row_release(&row);
    }
    return rows->count = kept;
}

void sessions_keep_named(struct session_rows *rows, const char *text)
{
    static row_test *const tests[] = {has_id, id_begins, has_title};
    for (size_t i = 0; i < COUNT_OF(tests); i++)
        for (size_t k = 0; k < rows->count; k++)
            if (tests[i](&rows->items[k], text)) {
                keep(rows, tests[i], text);
                return;
            }
    keep(rows, mentions, text);
}

void sessions_keep_folder(struct session_rows *rows, const char *folder)
{
    keep(rows, is_in, folder);
}

char *sessions_folder(const char *path)
{
    const char *home = getenv("HOME");
    size_t len = home ? strlen(home) : 0;
    if (len > 1 && strncmp(path, home, len) == 0 && (path[len] == '/' || !path[len]))
        return xasprintf("~%s", path + len);
    return xstrdup(path);
}
