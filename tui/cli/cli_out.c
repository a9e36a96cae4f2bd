/* Standard output of commands without a screen, and the signals that end them.
 *
 * Another program may have made the inherited descriptor non-blocking. A short write is then completed after poll. */

#include "cli_out.h"
#include "app/cli_error.h"
#include "base/loop.h"
#include "base/mem.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define BATCH_BYTES (64u << 10)

bool cli_out_closed;

void cli_out_init(struct cli_out *output, int fd)
{
    *output = (struct cli_out){.fd = fd, .text = STRBUF_INIT};
}

void cli_out_release(struct cli_out *output)
{
    strbuf_release(&output->text);
}

static int send_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t done = write(fd, bytes, len);
        if (done >= 0) {
            bytes += done;
            len -= (size_t)done;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

int cli_out_flush(struct cli_out *output)
{
    if (!output->failed)
        output->failed = send_all(output->fd, output->text.buf, output->text.len);
    strbuf_reset(&output->text);
    return output->failed ? -1 : 0;
}

void cli_out_add(struct cli_out *output, const void *bytes, size_t len)
{
    if (output->text.len + len < BATCH_BYTES) {
        strbuf_add(&output->text, bytes, len);
        return;
    }
    if (cli_out_flush(output) == 0)
        output->failed = send_all(output->fd, bytes, len);
}

int cli_out_error(const struct cli_out *output)
{
    const char *what_to_do = output->failed == EPIPE    ? "the reader has exited"
                             : output->failed == ENOSPC ? "make room on the disk"
                                                        : "check where it goes";
    return cli_error(STATUS_FAILED, "cannot write to standard output: %s (%s)", strerror(output->failed), what_to_do);
}

/* ---- signals ---- */

static void report_signal(void *data, int status)
{
    struct signals *stops = data;
    stops->stopped(stops->user, status);
}

static void interrupted(void *data)
{
    report_signal(data, STATUS_INTERRUPTED);
}

static void terminated(void *data)
{
    report_signal(data, STATUS_TERMINATED);
}

static void hung_up(void *data)
{
    report_signal(data, STATUS_HUNG_UP);
}

static const struct {
    int signum;
    void (*caught)(void *data);
} signals[] = {{SIGINT, interrupted}, {SIGTERM, terminated}, {SIGHUP, hung_up}};

void signals_watch(struct signals *stops, struct loop *loop)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        stops->watches[i] = loop_watch_signal(loop, signals[i].signum, signals[i].caught, stops);
}

void signals_unwatch(struct signals *stops)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_watch_free(stops->watches[i]);
}
