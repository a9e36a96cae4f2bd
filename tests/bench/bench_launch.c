/* Launch of `keyturn replay` on the demo in a real pseudo terminal: time to the first full paint against `curl
 * --version`, own CPU time, what lazy linking saves, wake-ups while nothing happens, private memory. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include <dirent.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 7
#define IDLE_S 3

static char *program, *recording;

struct running {
    pid_t pid;
    int fd;
};

static struct running start(void)
{
    struct winsize size = {.ws_row = 40, .ws_col = 120};
    struct running it;
    it.pid = forkpty(&it.fd, NULL, NULL, &size);
    if (it.pid == 0) {
        setenv("TERM", "xterm-256color", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        execl(program, "keyturn", "replay", recording, (char *)NULL);
        _exit(127);
    }
    if (it.pid < 0)
        exit(2);
    return it;
}

/* Reads until the text was painted; false when it never was. */
static bool wait_for(struct running *it, const char *text)
{
    CLEANUP(strbuf) struct strbuf seen = STRBUF_INIT;
    for (;;) {
        struct pollfd ready = {.fd = it->fd, .events = POLLIN};
        char bytes[16384];
        ssize_t got;
        if (poll(&ready, 1, 10000) <= 0 || (got = read(it->fd, bytes, sizeof(bytes))) <= 0)
            return false;
        strbuf_add(&seen, bytes, (size_t)got);
        if (strstr(seen.buf, text))
            return true;
    }
}

static void quit(struct running *it, struct rusage *usage)
{
    char bytes[16384];
    int status;
    if (write(it->fd, "q", 1) != 1)
        exit(2);
    while (read(it->fd, bytes, sizeof(bytes)) > 0)
        ;
    close(it->fd);
    if (wait4(it->pid, &status, 0, usage) != it->pid || status != 0) {
        fprintf(stderr, "bench_launch: keyturn did not end well\n");
        exit(2);
    }
}

/* Times the process went to sleep and was woken, over all its threads. */
static long wakeups(pid_t pid)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    struct dirent *entry;
    long sum = 0;
    while (dir && (entry = readdir(dir))) {
        CLEANUP(free) char *status = xasprintf("%s/%s/status", path, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(status, "r");
        char line[256];
        long n;
        while (file && fgets(line, sizeof(line), file))
            if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
                sum += n;
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
    return sum;
}

static double private_mb(pid_t pid)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "r");
    char line[256];
    long kb = -1;
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "Anonymous: %ld", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return (double)kb / 1024;
}

/* CPU time of the fastest run. `preload`: libraries to link at the start, or NULL. */
static double start_cpu_s(const char *preload)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (preload)
            setenv("LD_PRELOAD", preload, 1);
        if (!freopen("/dev/null", "w", stdout))
            _exit(127);
        execl(program, "keyturn", "--version", (char *)NULL);
        _exit(127);
    }
    struct rusage usage;
    int status;
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
        exit(2);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Measures what base/lazy_link.h saves: the same start with the libraries that it loads later. */
static void measure_lazy_linking(void)
{
    double lazy = 1e9, eager = 1e9;
    for (int i = 0; i < 3 * ROUNDS; i++) {
        double cpu = start_cpu_s(NULL);
        lazy = cpu < lazy ? cpu : lazy;
        cpu = start_cpu_s(LIBCURL ":" LIBGIT2);
        eager = cpu < eager ? cpu : eager;
    }
    bench_report("start-cpu", lazy * 1e3, "ms", eager * 1e3, 0.5);
}

int main(void)
{
    const char *const curl[] = {"curl", "--version", NULL};
    CLEANUP(free) char *here = file_program_dir();
    char *dir = file_make_temp_dir(NULL, "keyturn-bench-", NULL);
    double best = 1e9, floor = 1e9, cpu = 1e9;
    struct rusage usage;
    struct running it;
    if (!dir)
        return 2;
    program = xasprintf("%s/../keyturn", here);
    recording = xasprintf("%s/../../fixtures/demo.jsonl", here);
    setenv("XDG_DATA_HOME", dir, 1);
    setenv("XDG_STATE_HOME", dir, 1);
    setenv("XDG_CACHE_HOME", dir, 1);
    setenv("XDG_CONFIG_HOME", dir, 1);
    for (int i = 0; i < ROUNDS; i++) {
        double f = bench_run_program(curl, 0), begun = bench_now_s(), took, own;
        it = start();
        if (f < 0 || !wait_for(&it, "all keys")) {
            fprintf(stderr, "bench_launch: nothing was painted\n");
            return 2;
        }
        took = bench_now_s() - begun;
        quit(&it, &usage);
        own = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        floor = f < floor ? f : floor;
        best = took < best ? took : best;
        cpu = own < cpu ? own : cpu;
    }
    bench_report("launch-to-paint", best * 1e3, "ms", floor * 1e3, 3);
    bench_report_max("launch-cpu", cpu * 1e3, "ms", 30);
    measure_lazy_linking();
    it = start();
    if (!wait_for(&it, "all keys"))
        return 2;
    sleep(2);
    long before = wakeups(it.pid);
    sleep(IDLE_S);
    bench_report_max("idle-wakeups", (double)(wakeups(it.pid) - before) / IDLE_S, "/s", 0);
    bench_report_max("memory-demo", private_mb(it.pid), "MB", 12);
    quit(&it, &usage);
    if (file_remove_tree(dir, NULL) < 0)
        return 2;
    free(dir);
    free(program);
    free(recording);
    return bench_status();
}
