/* Long sessions against a model on the loopback: what a step costs as the session grows, and what the end costs.
 *
 *     bench_session [PROGRAM [STEPS [DIALECT [TOOL]]]]
 *
 * Without STEPS it runs the sessions whose values have limits. With it, it runs one of so many steps and prints CPU per
 * step in tenths, memory, the journal and the end. TOOL is read (a file of 4 KB that the model has not seen) or shell
 * (`true`). CPU is that of the program itself, without its children.
 *
 * session-step: a read step while the request is near its longest, about 0.7 MB, against copying and sending the same
 * bytes. session-growth: the last tenth of 2,000 read steps against the first one, with the compactions in both.
 * session-exit: from the last byte of the last answer to the end of the program, also against a session of one step. */

#include "base/file.h"
#include "base/mem.h"
#include "bench.h"
#include "bench_http.h"
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS_MAX   10000
#define FILE_BYTES  4096
#define NEAR_BYTES  (600u << 10) /* of a request that is near its longest */
#define FLOOR_RUNS  200
#define ROUNDS      3
#define STEP_STEPS  300 /* the requests are near their longest before and after one compaction */
#define LONG_STEPS  2000
#define SHELL_STEPS 400
#define EXIT_MS_MAX 200

extern char **environ;

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "bench_session: %s\n", what);
    exit(2);
}

/* ---- the model ---- */

struct session {
    const char *dialect, *tool;
    int steps;
    int listener, port;
    pid_t pid;
    size_t count; /* requests so far */
    struct {
        double cpu_s; /* of the program, when the request was there */
        size_t bytes;
    } requests[STEPS_MAX + 1];
    double ended_s; /* when the last answer was sent */
    double exit_s;
    double children_s;
    long rss_kb;
    int64_t journal_bytes;
};

static double cpu_of(pid_t pid)
{
    struct timespec ts;
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
        return 0;
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static char *arguments_of(const struct session *session, int step)
{
    if (strcmp(session->tool, "shell") == 0)
        return xasprintf("{\\\"command\\\":\\\"true %d\\\"}", step);
    return xasprintf("{\\\"path\\\":\\\"f%05d.txt\\\"}", step);
}

static void write_anthropic(struct strbuf *out, const struct session *session, int step)
{
    CLEANUP(free) char *arguments = arguments_of(session, step);
    CLEANUP(free)
    char *start =
        xasprintf("\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t%d\",\"name\":\"%s\",\"input\":{}}",
                  step, strcmp(session->tool, "shell") == 0 ? "workspace_exec" : "read_file");
    CLEANUP(free)
    char *input = xasprintf("\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"%s\"}", arguments);
    bench_event(out, "message_start", "\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}");
    if (step < session->steps) {
        bench_event(out, "content_block_start", start);
        bench_event(out, "content_block_delta", input);
    } else {
        bench_event(out, "content_block_start", "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Done.\"}");
    }
    bench_event(out, "content_block_stop", "\"index\":0");
    bench_event(out, "message_delta",
                step < session->steps ? "\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":60}"
                                      : "\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":60}");
    bench_event(out, "message_stop", "\"n\":0");
}

static void write_openai(struct strbuf *out, const struct session *session, int step)
{
    CLEANUP(free) char *arguments = arguments_of(session, step);
    if (step < session->steps)
        strbuf_addf(out,
                    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t%d\",\"type\":\"function\","
                    "\"function\":{\"name\":\"%s\",\"arguments\":\"%s\"}}]}}]}\n\n"
                    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
                    step, strcmp(session->tool, "shell") == 0 ? "workspace_exec" : "read_file", arguments);
    else
        strbuf_addstr(out, "data: {\"choices\":[{\"delta\":{\"content\":\"Done.\"},\"finish_reason\":\"stop\"}]}\n\n");
    strbuf_addstr(out, "data: [DONE]\n\n");
}

static void answer_request(struct session *session, int fd, int step)
{
    CLEANUP(strbuf) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf answer = STRBUF_INIT;
    if (strcmp(session->dialect, "anthropic") == 0)
        write_anthropic(&body, session, step);
    else
        write_openai(&body, session, step);
    bench_answer(&answer, &body);
    bench_send(fd, answer.buf, answer.len);
    session->ended_s = bench_now_s();
}

static void *serve(void *data)
{
    struct session *session = data;
    CLEANUP(strbuf) struct strbuf in = STRBUF_INIT;
    size_t body;
    for (int fd; (fd = accept(session->listener, NULL, NULL)) >= 0; close(fd)) {
        bench_no_delay(fd);
        while (session->count <= (size_t)session->steps && bench_read_message(fd, &in, &body) == 0) {
            size_t i = session->count++;
            session->requests[i].cpu_s = cpu_of(session->pid);
            session->requests[i].bytes = in.len;
            answer_request(session, fd, (int)i);
        }
    }
    return NULL;
}

/* ---- the session ---- */

static char *dir, *workspace;
static const char *program;

static void write_files(int steps)
{
    for (int i = 0; i < steps; i++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        CLEANUP(free) char *path = xasprintf("%s/f%05d.txt", workspace, i);
        for (int line = 0; text.len < FILE_BYTES; line++)
            strbuf_addf(&text, "%05d %03d the quick brown fox jumps over it\n", i, line);
        if (file_replace(path, text.buf, FILE_BYTES, 0600, NULL))
            die("no files");
    }
}

static char *write_config(const struct session *session)
{
    char *path = xasprintf("%s/config.json", dir);
    CLEANUP(free)
    char *text = xasprintf("{\"model\":\"m\",\"models\":{\"m\":{\"provider\":\"%s\",\"model\":\"m\",\"base_url\":"
                           "\"http://127.0.0.1:%d/v1\"}}}",
                           session->dialect, session->port);
    if (file_replace(path, text, strlen(text), 0600, NULL))
        die("no config");
    return path;
}

static void start_program(struct session *session, const char *const *argv)
{
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&session->pid, argv[0], &files, NULL, (char *const *)argv, environ))
        die("no program");
    posix_spawn_file_actions_destroy(&files);
}

static void wait_for_program(struct session *session)
{
    struct rusage usage;
    siginfo_t info;
    int status;
    double own_s;
    if (waitid(P_PID, (id_t)session->pid, &info, WEXITED | WNOWAIT))
        die("no exit");
    session->exit_s = bench_now_s() - session->ended_s;
    own_s = cpu_of(session->pid);
    if (wait4(session->pid, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
        die("the session failed");
    session->rss_kb = usage.ru_maxrss;
    session->children_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6 - own_s;
}

static void run_session(struct session *session)
{
    CLEANUP(free) char *steps = xasprintf("steps=%d", session->steps + 10);
    CLEANUP(free) char *calls = xasprintf("tool_calls=%d", session->steps + 10);
    CLEANUP(free) char *record = xasprintf("%s/session.jsonl", dir);
    pthread_t thread;
    struct stat st;
    session->listener = bench_listen(&session->port);
    CLEANUP(free) char *config = write_config(session);
    const char *const argv[] = {program,    "run",         "--headless", "--workspace", workspace,
                                "--record", record,        "--approve",  "allow",       "--config",
                                config,     "--budget",    steps,        "--budget",    calls,
                                "--budget", "wall_s=3600", "Read them.", NULL};
    unlink(record);
    start_program(session, argv);
    if (pthread_create(&thread, NULL, serve, session))
        die("no thread");
    wait_for_program(session);
    shutdown(session->listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(session->listener);
    if (session->count != (size_t)session->steps + 1 || stat(record, &st))
        die("not every step was taken");
    session->journal_bytes = st.st_size;
}

/* ---- values ---- */

/* Milliseconds of CPU per step in a tenth of the session, from 0. */
static double tenth_ms(const struct session *session, int tenth)
{
    size_t from = (size_t)(session->steps * tenth / 10), to = (size_t)(session->steps * (tenth + 1) / 10);
    return (session->requests[to].cpu_s - session->requests[from].cpu_s) * 1e3 / (double)(to - from);
}

static double tenth_mb(const struct session *session, int tenth)
{
    size_t from = (size_t)(session->steps * tenth / 10), to = (size_t)(session->steps * (tenth + 1) / 10), sum = 0;
    for (size_t i = from; i < to; i++)
        sum += session->requests[i].bytes;
    return (double)sum / 1e6 / (double)(to - from);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median CPU seconds of the steps whose requests are near the longest, and the mean length of these. */
static double near_step_s(const struct session *session, size_t *bytes)
{
    CLEANUP(free) double *steps_s = xcalloc(session->count, sizeof(*steps_s));
    size_t count = 0;
    *bytes = 0;
    for (size_t i = 1; i < session->count; i++)
        if (session->requests[i].bytes >= NEAR_BYTES) {
            *bytes += session->requests[i].bytes;
            steps_s[count++] = session->requests[i].cpu_s - session->requests[i - 1].cpu_s;
        }
    if (!count)
        die("no request was near its longest");
    *bytes /= count;
    qsort(steps_s, count, sizeof(*steps_s), by_size);
    return steps_s[count / 2];
}

static void *discard(void *data)
{
    static char bytes[1 << 18];
    int fd = *(int *)data;
    while (recv(fd, bytes, sizeof(bytes), 0) > 0)
        ;
    return NULL;
}

static double thread_cpu_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The median CPU seconds of copying and sending so many bytes. */
static double copy_and_send_s(size_t bytes)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    int port, listener = bench_listen(&port), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;
    char *from = xmalloc(bytes), *to = xmalloc(bytes);
    double runs_s[FLOOR_RUNS];
    pthread_t thread;
    memset(from, 'x', bytes);
    getsockname(listener, (struct sockaddr *)&address, &len);
    if (connect(fd, (struct sockaddr *)&address, len) || (peer = accept(listener, NULL, NULL)) < 0 ||
        pthread_create(&thread, NULL, discard, &peer))
        die("no connection");
    bench_no_delay(fd);
    for (int i = 0; i < FLOOR_RUNS; i++) {
        double start_s = thread_cpu_s();
        from[i]++; /* so that the copy is not optimized away */
        memcpy(to, from, bytes);
        bench_send(fd, to, bytes);
        runs_s[i] = thread_cpu_s() - start_s;
    }
    shutdown(fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(fd);
    close(peer);
    close(listener);
    free(from);
    free(to);
    qsort(runs_s, FLOOR_RUNS, sizeof(*runs_s), by_size);
    return runs_s[FLOOR_RUNS / 2];
}

static void print_session(const struct session *session)
{
    for (int i = 0; i < 10; i++) {
        CLEANUP(free) char *name = xasprintf("session-tenth-%d", i + 1);
        CLEANUP(free) char *request = xasprintf("session-tenth-%d-request", i + 1);
        bench_note(name, tenth_ms(session, i), "ms");
        bench_note(request, tenth_mb(session, i), "MB");
    }
    bench_note("session-children", session->children_s * 1e3 / session->steps, "ms");
    bench_note("session-rss", (double)session->rss_kb / 1024, "MB");
    bench_note("session-journal", (double)session->journal_bytes / 1e6, "MB");
    bench_note("session-exit", session->exit_s * 1e3, "ms");
}

static struct session *run_one(int steps, const char *dialect, const char *tool)
{
    struct session *session = xcalloc(1, sizeof(*session));
    session->steps = steps;
    session->dialect = dialect;
    session->tool = tool;
    run_session(session);
    return session;
}

/* A read step against the floor, the best of several sessions of each. */
static void bench_step(const char *name, const char *dialect)
{
    double value_s = 1e9, floor_s = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes;
        struct session *session = run_one(STEP_STEPS, dialect, "read");
        double step_s = near_step_s(session, &bytes), plain_s = copy_and_send_s(bytes);
        value_s = step_s < value_s ? step_s : value_s;
        floor_s = plain_s < floor_s ? plain_s : floor_s;
        free(session);
    }
    bench_report(name, value_s * 1e6, "us", floor_s * 1e6, 3);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* 2,000 reads: growth, journal, end. The best of several sessions. */
static void bench_long(void)
{
    double last_ms = 1e9, first_ms = 1e9, exit_s = 1e9, brief_s = 1e9, journal_mb = 0, rss_mb = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct session *brief = run_one(1, "openai", "read"), *session = run_one(LONG_STEPS, "openai", "read");
        last_ms = least(last_ms, tenth_ms(session, 9));
        first_ms = least(first_ms, tenth_ms(session, 0));
        exit_s = least(exit_s, session->exit_s);
        brief_s = least(brief_s, brief->exit_s);
        journal_mb = (double)session->journal_bytes / 1e6;
        rss_mb = (double)session->rss_kb / 1024;
        free(brief);
        free(session);
    }
    bench_report("session-growth", last_ms, "ms", first_ms, 1.5);
    bench_report_max("session-journal", journal_mb, "MB", 40);
    bench_note("session-rss", rss_mb, "MB");
    bench_report_max("session-exit", exit_s * 1e3, "ms", EXIT_MS_MAX);
    bench_report("session-exit-growth", exit_s * 1e3, "ms", brief_s * 1e3, 10);
}

/* Programs leave more behind than reads do. */
static void bench_programs(void)
{
    struct session *brief = run_one(1, "openai", "shell"), *session = run_one(SHELL_STEPS, "openai", "shell");
    bench_report_max("session-exit-shell", session->exit_s * 1e3, "ms", EXIT_MS_MAX / 2);
    bench_note("session-exit-shell-one", brief->exit_s * 1e3, "ms");
    free(brief);
    free(session);
}

int main(int argc, char **argv)
{
    CLEANUP(free) char *here = file_program_dir();
    CLEANUP(free) char *beside = xasprintf("%s/../keyturn", here);
    int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    program = argc > 1 ? argv[1] : beside;
    dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    if (!dir || steps < 0 || steps > STEPS_MAX)
        return 2;
    workspace = xasprintf("%s/work", dir);
    static const char *const homes[] = {"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"};
    for (size_t i = 0; i < COUNT_OF(homes); i++)
        setenv(homes[i], dir, 1);
    setenv("no_proxy", "127.0.0.1", 1);
    if (file_mkdirs(workspace, 0700, NULL))
        return 2;
    write_files(steps ? steps : LONG_STEPS);
    if (steps) {
        struct session *session = run_one(steps, argc > 3 ? argv[3] : "openai", argc > 4 ? argv[4] : "read");
        print_session(session);
        free(session);
    } else {
        bench_step("session-step-anthropic", "anthropic");
        bench_step("session-step-openai", "openai");
        bench_long();
        bench_programs();
    }
    if (file_remove_tree(dir, NULL))
        return 2;
    free(dir);
    free(workspace);
    return bench_status();
}
