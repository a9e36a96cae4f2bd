/* What a command of a session costs Keyturn: the processor time of `keyturn run` itself, without the processes that it
 * starts. The floor of each measure is the same command where the session was short or the workspace small. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include "support/scratch.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARM   20   /* commands before the first window */
#define WINDOW 200  /* commands over which the cost is averaged */
#define MANY   1000 /* commands before there are many files */
#define FILES  10000
#define CALLS  (MANY + 1 + WINDOW)

static struct scratch scratch;

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "bench_commands: %s\n", why);
    exit(2);
}

static void add_answer(struct strbuf *out, int step, const char *command)
{
    strbuf_addf(out,
                "{\"type\":\"model.responded\",\"step\":%d,\"text\":\"\",\"tool_calls\":[{\"id\":\"c%d\",\"name\":"
                "\"workspace_exec\",\"arguments\":{\"command\":\"%s\"}}]}\n",
                step, step, command);
}

static void write_model(void)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    strbuf_addstr(&out, "{\"type\":\"session.started\",\"v\":1}\n{\"type\":\"turn.started\",\"prompt\":\"x\"}\n");
    for (int i = 1; i <= CALLS; i++)
        add_answer(&out, i, i == MANY + 1 ? "mkdir work/d; cd work/d; seq 10000 | xargs touch" : "true");
    strbuf_addf(&out, "{\"type\":\"model.responded\",\"step\":%d,\"text\":\"Done.\"}\n", CALLS + 1);
    scratch_write_bytes(&scratch, "m.jsonl", out.buf, out.len);
}

/* Starts `keyturn run` in the scratch folder; its events come from `events`. */
static pid_t start(int *events)
{
    int ends[2];
    CLEANUP(free) char *here = file_program_dir(), *program = xasprintf("%s/../keyturn", here);
    if (pipe2(ends, O_CLOEXEC) < 0)
        give_up("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        setenv("HOME", scratch.path, 1);
        setenv("XDG_CACHE_HOME", scratch.path, 1);
        setenv("XDG_STATE_HOME", scratch.path, 1);
        setenv("XDG_CONFIG_HOME", scratch.path, 1);
        dup2(ends[1], STDOUT_FILENO);
        if (chdir(scratch.path) == 0)
            execl(program, "keyturn", "run", "--headless", "--approve", "allow", "--model", "scripted:m.jsonl",
                  "--budget", "steps=5000", "--budget", "tool_calls=5000", "--budget", "wall_s=5000", "x",
                  (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *events = ends[0];
    return pid;
}

static double cpu_ms(pid_t pid)
{
    clockid_t clock;
    struct timespec spent;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &spent))
        give_up("keyturn has ended early");
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

/* Fills in what the process had used when each call was finished. */
static void watch(pid_t pid, int events, double used[CALLS + 1])
{
    char *line = NULL;
    size_t room = 0;
    int calls = 0, status;
    FILE *in = fdopen(events, "r");
    used[0] = 0;
    while (in && getline(&line, &room, in) > 0) {
        if (!strstr(line, "\"type\":\"tool.finished\""))
            continue;
        if (!strstr(line, "\"exit_code\":0") || ++calls > CALLS)
            give_up("a command fails");
        used[calls] = cpu_ms(pid);
    }
    free(line);
    if (in)
        fclose(in);
    if (waitpid(pid, &status, 0) != pid || status || calls != CALLS)
        give_up("keyturn did not end well");
}

static double cost(const double *used, int first)
{
    return (used[first + WINDOW] - used[first]) / WINDOW;
}

int main(void)
{
    static double used[CALLS + 1];
    int events;
    scratch_init(&scratch);
    write_model();
    pid_t pid = start(&events);
    watch(pid, events, used);
    double first = cost(used, WARM), last = cost(used, MANY - WINDOW);
    /* The 2,000th command costs what the growth so far makes of it. */
    double growth = (last - first) / (MANY - WINDOW - WARM) * (2000 - WARM - WINDOW / 2);
    bench_report("command-growth", first + (growth > 0 ? growth : 0), "ms", first, 1.5);
    bench_report("command-10k-files", cost(used, MANY + 1), "ms", first, 1.5);
    bench_note("command-first-10k-walk", used[MANY + 1] - used[MANY], "ms");
    scratch_release(&scratch);
    return bench_status();
}
