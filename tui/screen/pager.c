/* A pager for long files: finds lines piece by piece, and reads them again when they are shown.
 *
 * Memory stays small: it stores only the offset of every 128th line, and one window of the file. */

#include "pager.h"
#include "base/mem.h"
#include "base/redact.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MARK_LINES 128
#define WINDOW     65536

struct pager {
    int fd;
    uint64_t size;
    uint64_t *marks; /* offsets of lines 0, 128, 256 … */
    size_t mark_count, mark_room;
    size_t lines;
    uint64_t indexed; /* bytes scanned */
    bool open_line;   /* the last line found has no end yet */
    uint64_t window_at;
    size_t window_len;
    char window[WINDOW];
};

struct pager *pager_open(const char *path, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) {
        err_set(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        err_set(err, "%s: not a file", path);
        return NULL;
    }
    struct pager *pager = xcalloc(1, sizeof(*pager));
    pager->fd = fd;
    pager->size = (uint64_t)st.st_size;
    return pager;
}

void pager_close(struct pager *pager)
{
    if (!pager)
        return;
    close(pager->fd);
    free(pager->marks);
    free(pager);
}

/* The bytes at `at`, up to the end of the window. 0 bytes at the end, or if the file was truncated. */
static const char *look_at(struct pager *pager, uint64_t at, size_t *len)
{
    if (at < pager->window_at || at >= pager->window_at + pager->window_len) {
        ssize_t got = pread(pager->fd, pager->window, WINDOW, (off_t)at);
        pager->window_at = at;
        pager->window_len = got > 0 ? (size_t)got : 0;
    }
    *len = pager->window_len - (size_t)(at - pager->window_at);
    return pager->window + (at - pager->window_at);
}

static void found_line(struct pager *pager, uint64_t at)
{
    if (pager->lines % MARK_LINES == 0) {
        GROW(pager->marks, pager->mark_count, pager->mark_room);
        pager->marks[pager->mark_count++] = at;
    }
    pager->lines++;
    pager->open_line = true;
}

bool pager_work(struct pager *pager, size_t bytes)
{
    uint64_t end = pager->indexed + bytes;
    while (pager->indexed < end && pager->indexed < pager->size) {
        size_t len;
        const char *text = look_at(pager, pager->indexed, &len);
        if (!len) { /* the file was truncated while open */
            pager->size = pager->indexed;
            break;
        }
        if (!pager->open_line)
            found_line(pager, pager->indexed);
        const char *newline = memchr(text, '\n', len);
        pager->open_line = !newline;
        pager->indexed += newline ? (size_t)(newline - text) + 1 : len;
    }
    return pager->indexed < pager->size;
}

size_t pager_lines(const struct pager *pager)
{
    return pager->lines;
}

uint64_t pager_size(const struct pager *pager)
{
    return pager->size;
}

/* The offset of a line. */
static bool find_line(struct pager *pager, size_t line, uint64_t *at)
{
    if (line >= pager->lines)
        return false;
    *at = pager->marks[line / MARK_LINES];
    for (size_t skip = line % MARK_LINES; skip;) {
        size_t len;
        const char *text = look_at(pager, *at, &len);
        if (!len)
            return false;
        const char *newline = memchr(text, '\n', len);
        *at += newline ? (size_t)(newline - text) + 1 : len;
        skip -= newline != NULL;
    }
    return true;
}

bool pager_line(struct pager *pager, size_t line, struct strbuf *to)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    struct strbuf *out = redact_any() ? &bytes : to; /* the file has the original output of a tool, so redact secrets */
    uint64_t at;
    if (!find_line(pager, line, &at))
        return false;
    for (size_t room = PAGER_LINE_MAX; room;) {
        size_t len;
        const char *text = look_at(pager, at, &len);
        if (!len)
            break;
        const char *newline = memchr(text, '\n', len);
        size_t take = newline ? (size_t)(newline - text) : len;
        take = take < room ? take : room;
        strbuf_add(out, text, take);
        if (newline)
            break;
        at += take;
        room -= take;
    }
    if (out != to && !redact_text(to, bytes.buf, bytes.len))
        strbuf_add(to, bytes.buf, bytes.len);
    return true;
}

bool pager_search(struct pager *pager, const char *needle, bool back, size_t *line)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t at = *line;
    for (size_t looked = 0; looked < pager->lines; looked++) {
        at = back ? (at && at <= pager->lines ? at : pager->lines) - 1 : at + 1 < pager->lines ? at + 1 : 0;
        strbuf_reset(&text);
        if (pager_line(pager, at, &text) && text_match_find(text.buf, text.len, needle)) {
            *line = at;
            return true;
        }
    }
    return false;
}
