/* Writes the journal: appends lines, syncs, locks and repairs the file (journal.h).
 *
 * The rest of the program relies on one rule. If journal_append_all returns 0, all lines are in the file; if
 * it returns -1, the file is unchanged. So lines are built in memory and written with one write(2). On any failure the
 * file is cut back to its previous length. If even that fails (a failing disk), the journal remembers that its end
 * is torn. It repairs the end before it writes again, because a line after half a line would spoil both.
 *
 * One writer at a time. The file is locked while it is open, so a second keyturn that resumes the same session gets
 * an error instead of mixing its lines in. The lock belongs to the open file and ends with the process, however that
 * ends. Other processes can query it (journal_held) without taking it, so a reader never keeps a writer out. */

#include "journal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "journal_read.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define WRITEBACK_BYTES (1 << 20)

struct journal {
    int fd; /* -1: in memory */
    char *path;
    struct clock *clock;
    int64_t origin_us; /* time 0 of t, on the clock */
    int64_t last_t;
    int64_t last_seq;
    off_t len;           /* of the part known to be good */
    off_t flowing;       /* of the part that is on its way to the disk */
    bool torn;           /* bytes after `len` could not be removed */
    bool named;          /* the folder with its name is synced */
    struct strbuf lines; /* the lines appended last */
};

static struct journal *journal_new(int fd, const char *path, struct clock *clock)
{
    struct journal *journal = xcalloc(1, sizeof(*journal));
    journal->fd = fd;
    journal->path = path ? xstrdup(path) : NULL;
    journal->clock = clock;
    journal->origin_us = clock->now_us(clock);
    strbuf_init(&journal->lines);
    return journal;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal->path);
    strbuf_release(&journal->lines);
    free(journal);
}

/* Some file systems cannot sync and report it. That must not stop the session. */
static int sync_fd(int fd)
{
    while (fdatasync(fd) < 0) {
        if (errno == EINTR)
            continue;
        return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : -1;
    }
    return 0;
}

/* A new name survives a power cut only after its folder is synced. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(free)
    char *folder = slash == path ? xstrdup("/") : slash ? xmemdup0(path, (size_t)(slash - path)) : xstrdup(".");
    CLEANUP(fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : -1; /* the user may write in the folder but not list it */
    return fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

static int lock_file(int fd, struct err *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    /* Some file systems cannot lock and report it. That must not stop the session. */
    if (fcntl(fd, F_OFD_SETLK, &whole) == 0 || errno == ENOTSUP || errno == ENOLCK || errno == EINVAL ||
        errno == ENOSYS)
        return 0;
    if (errno == EAGAIN || errno == EACCES)
        return err_set(err, "another keyturn is writing this session; end that one first");
    return err_set_errno(err, errno, "cannot lock the session file");
}

bool journal_held(const char *path)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

struct journal *journal_create(const char *path, struct clock *clock, struct err *err)
{
    if (!path)
        return journal_new(-1, NULL, clock);
    CLEANUP(fd) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        if (errno == EEXIST)
            err_set(err, "the file exists already (a recording never overwrites)");
        else
            err_set_errno(err, errno, "cannot create the session file");
        return NULL;
    }
    if (lock_file(fd, err) < 0)
        return NULL;
    struct journal *journal = journal_new(fd, path, clock);
    fd = -1;
    return journal;
}

/* Continues numbering and time from the last readable line, and cuts off what follows the last whole line. */
static int resume_from(struct journal *journal, const struct journal_reader *reader, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    size_t count = journal_count(reader);
    if (journal_stopped(reader)) {
        err_set(err, "this line is not an event, so the session cannot be resumed");
        if (err)
            err->line = journal_line_number(reader, count - 1);
        return -1;
    }
    journal->last_seq = (int64_t)count;
    for (size_t index = count; index-- > 0; arena_reset(&arena)) {
        struct event event;
        if (journal_event(reader, index, &event, &arena, NULL) < 0)
            continue;
        int64_t behind = (int64_t)(count - 1 - index); /* unreadable lines have numbers too */
        if (event.seq <= INT64_MAX - (int64_t)count)
            journal->last_seq = event.seq + behind;
        journal->last_t = event.t;
        break;
    }
    journal->origin_us -= journal->last_t;
    bool newline = true;
    journal->len = journal->flowing = (off_t)journal_good_length(reader, &newline);
    if (ftruncate(journal->fd, journal->len) < 0)
        return err_set_errno(err, errno, "cannot remove the incomplete last line");
    if (!newline) {
        if (file_write_all(journal->fd, "\n", 1) < 0)
            return err_set_errno(err, errno, "cannot end the last line");
        journal->len++;
    }
    return 0;
}

struct journal *journal_resume(const char *path, struct clock *clock, struct err *err)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        err_set_errno(err, errno, "cannot open the session file for writing");
        return NULL;
    }
    struct journal *journal = journal_new(fd, path, clock);
    struct journal_reader *reader = NULL;
    if (lock_file(fd, err) == 0 && (reader = journal_open(path, err)) && resume_from(journal, reader, err) == 0) {
        journal_reader_free(reader);
        return journal;
    }
    journal_reader_free(reader);
    journal_close(journal);
    return NULL;
}

int journal_sync(struct journal *journal, struct err *err)
{
    if (journal->fd < 0)
        return 0;
    if (sync_fd(journal->fd) < 0)
        return err_set_errno(err, errno, "cannot sync the session file");
    if (!journal->named && sync_folder(journal->path) < 0)
        return err_set_errno(err, errno, "cannot sync the folder of the session file");
    journal->named = true;
    return 0;
}

/* True for facts that the outside relies on: decisions, changes of files, ends. */
static bool must_be_durable(enum event_type type)
{
    switch (type) {
    case EVENT_WRITE_DECIDED:
    case EVENT_WRITE_APPLIED:
    case EVENT_WRITE_UNDONE:
    case EVENT_WRITE_REDONE:
    case EVENT_TURN_FINISHED:
        return true;
    default:
        return false;
    }
}

static int cut_back(struct journal *journal)
{
    int result;
    do
        result = ftruncate(journal->fd, journal->len);
    while (result < 0 && errno == EINTR);
    journal->torn = result < 0;
    return result;
}

/* Starts writing to the disk and does not wait for it. Otherwise a long turn would leave all of its lines for the sync
 * at its end. */
static void start_writing(struct journal *journal)
{
    if (journal->len - journal->flowing < WRITEBACK_BYTES)
        return;
    sync_file_range(journal->fd, journal->flowing, journal->len - journal->flowing, SYNC_FILE_RANGE_WRITE);
    journal->flowing = journal->len;
}

static int write_lines(struct journal *journal, bool durable, struct err *err)
{
    if (journal->torn && cut_back(journal) < 0)
        return err_set_errno(err, errno, "cannot remove the incomplete last line of the session file");
    if (file_write_all(journal->fd, journal->lines.buf, journal->lines.len) < 0) {
        int code = errno;
        cut_back(journal);
        return err_set_errno(err, code, "cannot write the session file");
    }
    if (durable && journal_sync(journal, err) < 0) {
        cut_back(journal);
        return -1;
    }
    journal->len += (off_t)journal->lines.len;
    start_writing(journal);
    return 0;
}

/* A journal in memory keeps lines only of events that bring one, because those may be shown again. */
static bool has_line(const struct journal *journal, const struct event *event)
{
    return journal->fd >= 0 || event->raw;
}

static void encode_line(struct journal *journal, struct event *event)
{
    size_t before = journal->lines.len;
    event_encode_numbered(&journal->lines, event);
    event->raw_len = journal->lines.len - before;
    strbuf_addch(&journal->lines, '\n');
}

int journal_append_all(struct journal *journal, struct event *events, size_t count, struct err *err)
{
    int64_t now = journal->clock->now_us(journal->clock) - journal->origin_us;
    int64_t t = now > journal->last_t ? now : journal->last_t;
    bool durable = false;
    strbuf_reset(&journal->lines);
    for (size_t i = 0; i < count; i++) {
        events[i].seq = journal->last_seq + 1 + (int64_t)i;
        events[i].t = t;
        durable |= must_be_durable(events[i].type);
        if (has_line(journal, &events[i]))
            encode_line(journal, &events[i]);
    }
    if (journal->fd >= 0 && write_lines(journal, durable, err) < 0)
        return -1;
    /* Encoding an event again yields the recorded line, until the next append. */
    const char *line = journal->lines.buf;
    for (size_t i = 0; i < count; i++)
        if (has_line(journal, &events[i])) {
            events[i].raw = line;
            line += events[i].raw_len + 1;
        }
    journal->last_seq += (int64_t)count;
    journal->last_t = t;
    return 0;
}
