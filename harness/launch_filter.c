/* Loads the program's system call filter if the engine cannot (see launch.h). */

#include "launch.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Reads the whole file. Returns 0 with errno if it holds no instructions or too many. */
static size_t read_instructions(int fd, struct sock_filter *into, size_t room)
{
    size_t have = 0, most = room * sizeof(*into);
    ssize_t got;
    while ((got = read(fd, (char *)into + have, most - have)) > 0 || (got < 0 && errno == EINTR))
        have += got > 0 ? (size_t)got : 0;
    if (got == 0 && have && have < most && have % sizeof(*into) == 0)
        return have / sizeof(*into);
    errno = got < 0 ? errno : EINVAL;
    return 0;
}

/* The same for hexadecimal text. */
static size_t decode_instructions(const char *text, struct sock_filter *into, size_t room)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char *bytes = (unsigned char *)into;
    size_t have = 0, most = room * sizeof(*into);
    for (; text && text[0] && have < most; text += 2) {
        const char *high = strchr(digits, text[0]), *low = text[1] ? strchr(digits, text[1]) : NULL;
        if (!high || !low)
            break;
        bytes[have++] = (unsigned char)((high - digits) << 4 | (low - digits));
    }
    if (text && !text[0] && have && have % sizeof(*into) == 0)
        return have / sizeof(*into);
    errno = EINVAL;
    return 0;
}

static struct sock_filter instructions[BPF_MAXINSNS];

static int load(size_t count)
{
    struct sock_fprog filter = {.len = (unsigned short)count, .filter = instructions};
    if (!count || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int launch_filter_load(int fd)
{
    size_t count = read_instructions(fd, instructions, BPF_MAXINSNS);
    int code = errno;
    close(fd);
    errno = code;
    return load(count);
}

int launch_filter_load_text(const char *text)
{
    return load(decode_instructions(text, instructions, BPF_MAXINSNS));
}
