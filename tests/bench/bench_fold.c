/* Opening and folding a journal of a million events, against parsing every line of it with cJSON; and the memory kept. */

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include "journal/journal.h"
#include "journal/session.h"
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define EVENTS 1000000

static char *path;
static int64_t kept_bytes;

/* Turns of four steps with three calls each, one of them a write: the mix of a working day. */
static void write_journal(void)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int64_t seq = 0;

#define LINE(turn, fmt, ...)                                                                                           \
    do {                                                                                                               \
        seq++;                                                                                                         \
        strbuf_addf(&out, "{\"seq\":%lld,\"t\":%lld,\"turn\":%d,", (long long)seq, (long long)seq * 1370, turn);       \
        strbuf_addf(&out, fmt "}\n", ##__VA_ARGS__);                                                                   \
    } while (0)
    LINE(0, "\"type\":\"session.started\",\"v\":1,\"session\":\"bench\",\"model\":{\"provider\":\"scripted\",\"name\":\"x\"}");
    for (int turn = 1; seq < EVENTS; turn++) {
        LINE(turn, "\"type\":\"turn.started\",\"prompt\":\"look at the files and mend what is broken\"");
        LINE(turn, "\"type\":\"budget.opened\",\"limits\":{\"wall_ms\":60000,\"steps\":6,\"tool_calls\":20}");
        for (int step = 1; step <= 4; step++) {
            int c = step * 10;

            LINE(turn, "\"type\":\"model.requested\",\"step\":%d", step);
            for (int i = 0; i < 6; i++)
                LINE(turn, "\"type\":\"model.delta\",\"step\":%d,\"text\":\"a few words of an answer, \"", step);
            LINE(turn,
                 "\"type\":\"model.responded\",\"step\":%d,\"text\":\"I read two files and change one.\",\"tool_calls\":["
                 "{\"id\":\"c%d\",\"name\":\"read_file\",\"arguments\":{\"path\":\"src/a.c\"}},"
                 "{\"id\":\"c%d\",\"name\":\"read_file\",\"arguments\":{\"path\":\"src/b.c\"}},"
                 "{\"id\":\"c%d\",\"name\":\"edit_file\",\"arguments\":{\"path\":\"src/a.c\",\"old\":\"x\",\"new\":\"y\"}}],"
                 "\"stop\":\"tool_use\",\"usage\":{\"input\":1200,\"output\":90,\"cache_read\":0,\"cache_write\":0},"
                 "\"cost_usd\":0.004,\"latency_ms\":1800",
                 step, c, c + 1, c + 2);
            LINE(turn, "\"type\":\"budget.charged\",\"used\":{\"wall_ms\":1800,\"steps\":%d,\"tool_calls\":0}", step);
            LINE(turn,
                 "\"type\":\"waves.planned\",\"step\":%d,\"waves\":[{\"index\":1,\"mode\":\"parallel\",\"calls\":[\"c%d\","
                 "\"c%d\"],\"why\":\"c is no read\"},{\"index\":2,\"mode\":\"sequential\",\"calls\":[\"c%d\"],\"why\":\"last\"}]",
                 step, c, c + 1, c + 2);
            for (int i = 0; i < 3; i++) {
                const char *tool = i < 2 ? "read_file" : "edit_file";

                LINE(turn,
                     "\"type\":\"tool.started\",\"call\":\"c%d\",\"tool\":\"%s\",\"arguments\":{\"path\":\"src/a.c\"},"
                     "\"effect\":\"READ_ONLY\",\"wave\":1,\"deadline_ms\":45000",
                     c + i, tool);
                if (i == 2) {
                    LINE(turn,
                         "\"type\":\"write.proposed\",\"call\":\"c%d\",\"ask\":\"a%d\",\"files\":[{\"path\":\"src/a.c\",\"added\":1,"
                         "\"removed\":1,\"binary\":false,\"diff\":\"@@ -1 +1 @@\\n-x\\n+y\\n\"}]",
                         c + i, turn * 10 + step);
                    LINE(turn, "\"type\":\"write.decided\",\"ask\":\"a%d\",\"decision\":\"approved\",\"by\":\"key\",\"waited_ms\":7",
                         turn * 10 + step);
                    LINE(turn, "\"type\":\"checkpoint.saved\",\"checkpoint\":\"cp_%d\",\"call\":\"c%d\",\"paths\":[\"src/a.c\"]",
                         turn * 10 + step, c + i);
                    LINE(turn, "\"type\":\"write.applied\",\"call\":\"c%d\",\"files\":[{\"path\":\"src/a.c\",\"added\":1}]", c + i);
                }
                LINE(turn,
                     "\"type\":\"tool.finished\",\"call\":\"c%d\",\"tool\":\"%s\",\"outcome\":\"result\",\"elapsed_ms\":2,"
                     "\"result\":{\"output\":{\"path\":\"src/a.c\",\"entries\":[\"int main(void)\",\"{\",\"}\"]}}",
                     c + i, tool);
            }
        }
        LINE(turn, "\"type\":\"writes.closed\"");
        LINE(turn, "\"type\":\"turn.finalized\",\"citations\":[]");
        LINE(turn, "\"type\":\"turn.finished\",\"status\":\"done\",\"text\":\"Done.\",\"steps\":4,\"tool_calls\":12");
        if (out.len > (1u << 20)) {
            if (file_write_all(fd, out.buf, out.len) < 0)
                abort();
            strbuf_reset(&out);
        }
    }
    if (file_write_all(fd, out.buf, out.len) < 0)
        abort();
    close(fd);
}

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
    struct bench_pair pair;

    if (!dir)
        return 2;
    path = xasprintf("%s/million.jsonl", dir);
    write_journal();
    fold(NULL); /* first, while nothing else has grown the heap */
    bench_report_max("fold-memory", (double)kept_bytes / EVENTS, "B/ev", 64);
    pair = bench_compare(3, fold, parse, NULL);
    bench_report("fold", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 1.5);
    if (file_remove_tree(dir, NULL) < 0)
        return 2;
    free(path);
    free(dir);
    return bench_status();
}
