/* Runs one script in a sandboxed child process.
 *
 * The child enters the sandbox layers before it knows its script, so a request waits only for the script itself. The
 * limit on processor time depends on the request. The supervisor sets it from outside, because the child may no longer
 * change limits.
 *
 * Between the script's arrival and its first line the child loads nothing and allocates next to nothing. */

#include "child.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "files.h"
#include "pyhost.h"
#include "sandbox.h"
#include "wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* The crash report: a child that runs out of memory or stack says so before it dies.
 *
 * All text is prepared beforehand: the signal handler runs without free memory, on its own stack. A script may replace
 * the handlers, and other threads have no second stack. Then the supervisor reports only the signal. */

#define STACK_SIZE ((size_t)64 << 10)
/* A frame may begin this far below the end of the stack. */
#define FRAME_MAX ((uintptr_t)1 << 20)

static struct {
    int events;
    uintptr_t stack_top, stack_size;
    char memory[64], memory_end[160];
} crash = {.events = -1, .memory = "Script ran out of memory"};

static const char stack_end[] =
    "\nX{\"message\":\"Script crashed the interpreter (SIGSEGV): too deep a recursion used up "
    "its stack\",\"traceback\":\"\"}\n";

static void report_and_exit(const char *end)
{
    size_t len = strlen(end);
    if (write(crash.events, end, len) == (ssize_t)len)
        _exit(0);
}

static bool is_of_stack(uintptr_t at)
{
    return at < crash.stack_top && at + crash.stack_size + FRAME_MAX > crash.stack_top;
}

static void on_death(int number, siginfo_t *info, void *context)
{
    (void)context;
    signal(number, SIG_DFL);
    if (pyhost_starved())
        report_and_exit(crash.memory_end);
    if (number == SIGSEGV && info->si_code > 0 && is_of_stack((uintptr_t)info->si_addr))
        report_and_exit(stack_end);
    raise(number); /* delivered when this handler returns */
}

/* Reports from a dying child that its script used up its memory or its stack. The signal alone names neither. Call it
 * in the child after its limits are set; the report goes to `events`. */
static void crash_report_prepare(int events)
{
    static char stack[STACK_SIZE];
    struct sigaction action = {.sa_sigaction = on_death, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct rlimit limit;
    crash.events = events;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(crash.memory, sizeof(crash.memory), "Script ran out of memory (%llu MB)",
                 (unsigned long long)limit.rlim_cur >> 20);
    snprintf(crash.memory_end, sizeof(crash.memory_end), "\nX{\"message\":\"%s\",\"traceback\":\"\"}\n", crash.memory);
    crash.stack_top = (uintptr_t)&limit;
    crash.stack_size = getrlimit(RLIMIT_STACK, &limit) == 0 ? (uintptr_t)limit.rlim_cur : 0;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
}

const char *crash_report_memory(void)
{
    return crash.memory;
}

/* How long a child waits for the supervisor's kill after it has reported the end of its script. */
#define UNHEARD_MS 200

/* Moves each descriptor to its fixed number. First moves all of them out of the way, because the numbers may
 * overlap. */
static int place_descriptors(int script, int events, int out, int err)
{
    const int from[] = {out, err, events, script}, to[] = {1, 2, CHILD_EVENTS, CHILD_SCRIPT};
    int high[COUNT_OF(from)];
    for (size_t i = 0; i < COUNT_OF(from); i++)
        if ((high[i] = fcntl(from[i], F_DUPFD, 16)) < 0)
            return -1;
    for (size_t i = 0; i < COUNT_OF(from); i++)
        if (dup2(high[i], to[i]) < 0)
            return -1;
    return 0;
}

static int read_all(int fd, void *bytes, size_t len)
{
    char *at = bytes;
    while (len) {
        ssize_t count = read(fd, at, len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return -1;
        at += count;
        len -= (size_t)count;
    }
    return 0;
}

/* A child that cannot enter a layer or place a file runs nothing. It reports the reason when a script arrives. */
static _Noreturn void refuse_script(const char *why)
{
    CLEANUP(strbuf) struct strbuf end = STRBUF_INIT;
    struct json_writer w = json_begin(&end);
    strbuf_addstr(&end, "\nX");
    json_open(&w, NULL, '{');
    json_add_str(&w, "message", why);
    json_add_str(&w, "traceback", "");
    json_close(&w, '}');
    strbuf_addch(&end, '\n');
    ssize_t written = write(CHILD_EVENTS, end.buf, end.len);
    _exit(written == (ssize_t)end.len ? 0 : STATUS_UNTOLD);
}

/* Reads `len` bytes of the run and adds a NUL. Exits the child if they do not arrive: then it is no longer needed. */
static char *read_part(size_t len)
{
    char *bytes = xmalloc(len + 1);
    if (read_all(CHILD_SCRIPT, bytes, len) < 0)
        _exit(0);
    bytes[len] = '\0';
    return bytes;
}

/* Places the files before a script runs that could interfere. */
static void place_files(size_t len)
{
    CLEANUP(free) char *packed = read_part(len);
    struct err wrong = ERR_INIT;
    if (files_place(packed, len, &wrong) < 0)
        refuse_script(wrong.text);
}

_Noreturn void child_main(struct sandbox *sandbox, int parent, int script, int events, int out, int err)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct run_header header;
    struct err wrong = ERR_INIT;
    struct pyhost_script run;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(STATUS_UNTOLD);
    if (place_descriptors(script, events, out, err) < 0)
        _exit(STATUS_UNTOLD);
    /* Exceeding the file limit or writing to a closed pipe is an error for the script and does not kill it. A signal
     * that does kill it must be one that the supervisor can name, so a sanitizer must not handle it. */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < COUNT_OF(deadly); i++)
        signal(deadly[i], SIG_DFL);
    if (sandbox_enter(sandbox, 0, &wrong) < 0)
        refuse_script(wrong.text);
    if (close_range(CHILD_SCRIPT + 1, ~0u, 0) < 0) /* the layers needed one more */
        refuse_script("descriptors stay open");
    crash_report_prepare(CHILD_EVENTS);
    pyhost_rehearse();
    if (read_all(CHILD_SCRIPT, &header, sizeof(header)) < 0)
        _exit(0); /* not needed any more */
    run.text = read_part(header.script_len);
    run.secrets = read_part(header.secrets_len);
    run.tools = read_part(header.tools_len);
    if (header.files_len)
        place_files(header.files_len);
    close(CHILD_SCRIPT);
    header.limit[sizeof(header.limit) - 1] = '\0';
    run.text_len = header.script_len;
    run.secrets_len = header.secrets_len;
    run.tools_len = header.tools_len;
    run.all_tools = header.all_tools;
    run.files = header.files_len > 0;
    run.limit = header.limit;
    if (pyhost_run(&run, CHILD_EVENTS) < 0)
        _exit(STATUS_UNTOLD);
    /* The supervisor kills this child after it has reported to the host. Exiting here would occupy the processor for
     * longer than the script may have run. The timeout covers a script that kept the supervisor from reading the
     * end. */
    poll(NULL, 0, UNHEARD_MS);
    _exit(0);
}
