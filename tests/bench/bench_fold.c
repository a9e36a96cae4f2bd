/* Opening and folding a journal of a million events, against parsing every line of it with cJSON; and the memory
 * kept. */

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include "event/journal.h"
#include "event/session.h"
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define EVENTS 1000000

static char *path;
static int64_t kept_bytes;

static void fold(void *none)
{
    int64_t before = bench_private_bytes();
    struct journal_reader *reader = journal_open(path, NULL);
    struct session session;
    struct arena arena = ARENA_INIT;
    struct event event;
    (void)none;
    session_init(&session);
    for (size_t i = 0; i < journal_count(reader); i++) {
        if (journal_event(reader, i, &event, &arena, NULL) < 0)
            abort();
        session_apply(&session, &event);
        arena_reset(&arena);
    }
    if (session.fault_count || session.event_count < EVENTS)
        abort();
    kept_bytes = bench_private_bytes() - before;
    arena_release(&arena);
    session_release(&session);
    journal_reader_free(reader);
}

static void parse(void *none)
{
    struct journal_reader *reader = journal_open(path, NULL);
    (void)none;
    for (size_t i = 0; i < journal_count(reader); i++) {
        size_t len;
        const char *line = journal_line(reader, i, &len);
        cJSON *value = cJSON_ParseWithLength(line, len);

        if (!value)
            abort();
        cJSON_Delete(value);
    }
    journal_reader_free(reader);
}

int main(void)
{
    char *dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    if (!dir)
        return 2;
    path = xasprintf("%s/million.jsonl", dir);
    bench_write_journal(path, EVENTS);
    fold(NULL); /* first, while nothing else has grown the heap */
    bench_report_max("fold-memory", (double)kept_bytes / EVENTS, "B/ev", 256);
    struct bench_pair pair = bench_compare(3, fold, parse, NULL);
    bench_report("fold", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.5);
    if (file_remove_tree(dir, NULL) < 0)
        return 2;
    free(path);
    free(dir);
    return bench_status();
}
