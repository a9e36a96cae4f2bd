#include "transcript.h"
#include "base/mem.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LOOKED_AT 4096

/* 0 when it may be one. What cannot be opened or is no file is left to the journal, which says it better. */
static int look_at_start(const char *path, struct err *err)
{
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    char bytes[LOOKED_AT];
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
        return 0;
    ssize_t got = pread(fd, bytes, sizeof(bytes), 0);
    size_t len = got > 0 ? (size_t)got : 0;
    if (memchr(bytes, '\0', len))
        return err_set(err, "this is no text file, let alone a transcript");
    size_t at = len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    long line = 1;
    for (; at < len && strchr(" \t\r\n", bytes[at]); at++)
        line += bytes[at] == '\n';
    if (at == len || bytes[at] == '{')
        return 0;
    err_set(err, "this is no transcript: its lines must be JSON objects (keyturn run --record FILE writes one)");
    if (err)
        err->line = line;
    return -1;
}

struct journal_reader *transcript_open(const char *path, struct err *err)
{
    return look_at_start(path, err) ? NULL : journal_open(path, err);
}

struct recording *transcript_record(const char *path, struct err *err)
{
    return look_at_start(path, err) ? NULL : recording_open(path, err);
}
