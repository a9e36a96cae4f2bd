/* A headless turn of 1,000 read_file calls on 4 KB files in one parallel wave, the whole program from start to exit,
 * against the same 1,000 reads in a plain loop plus writing the same journal bytes, synced once. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define FILES 1000
#define SIZE  4096

static char *dir, *workspace, *script, *journal, *copy;
static const char *program;
static struct strbuf journal_bytes = STRBUF_INIT;

static void turn(void *none)
{
    CLEANUP(free) char *model = xasprintf("scripted:%s", script);
    const char *const argv[] = {program, "run",     "--headless", "--workspace", workspace,         "--record",
                                journal, "--model", model,        "--budget",    "tool_calls=1000", "Read every file",
                                NULL};
    (void)none;
    unlink(journal);
    if (bench_run_program(argv, 0) < 0) {
        fprintf(stderr, "bench_turn: the turn failed\n");
        exit(2);
    }
}

static void plain(void *none)
{
    char buffer[SIZE + 1], path[512];
    int fd;
    (void)none;
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "%s/f%04d.txt", workspace, i);
        fd = open(path, O_RDONLY);
        if (fd < 0 || read(fd, buffer, sizeof(buffer)) != SIZE)
            exit(2);
        close(fd);
    }
    unlink(copy);
    fd = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file_write_all(fd, journal_bytes.buf, journal_bytes.len) < 0 || fsync(fd) < 0)
        exit(2);
    close(fd);
}

static void make_files(void)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf calls = STRBUF_INIT;
    strbuf_addstr(&calls,
                  "{\"type\":\"session.started\",\"v\":1}\n{\"type\":\"turn.started\",\"turn\":1,\"prompt\":\"x\"}\n"
                  "{\"type\":\"model.responded\",\"turn\":1,\"step\":1,\"tool_calls\":[");
    for (int i = 0; i < FILES; i++) {
        CLEANUP(free) char *path = xasprintf("%s/f%04d.txt", workspace, i);
        strbuf_reset(&text);
        for (int line = 0; text.len < SIZE; line++)
            strbuf_addf(&text, "%04d %03d the quick brown fox jumps over it\n", i, line);
        if (file_replace(path, text.buf, SIZE, 0600, NULL) < 0)
            exit(2);
        if (i == FILES / 2) /* more than an answer may ask for at once */
            strbuf_addstr(&calls, "]}\n{\"type\":\"model.responded\",\"turn\":1,\"step\":2,\"tool_calls\":[");
        strbuf_addf(&calls, "%s{\"id\":\"c%d\",\"name\":\"read_file\",\"arguments\":{\"path\":\"f%04d.txt\"}}",
                    i % (FILES / 2) ? "," : "", i, i);
    }
    strbuf_addstr(&calls, "]}\n{\"type\":\"model.responded\",\"turn\":1,\"step\":3,\"text\":\"Read.\"}\n");
    if (file_replace(script, calls.buf, calls.len, 0600, NULL) < 0)
        exit(2);
}

int main(int argc, char **argv)
{
    CLEANUP(free) char *here = file_program_dir();
    CLEANUP(free) char *beside = xasprintf("%s/../keyturn", here);
    program = argc > 1 ? argv[1] : beside;
    dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    if (!dir)
        return 2;
    workspace = xasprintf("%s/work", dir);
    script = xasprintf("%s/script.jsonl", dir);
    journal = xasprintf("%s/journal.jsonl", dir);
    copy = xasprintf("%s/copy.jsonl", dir);
    setenv("XDG_DATA_HOME", dir, 1);
    setenv("XDG_STATE_HOME", dir, 1);
    setenv("XDG_CACHE_HOME", dir, 1);
    setenv("XDG_CONFIG_HOME", dir, 1);
    if (file_mkdirs(workspace, 0700, NULL) < 0)
        return 2;
    make_files();
    turn(NULL);
    if (file_read(journal, &journal_bytes, 0, NULL) < 0)
        return 2;
    struct bench_pair pair = bench_compare(7, turn, plain, NULL);
    bench_report("turn-1000-reads", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 5);
    if (file_remove_tree(dir, NULL) < 0)
        return 2;
    strbuf_release(&journal_bytes);
    free(dir);
    free(workspace);
    free(script);
    free(journal);
    free(copy);
    return bench_status();
}
