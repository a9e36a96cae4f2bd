/* Tests that memory and the context pack load in parallel: each waits until the other has begun. Loaded one after the
 * other, the first would wait forever. */

#include "base/mem.h"
#include "event/store.h"
#include "support/event_json.h"
#include "support/test.h"
#include "support/turn_check.h"
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#define PATIENCE_S 20

enum side { MEMORY, CONTEXT };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool armed, came[2], alone;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void meet(enum side side)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&meeting.lock);
    if (meeting.armed && !meeting.came[side]) {
        meeting.came[side] = true;
        pthread_cond_broadcast(&meeting.change);
        while (!meeting.came[!side] && !meeting.alone)
            if (pthread_cond_timedwait(&meeting.change, &meeting.lock, &until))
                meeting.alone = true;
    }
    pthread_mutex_unlock(&meeting.lock);
}

/* Called at the start of loading memory, and at the start of loading the pack. */
typedef int prepare_statement(void *db, const char *sql, int len, void **statement, const char **tail);
prepare_statement sqlite3_prepare_v2;

int sqlite3_prepare_v2(void *db, const char *sql, int len, void **statement, const char **tail)
{
    union {
        void *object;
        prepare_statement *function;
    } real = {dlsym(RTLD_NEXT, "sqlite3_prepare_v2")};

    meet(MEMORY);
    return real.function(db, sql, len, statement, tail);
}

ssize_t getdents64(int fd, void *buffer, size_t length)
{
    union {
        void *object;
        ssize_t (*function)(int fd, void *buffer, size_t length);
    } real = {dlsym(RTLD_NEXT, "getdents64")};

    meet(CONTEXT);
    return real.function(fd, buffer, length);
}

TEST(memory_and_context_are_loaded_side_by_side)
{
    struct turn_rig rig;
    struct err err = ERR_INIT;
    turn_rig_init(&rig);
    rig.config.store = store_open(":memory:", &err);
    rig.config.project = "/p";
    assert_non_null(rig.config.store);
    assert_int_equal(store_memory_add(rig.config.store, "/p", "s", "the parser lives in parse.c", 1, &err), 0);
    turn_rig_file(&rig, "parse.c", "int parse(void);\n");
    turn_rig_open(&rig);
    fake_provider_answer(rig.model)->text = "ok";
    meeting.armed = true;
    turn_rig_turn(&rig, "parse: where is the parser");
    assert_true(meeting.came[MEMORY]);
    assert_true(meeting.came[CONTEXT]);
    assert_false(meeting.alone);
    assert_string_equal(
        turn_check_json(&rig, event_json(turn_rig_event(&rig, EVENT_CONTEXT_LOADED, 0), "memory"), "[0].text"),
        "the parser lives in parse.c");
    assert_string_equal(
        turn_check_json(&rig, event_json(turn_rig_event(&rig, EVENT_CONTEXT_LOADED, 0), "pack"), "[0].path"),
        "parse.c");
    meeting.armed = false;
    turn_check_promises(&rig, true);
    turn_rig_release(&rig);
    store_close(rig.config.store);
}
