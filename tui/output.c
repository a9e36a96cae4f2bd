/* A shell may hand us a descriptor that does not block (another program set it so): a short write is then completed
 * after poll. */

#include "output.h"
#include "say.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define BATCH_BYTES (64u << 10)

bool output_closed;

void output_init(struct output *output, int fd)
{
    *output = (struct output){.fd = fd, .text = STRBUF_INIT};
}

void output_release(struct output *output)
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

int output_flush(struct output *output)
{
    if (!output->failed)
        output->failed = send_all(output->fd, output->text.buf, output->text.len);
    strbuf_reset(&output->text);
    return output->failed ? -1 : 0;
}

void output_add(struct output *output, const void *bytes, size_t len)
{
    if (output->text.len + len < BATCH_BYTES) {
        strbuf_add(&output->text, bytes, len);
        return;
    }
    if (output_flush(output) == 0)
        output->failed = send_all(output->fd, bytes, len);
}

int output_say_failed(const struct output *output)
{
    const char *what_to_do = output->failed == EPIPE    ? "whoever read it has gone"
                             : output->failed == ENOSPC ? "make room on the disk"
                                                        : "look at where it is sent";
    return say_error(STATUS_FAILED, "cannot write to standard output: %s (%s)", strerror(output->failed), what_to_do);
}
