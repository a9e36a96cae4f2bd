/* Runs vector files through the product's own functions.
 *
 *     conform [--known] FILE.jsonl…
 *
 * Each case runs in a child process: one that aborts or hangs is a failed case, and no case can leave anything behind
 * for the next. This process itself starts no threads, so forking it is safe. With --known, cases of unknown areas are
 * left out and counted on stderr; without it they fail. */

#include "areas.h"
#include "base/file.h"
#include "base/mem.h"
#include "vector.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASE_SECONDS 120

static const struct area {
    const char *name;
    void (*run)(struct vector *v);
} areas[] = {
#define AREA(name, function) {name, function},
    AREAS(AREA)
#undef AREA
};

struct tally {
    size_t passed, failed, left_out;
    bool known_only;
};

static const struct area *find_area(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(areas); i++)
        if (strcmp(areas[i].name, name) == 0)
            return &areas[i];
    return NULL;
}

/* ---- one case ---- */

static void run_vector(struct vector *v, const struct area *area, const struct json *line)
{
    struct err err = ERR_INIT;
    const struct json *input = json_get(line, "input"), *expect = json_get(line, "expect");
    if (!input || input->type != JSON_OBJECT || !expect || expect->type != JSON_OBJECT) {
        vector_fail(v, "expected input and expect to be objects got a line without them");
        return;
    }
    v->input = vector_expand(&v->arena, input, &err);
    v->expect = v->input ? vector_expand(&v->arena, expect, &err) : NULL;
    if (!v->expect) {
        vector_fail(v, "expected notation of the README got: %s", err.text);
        return;
    }
    area->run(v);
    vector_check_marks(v);
}

/* In the child: failures are written to the pipe. */
static _Noreturn void run_child(int pipe_fd, const struct area *area, const struct json *line)
{
    struct vector v = {.area = area->name};
    int status = 0;
    setpgid(0, 0); /* so that everything the case starts can be killed with it */
    strbuf_init(&v.failures);
    run_vector(&v, area, line);
    if (v.failures.len && file_write_all(pipe_fd, v.failures.buf, v.failures.len) < 0)
        status = 1;
    strbuf_release(&v.failures);
    hash_map_release(&v.marks);
    arena_release(&v.arena);
    exit(status);
}

/* Reads until the child closes its end; false on a timeout. */
static bool read_failures(int fd, struct strbuf *out)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        char chunk[4096];
        if (poll(&ready, 1, CASE_SECONDS * 1000) <= 0)
            return false;
        ssize_t count = read(fd, chunk, sizeof(chunk));
        if (count <= 0)
            return true;
        strbuf_add(out, chunk, (size_t)count);
    }
}

static void run_apart(struct strbuf *failures, const struct area *area, const struct json *line)
{
    int fds[2], status;
    pid_t child;
    fflush(NULL);
    if (pipe(fds) < 0 || (child = fork()) < 0)
        BUG("cannot start a process for a case");
    if (child == 0) {
        close(fds[0]);
        run_child(fds[1], area, line);
    }
    setpgid(child, child);
    close(fds[1]);
    if (!read_failures(fds[0], failures)) {
        strbuf_addf(failures, "expected an end within %d s got none", CASE_SECONDS);
        kill(-child, SIGKILL);
    }
    close(fds[0]);
    if (waitpid(child, &status, 0) < 0)
        BUG("cannot wait for a case");
    kill(-child, SIGKILL); /* processes that it may have left running */
    if (failures->len == 0 && WIFSIGNALED(status))
        strbuf_addf(failures, "expected an end got signal %d", WTERMSIG(status));
    else if (failures->len == 0 && WEXITSTATUS(status) != 0)
        strbuf_addf(failures, "expected an end got exit status %d", WEXITSTATUS(status));
}

/* ---- files ---- */

static void report(struct tally *tally, const char *area, const char *name, const char *failures)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%s %s %s", *failures ? "FAIL" : "ok", area, name);
    if (*failures)
        strbuf_addf(&text, ": %s", failures);
    for (char *at = text.buf; at < text.buf + text.len; at++)
        if ((unsigned char)*at < ' ')
            *at = ' '; /* one line per case, with any bytes in it */
    printf("%s\n", text.buf);
    *(*failures ? &tally->failed : &tally->passed) += 1;
}

static void run_line(struct tally *tally, const char *file, size_t number, const char *text, size_t len)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf failures = STRBUF_INIT;
    struct err err = ERR_INIT;
    const struct json *line = json_parse(&arena, text, len, &err);
    const char *name = json_str(json_get(line, "case"), NULL);
    const char *area_name = json_str(json_get(line, "area"), NULL);
    const struct area *area = area_name ? find_area(area_name) : NULL;
    if (!line || !name || !area_name) {
        CLEANUP(free) char *where = xasprintf("%s:%zu", file, number);
        CLEANUP(free)
        char *why = xasprintf("expected {area, case, input, expect} got %s", line ? "another line" : err.text);
        report(tally, "?", where, why);
        return;
    }
    if (!area && tally->known_only) {
        tally->left_out++;
        return;
    }
    if (area)
        run_apart(&failures, area, line);
    else
        strbuf_addstr(&failures, "expected an area the runner knows got an unknown area");
    report(tally, area_name, name, failures.buf);
}

static int run_file(struct tally *tally, const char *path)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    size_t number = 0;
    if (file_read(path, &text, 0, &err) < 0) {
        fprintf(stderr, "conform: %s\n", err.text);
        return -1;
    }
    for (const char *at = text.buf, *end; at < text.buf + text.len; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text.buf + text.len - at));
        if (!end)
            end = text.buf + text.len;
        number++;
        if (strspn(at, " \t\r\n") < (size_t)(end - at))
            run_line(tally, path, number, at, (size_t)(end - at));
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    int first = 1, status = 0;
    if (argc > 1 && strcmp(argv[1], "--known") == 0) {
        tally.known_only = true;
        first++;
    }
    if (first >= argc) {
        fprintf(stderr, "usage: conform [--known] FILE.jsonl…\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        if (run_file(&tally, argv[i]) < 0)
            status = 2;
    if (tally.left_out)
        fprintf(stderr, "conform: %zu cases of areas that are not known were left out\n", tally.left_out);
    printf("%zu passed, %zu failed\n", tally.passed, tally.failed);
    return tally.failed ? 1 : status;
}
