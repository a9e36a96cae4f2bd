#include "start_list.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "journal/journal.h"
#include "sessions.h"
#include "text.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS_MAX    200
#define LINES_LOOKED_AT 20

/* One that is not in here is described by its prompt. */
static const struct {
    const char *name, *about;
} known[] = {
    {"demo", "a guided turn, nothing to set up"},
    {"parallel-reads", "several reads in one wave"},
    {"late-thread", "a timed-out tool comes back late"},
    {"partial-approval", "one hunk kept, one dropped"},
    {"edited-approval", "a write that was edited before yes"},
    {"write-approved", "a write that was approved"},
    {"write-denied", "a write that was denied, with a reason"},
    {"budget-ends", "a turn that runs out of budget"},
    {"duplicate-call", "the same call asked for twice"},
    {"oversized-output", "an output too long for the model"},
    {"reflection", "the model looks back at its step"},
};

static struct start_item *add(struct start_list *list)
{
    GROW(list->items, list->count, list->room);
    list->items[list->count] = (struct start_item){0};
    return &list->items[list->count++];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void load_sessions(struct start_list *list, int64_t now_us)
{
    struct session_rows rows;
    sessions_load(&rows, SESSIONS_MAX);
    for (size_t i = 0; i < rows.count; i++) {
        const struct session_row *row = &rows.items[i];
        struct strbuf about = STRBUF_INIT;
        struct start_item *item = add(list);
        strbuf_addf(&about, "turn %lld · ", (long long)row->turns);
        text_ago(&about, row->when_us, now_us);
        strbuf_addf(&about, " · %s", row->status);
        item->name = xstrdup(*row->workspace ? base_name(row->workspace) : row->id);
        item->path = xstrdup(row->path);
        item->about = strbuf_detach(&about, NULL);
        item->title = xstrdup(row->title);
    }
    list->sessions = list->count;
    sessions_release(&rows);
}

static char *prompt_of(const char *path)
{
    struct journal_reader *reader = journal_open(path, NULL);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    char *prompt = NULL;
    for (size_t i = 0; reader && i < journal_count(reader) && i < LINES_LOOKED_AT && !prompt; i++) {
        struct event event;
        if (journal_event(reader, i, &event, &arena, NULL) == 0 && event.type == EVENT_TURN_STARTED)
            prompt = xstrdup(event.turn_started.prompt ? event.turn_started.prompt : "");
        arena_reset(&arena);
    }
    if (reader)
        journal_reader_free(reader);
    return prompt ? prompt : xstrdup("");
}

static void add_fixture(struct start_list *list, const char *path)
{
    const char *name = base_name(path);
    struct start_item *item = add(list);
    item->fixture = true;
    item->name = xmemdup0(name, strlen(name) - strlen(".jsonl"));
    item->title = xstrdup("");
    item->path = xstrdup(strcmp(item->name, "demo") == 0 ? "demo" : path);
    for (size_t i = 0; i < COUNT_OF(known) && !item->about; i++)
        if (strcmp(known[i].name, item->name) == 0)
            item->about = xstrdup(known[i].about);
    if (!item->about)
        item->about = prompt_of(path);
}

static size_t rank(const struct start_item *item)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, item->name) == 0)
            return i;
    return COUNT_OF(known);
}

static int by_rank(const void *a, const void *b)
{
    size_t one = rank(a), two = rank(b);
    return one != two ? (one < two ? -1 : 1)
                      : strcmp(((const struct start_item *)a)->name, ((const struct start_item *)b)->name);
}

/* Beside the sources, beside the build folder, or where `install` puts them. */
static char *find_fixtures(void)
{
    static const char *const places[] = {"/fixtures", "/../fixtures", "/../share/keyturn/fixtures"};
    const char *named = getenv("KEYTURN_FIXTURES");
    if (named)
        return xstrdup(named);
    CLEANUP(free) char *program = file_program_dir();
    for (size_t i = 0; program && i < COUNT_OF(places); i++) {
        CLEANUP(free) char *folder = xasprintf("%s%s", program, places[i]);
        if (access(folder, R_OK) == 0)
            return steal(&folder);
    }
    return NULL;
}

static void load_fixtures(struct start_list *list, const char *folder)
{
    CLEANUP(free) char *found = folder ? xstrdup(folder) : find_fixtures();
    if (!found)
        return;
    CLEANUP(free) char *pattern = xasprintf("%s/*.jsonl", found);
    glob_t files;
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++)
            add_fixture(list, files.gl_pathv[i]);
        globfree(&files);
    }
    if (list->count > list->sessions)
        qsort(list->items + list->sessions, list->count - list->sessions, sizeof(*list->items), by_rank);
}

void start_list_load_at(struct start_list *list, const char *fixtures, int64_t now_us)
{
    *list = (struct start_list){0};
    load_sessions(list, now_us ? now_us : clock_system()->wall_us(clock_system()));
    load_fixtures(list, fixtures);
}

void start_list_load(struct start_list *list, const char *fixtures)
{
    start_list_load_at(list, fixtures, 0);
}

void start_list_release(struct start_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].path);
        free(list->items[i].about);
        free(list->items[i].title);
    }
    free(list->items);
    *list = (struct start_list){0};
}
