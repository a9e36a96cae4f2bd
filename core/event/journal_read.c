/* Reads the journal: maps the file, indexes its lines and decodes them on access (journal.h).
 *
 * The index holds where each line begins: eight bytes a line. The end is searched again on access, which costs
 * nothing compared with decoding. Empty lines are not in the index. Their count matters only for line numbers in
 * messages and is computed then.
 *
 * The last line may lack its newline. If it is a whole object, a person wrote it, and it counts. If not, a crash cut
 * it short, and it is skipped. Either way the next refresh looks at it again, because more may have been appended.
 *
 * A line that cannot be an event ends the index. It is the last entry, so that a reader gets the error and the line
 * number, but nothing after it is indexed. So a file that is not a journal costs only its beginning.
 *
 * Pointers into lines are valid until the next journal_refresh or journal_reader_free. A reader belongs to one
 * thread. It caches the time of the line decoded last, so that files without times are not searched backward at
 * every line. */

#include "journal_read.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define JOURNAL_VERSION 1
#define SHOWN_MAX       ((size_t)3 << 20) /* a frame reads a line several times; our own questions are shorter */
#define SHORTEST_EVENT  (sizeof("{\"type\":\"x\"}") - 1)

/* Separate from the reader, because callers hold the reader as const. */
struct recent {
    size_t index;
    int64_t t;
    bool known;
};

struct journal_reader {
    int fd; /* -1: bytes in memory */
    const char *bytes;
    size_t len;
    uint64_t *starts;
    size_t count, room;
    size_t indexed; /* end of the indexed, complete lines */
    bool tail;      /* the last indexed line has no newline */
    bool cut;
    bool blanks;  /* empty lines are missing from the index */
    bool stopped; /* the index ended at a line that is not an event */
    struct recent *recent;
};

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end;
}

/* Checks only the beginning and the length of the line. */
static bool may_be_event(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return (size_t)(end - at) >= SHORTEST_EVENT && *at == '{';
}

/* True for a whole JSON object with nothing after it. */
static bool is_whole(const char *line, size_t len)
{
    struct json_members scan;
    struct json_member member;
    int more;
    json_members_begin(&scan, line, len);
    while ((more = json_members_next(&scan, &member)) > 0)
        ;
    return more == 0;
}

static void index_add(struct journal_reader *reader, size_t start)
{
    GROW(reader->starts, reader->count, reader->room);
    reader->starts[reader->count++] = start;
}

static void index_rest(struct journal_reader *reader)
{
    const char *end = reader->bytes + reader->len;
    if (reader->tail)
        reader->count--;
    reader->tail = false;
    reader->cut = false;
    if (reader->indexed == 0 && reader->len >= 3 && memcmp(reader->bytes, "\xEF\xBB\xBF", 3) == 0)
        reader->indexed = 3;
    const char *at = reader->bytes + reader->indexed;
    const char *newline;
    while (!reader->stopped && at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        if (is_blank(at, newline)) {
            reader->blanks = true;
        } else {
            index_add(reader, (size_t)(at - reader->bytes));
            reader->stopped = !may_be_event(at, newline);
        }
        at = newline + 1;
    }
    reader->indexed = (size_t)(at - reader->bytes);
    if (reader->stopped || is_blank(at, end))
        return;
    if (is_whole(at, (size_t)(end - at))) {
        index_add(reader, reader->indexed);
        reader->tail = true;
    } else {
        reader->cut = true;
    }
}

/* Frees memory that doubling had reserved. */
static void index_trim(struct journal_reader *reader)
{
    if (reader->count && reader->count < reader->room) {
        reader->starts = xreallocarray(reader->starts, reader->count, sizeof(*reader->starts));
        reader->room = reader->count;
    }
}

static int check_first_line(const struct journal_reader *reader, struct err *err)
{
    if (reader->count == 0)
        return err_set(err, reader->cut ? "the file has no complete line" : "the file is empty");

    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    size_t len;
    const char *line = journal_line(reader, 0, &len);
    int result = 0;
    if (len && line[strspn(line, " \t")] != '{')
        result = err_set(err, "not a Keyturn transcript: it does not begin with a JSON object");
    else if (event_decode(&event, &arena, line, len, err) < 0)
        result = -1;
    else if (event.type != EVENT_SESSION_STARTED)
        result = err_set(err, "not a Keyturn transcript: the first line must be session.started, not %.80s",
                         event.type_name);
    else if (event.session_started.v > JOURNAL_VERSION)
        result = err_set(err, "the transcript has version %lld, and this program reads %d; use a newer keyturn",
                         (long long)event.session_started.v, JOURNAL_VERSION);
    else if (event.session_started.v != JOURNAL_VERSION)
        result = err_set(err, "session.started must have \"v\":%d", JOURNAL_VERSION);
    if (result < 0 && err)
        err->line = journal_line_number(reader, 0);
    return result;
}

static struct journal_reader *reader_new(int fd, const char *bytes, size_t len)
{
    struct journal_reader *reader = xcalloc(1, sizeof(*reader));
    reader->fd = fd;
    reader->bytes = bytes;
    reader->len = len;
    reader->recent = xcalloc(1, sizeof(*reader->recent));
    return reader;
}

static struct journal_reader *reader_ready(struct journal_reader *reader, struct err *err)
{
    /* Check before indexing: the first newline of a sparse file may be a gigabyte away. */
    size_t look = reader->len < 4096 ? reader->len : 4096;
    if (look && memchr(reader->bytes, '\0', look)) {
        err_set(err, "not a text file");
    } else {
        index_rest(reader);
        index_trim(reader);
        if (check_first_line(reader, err) == 0)
            return reader;
    }
    journal_reader_free(reader);
    return NULL;
}

struct journal_reader *journal_open(const char *path, struct err *err)
{
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        err_set_errno(err, errno, "cannot open '%s'", path);
        return NULL;
    }
    struct stat st;
    if (fstat(fd, &st) < 0) {
        err_set_errno(err, errno, "cannot read '%s'", path);
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(err, S_ISDIR(st.st_mode) ? "this is a folder, not a transcript" : "not a regular file");
        return NULL;
    }
    size_t len = (size_t)st.st_size;
    const char *bytes = "";
    if (len) {
        bytes = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
        if (bytes == MAP_FAILED) {
            err_set_errno(err, errno, "cannot map the file");
            return NULL;
        }
    }
    struct journal_reader *reader = reader_new(fd, bytes, len);
    fd = -1;
    return reader_ready(reader, err);
}

struct journal_reader *journal_open_bytes(const char *bytes, size_t len, struct err *err)
{
    return reader_ready(reader_new(-1, bytes, len), err);
}

void journal_reader_free(struct journal_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0) {
        if (reader->len)
            munmap((void *)(uintptr_t)reader->bytes, reader->len);
        close(reader->fd);
    }
    free(reader->starts);
    free(reader->recent);
    free(reader);
}

size_t journal_refresh(struct journal_reader *reader)
{
    struct stat st;
    if (reader->fd < 0 || fstat(reader->fd, &st) < 0)
        return 0;
    size_t len = (size_t)st.st_size;
    /* A file becomes shorter if a cut line is removed, and that line was never in the index. Any other shrinking of
     * an append-only file is not ours to repair; the remaining lines stay readable. */
    bool open_end = reader->tail || reader->cut; /* may be another end of the same length */
    if ((len == reader->len && !open_end) || len < reader->indexed || len == 0)
        return 0;
    void *bytes = mremap((void *)(uintptr_t)reader->bytes, reader->len, len, MREMAP_MAYMOVE);
    if (bytes == MAP_FAILED)
        return 0;
    reader->bytes = bytes;
    reader->len = len;
    size_t before = reader->count;
    index_rest(reader);
    return reader->count > before ? reader->count - before : 0;
}

size_t journal_count(const struct journal_reader *reader)
{
    return reader->count;
}

bool journal_was_cut(const struct journal_reader *reader)
{
    return reader->cut;
}

bool journal_stopped(const struct journal_reader *reader)
{
    return reader->stopped;
}

size_t journal_good_length(const struct journal_reader *reader, bool *newline)
{
    *newline = !reader->tail;
    return reader->tail ? reader->len : reader->indexed;
}

const char *journal_line(const struct journal_reader *reader, size_t index, size_t *len)
{
    if (index >= reader->count)
        BUG("line %zu of %zu", index, reader->count);
    const char *line = reader->bytes + reader->starts[index];
    size_t left = reader->len - (size_t)reader->starts[index];
    const char *newline = memchr(line, '\n', left);
    *len = newline ? (size_t)(newline - line) : left;
    if (*len && line[*len - 1] == '\r')
        --*len;
    return line;
}

long journal_line_number(const struct journal_reader *reader, size_t index)
{
    if (!reader->blanks)
        return (long)index + 1;
    long number = 1;
    const char *at = reader->bytes, *end = at + reader->starts[index];
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        number++;
        at++;
    }
    return number;
}

/* The time of the nearest line before `index` that has one. */
static int64_t time_before(const struct journal_reader *reader, size_t index)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    while (index-- > 0) {
        if (reader->recent->known && reader->recent->index == index)
            return reader->recent->t;
        struct event event;
        size_t len;
        const char *line = journal_line(reader, index, &len);
        if (event_decode(&event, &arena, line, len, NULL) == 0 && event.t >= 0)
            return event.t;
        arena_reset(&arena);
    }
    return 0;
}

typedef int decode_line(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err);

static int read_event(const struct journal_reader *reader, size_t index, struct event *event, struct arena *arena,
                      decode_line *decode, struct err *err)
{
    size_t len;
    const char *line = journal_line(reader, index, &len);
    if (decode(event, arena, line, len, err) < 0) {
        if (err)
            err->line = journal_line_number(reader, index);
        return -1;
    }
    if (event->seq < 0)
        event->seq = (int64_t)index + 1;
    if (event->t < 0)
        event->t = time_before(reader, index);
    *reader->recent = (struct recent){index, event->t, true};
    return 0;
}

int journal_event(const struct journal_reader *reader, size_t index, struct event *event, struct arena *arena,
                  struct err *err)
{
    return read_event(reader, index, event, arena, event_decode, err);
}

int journal_event_short(const struct journal_reader *reader, size_t index, struct event *event, struct arena *arena,
                        struct err *err)
{
    size_t len;
    journal_line(reader, index, &len);
    if (len > SHOWN_MAX)
        return err_set(err, "it is too long to show");
    return read_event(reader, index, event, arena, event_decode_short, err);
}
