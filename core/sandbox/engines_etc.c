/* Makes the files in memory: nothing of them stays on a disk, and no other user must be able to read one.
 *
 * The user is the one that bwrap makes ours, 65534. Without nsswitch.conf the C library asks for names in the network
 * first, which is not there, and does not look into hosts at all. */

#include "engines_etc.h"
#include "base/mem.h"
#include "engines_program.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const texts[ENGINES_ETC_FILES] = {
    "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n",
    "root:x:0:0:root:/root:/bin/sh\nsandbox:x:65534:65534:sandbox:/workspace:/bin/sh\n",
    "root:x:0:\nsandbox:x:65534:\n",
    "passwd: files\ngroup: files\nhosts: files dns\n",
};

int engines_etc_open(struct engines_etc *etc, const struct sandbox_engine *engine, struct err *err)
{
    size_t count = 0;
    etc->fds[0] = -1;
    for (; engine->program->etc && count < COUNT_OF(texts); count++) {
        size_t len = strlen(texts[count]);
        int fd = memfd_create("keyturn-etc", MFD_CLOEXEC);
        etc->fds[count] = fd;
        etc->fds[count + 1] = -1;
        if (fd >= 0 && write(fd, texts[count], len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0)
            continue;
        int code = errno;
        engines_etc_close(etc);
        return err_set_errno(err, code, "memory for the program's /etc");
    }
    return 0;
}

void engines_etc_close(struct engines_etc *etc)
{
    for (int *at = etc->fds; *at >= 0; at++)
        close(*at);
    etc->fds[0] = -1;
}
