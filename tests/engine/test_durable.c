/* Tests what is synced and in which order. Stand-ins for the calls that sync record them together with the events, over
 * a whole turn that writes, and an undo.
 *
 * The journal is synced where a later action relies on it: a decision, an applied write, an undo, the end of a turn.
 * Every other event may be lost by a power failure; a sync for each of a thousand calls would take most of a turn's
 * time. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/turn_check.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct strbuf story = STRBUF_INIT;
static bool recording;
static const char *base; /* the rig's folder */

/* The path below the rig's folder; random names become "temp". */
static void note(const char *verb, const char *path)
{
    size_t len = base ? strlen(base) : 0;
    pthread_mutex_lock(&lock);
    if (recording && (!path || strncmp(path, base, len) == 0)) {
        CLEANUP(free) char *shown = xstrdup(path ? path + len + (path[len] == '/') : "");
        char *temp = strstr(shown, ".keyturn-");
        if (!temp)
            temp = strstr(shown, ".manifest.json");
        if (temp)
            snprintf(temp, 5, "temp");
        strbuf_addf(&story, "%s%s%s\n", verb, path ? " " : "", *shown || !path ? shown : ".");
    }
    pthread_mutex_unlock(&lock);
}

static void note_fd(const char *verb, int fd, const char *name)
{
    char link[64], path[4096 + 300];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = fd == AT_FDCWD ? 0 : readlink(link, path, 4096);
    if (len < 0)
        return;
    path[len] = '\0';
    if (name)
        snprintf(path + len, 300, "%s%s", len ? "/" : "", name);
    note(verb, path);
}

int fsync(int fd)
{
    note_fd("sync", fd, NULL);
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    note_fd("sync", fd, NULL);
    return (int)syscall(SYS_fdatasync, fd);
}

int rename(const char *from, const char *to)
{
    note("rename to", to);
    return (int)syscall(SYS_rename, from, to);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    note_fd("rename to", to_fd, to);
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    note_fd("rename to", to_fd, to);
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

/* In front of the rig's own sink. */
static struct sink *behind;
static void note_event(struct sink *sink, const struct event *event, const struct session *session)
{
    (void)sink;
    note(event->type_name, NULL);
    behind->event(behind, event, session);
}

/* The part of the story from one line to another, including both. */
static char *between(const char *from, const char *to)
{
    const char *begin = strstr(story.buf, from), *end = begin ? strstr(begin, to) : NULL;
    if (!end)
        fail_msg("no \"%s\" … \"%s\" in:\n%s", from, to, story.buf);
    return xmemdup0(begin, (size_t)(end + strlen(to) - begin));
}

static void check_between(const char *from, const char *to, const char *expected)
{
    CLEANUP(free) char *part = between(from, to);
    assert_string_equal(part, expected);
}

static size_t count(const char *line)
{
    size_t found = 0;
    for (const char *at = story.buf; (at = strstr(at, line)); at++)
        found++;
    return found;
}

TEST(journal_and_files_are_synced_in_order)
{
    struct turn_rig rig;
    struct sink sink = {.event = note_event};
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = NULL;
    turn_rig_init(&rig);
    base = rig.scratch.path;
    behind = &rig.sink;
    path = scratch_path(&rig.scratch, "journal.jsonl");
    turn_rig_file(&rig, "a.txt", "old\n");
    turn_rig_file(&rig, "b.txt", "other\n");
    struct journal *journal = journal_create(path, &rig.clock.base, &err);
    assert_non_null(journal);
    recording = true;
    rig.engine = engine_new(&rig.config, journal, &sink, &err);
    assert_non_null(rig.engine);
    fake_answer_call(fake_provider_answer(rig.model), "r", "read_file", "{\"path\":\"b.txt\"}");
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    rig.answer = turn_rig_say_yes;
    turn_rig_turn(&rig, "write");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_UNDO});
    turn_rig_run(&rig);
    recording = false;

    check_between("held\n", "tool.finished\n",
                  "held\n"
                  /* the first time also the file's name */
                  "sync journal.jsonl\nsync .\nwrite.decided\nreleased\n"
                  /* the old bytes, then the manifest that makes them a checkpoint, then its name */
                  "sync checkpoints/cp_1/0.old\n"
                  "sync checkpoints/cp_1/temp\n"
                  "rename to checkpoints/cp_1/manifest.json\n"
                  "sync checkpoints/cp_1\n"
                  "sync checkpoints\n"
                  "checkpoint.saved\n"
                  /* the new bytes before the rename, then the folder */
                  "sync work/temp\n"
                  "rename to work/a.txttemp\n" /* a temporary name of the exchange, which is removed later */
                  "rename to work/a.txt\n"
                  "sync work\n"
                  "sync journal.jsonl\n"
                  "write.applied\n"
                  "tool.finished\n");
    check_between("turn.finalized\n", "turn.finished\n", "turn.finalized\nsync journal.jsonl\nturn.finished\n");
    check_between("turn.finished\n", "write.undone\n",
                  "turn.finished\n"
                  "sync checkpoints/cp_2/0.old\n"
                  "sync checkpoints/cp_2/temp\n"
                  "rename to checkpoints/cp_2/manifest.json\n"
                  "sync checkpoints/cp_2\n"
                  "sync checkpoints\n"
                  "checkpoint.saved\n"
                  "sync work/temp\n"
                  "rename to work/a.txttemp\n" /* a temporary name of the exchange, which is removed later */
                  "rename to work/a.txt\n"
                  "sync work\n"
                  "sync journal.jsonl\n"
                  "write.undone\n");
    assert_int_equal(count("sync journal.jsonl\n"), 4);
    turn_check_end(&rig);
    strbuf_release(&story);
}
