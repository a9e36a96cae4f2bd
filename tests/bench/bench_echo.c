/* Measures the echo of keys in a real terminal: tmux types into the prompt of the start screen, one key right after the
 * other, and looks until the key is there. The floor is `cat` in a pane of the same server, in the same rounds. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS  3
#define KEYS    20 /* back to back, of each side in each round */
#define WAIT_S  10.0
#define WAIT_US 200

static char *folder;

/* Runs a command of the private tmux server and returns what it prints. The caller frees it. */
static char *mux(const char *command)
{
    CLEANUP(free) char *line = xasprintf("tmux -S %s/socket -f /dev/null %s 2>/dev/null", folder, command);
    struct strbuf out = STRBUF_INIT;
    char bytes[4096];
    size_t got;
    FILE *pipe = popen(line, "r");
    while (pipe && (got = fread(bytes, 1, sizeof(bytes), pipe)) > 0)
        strbuf_add(&out, bytes, got);
    if (pipe)
        pclose(pipe);
    return strbuf_detach(&out, NULL);
}

static bool shows(const char *pane, const char *text)
{
    CLEANUP(free) char *command = xasprintf("capture-pane -p -J -t %s", pane);
    CLEANUP(free) char *screen = mux(command);
    return strstr(screen, text) != NULL;
}

/* Seconds until the pane shows the text; -1: it never did. */
static double wait_for(const char *pane, const char *text)
{
    double since = bench_now_s();
    while (!shows(pane, text)) {
        if (bench_now_s() - since > WAIT_S)
            return -1;
        usleep(WAIT_US);
    }
    return bench_now_s() - since;
}

/* Types one more letter and returns how long its echo took. */
static double echo_of_key(const char *pane, struct strbuf *typed)
{
    char letter = (char)('a' + typed->len % 26);
    CLEANUP(free) char *command = xasprintf("send-keys -t %s -l %c", pane, letter);
    strbuf_addch(typed, letter);
    double since = bench_now_s();
    free(mux(command));
    return wait_for(pane, typed->buf) < 0 ? -1 : bench_now_s() - since;
}

static int by_time(const void *a, const void *b)
{
    double one = *(const double *)a, two = *(const double *)b;
    return one < two ? -1 : one > two;
}

static double median(double *times, size_t count)
{
    qsort(times, count, sizeof(*times), by_time);
    return times[count / 2];
}

static void open_pane(const char *name, const char *command)
{
    CLEANUP(free)
    char *line = xasprintf("new-session -d -s %s -x 120 -y 40 env TERM=tmux-256color LC_ALL=C.UTF-8 HOME=%s "
                           "XDG_CONFIG_HOME=%s/config XDG_DATA_HOME=%s/data XDG_STATE_HOME=%s/state %s",
                           name, folder, folder, folder, folder, command);
    free(mux(line));
}

static bool measure(double *value, double *floor)
{
    static const char *const panes[] = {"keyturn", "cat"};
    double times[2][ROUNDS * KEYS];
    struct strbuf typed[2] = {STRBUF_INIT, STRBUF_INIT};
    bool good = true;
    for (int round = 0; round < ROUNDS; round++)
        for (int side = 0; side < 2; side++)
            for (int i = round * KEYS; i < (round + 1) * KEYS && good; i++) {
                times[side][i] = echo_of_key(panes[side], &typed[side]);
                good = times[side][i] >= 0;
            }
    if (good) {
        *value = median(times[0], COUNT_OF(times[0]));
        *floor = median(times[1], COUNT_OF(times[1]));
    }
    strbuf_release(&typed[0]);
    strbuf_release(&typed[1]);
    return good;
}

int main(void)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *here = file_program_dir();
    CLEANUP(free) char *program = xasprintf("%s/../keyturn", here);
    double value, floor;
    folder = file_make_temp_dir(NULL, "keyturn-echo-", &err);
    if (!folder) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    open_pane("keyturn", program);
    open_pane("cat", "cat");
    bool good = wait_for("keyturn", "What should the agent do here?") >= 0 && measure(&value, &floor);
    free(mux("kill-server"));
    if (file_remove_tree(folder, &err))
        fprintf(stderr, "%s\n", err.text);
    free(folder);
    if (!good) {
        fprintf(stderr, "bench_echo: a key was never shown\n");
        return 2;
    }
    bench_report("key-echo", value * 1e3, "ms", floor * 1e3, 1.5);
    return bench_status();
}
