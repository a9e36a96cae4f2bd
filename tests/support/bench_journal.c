/* Writes a long journal for benchmarks. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench/bench.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Turns of four steps with three calls each, one of them a write: a typical mix. */
void bench_write_journal(const char *path, int64_t events)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int64_t seq = 0;
#define LINE(turn, fmt, ...)                                                                                     \
    do {                                                                                                         \
        seq++;                                                                                                   \
        strbuf_addf(&out, "{\"seq\":%lld,\"t\":%lld,\"turn\":%d,", (long long)seq, (long long)seq * 1370, turn); \
        strbuf_addf(&out, fmt "}\n", ##__VA_ARGS__);                                                             \
    } while (0)
    LINE(0, "\"type\":\"session.started\",\"v\":1,\"session\":\"bench\",\"model\":{\"provider\":\"scripted\",\"name\":"
            "\"x\"}");
    for (int turn = 1; seq < events; turn++) {
        LINE(turn, "\"type\":\"turn.started\",\"prompt\":\"look at the files and mend what is broken\"");
        LINE(turn, "\"type\":\"budget.opened\",\"limits\":{\"wall_ms\":60000,\"steps\":6,\"tool_calls\":20}");
        for (int step = 1; step <= 4; step++) {
            int c = step * 10;
            LINE(turn, "\"type\":\"model.requested\",\"step\":%d", step);
            for (int i = 0; i < 6; i++)
                LINE(turn, "\"type\":\"model.delta\",\"step\":%d,\"text\":\"a few words of an answer, \"", step);
            LINE(turn,
                 "\"type\":\"model.responded\",\"step\":%d,\"text\":\"I read two files and change "
                 "one.\",\"tool_calls\":["
                 "{\"id\":\"c%d\",\"name\":\"read_file\",\"arguments\":{\"path\":\"src/a%lld.c\"}},"
                 "{\"id\":\"c%d\",\"name\":\"read_file\",\"arguments\":{\"path\":\"src/b%lld.c\"}},"
                 "{\"id\":\"c%d\",\"name\":\"edit_file\",\"arguments\":{\"path\":\"src/"
                 "c%lld.c\",\"old\":\"x\",\"new\":\"y\"}}],"
                 "\"stop\":\"tool_use\",\"usage\":{\"input\":1200,\"output\":90,\"cache_read\":0,\"cache_write\":0},"
                 "\"cost_usd\":0.004,\"latency_ms\":1800",
                 step, c, (long long)seq, c + 1, (long long)seq, c + 2, (long long)seq);
            LINE(turn, "\"type\":\"budget.charged\",\"used\":{\"wall_ms\":1800,\"steps\":%d,\"tool_calls\":0}", step);
            LINE(turn,
                 "\"type\":\"waves.planned\",\"step\":%d,\"waves\":[{\"index\":1,\"mode\":\"parallel\",\"calls\":[\"c%"
                 "d\","
                 "\"c%d\"],\"why\":\"c is no "
                 "read\"},{\"index\":2,\"mode\":\"sequential\",\"calls\":[\"c%d\"],\"why\":\"last\"}]",
                 step, c, c + 1, c + 2);
            for (int i = 0; i < 3; i++) {
                const char *tool = i < 2 ? "read_file" : "edit_file";
                LINE(turn,
                     "\"type\":\"tool.started\",\"call\":\"c%d\",\"tool\":\"%s\",\"arguments\":{\"path\":\"src/%d/"
                     "%lld.c\"},"
                     "\"effect\":\"READ_ONLY\",\"wave\":1,\"deadline_ms\":45000",
                     c + i, tool, turn, (long long)seq);
                if (i == 2) {
                    LINE(turn,
                         "\"type\":\"write.proposed\",\"call\":\"c%d\",\"ask\":\"a%d\",\"files\":[{\"path\":\"src/"
                         "a.c\",\"added\":1,"
                         "\"removed\":1,\"binary\":false,\"diff\":\"@@ -1 +1 @@\\n-x\\n+y\\n\"}]",
                         c + i, turn * 10 + step);
                    LINE(turn,
                         "\"type\":\"write.decided\",\"ask\":\"a%d\",\"decision\":\"approved\",\"by\":\"key\",\"waited_"
                         "ms\":7",
                         turn * 10 + step);
                    LINE(turn,
                         "\"type\":\"checkpoint.saved\",\"checkpoint\":\"cp_%d\",\"call\":\"c%d\",\"paths\":[\"src/"
                         "a.c\"]",
                         turn * 10 + step, c + i);
                    LINE(turn,
                         "\"type\":\"write.applied\",\"call\":\"c%d\",\"files\":[{\"path\":\"src/a.c\",\"added\":1}]",
                         c + i);
                }
                LINE(turn,
                     "\"type\":\"tool.finished\",\"call\":\"c%d\",\"tool\":\"%s\",\"outcome\":\"result\",\"elapsed_"
                     "ms\":2,"
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
