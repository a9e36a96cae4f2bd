/* Writes the log file that bug reports need. One write(2) per line on a descriptor opened for appending, so lines of
 * several threads and programs do not mix and a crash loses nothing that was logged before it. */

#include "log.h"
#include "clock.h"
#include "file.h"
#include "mem.h"
#include "redact.h"
#include "strbuf.h"
#include "utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of log_fd, against being closed under a writer */
static int log_fd = -1;
/* Read without the lock, to leave at once while the log is off or the level too low; LOG_ERROR + 1 is "off". */
static int least_level = LOG_ERROR + 1;

static void set_log(int fd, int least)
{
    pthread_mutex_lock(&lock);
    if (log_fd >= 0)
        close(log_fd);
    log_fd = fd;
    __atomic_store_n(&least_level, least, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

int log_open(const char *path, enum log_level least, struct err *err)
{
    const char *slash = strrchr(path, '/');
    if (slash && slash != path) {
        CLEANUP(free) char *folder = xmemdup0(path, (size_t)(slash - path));
        if (file_mkdirs(folder, 0700, err))
            return -1;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot write the log %s", path);
    set_log(fd, (int)least);
    return 0;
}

void log_close(void)
{
    set_log(-1, LOG_ERROR + 1);
}

void log_at(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"debug", "info ", "warn ", "error"};
    if ((int)level < __atomic_load_n(&least_level, __ATOMIC_RELAXED))
        return;
    int saved = errno;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);

    struct clock *clock = clock_system();
    int64_t wall = clock->wall_us(clock);
    char stamp[CLOCK_STAMP_MAX];
    clock_stamp(wall, stamp);
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%.19s.%03dZ %s ", stamp, (int)(wall / 1000 % 1000), names[level]);
    CLEANUP(strbuf) struct strbuf redacted = STRBUF_INIT;
    const struct strbuf *told = redact_text(&redacted, text.buf, text.len) ? &redacted : &text;
    utf8_sanitize(&line, told->buf, told->len, UTF8_KEEP_NOTHING);
    strbuf_addch(&line, '\n');

    pthread_mutex_lock(&lock);
    /* A failure cannot be reported anywhere, and the disk may have room again for the next line. */
    if (log_fd >= 0)
        (void)file_write_all(log_fd, line.buf, line.len);
    pthread_mutex_unlock(&lock);
    errno = saved;
}
