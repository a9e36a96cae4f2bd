/* Summarizes a journal from two windows of the file (journal_summary.h).
 *
 * The window at the beginning grows until it contains the first prompt, the one at the end until it contains a whole
 * line. Both have a limit, so the cost is bounded, whatever was recorded. If they meet, the whole file is read once
 * and everything is known. */

#include "journal_summary.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "event.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW     (size_t)(32 << 10)
#define WINDOW_MAX (size_t)(1 << 20)
#define WIDER      4

struct look {
    struct journal_summary *summary;
    int fd;
    size_t len;
    bool first;              /* the next line must be session.started */
    struct hash_map by_undo; /* checkpoints that an undo saved: older recordings redo one with write.undone */
};

static void set(char **place, const char *text)
{
    if (!text)
        return;
    free(*place);
    *place = xstrdup(text);
}

static void set_model(struct journal_summary *summary, const struct event_model_info *model)
{
    set(&summary->model, model ? model->name : NULL);
}

static bool redoes(const struct look *look, const struct event *event)
{
    return event->type == EVENT_WRITE_REDONE ||
           (event->write_undone.checkpoint && hash_map_has(&look->by_undo, event->write_undone.checkpoint));
}

static void take(struct look *look, const struct event *event)
{
    struct journal_summary *summary = look->summary;
    bool again;
    enum event_decided_as decided;
    if (event->turn > summary->turns)
        summary->turns = event->turn;
    switch (event->type) {
    case EVENT_SESSION_STARTED:
        set(&summary->workspace, event->session_started.workspace);
        set_model(summary, event->session_started.model);
        break;
    case EVENT_TURN_STARTED:
        if (!*summary->prompt)
            set(&summary->prompt, event->turn_started.prompt);
        summary->turns += event->turn <= 0;
        summary->under_way = true;
        summary->waits = false;
        break;
    case EVENT_MODEL_REQUESTED:
    case EVENT_MODEL_RESPONDED:
    case EVENT_MODEL_DELTA:
    case EVENT_TOOL_STARTED:
    case EVENT_TOOL_OUTPUT:
        summary->under_way = true; /* the window at the end may show only this of a long turn */
        break;
    case EVENT_WRITE_PROPOSED:
        summary->under_way = summary->waits = true;
        break;
    case EVENT_WRITE_DECIDED:
        decided = event_decided_as(event->write_decided.decision, event->write_decided.by);
        summary->approved += decided == DECIDED_APPROVED;
        summary->denied += decided == DECIDED_DENIED;
        summary->waits = false;
        break;
    case EVENT_TOOL_FINISHED:
        summary->waits = false;
        break;
    case EVENT_WRITE_APPLIED:
        summary->writes++;
        break;
    case EVENT_CHECKPOINT_SAVED:
        if (!event->checkpoint_saved.call && event->checkpoint_saved.checkpoint)
            hash_map_put(&look->by_undo, event->checkpoint_saved.checkpoint, 1);
        break;
    case EVENT_WRITE_UNDONE:
    case EVENT_WRITE_REDONE:
        again = redoes(look, event);
        summary->undone += again ? -(summary->undone > 0) : 1;
        break;
    case EVENT_SESSION_NAMED:
        set(&summary->name, event->session_named.name);
        break;
    case EVENT_TURN_FINISHED:
        set(&summary->ended, event->turn_finished.status);
        summary->under_way = summary->waits = false;
        break;
    default:
        break;
    }
}

/* Reads `want` bytes at `from`; fewer if the file became shorter. */
static int read_at(const struct look *look, size_t from, size_t want, struct strbuf *out, struct err *err)
{
    strbuf_reset(out);
    strbuf_grow(out, want);
    while (out->len < want) {
        ssize_t got = pread(look->fd, out->buf + out->len, want - out->len, (off_t)(from + out->len));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, errno, "cannot read the file");
        if (got == 0)
            break;
        strbuf_set_len(out, out->len + (size_t)got);
    }
    return 0;
}

/* Returns -1 if the file is not a journal. */
static int take_line(struct look *look, const char *line, size_t len, bool ended, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    if (strspn(line, " \t\r") >= len)
        return 0;
    if (event_decode(&event, &arena, line, len, look->first ? err : NULL) == 0) {
        if (look->first && event.type != EVENT_SESSION_STARTED)
            return err_set(err, "the first line must be session.started");
        take(look, &event);
    } else if (look->first) {
        return -1;
    } else {
        look->summary->broken |= ended;
    }
    look->first = false;
    return 0;
}

/* Reads the lines of a window. The window begins with a line or, if `inside`, within one, which is skipped. A line
 * that ends after the window is skipped too. `taken` is the end of the last line. */
static int take_lines(struct look *look, const struct strbuf *text, bool inside, bool to_end, size_t *taken,
                      struct err *err)
{
    const char *at = text->buf, *end = at + text->len, *newline;
    if (inside)
        at = (newline = memchr(at, '\n', text->len)) ? newline + 1 : end;
    else if (look->first && text->len >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (at < end && ((newline = memchr(at, '\n', (size_t)(end - at))) || to_end)) {
        const char *stop = newline ? newline : end;
        if (take_line(look, at, (size_t)(stop - at), newline != NULL, err))
            return -1;
        at = newline ? newline + 1 : end;
    }
    *taken = (size_t)(at - text->buf);
    return 0;
}

/* Resets the summary; a wider window reads everything again. */
static void begin_summary(struct look *look)
{
    journal_summary_release(look->summary);
    *look->summary = (struct journal_summary){.prompt = xstrdup(""),
                                              .name = xstrdup(""),
                                              .workspace = xstrdup(""),
                                              .model = xstrdup(""),
                                              .ended = xstrdup("")};
    look->first = true;
    hash_map_release(&look->by_undo);
}

static int look_at_head(struct look *look, struct strbuf *text, size_t *head, struct err *err)
{
    for (size_t window = WINDOW;; window *= WIDER) {
        size_t want = window < look->len ? window : look->len;
        begin_summary(look);
        if (read_at(look, 0, want, text, err) || take_lines(look, text, false, want == look->len, head, err))
            return -1;
        if (want == look->len || window >= WINDOW_MAX || (*look->summary->prompt && !look->first))
            break;
    }
    return look->first ? err_set(err, "it does not begin with a complete line") : 0;
}

static int look_at_tail(struct look *look, struct strbuf *text, size_t head, struct err *err)
{
    size_t window = WINDOW, from, taken;
    const char *newline;
    do {
        from = look->len - head > window ? look->len - window : head;
        if (read_at(look, from, look->len - from, text, err))
            return -1;
        newline = memchr(text->buf, '\n', text->len);
    } while (from > head && window < WINDOW_MAX && (window *= WIDER) &&
             (!newline || newline + 1 == text->buf + text->len));
    look->summary->all = from == head;
    look->summary->waits &= look->summary->all; /* an answer may be in the unread part */
    return take_lines(look, text, from > head, true, &taken, err);
}

int journal_summary_read(struct journal_summary *summary, const char *path, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    size_t head = 0;
    *summary = (struct journal_summary){0};
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, errno, "cannot open '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, "not a regular file");
    struct look look = {.summary = summary, .fd = fd, .len = (size_t)st.st_size};
    int status =
        look_at_head(&look, &text, &head, err) || (head < look.len && look_at_tail(&look, &text, head, err)) ? -1 : 0;
    hash_map_release(&look.by_undo);
    if (status < 0) {
        journal_summary_release(summary);
        return -1;
    }
    summary->all |= head >= look.len;
    return 0;
}

void journal_summary_release(struct journal_summary *summary)
{
    free(summary->prompt);
    free(summary->name);
    free(summary->workspace);
    free(summary->model);
    free(summary->ended);
    *summary = (struct journal_summary){0};
}
