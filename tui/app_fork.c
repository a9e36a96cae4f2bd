/* A fork: a new journal that begins like a recording. Lines are copied, made printable; the recording itself is only
 * read. A turn that is under way where the fork leaves goes on there (the engine rebuilds it from the lines); one that
 * was about to end has nothing left to do but to end, and does so in the new file. */

#include "app_inside.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static void copy_lines(struct strbuf *out, const struct journal_reader *reader, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        size_t len;
        const char *line = journal_line(reader, i, &len);
        size_t begin = out->len;
        strbuf_add(out, line, len);
        json_make_printable(out, begin);
        strbuf_addch(out, '\n');
    }
}

static void add_event(struct strbuf *out, const struct session *session, size_t *seq, struct event *event)
{
    event->seq = (int64_t)++ * seq;
    event->t = session->last_t;
    event->turn = session_turn(session)->number;
    event->type_name = event_type_name(event->type);
    event_encode(out, event);
    strbuf_addch(out, '\n');
}

/* With the write gate closed nothing of a turn is left but its summary. */
static void end_turn(struct strbuf *out, const struct session *session, size_t seq)
{
    const struct session_turn *turn = session_turn(session);
    if (turn && turn->writes_closed && !turn->finished_seq)
        add_event(out, session, &seq,
                  &(struct event){.type = EVENT_TURN_FINISHED,
                                  .turn_finished = {.status = "cancelled", .text = "[the session was forked here]"}});
}

/* The fold of what is copied; -1 and err when a line cannot be read. */
static int fold(struct session *session, const struct journal_reader *reader, size_t position, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < position; i++) {
        struct event event;
        arena_reset(&arena);
        if (journal_event(reader, i, &event, &arena, err))
            return -1;
        session_apply(session, &event);
    }
    return 0;
}

static char *new_path(struct err *err)
{
    char stamp[CLOCK_STAMP_MAX];
    uint16_t random = 0;
    struct clock *clock = clock_system();
    clock_stamp(clock->wall_us(clock), stamp);
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = 0;
    CLEANUP(free) char *folder = file_xdg_path(FILE_DATA, "sessions");
    if (file_mkdirs(folder, 0700, err))
        return NULL;
    return xasprintf("%s/%.4s%.2s%.2s-%.2s%.2s%.2s-%04x.jsonl", folder, stamp, stamp + 5, stamp + 8, stamp + 11,
                     stamp + 14, stamp + 17, random);
}

char *app_fork_journal(const char *file, size_t position, bool *goes_on, struct err *err)
{
    struct journal_reader *reader = journal_open(file, err);
    if (!reader)
        return NULL;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(session) struct session session;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event last;
    session_init(&session);
    if (position > journal_count(reader))
        position = journal_count(reader);
    if (position < 1)
        position = 1;
    /* The end of a session is no part of one that goes on. */
    while (position > 1 && journal_event(reader, position - 1, &last, &arena, NULL) == 0 &&
           last.type == EVENT_SESSION_ENDED)
        position--;
    CLEANUP(free) char *path = fold(&session, reader, position, err) ? NULL : new_path(err);
    if (path) {
        copy_lines(&text, reader, 0, position);
        end_turn(&text, &session, position);
        *goes_on = session_turn_running(&session) && !session_turn(&session)->writes_closed;
        if (file_replace(path, text.buf, text.len, 0600, err))
            free(steal(&path));
    }
    journal_reader_free(reader);
    return steal(&path);
}

char *app_fork_rest(const char *file, size_t position, size_t *len, struct err *err)
{
    struct journal_reader *reader = journal_open(file, err);
    if (!reader)
        return NULL;
    struct strbuf text = STRBUF_INIT;
    copy_lines(&text, reader, 0, 1);
    copy_lines(&text, reader, position ? position : 1, journal_count(reader));
    journal_reader_free(reader);
    return strbuf_detach(&text, len);
}
