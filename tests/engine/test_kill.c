/* Kills the demo turn with kill -9 at random instants. After each kill the journal opens and folds, no printed event is
 * missing from it, and every file has its old content or the approved one, as the journal says. */

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
#include "event/session.h"
#include "support/event_json.h"
#include "support/test.h"
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLS 200

struct write_state {
    char *path;
    char before[HASH_SHA256_HEX], after[HASH_SHA256_HEX];
};
static struct write_state writes[16];
static size_t write_count;

static void digest_of(const char *dir, const char *path, char out[HASH_SHA256_HEX])
{
    CLEANUP(free) char *full = xasprintf("%s/%s", dir, path);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_read(full, &text, 0, NULL), 0);
    hash_sha256(text.buf, text.len, out);
}

/* Reads this many bytes, or to the end. */
static void read_bytes(int fd, size_t count, struct strbuf *out)
{
    char bytes[512];
    ssize_t got;
    while (out->len < count && (got = read(fd, bytes, sizeof(bytes))) > 0)
        strbuf_add(out, bytes, (size_t)got);
}

/* Runs the demo in `dir` and kills it `delay_us` after it has printed this many bytes (SIZE_MAX: never), so that the
 * instants are spread over the turn on a busy machine too. `printed` gets its output. */
static void run_demo(const char *dir, size_t after, long delay_us, struct strbuf *printed)
{
    CLEANUP(free) char *workspace = xasprintf("%s/work", dir);
    CLEANUP(free) char *journal = xasprintf("%s/journal.jsonl", dir);
    int out[2], status;
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(out[1], 1);
        dup2(null, 2);
        close(out[0]);
        setenv("KEYTURN_FIXTURES", SOURCE_DIR "/fixtures", 1); /* the build folder may be anywhere */
        setenv("XDG_DATA_HOME", dir, 1);
        setenv("XDG_STATE_HOME", dir, 1);
        setenv("XDG_CACHE_HOME", dir, 1);
        setenv("XDG_CONFIG_HOME", dir, 1);
        setenv("TMPDIR", dir, 1); /* its scratch folder is inside ours: a killed program cannot clean up */
        execl(BUILD_DIR "/keyturn", "keyturn", "demo", "--headless", "--workspace", workspace, "--record", journal,
              (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    if (after != SIZE_MAX) {
        struct timespec wait = {.tv_nsec = delay_us * 1000};
        read_bytes(out[0], after, printed);
        nanosleep(&wait, NULL);
        kill(pid, SIGKILL);
    }
    assert_int_equal(strbuf_read(printed, out[0], 0), 0);
    close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (after == SIZE_MAX)
        assert_int_equal(status, 0);
}

static const struct json *parse(struct arena *arena, const char *text)
{
    return text ? json_parse(arena, text, strlen(text), NULL) : NULL;
}

static struct write_state *find_write(const char *path)
{
    for (size_t i = 0; i < write_count; i++)
        if (strcmp(writes[i].path, path) == 0)
            return &writes[i];
    return NULL;
}

/* A complete run gives the content of each file before and after. */
static void learn(const char *dir)
{
    CLEANUP(free) char *path = xasprintf("%s/journal.jsonl", dir);
    struct journal_reader *reader = journal_open(path, NULL);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    assert_non_null(reader);
    for (size_t i = 0; i < journal_count(reader); i++) {
        assert_int_equal(journal_event(reader, i, &event, &arena, NULL), 0);
        if (event.type != EVENT_WRITE_APPLIED)
            continue;
        json_each (file, parse(&arena, event_json(&event, "files"))) {
            struct write_state *state = &writes[write_count++];
            state->path = xstrdup(json_str(json_get(file, "path"), ""));
            digest_of(SOURCE_DIR "/fixtures/demo", state->path, state->before);
            snprintf(state->after, sizeof(state->after), "%s", json_str(json_get(file, "digest"), ""));
        }
    }
    journal_reader_free(reader);
    assert_true(write_count >= 2);
}

static void check_printed(const struct journal_reader *reader, const struct strbuf *printed)
{
    const char *at = printed->buf, *end = printed->buf + printed->len;
    for (size_t i = 0; at < end; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len;
        if (!newline)
            return; /* cut by the kill: not a complete line */
        assert_true(i < journal_count(reader));
        const char *line = journal_line(reader, i, &len);
        assert_int_equal(len, (size_t)(newline - at));
        assert_memory_equal(line, at, len);
        at = newline + 1;
    }
}

/* Returns the number of events in its journal. */
static size_t check(const char *dir, const struct strbuf *printed)
{
    CLEANUP(free) char *path = xasprintf("%s/journal.jsonl", dir);
    CLEANUP(free) char *work = xasprintf("%s/work", dir);
    CLEANUP(session) struct session session;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    struct err err = ERR_INIT;
    bool applied[16] = {false}, decided[16] = {false};
    char open_path[256] = "";
    if (access(path, F_OK) != 0) {
        assert_int_equal(printed->len, 0);
        session_init(&session);
        return 0;
    }
    session_init(&session);
    struct journal_reader *reader = journal_open(path, &err);
    if (!reader && printed->len == 0)
        return 0; /* killed before its first line was complete */
    if (!reader)
        fail_msg("%s", err.text);
    check_printed(reader, printed);
    for (size_t i = 0; i < journal_count(reader); i++) {
        if (journal_event(reader, i, &event, &arena, &err) < 0)
            fail_msg("line %zu: %s", i + 1, err.text);
        session_apply(&session, &event);
        if (event.type == EVENT_WRITE_PROPOSED)
            snprintf(open_path, sizeof(open_path), "%s",
                     json_str(json_get(json_at(parse(&arena, event_json(&event, "files")), 0), "path"), ""));
        if (event.type == EVENT_WRITE_DECIDED && find_write(open_path))
            decided[find_write(open_path) - writes] = true;
        if (event.type == EVENT_WRITE_APPLIED)
            json_each (file, parse(&arena, event_json(&event, "files")))
                applied[find_write(json_str(json_get(file, "path"), "")) - writes] = true;
    }
    assert_int_equal(session.fault_count, 0);
    size_t count = journal_count(reader);
    for (size_t i = 0; i < write_count && session.turn_count > 0; i++) {
        char now[HASH_SHA256_HEX];
        digest_of(work, writes[i].path, now);
        if (applied[i])
            assert_string_equal(now, writes[i].after);
        else if (!decided[i])
            assert_string_equal(now, writes[i].before);
        else
            assert_true(strcmp(now, writes[i].before) == 0 || strcmp(now, writes[i].after) == 0);
    }
    journal_reader_free(reader);
    return count;
}

/* Returns the number of bytes of the first `lines` lines. */
static size_t length_of(const char *text, long lines)
{
    const char *at = text;
    while (lines-- > 0 && *at)
        at = strchrnul(at, '\n') + 1;
    return (size_t)(at - text);
}

TEST(kill_at_any_instant)
{
    CLEANUP(free) char *base = file_make_temp_dir(NULL, "keyturn-kill-", NULL);
    CLEANUP(free) char *whole = xasprintf("%s/whole", base);
    CLEANUP(strbuf) struct strbuf printed = STRBUF_INIT;
    CLEANUP(free) char *all = NULL;
    size_t reached[3] = {0};
    long lines = 0;
    assert_non_null(base);
    assert_int_equal(file_mkdirs(whole, 0700, NULL), 0);
    run_demo(whole, SIZE_MAX, 0, &printed);
    all = xstrdup(printed.buf);
    for (const char *at = all; (at = strchr(at, '\n')); at++)
        lines++;
    learn(whole);
    srandom(20261116);
    for (unsigned i = 0; i < test_rounds(KILLS); i++) {
        CLEANUP(free) char *dir = xasprintf("%s/%u", base, i);
        assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
        strbuf_reset(&printed);
        run_demo(dir, length_of(all, random() % lines), random() % 3000, &printed);
        size_t events = check(dir, &printed);
        reached[events == 0 ? 0 : events < 40 ? 1 : 2]++;
        assert_int_equal(file_remove_tree(dir, NULL), 0);
    }
    print_message("killed before the first event %zu, early %zu, late %zu times\n", reached[0], reached[1], reached[2]);
    assert_true(reached[1] > 0 && reached[2] > 0); /* otherwise the instants prove nothing */
    assert_int_equal(file_remove_tree(base, NULL), 0);
    for (size_t i = 0; i < write_count; i++)
        free(writes[i].path);
}
