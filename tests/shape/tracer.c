/* Logs every function that a program enters and leaves, and every event line that it writes, in one order over all
 * threads. Preload it into a program built with -finstrument-functions; SHAPE_TRACE names the log.
 *
 * The log is records of 16 bytes: a value, the thread, and the kind. The name of an event takes several. */

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRACE_BASE, TRACE_ENTER, TRACE_LEAVE, TRACE_EVENT, TRACE_EVENT_END };
struct trace_record {
    uint64_t value;
    uint32_t thread, what;
};

static struct trace_record records[1 << 16];
static size_t record_count;
static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread uint32_t thread;

static void flush_records(void)
{
    const char *at = (const char *)records;
    size_t left = record_count * sizeof(records[0]);
    while (left > 0) {
        long wrote = syscall(SYS_write, log_fd, at, left);
        if (wrote <= 0)
            abort();
        at += wrote;
        left -= (size_t)wrote;
    }
    record_count = 0;
}

static void add_record(uint64_t value, uint32_t what)
{
    if (!thread)
        thread = (uint32_t)syscall(SYS_gettid);
    if (record_count == sizeof(records) / sizeof(records[0]))
        flush_records();
    records[record_count++] = (struct trace_record){value, thread, what};
}

static void add_call(const void *function, uint32_t what)
{
    if (log_fd < 0)
        return;
    pthread_mutex_lock(&lock);
    add_record((uint64_t)(uintptr_t)function, what);
    pthread_mutex_unlock(&lock);
}

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    add_call(function, TRACE_ENTER);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    add_call(function, TRACE_LEAVE);
}

/* Finds the type of each event line in written bytes. The log up to here goes to the disk at once: a reader may look at
 * it. */
static void add_events(const char *bytes, size_t len)
{
    static const char key[] = ",\"type\":\"";
    const char *end = bytes + len;
    pthread_mutex_lock(&lock);
    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const char *stop = newline ? newline : end;
        const char *type = memmem(bytes, (size_t)(stop - bytes), key, sizeof(key) - 1);
        for (type = type ? type + sizeof(key) - 1 : stop; type < stop && *type != '"'; type++)
            add_record((unsigned char)*type, TRACE_EVENT);
        add_record(0, TRACE_EVENT_END);
        bytes = stop + 1;
    }
    flush_records();
    pthread_mutex_unlock(&lock);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    static const char begin[] = "{\"seq\":";
    if (log_fd >= 0 && len > sizeof(begin) && memcmp(bytes, begin, sizeof(begin) - 1) == 0)
        add_events(bytes, len);
    return syscall(SYS_write, fd, bytes, len);
}

static int note_base(struct dl_phdr_info *program, size_t size, void *none)
{
    (void)size;
    (void)none;
    add_record(program->dlpi_addr, TRACE_BASE);
    return 1; /* the first is the program itself */
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SHAPE_TRACE");
    unsetenv("LD_PRELOAD"); /* its children are not traced */
    if (!path)
        return;
    log_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log_fd >= 0)
        dl_iterate_phdr(note_base, NULL);
}

__attribute__((destructor)) static void finish(void)
{
    if (log_fd >= 0)
        flush_records();
    log_fd = -1;
}
